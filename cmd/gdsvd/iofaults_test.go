package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// faultCommands are commands on the files of faultFiles. W is the directory; they write W/out and only read the
// others.
var faultCommands = []string{
	"sniff W/r.csv",
	"plan W/m.csr -k 2",
	"ingest W/r.csv -o W/out",
	"ingest W/r.csv -o W/out --holdout random:0.2",
	"append W/m.csr W/new.csv -o W/out",
	"svd W/m.csr -k 2 -o W/out --max-passes 60",
	"svd W/m.csr -k 2 -o W/out --view pca --init W/a.svd --max-passes 60",
	"eigs W/s.csr -k 2 -o W/out",
	"complete W/m.csr -k 2 --lambda 5 -o W/out",
	"info W/m.csr --ids rows",
	"info W/a.svd",
	"view W/m.csr --view center=columns --head 3",
	"stats W/m.csr -o W/out --view log1p",
	"check W/m.csr",
	"check W/a.svd --store W/m.csr",
	"check W/p",
	"report W/a.svd -o W/out",
	"report W/m.csr -o W/out",
	"export W/a.svd --what VS --format csv -o W/out",
	"export W/a.svd --what U --format npy32 -o W/out",
	"export W/m.csr --format parquet -o W/out",
	"project W/a.svd W/new.csv -o W/out",
	"align W/a.svd --to W/b.svd --what V -o W/out",
	"recommend W/a.svd --store W/m.csr --rows all -n 3 -o W/out.csv",
	"similar W/a.svd --col i1 -n 2",
	"topics W/a.svd -n 2",
	"eval --train W/h.csr --test W/h.csr.test -k 2 --metrics ndcg@3",
	"generate ratings -o W/out --users 30 --items 20 --ratings 600",
	"generate spectrum -o W/out --rows 60 --cols 40",
}

// faultFiles makes the files that faultCommands read and returns their directory.
func faultFiles(t *testing.T) string {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var text, graph strings.Builder
	text.WriteString("user,item,rating\n")
	for i := range 40 {
		for j := range 9 {
			if (i*7+j*5)%4 > 0 {
				fmt.Fprintf(&text, "u%d,i%d,%d\n", i, j, 1+(i+j*j)%5)
			}
		}
		fmt.Fprintf(&graph, "%d %d\n%d %d\n", i, (i+1)%40, i, (i*i+7)%43+41)
	}
	for name, s := range map[string]string{"r.csv": text.String(), "new.csv": "user,item,rating\nx,i1,3\nx,i2,5\nz,i3,1\n", "g.txt": graph.String()} {
		must.Do(t, os.WriteFile(at(name), []byte(s), 0o666))
	}
	for _, line := range []string{
		"ingest W/r.csv -o W/m.csr",
		"ingest W/r.csv -o W/h.csr --holdout random:0.2",
		"ingest W/g.txt -o W/s.csr --graph undirected",
		"svd W/m.csr -k 2 --view center=columns -o W/a.svd",
		"svd W/m.csr -k 2 --seed 1 -o W/b.svd",
		"project W/a.svd W/m.csr -o W/p",
	} {
		succeeds(t, append(argsOf(line, dir), "-q")...)
	}
	return dir
}

func argsOf(line, dir string) []string {
	return strings.Fields(strings.ReplaceAll(line, "W/", dir+"/"))
}

// ioErrors are the errors that operations fail with.
var ioErrors = []error{syscall.EIO, syscall.ESTALE, syscall.EACCES, syscall.ENOSPC, vfstest.ErrShort}

// TestIOErrorSweep: if one operation of a command fails with one of ioErrors, the command succeeds as usual, or fails
// with one line that names the file. Its inputs are unchanged and its output is complete or absent, and the same
// command run again makes the usual bytes and leaves no other files.
func TestIOErrorSweep(t *testing.T) {
	source := faultFiles(t)
	for _, line := range faultCommands {
		t.Run(strings.ReplaceAll(line, "W/", ""), func(t *testing.T) {
			t.Parallel()
			sweepIO(t, source, line)
		})
	}
}

// sweepIO runs a command repeatedly and fails one operation in each run.
func sweepIO(t *testing.T, source, line string) {
	c := newFaultCommand(t, source, line)
	c.again = func(more ...string) ran { return c.run(t, new(vfstest.FaultFS), more...) }
	c.inject = func(n int, err error) (hit vfstest.Op, o ran) {
		var mu sync.Mutex
		hit.Index = -1
		count := 0
		o = c.run(t, &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if count++; count != n+1 {
				return nil
			}
			hit = o
			if err == nil || err == vfstest.ErrShort {
				return err
			}
			name, _, _ := strings.Cut(o.Name, " -> ")
			return &fs.PathError{Op: string(o.Kind), Path: name, Err: err}
		}})
		if n < 0 {
			hit.Index = count
		}
		return hit, o
	}
	c.sweep(t, ioErrors, 1)
}

