package remote

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
)

// TestMapped checks that a mapped piece holds the numbers written, and that a damaged, missing, renamed or resized one
// gives an error.
func TestMapped(t *testing.T) {
	f := folder{disk{vfs.OS()}, t.TempDir()}
	x := solvertest.Random(columns, 3, 1)
	must.Do(t, f.put("x", x, 0, columns))
	got, m, err := f.mapped("x", columns, 3)
	must.Do(t, err)
	for i, v := range got.RawMatrix().Data {
		if v != x.RawMatrix().Data[i] {
			t.Fatalf("number %d is %v", i, v)
		}
	}
	(&group{x: m}).drop()
	whole := must.Get(os.ReadFile(f.path("x")))(t)
	for i := range 200 {
		b := append([]byte(nil), whole...)
		b[i*(len(b)-1)/199] ^= 1
		must.Do(t, os.WriteFile(f.path("damaged"), b, 0o666))
		must.Do(t, os.Rename(f.path("damaged"), f.path("x")))
		if _, _, err := f.mapped("x", columns, 3); !errors.As(err, new(*badPiece)) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	must.Do(t, os.WriteFile(f.path("y"), whole, 0o666))
	for _, name := range []string{"y", "none"} {
		if _, _, err := f.mapped(name, columns, 3); !errors.As(err, new(*badPiece)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := f.mapped("y", columns, 4); !errors.As(err, new(*badPiece)) {
		t.Error(err)
	}
}

// TestMappedIsCut checks that a pass over columns whose mapped file is truncated ends with an error.
func TestMappedIsCut(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems may keep what a file had")
	}
	store, _ := manyBlocks(t)
	f := folder{disk{vfs.OS()}, t.TempDir()}
	must.Do(t, f.put("x", solvertest.Random(columns, 3, 1), 0, columns))
	x, m, err := f.mapped("x", columns, 3)
	must.Do(t, err)
	defer m.Close()
	must.Do(t, os.Truncate(f.path("x"), 0))
	y := solvertest.Random(columns, 3, 1)
	_, err = single(t, store).Run(t.Context(), solver.Pass{X: x, Sum: y})
	if !errors.As(err, new(*fault.Error)) {
		t.Errorf("a pass over a file that was cut: %v", err)
	}
}
