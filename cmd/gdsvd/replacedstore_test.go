package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestStoreReplacedWhileRead: a command whose store is replaced by --force after its manifest was read says that it was
// replaced, not that it is damaged, and writes no files.
func TestStoreReplacedWhileRead(t *testing.T) {
	file, other := ratings(t, tall), ratings(t, synth.Ratings{Users: 95, Items: 41, Ratings: 2500, Seed: 3})
	dir := t.TempDir()
	store, out := filepath.Join(dir, "m.csr"), filepath.Join(dir, "out")
	for _, c := range []struct {
		args string
		op   vfstest.Kind
		file string
	}{
		{"svd -k 2 -o " + out, vfstest.OpMap, "shard-000000.csr"},
		{"info", vfstest.OpStat, "rows.ids"},
		{"info --ids rows", vfstest.OpOpen, "rows.ids"},
		{"stats -o " + out, vfstest.OpOpen, "cols.ids"},
		{"check", vfstest.OpMap, "shard-000000.csr"},
		{"check", vfstest.OpOpen, "rows.ids"},
	} {
		succeeds(t, "ingest", "-q", file, "-o", store, "--force")
		replaced := false
		fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if o.Kind == c.op && o.Name == filepath.Join(store, c.file) && !replaced {
				replaced = true
				succeeds(t, "ingest", "-q", other, "-o", store, "--force")
			}
			return nil
		}}
		o := gdsvdAs(t, t.Context(), func(a *app) { a.fsys = fsys }, append(strings.Fields(c.args), "-q", store)...)
		want := "store " + store + " was replaced by another process while it was being read; run the command again\n"
		if o.code != ui.ExitError || !replaced || o.stdout != "" || !strings.HasSuffix(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, replaced %v: %q %q", c, o.code, replaced, o.stdout, o.stderr)
		}
		if left := names(t, dir); len(left) != 1 {
			t.Errorf("%v: there is %v", c, left)
		}
	}
}
