package main

import (
	"bytes"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/must"
)

// pageOf runs report and returns the page.
func pageOf(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	succeeds(t, append([]string{"report", "-o", file}, args...)...)
	b := must.Get(os.ReadFile(file))(t)
	return string(b)
}

// TestReportCommand: the command at the end of a page computes the same values and vectors.
func TestReportCommand(t *testing.T) {
	store := ingested(t, tall)
	for name, args := range map[string][]string{
		"chosen": {"svd", store, "-k", "4"},
		"given":  {"svd", store, "-k", "3", "--method", "block", "--oversample", "3", "--seed", "7", "--tol", "1e-6", "--vectors", "right"},
		"view":   {"svd", store, "-k", "3", "--view", "log1p | center=columns"},
		"share":  {"svd", store, "-k", "0.5", "--max-k", "30"},
		"limit":  {"svd", store, "-k", "3", "--time-limit", "300h"},
		"fit":    {"complete", store, "-k", "3", "--lambda", "5", "--biases"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		succeeds(t, append(args, "-o", out)...)
		page := pageOf(t, out)
		found := regexp.MustCompile(`(?s)<pre>gdsvd (.*?) -o OUT</pre>`).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("%s: no command in\n%s", name, page)
		}
		var words []string
		for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(html.UnescapeString(found[1]), -1) {
			words = append(words, strings.Trim(w, "'"))
		}
		again := filepath.Join(t.TempDir(), "again")
		succeeds(t, append(words, "-o", again)...)
		for _, file := range []string{"sigma.npy", "V.npy"} {
			a := must.Get(os.ReadFile(filepath.Join(out, file)))(t)
			b, err := os.ReadFile(filepath.Join(again, file))
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s is another one after %q (%v)", name, file, words, err)
			}
		}
	}
}

// TestReport checks pages of a result with and without its store and of a store, and when a file is replaced.
func TestReport(t *testing.T) {
	dir, store, out := library(t)
	full := pageOf(t, out)
	for _, want := range []string{"<h2>Entries</h2>", "Emma, or not", "binary · normalize=rows", "ann"} {
		if !strings.Contains(full, want) {
			t.Errorf("%q is missing in %d bytes", want, len(full))
		}
	}
	if pageOf(t, out, "--store", store, "--workers", "1") != full {
		t.Error("another page with the store given")
	}
	without := pageOf(t, out, "--no-store")
	if strings.Contains(without, "<h2>Entries</h2>") {
		t.Error("entries with --no-store")
	}
	if page := pageOf(t, store); !strings.Contains(page, "<h2>Entries</h2>") || strings.Contains(page, "<h2>Spectrum</h2>") {
		t.Error("of a store: sections of a result, or none")
	}
	labels := write(t, dir, "labels.csv", "ann,novels\nbob,novels\ncy,space\ndee,space\n")
	if page := pageOf(t, out, "--labels", labels); !strings.Contains(page, "novels") || !strings.Contains(page, "no label") {
		t.Error("labels are not shown")
	}

	file := filepath.Join(dir, "page.html")
	var said struct {
		File, Of string
		Bytes    int
	}
	decode(t, succeeds(t, "report", out, "-o", file, "--json"), &said)
	if b, err := os.ReadFile(file); err != nil || said.File != file || said.Of != out || said.Bytes != len(b) {
		t.Errorf("%v: %+v", err, said)
	}
	fails(t, ui.ExitError, `page.html: file already exists \(--force replaces it\)`, "report", out, "-o", file)
	succeeds(t, "report", out, "-o", file, "--force", "--no-store")
	if b, err := os.ReadFile(file); err != nil || string(b) != without {
		t.Errorf("not replaced: %v", err)
	}
	// A failed run does not change the file and leaves no other.
	fails(t, ui.ExitError, `x,1|no line begins with the id`, "report", out, "-o", file, "--force", "--labels", write(t, dir, "bad.csv", "x,1\n"))
	if b, err := os.ReadFile(file); err != nil || string(b) != without {
		t.Errorf("changed by a run that failed: %v", err)
	}
	if _, err := os.Stat(file + ".partial"); err == nil {
		t.Error("a half-written page is left")
	}

	must.Do(t, os.Rename(store, store+".moved"))
	if ran := gdsvd(t, "report", out, "-o", file, "--force"); ran.code != 0 || !strings.Contains(ran.stderr, "the page does without its entries") {
		t.Errorf("%d: %s", ran.code, ran.stderr)
	}
	fails(t, ui.ExitError, `open store`, "report", out, "-o", filepath.Join(dir, "x.html"), "--store", store)
	other := filepath.Join(dir, "other.csr")
	succeeds(t, "ingest", write(t, dir, "other.csv", "a,1,1\nb,2,1\n"), "-o", other)
	fails(t, ui.ExitError, `is a result of another store`, "report", out, "-o", filepath.Join(dir, "x.html"), "--store", other)
	fails(t, ui.ExitUsage, `--labels is for a result; .* is a store`, "report", other, "-o", filepath.Join(dir, "x.html"), "--labels", labels)
	fails(t, ui.ExitUsage, `--names: 7 names of 6 components`, "report", out, "-o", filepath.Join(dir, "x.html"), "--names", "a,b,c,d,e,f,g")
	fails(t, ui.ExitUsage, `--names: 3 names, and .* has 2 components`, "report", out, "-o", filepath.Join(dir, "x.html"), "--names", "a,b,c")
	fails(t, ui.ExitUsage, `no FILE to write`, "report", out)
	fails(t, ui.ExitUsage, `no FILE to write`, "report", out, "-o", "-")
	fails(t, ui.ExitUsage, `--components 99: want 1 to`, "report", out, "-o", file, "--components", "99")
	fails(t, ui.ExitUsage, `give one of them`, "report", out, "-o", file, "--store", other, "--no-store")
	fails(t, ui.ExitError, `no such file|cannot find`, "report", filepath.Join(dir, "none"), "-o", filepath.Join(dir, "x.html"))
	if _, err := os.Stat(filepath.Join(dir, "x.html")); err == nil {
		t.Error("a page of nothing")
	}
}
