package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestAppendCommand: append extends a store in place or writes a new one, and refuses inputs that cannot be appended.
func TestAppendCommand(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string { return write(t, dir, name, text) }
	first, more := put("first", "7,10,1\n8,20,2\n"), put("more", "3,5,1\n7,20,4\n")
	store, beside, all := filepath.Join(dir, "a.csr"), filepath.Join(dir, "b.csr"), filepath.Join(dir, "c.csr")
	succeeds(t, "ingest", first, "-o", store)
	succeeds(t, "append", store, more, "-o", beside)
	succeeds(t, "append", store, more)
	succeeds(t, "ingest", first, more, "-o", all)
	want := succeeds(t, "info", all, "--ids", "rows")
	for _, s := range []string{store, beside} {
		if got := succeeds(t, "info", s, "--ids", "rows"); got != want {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
	fails(t, ui.ExitError, "more than one entry", "append", store, more)
	summed := filepath.Join(dir, "summed.csr")
	succeeds(t, "ingest", first, "--duplicates", "sum", "-o", summed)
	fails(t, ui.ExitUsage, "--duplicates error: without the flag the rule is that of .*summed.csr", "append", summed, put("again", "7,10,1\n"), "--duplicates", "error")
	fails(t, ui.ExitUsage, "want a STORE and at least one INPUT", "append", store)
	mean := filepath.Join(dir, "mean.csr")
	succeeds(t, "ingest", put("twice", "1,1,1\n1,1,2\n"), "--duplicates", "mean", "-o", mean)
	fails(t, ui.ExitUsage, "has means", "append", mean, more)
}

// TestInterruptedTitles: the message of an append that is interrupted while it writes titles says that the store has the
// new entries.
func TestInterruptedTitles(t *testing.T) {
	dir := t.TempDir()
	store, titles := filepath.Join(dir, "a.csr"), write(t, dir, "titles", "3,Three\n")
	succeeds(t, "ingest", write(t, dir, "first", "7,10,1\n8,20,2\n"), "-o", store)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpCreate && strings.HasSuffix(o.Name, ".titles.tmp") {
			cancel()
		}
		return nil
	}}
	o := gdsvdAs(t, ctx, func(a *app) { a.fsys = fsys }, "append", "-q", store, write(t, dir, "more", "3,5,1\n"), "--row-titles", titles)
	if want := "gdsvd: interrupted; the store " + store + " is complete, but for its titles\n"; o.code != ui.ExitInterrupted || o.stderr != want {
		t.Errorf("exit %d, %q, want %q", o.code, o.stderr, want)
	}
	if got := succeeds(t, "info", store, "--ids", "rows"); got != "3\n7\n8\n" {
		t.Errorf("rows %q", got)
	}
}
