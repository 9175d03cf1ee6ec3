package foldin_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestRefuses: inputs and options that cannot be used are errors, and no files are left.
func TestRefuses(t *testing.T) {
	store := ingested(t, ratings(30, 12), ingest.OrientAuto)
	r := factorised(t, store, pipeline(t, "log1p · pca"), 2)
	dir := t.TempDir()
	o := foldin.Options{Dir: filepath.Join(dir, "x")}
	refused := func(want string, r *factor.Result, store *csr.Store, o foldin.Options) {
		t.Helper()
		if _, err := foldin.Project(t.Context(), r, store, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	negative := ingested(t, []rating{{"a", "i0003", 2}, {"bad", "i0004", -2}}, ingest.OrientRows)
	refused(`log1p makes -2 in row "bad", column "i0004", NaN`, r, negative, o)
	refused("a projection needs a directory", r, store, foldin.Options{})
	must.Get(foldin.Project(t.Context(), r, store, o))(t)
	if _, err := foldin.Project(t.Context(), r, store, o); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	o.Replace = true
	if _, err := foldin.Project(t.Context(), r, store, o); err != nil {
		t.Error(err)
	}
	o.Dir = r.Dir()
	refused("is not a projection and is left alone", r, store, o)
	right := must.Get(factor.Run(t.Context(), store, factor.Options{Rank: 2, Dir: filepath.Join(t.TempDir(), "right"), Vectors: factor.Right}))(t)
	refused("has no ids of its rows", right, store, foldin.Options{Dir: filepath.Join(dir, "y"), Columns: true})
	must.Do(t, os.Remove(filepath.Join(r.Dir(), r.View.Statistics[0].File)))
	refused("view-2-center-mean.npy", r, store, foldin.Options{Dir: filepath.Join(dir, "y")})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := foldin.Project(cancelled, r, store, foldin.Options{Dir: filepath.Join(dir, "y")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left (%v)", left, err)
	}
}

// TestFaults fails each operation in turn: there is a complete projection or none.
func TestFaults(t *testing.T) {
	store := ingested(t, ratings(9, 6), ingest.OrientAuto)
	r := factorised(t, store, pipeline(t, "pca"), 2)
	vfstest.EachFault(t, 10, 1, func(at int, fsys *vfstest.FaultFS) error {
		dir := filepath.Join(t.TempDir(), "x")
		_, err := foldin.Project(t.Context(), r, store, foldin.Options{Dir: dir, FS: fsys})
		if entries, err := os.ReadDir(dir); err == nil && len(entries) != 3 && len(entries) != 4 {
			t.Fatalf("operation %d fails: %v are there", at, entries)
		}
		return err
	})
}
