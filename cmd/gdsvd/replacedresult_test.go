package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestCheckedResultReplacedByOneWithoutIDs: the ids of the result that was there are missing now, which is no error of a file.
func TestCheckedResultReplacedByOneWithoutIDs(t *testing.T) {
	plain, dir := filepath.Join(t.TempDir(), "plain.csr"), filepath.Join(t.TempDir(), "a.svd")
	succeeds(t, "generate", "spectrum", "-q", "--rows", "60", "--cols", "40", "-o", plain)
	ids := filepath.Join(dir, "rows.ids")
	succeeds(t, "svd", "-q", ingested(t, tall), "-k", "2", "-o", dir)
	replaced := false
	fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpOpen && o.Name == ids && !replaced {
			replaced = true
			succeeds(t, "svd", "-q", plain, "-k", "2", "-o", dir, "--force")
		}
		return nil
	}}
	o := gdsvdAs(t, t.Context(), func(a *app) { a.fsys = fsys }, "check", "-q", dir)
	want := "gdsvd: " + dir + " was replaced by another process while it was being read; run the command again\n"
	if o.code != ui.ExitError || !replaced || o.stdout != "" || o.stderr != want {
		t.Errorf("exit %d, replaced %v: %q %q", o.code, replaced, o.stdout, o.stderr)
	}
}

// TestResultReplacedWhileRead: a command whose result is replaced by --force after it was opened says that it was
// replaced, not that it is damaged, and writes no files.
func TestResultReplacedWhileRead(t *testing.T) {
	store, dir := ingested(t, tall), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	succeeds(t, "svd", "-q", store, "-k", "2", "-o", at("other.svd"))
	replacing := map[string][]string{
		"a.svd": {"svd", "-q", store, "-k", "3", "--seed", "1", "--force"},
		"p":     {"project", "-q", at("other.svd"), store, "--whiten", "--force"},
	}
	for _, c := range []string{
		"recommend A --store S -n 1 -o OUT.csv",
		"topics A",
		"export A --what US -o OUT.csv",
		"report A --no-store -o OUT.html",
		"project A S -o OUT",
		"align A --to B -o OUT",
		"align B --to A -o OUT",
		"svd S -k 2 --init A -o OUT",
		"check A",
		"export P --what X -o OUT.csv",
		"check P",
	} {
		succeeds(t, "svd", "-q", store, "-k", "2", "-o", at("a.svd"), "--force")
		succeeds(t, "project", "-q", at("a.svd"), store, "-o", at("p"), "--force")
		name := "a.svd"
		if strings.Contains(c, " P") {
			name = "p"
		}
		args := strings.Fields(strings.NewReplacer(" A", " "+at("a.svd"), " B", " "+at("other.svd"), " P", " "+at("p"), " S", " "+store, " OUT", " "+at("out")).Replace(c))
		replaced := false
		fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if o.Kind == vfstest.OpOpen && filepath.Dir(o.Name) == at(name) && filepath.Ext(o.Name) != ".json" && !replaced {
				replaced = true
				succeeds(t, append(replacing[name], "-o", at(name))...)
			}
			return nil
		}}
		o := gdsvdAs(t, t.Context(), func(a *app) { a.fsys = fsys }, append(args, "-q")...)
		want := at(name) + " was replaced by another process while it was being read; run the command again\n"
		if o.code != ui.ExitError || !replaced || o.stdout != "" || !strings.HasSuffix(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, replaced %v: %q %q", c, o.code, replaced, o.stdout, o.stderr)
		}
		if left, _ := filepath.Glob(at("*out*")); len(left) > 0 {
			t.Errorf("%s: there is %v", c, left)
		}
	}
}
