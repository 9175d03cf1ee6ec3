package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestMisuse: mistakes of new users are errors of one line that name the file or flag,
// with the right exit code, and change no files.
func TestMisuse(t *testing.T) {
	store := ingested(t, tall)
	done, _ := factorised(t, store, "-k", "2")
	file := ratings(t, tall)
	work := t.TempDir()
	empty, out, bad := filepath.Join(work, "empty"), filepath.Join(work, "out"), filepath.Join(work, "bad.json")
	must.Do(t, os.Mkdir(empty, 0o777))
	must.Do(t, os.WriteFile(bad, []byte(`{"k":2`), 0o666))
	before := names(t, work)
	svd := func(args ...string) []string { return append([]string{"svd", "-q", store, "-k", "2"}, args...) }
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{ui.ExitUsage, []string{""}, "an empty word stands where a command is wanted"},
		{ui.ExitUsage, []string{"help", "nix"}, `unknown command "nix"`},
		{ui.ExitUsage, []string{"help", "generate", "nix"}, `unknown command "nix"`},
		{ui.ExitUsage, []string{"completion", "nix"}, `unknown command "nix"`},
		{ui.ExitUsage, []string{"svd", "", "-k", "2", "-o", out}, "the name of the STORE is empty"},
		{ui.ExitUsage, []string{"info", ""}, "the name of the STORE or OUT is empty"},
		{ui.ExitUsage, svd("-o", ""), "no OUT to write"},
		{ui.ExitUsage, []string{"--config", "", "info", store}, "--config: the name of the FILE is empty"},
		{ui.ExitUsage, []string{"--config", bad, "info", store}, bad + ": want one JSON object: unexpected EOF"},
		{ui.ExitUsage, []string{"--config", store, "info", store}, "it is a directory, a regular file is wanted"},
		{ui.ExitUsage, []string{"svd", store, "-k", "1000000000", "-o", out}, "a 90 × 40 matrix has only 40 singular values"},
		{ui.ExitUsage, []string{"svd", store, "-k", "1e9", "-o", out}, "neither a whole number of triplets"},
		{ui.ExitUsage, []string{"svd", store, "-k", "-1", "-o", out}, "-k -1: at least 1 triplet is wanted"},
		{ui.ExitUsage, svd("-o", out, "--tol", "nan"), "--tol NaN: want a tolerance between 0 and 1"},
		{ui.ExitUsage, svd("-o", out, "--memory", "0"), `size "0" is out of range`},
		{ui.ExitUsage, svd("-o", out, "--memory", "-5"), `size "-5" is out of range`},
		{ui.ExitError, svd("-o", out, "--memory", "1"), "memory budget of .* is too small: at least"},
		{ui.ExitError, []string{"svd", done, "-k", "2", "-o", out}, "it is a result, made by \"gdsvd svd\"; name the store"},
		{ui.ExitError, []string{"generate", "kron", "--base", done, "--rows", "2", "--cols", "2", "--nnz", "3", "-o", out}, "it is a result"},
		{ui.ExitUsage, []string{"info", done, "--ids", "rows"}, "--ids wants the STORE, .* is a result"},
		{ui.ExitError, svd("-o", out, "--init", store), "--init .*: open .*result.json: no such file"},
		{ui.ExitError, svd("-o", store), "not to be replaced: it is not a result of gdsvd"},
		{ui.ExitError, svd("-o", store, "--force"), "it is not a result of gdsvd and is left alone"},
		{ui.ExitError, svd("-o", done), `file already exists \(--force replaces it\)`},
		{ui.ExitError, svd("-o", file, "--force"), "it is not a directory; it is left alone"},
		{ui.ExitError, svd("-o", filepath.Join(work, "none", "out")), "make the directory .*none first"},
		{ui.ExitError, svd("-o", filepath.Join(file, "out")), "not a directory"},
		{ui.ExitError, []string{"ingest", file, "-o", done, "--force"}, "in it is not of a store; it is left alone"},
		{ui.ExitError, []string{"ingest", store, "-o", out}, "is a directory; name the files in it"},
		{ui.ExitError, []string{"ingest", empty, "-o", out}, "is a directory; name the files in it"},
		{ui.ExitError, []string{"info", file}, "is neither a store nor a result"},
		{ui.ExitError, []string{"check", empty}, "no MANIFEST.json in it"},
		{ui.ExitError, svd("-o", out, "--init", empty), "no such file"},
		{ui.ExitError, []string{"svd", "\xff\xfe.csr", "-k", "2", "-o", out}, "no such file"},
		{ui.ExitError, []string{"info", "a\x1b[31m\u202eb\nc"}, `a\\x1b\[31m\\u202eb; c: no such file`},
		{ui.ExitError, []string{"demo", "--keep", filepath.Join(work, "none", "demo")}, "no such file"},
	} {
		if o := fails(t, c.code, c.want, c.args...); o.stdout != "" {
			t.Errorf("gdsvd %s prints %s", strings.Join(c.args, " "), o.stdout)
		}
	}
	if after := names(t, work); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("there is %v, there was %v", after, before)
	}
	succeeds(t, "check", store)
	succeeds(t, "info", done)
}

// TestOptionsHaveFlags: each option that an error of package factor names has a flag.
func TestOptionsHaveFlags(t *testing.T) {
	var files []string
	for _, room := range []string{"", "check/", "look/"} {
		names := must.Get(filepath.Glob("../../factor/" + room + "*.go"))(t)
		files = append(files, names...)
	}
	help, found := succeeds(t, "svd", "--help")+succeeds(t, "view", "--help")+succeeds(t, "complete", "--help"), 0
	for _, name := range files {
		text := must.Get(os.ReadFile(name))(t)
		for _, m := range regexp.MustCompile(`Option\("(\w+)"\)`).FindAllSubmatch(text, -1) {
			found++
			if flag := ui.FlagOf(factor.Option(m[1])); flag == "" || !strings.Contains(help, " "+flag+" ") && !strings.Contains(help, " "+flag+",") {
				t.Errorf("%s names %s: flag %q", name, m[1], flag)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d names found", found)
	}
}
