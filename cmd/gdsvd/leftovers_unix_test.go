//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// generated returns commands that make stores of many shards.
func generated(t *testing.T) map[string][]string {
	base := ingested(t, synth.Ratings{Users: 400, Items: 300, Ratings: 30000, Seed: 1})
	return map[string][]string{
		"kron":     {"generate", "kron", "-q", "--base", base, "--rows", "12", "--cols", "12", "--nnz", "100", "--shard-size", "256KiB"},
		"spectrum": {"generate", "spectrum", "-q", "--rows", "120000", "--cols", "4000", "--shard-size", "1MiB"},
	}
}

// sameStore compares all files of two stores byte by byte.
func sameStore(t *testing.T, want, got string) {
	t.Helper()
	if a, b := names(t, want), names(t, got); !slices.Equal(a, b) {
		t.Fatalf("files %v, want %v", b, a)
	}
	for _, name := range names(t, want) {
		same(t, name, filepath.Join(want, name), filepath.Join(got, name))
	}
}

// TestLeftoversOfSVD: files left by a dead run of svd hinder neither another run nor a command that makes a store with
// the same OUT. Files that svd has not made are not removed.
func TestLeftoversOfSVD(t *testing.T) {
	store := ingested(t, tall)
	leave := func(at string, names ...string) {
		must.Do(t, os.Mkdir(at+".partial", 0o777))
		for _, name := range names {
			must.Do(t, os.WriteFile(filepath.Join(at+".partial", name), []byte("left"), 0o666))
		}
	}
	work := t.TempDir()
	for name, args := range map[string][]string{
		"ingest":   {"ingest", "-q", ratings(t, tall)},
		"generate": {"generate", "spectrum", "-q", "--rows", "300", "--cols", "200"},
		"svd":      {"svd", "-q", store, "-k", "2"},
	} {
		out := filepath.Join(work, name)
		leave(out, "U.npy", "events.jsonl", "vectors-0", "vectors-11", "checkpoint.half")
		succeeds(t, append(args, "-o", out)...)
	}
	if left := names(t, work); !slices.Equal(left, []string{"generate", "ingest", "svd"}) {
		t.Errorf("at the end there are %v", left)
	}
	for _, name := range []string{"thesis.txt", "vectors-final", "MANIFEST.json"} {
		work := t.TempDir()
		leave(filepath.Join(work, "out"), "U.npy", name)
		fails(t, ui.ExitError, "out.partial holds "+name+", ", "svd", "-q", store, "-k", "2", "-o", filepath.Join(work, "out"))
		if kept := names(t, filepath.Join(work, "out.partial")); !slices.Contains(kept, name) || len(kept) != 2 {
			t.Errorf("%v are left", kept)
		}
	}
}

// TestLeftoversOfGenerateRatings: files left by a dead writer of a ratings file are removed; a live writer
// locks the file.
func TestLeftoversOfGenerateRatings(t *testing.T) {
	work := t.TempDir()
	file := filepath.Join(work, "r.dat")
	for _, name := range []string{file + ".partial", file + ".lock"} {
		must.Do(t, os.WriteFile(name, []byte("left"), 0o666))
	}
	args := []string{"generate", "ratings", "-q", "-o", file, "--users", "30", "--items", "20", "--ratings", "600"}
	succeeds(t, args...)
	if left := names(t, work); !slices.Equal(left, []string{"r.dat"}) {
		t.Errorf("at the end there are %v", left)
	}
	lock := must.Get(vfs.OS().Lock(file + ".lock"))(t)
	defer lock.Close()
	fails(t, ui.ExitError, `r.dat: locked by another process \(\d+, gdsvd.test( [a-z]+)?\) that is writing it`, append(args, "--force")...)
}

// TestLeftoversAreNamedAndRemoved: files that cannot be removed are named; the next command removes them.
func TestLeftoversAreNamedAndRemoved(t *testing.T) {
	store, work := ingested(t, tall), t.TempDir()
	at := func(name string) string { return filepath.Join(work, name) }
	succeeds(t, "svd", "-q", store, "-k", "2", "-o", at("a.svd"))
	text := must.Get(os.ReadFile(ratings(t, tall)))(t)
	must.Do(t, os.WriteFile(at("new.dat"), text, 0o666))
	for _, c := range []struct {
		name, left string
		args, next []string
	}{
		{"project", ".gdsvd-new-project", []string{"project", at("a.svd"), at("new.dat")}, []string{"project", at("a.svd"), at("new.dat"), "--force"}},
		{"project of a store then", ".gdsvd-new-project of a store then", []string{"project", at("a.svd"), at("new.dat")}, []string{"project", at("a.svd"), store, "--force"}},
		{"svd", ".gdsvd-input-svd", []string{"svd", "-", "-k", "2"}, []string{"svd", "-", "-k", "2", "--force"}},
		{"svd of a store then", ".gdsvd-input-svd of a store then", []string{"svd", "-", "-k", "2"}, []string{"svd", store, "-k", "2", "--force"}},
	} {
		left := at(c.left + ".partial")
		begun := 0
		fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if o.Kind == vfstest.OpRemoveAll && o.Name == left {
				begun++
				if begun > 1 { // the first removal is of files of an earlier run
					return syscall.EIO
				}
			}
			return nil
		}}
		o := gdsvdAs(t, t.Context(), func(a *app) { a.stdin, a.fsys = bytes.NewReader(text), fsys }, append(c.args, "-q", "-o", at(c.name))...)
		if o.code != ui.ExitError || !strings.Contains(o.stderr, left+" is left for the next run to remove: ") || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d: %q", c.name, o.code, o.stderr)
		}
		must.Get(os.Stat(left))(t)
		if o := gdsvdIn(t, t.Context(), string(text), append(c.next, "-q", "-o", at(c.name))...); o.code != ui.ExitOK {
			t.Errorf("%s: exit %d: %s", c.name, o.code, o.stderr)
		}
		if all, _ := filepath.Glob(at(".gdsvd*")); len(all) > 0 {
			t.Errorf("%s: at the end there are %v", c.name, all)
		}
	}
	lock := must.Get(vfs.OS().Lock(at(".gdsvd-new-project.lock")))(t)
	defer lock.Close()
	fails(t, ui.ExitError, "locked by another process", "project", at("a.svd"), at("new.dat"), "-q", "-o", at("project"), "--force")
}
