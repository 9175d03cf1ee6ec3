package csr_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestOpenNoStore checks the errors for paths that are no store.
func TestOpenNoStore(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "ratings.csv", "1,2,3")
	for _, dir := range []string{"empty", "ml.csr.partial", "other", "home", "half.csr.partial"} {
		must.Do(t, os.Mkdir(dir, 0o777))
	}
	writeFile(t, filepath.Join("other", "MANIFEST.json"), `{"format":"something","version":3}`)
	writeFile(t, filepath.Join("home", "letter.txt"), "x")
	writeFile(t, filepath.Join("half.csr.partial", "shard-000000.csr"), "x")
	for path, c := range map[string]struct {
		is   error
		says string
	}{
		"nothing.csr":       {fs.ErrNotExist, "nothing.csr"},
		"ml.csr":            {fs.ErrNotExist, "ml.csr.partial is there: its making has not finished or was interrupted"},
		"ml.csr.partial":    {csr.ErrNotStore, "half-written"},
		"half.csr.partial":  {csr.ErrNotStore, "half-written"},
		"ml.csr/":           {fs.ErrNotExist, "ml.csr.partial is there: its making has not finished or was interrupted"},
		"half.csr.partial/": {csr.ErrNotStore, "half-written"},
		"ratings.csv":       {csr.ErrNotStore, `it is a file; a store is a directory made by "gdsvd ingest"`},
		"empty":             {csr.ErrNotStore, "no MANIFEST.json in it"},
		"home":              {csr.ErrNotStore, "no MANIFEST.json in it"},
		"other":             {csr.ErrNotStore, "of something else"},
	} {
		_, openErr := csr.Open(path, csr.OpenOptions{})
		_, checkErr := csr.Check(t.Context(), path, csr.CheckOptions{})
		for _, err := range []error{openErr, checkErr} {
			if !errors.Is(err, c.is) || errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %v saying %q", path, err, c.is, c.says)
			}
		}
	}
}

func TestCheckCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	writeVictim(t, path, 1)
	ctx, cancel := context.WithCancel(t.Context())
	report, err := csr.Check(ctx, path, csr.CheckOptions{Progress: func(done, total int64) {
		if done > total/3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(report.Problems) > 0 || report.Bytes == 0 || report.Bytes == dirSize(t, path) {
		t.Errorf("got %+v, %v", report, err)
	}
}

// deafFS maps files but takes no advice about them.
type deafFS struct{ vfs.FS }

type deafMapping struct{ vfs.Mapping }

func (f deafFS) Map(name string) (vfs.Mapping, error) {
	m, err := f.FS.Map(name)
	return deafMapping{m}, err
}

func (deafMapping) Advise(vfs.Advice, int64, int64) error { return errors.New("no advice taken") }

// TestAdviceIsOnlyAdvice checks that a store is read right if the system refuses advice.
func TestAdviceIsOnlyAdvice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	m := &matrix{cols: 3, rows: []row{{[]uint32{1}, []float64{2}}}}
	write(t, path, m, csr.CreateOptions{})
	s := csrtest.Open(t, path, csr.OpenOptions{FS: deafFS{vfs.OS()}})
	s.Prefetch(0, 1)
	s.Release(0, 1)
	requireEqual(t, s, m)
}