// faultCommand is a command whose operations fail in turn.
type faultCommand struct {
	line, source, work string
	at                 string                   // another path of work that inject uses; "": work
	before, after      map[string]string        // files of work without and with the output
	again              func(more ...string) ran // runs the command without faults
	// inject runs the command with operation n failing and returns that operation; if there is none, its Index is −1. With
	// n = −1 no operation fails, and Index is the number of operations.
	inject func(n int, err error) (vfstest.Op, ran)
}

func newFaultCommand(t *testing.T, source, line string) *faultCommand {
	c := &faultCommand{line: line, work: t.TempDir(), source: source, before: everything(t, source)}
	must.Do(t, os.CopyFS(c.work, os.DirFS(source)))
	return c
}

// sweep fails trials of the operations, or in the long form each, with one of errs.
func (c *faultCommand) sweep(t *testing.T, errs []error, trials int) {
	all, o := c.inject(-1, nil)
	if o.code != ui.ExitOK {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	c.after = everything(t, c.work)
	trials = min(trials, all.Index)
	if longtest.On() && !raceDetector {
		trials = all.Index
	}
	for i := range trials {
		c.fail(t, i*all.Index/trials, errs[(i+len(c.line))%len(errs)])
	}
	t.Logf("%d of %d operations", trials, all.Index)
}

// fresh removes all files of work except the inputs.
func (c *faultCommand) fresh(t *testing.T) {
	for _, name := range names(t, c.work) {
		if _, err := os.Stat(filepath.Join(c.source, name)); err == nil {
			continue // fail has compared it with the input
		}
		must.Do(t, os.RemoveAll(filepath.Join(c.work, name)))
	}
}

func (c *faultCommand) run(t *testing.T, fsys *vfstest.FaultFS, more ...string) ran {
	args := append(append(argsOf(c.line, c.work), "-q"), more...)
	return gdsvdAs(t, t.Context(), func(a *app) { a.fsys, a.share = fsys, math.Inf(1) }, args...)
}

// fail runs the command with operation n failing with err, and again without a fault.
func (c *faultCommand) fail(t *testing.T, n int, err error) {
	t.Helper()
	c.fresh(t)
	hit, o := c.inject(n, err)
	if hit.Index < 0 {
		return
	}
	what := fmt.Sprintf("%s: %v at %v", c.line, err, hit)
	now := everything(t, c.work)
	for name, text := range c.before {
		if now[name] != text {
			t.Fatalf("%s: %s is not what it was", what, name)
		}
	}
	if o.code == ui.ExitOK {
		c.same(t, what, now)
		return
	}
	first := o.stderr
	name, _, _ := strings.Cut(hit.Name, " -> ")
	switch {
	case o.code != ui.ExitError && o.code != ui.ExitCorrupt && !(o.code == ui.ExitUsage && strings.Contains(o.stderr, name)):
		t.Errorf("%s: exit %d: %s", what, o.code, o.stderr)
	case strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stdout+o.stderr, filepath.Base(name)):
		t.Errorf("%s: exit %d: %q", what, o.code, o.stderr)
	}
	if strings.Contains(o.stderr, "nil pointer") || strings.Contains(o.stderr, "fault in") {
		t.Errorf("%s: %s", what, o.stderr)
	}
	var more []string
	made := false
	for name := range now {
		made = made || name == "out" || name == "out.csv" || strings.HasPrefix(name, "out/") && !strings.HasPrefix(name, "out/checkpoint")
	}
	switch {
	case strings.Contains(o.stderr, "--resume"):
		more = []string{"--resume"}
	case made:
		more = []string{"--force"}
	}
	for name, text := range now {
		if made && strings.HasPrefix(name, "out/") && c.timeless(name, text) != c.timeless(name, c.after[name]) && !strings.HasPrefix(name, "out/checkpoint") {
			t.Errorf("%s: %s is published, and not as without it", what, name)
		}
	}
	if o := c.again(more...); o.code != ui.ExitOK {
		t.Errorf("%s: the next run %v: exit %d: %s(the first said %s)", what, more, o.code, o.stderr, first)
		return
	}
	c.same(t, what, everything(t, c.work))
}

// same compares the files with those of a run without a fault.
func (c *faultCommand) same(t *testing.T, what string, now map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(c.after)) {
		if c.timeless(name, now[name]) != c.timeless(name, c.after[name]) {
			t.Errorf("%s: %s is not as without it: %.1500q", what, name, now[name])
		}
	}
	for name := range now {
		if _, ok := c.after[name]; !ok {
			t.Errorf("%s: there is %s", what, name)
		}
	}
}

// timeless returns text without paths of work; for files that hold times, only whether they are empty.
func (c *faultCommand) timeless(name, text string) string {
	switch filepath.Base(name) {
	case "result.json", "events.jsonl", "report.html", "projection.json", "alignment.json":
		return fmt.Sprint(text != "")
	}
	return strings.ReplaceAll(text, cmp.Or(c.at, c.work), c.work)
}

// everything returns all files below a directory by name.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	must.Do(t, err)
	return all
}
