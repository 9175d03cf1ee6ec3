package ingest

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// countingFS counts the open files and their largest number.
type countingFS struct {
	vfs.FS
	open, most atomic.Int64
}

type countedFile struct {
	vfs.File
	fs     *countingFS
	closed atomic.Bool
}

func (c *countingFS) counted(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	for n := c.open.Add(1); n > c.most.Load(); {
		c.most.CompareAndSwap(c.most.Load(), n)
	}
	return &countedFile{File: f, fs: c}, nil
}

func (c *countingFS) Open(name string) (vfs.File, error)   { return c.counted(c.FS.Open(name)) }
func (c *countingFS) Create(name string) (vfs.File, error) { return c.counted(c.FS.Create(name)) }

func (f *countedFile) Close() error {
	if !f.closed.Swap(true) {
		f.fs.open.Add(-1)
	}
	return f.File.Close()
}

// TestFewOpenFiles: with a limit on open files, an ingest whose entries and ids are in
// hundreds of temporary files makes the same store, in more passes.
func TestFewOpenFiles(t *testing.T) {
	// Files that countingFS does not see: standard streams, those of Go's runtime, the lock, directories that are synced.
	const elsewhere = 8
	limits := longtest.Pick([]int{fewestFiles, 24, 40}, []int{fewestFiles})
	for _, u := range unluckyCases(t) {
		whole := target(t)
		if _, _, err := u.run(t, whole, -1); err != nil {
			t.Fatal(err)
		}
		want := vfstest.Contents(t, whole)
		for _, limit := range limits {
			for _, workers := range []int{1, 8} {
				p := u.plan
				p.FanIn = 64
				p = must.Get(p.within(limit))(t)
				c := &countingFS{FS: lazyFS{vfs.OS()}}
				out := target(t)
				o := u.o
				o.FS, o.CheckpointEvery, o.Workers = c, time.Hour, min(workers, sortersWithin(limit))
				must.Get(ingest(t.Context(), u.inputs, out, o.withDefaults(), p))(t)
				if got := vfstest.Contents(t, out); strings.Join(sortedValues(got), "") != strings.Join(sortedValues(want), "") {
					t.Errorf("%s, %d files: another store", u.name, limit)
				}
				if most := int(c.most.Load()); most > limit-elsewhere {
					t.Errorf("%s, %d workers: %d files open at a time, %d allowed", u.name, workers, most, limit-elsewhere)
				}
				if n := c.open.Load(); n != 0 {
					t.Errorf("%s: %d files are left open", u.name, n)
				}
			}
		}
	}
	if _, err := mustPlan(t).within(fewestFiles - 1); err == nil || !strings.Contains(err.Error(), "ulimit -n 20") {
		t.Errorf("too few: %v", err)
	}
}

func sortedValues(m map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, name, m[name])
	}
	return all
}
