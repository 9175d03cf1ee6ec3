package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestTwoWriters: of two writers of one target, for all pairs of commands, the second is refused in one line that names
// the first, which writes what it writes alone.
func TestTwoWriters(t *testing.T) {
	store, file := ingested(t, tall), filepath.Join(t.TempDir(), "more.dat")
	must.Do(t, os.WriteFile(file, []byte("9001::1::5::0\n9002::2::4::0\n"), 0o666))
	commands := map[string][]string{
		"ingest":   {"ingest", "-q", file, "-o", "TARGET", "--force"},
		"append":   {"append", "-q", "TARGET", file},
		"svd":      {"svd", "-q", store, "-k", "2", "-o", "TARGET", "--force"},
		"complete": {"complete", "-q", store, "-k", "2", "--lambda", "5", "-o", "TARGET", "--force"},
	}
	alone := map[string]map[string]string{}
	run := func(t *testing.T, name string, fsys *vfstest.FaultFS, target string) ran {
		args := slices.Clone(commands[name])
		args[slices.Index(args, "TARGET")] = target
		return gdsvdAs(t, t.Context(), func(a *app) { a.fsys = fsys }, args...)
	}
	// before makes a target with what the command replaces or extends.
	before := func(t *testing.T, name string) string {
		target := filepath.Join(t.TempDir(), "target")
		if name == "append" {
			must.Do(t, os.CopyFS(target, os.DirFS(store)))
		}
		return target
	}
	for first := range commands {
		target := before(t, first)
		if o := run(t, first, new(vfstest.FaultFS), target); o.code != ui.ExitOK {
			t.Fatalf("%s: exit %d\n%s", first, o.code, o.stderr)
		}
		alone[first] = writtenBy(t, target)
		for second := range commands {
			t.Run(first+" and "+second, func(t *testing.T) {
				target := before(t, first)
				tried := false
				var refused ran
				f := new(vfstest.FaultFS)
				f.Inject = func(o vfstest.Op) error {
					// The first command holds its lock when it creates this directory.
					if o.Kind == vfstest.OpMkdir && o.Name == target+".partial" && !tried {
						tried = true
						refused = run(t, second, new(vfstest.FaultFS), target)
					}
					return nil
				}
				if o := run(t, first, f, target); o.code != ui.ExitOK || !tried {
					t.Fatalf("the first: exit %d, tried %v\n%s", o.code, tried, o.stderr)
				}
				says := regexp.MustCompile(`^gdsvd: .*target: locked by another process \(\d+, gdsvd.test.*\) that is writing it\n$`)
				if second == "append" && first != "append" {
					says = regexp.MustCompile(`^gdsvd: append to .*target.*\n$`) // append finds no store yet
				}
				if refused.code != ui.ExitError || !says.MatchString(refused.stderr) {
					t.Errorf("the second: exit %d: %q", refused.code, refused.stderr)
				}
				if got := writtenBy(t, target); !maps.Equal(got, alone[first]) {
					t.Error("what the first has written is not what it writes alone")
				}
				if left := names(t, filepath.Dir(target)); !slices.Equal(left, []string{"target"}) {
					t.Errorf("at the end there are %v", left)
				}
			})
		}
	}
}

// writtenBy returns the files of a target that hold no times.
func writtenBy(t *testing.T, target string) map[string]string {
	files := vfstest.Contents(t, target)
	for name := range files {
		if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl") {
			delete(files, name)
		}
	}
	return files
}
