package factor

import (
	"slices"

	"github.com/gdsvd/gdsvd/factor/internal/layout"

	"errors"
	"fmt"
	"io/fs"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor/internal/npy"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// Factor is U or V in its file, one row of numbers for each row or column of the user's matrix, read by windows of
// rows. It is not safe for concurrent use: each goroutine opens its own.
type Factor struct{ m *npy.Matrix }

// OpenU opens U, Rows × K.
func (r *Result) OpenU() (*Factor, error) { return r.factor(layout.Left, r.Rows) }

// OpenV opens V, Cols × K.
func (r *Result) OpenV() (*Factor, error) { return r.factor(layout.Right, r.Cols) }

func (r *Result) factor(name string, rows int64) (*Factor, error) {
	a := r.arrays[name]
	if a == nil {
		return nil, Errorf(fs.ErrNotExist, "%s holds no %s: it was made with %v %s or interrupted", r.dir, name, Option("Vectors"), r.Settings.Vectors)
	}
	return a.factor(r.fs, r.dir, rows, r.K)
}

// OpenFactor opens one of the files of a directory, an array of rows × k numbers. What is read from it is verified.
func OpenFactor(fsys vfs.FS, dir string, files []File, name string, rows int64, k int) (*Factor, error) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return nil, damagedResult(dir, "files: %s is not listed", name)
	}
	a, err := newArray(nil, files[i])
	if err != nil {
		return nil, damagedResult(dir, "%v", err)
	}
	return a.factor(fsys, dir, rows, k)
}

func (a *array) factor(fsys vfs.FS, dir string, rows int64, k int) (*Factor, error) {
	m, err := a.open(fsys, dir)
	if err == nil && (m.Rows != rows || m.Cols != int64(k)) {
		err = errors.Join(damagedResult(m.Name(), "its shape is %s, not %d×%d", m.Shape(), rows, k), m.Close())
	}
	if err != nil {
		return nil, err
	}
	return &Factor{m}, nil
}

// Dims returns the numbers of rows and of vectors.
func (f *Factor) Dims() (rows int64, k int) { return f.m.Rows, int(f.m.Cols) }

// ReadRows fills rows with those from first on, as many of their numbers as it has columns. One that is not
// finite is an error.
func (f *Factor) ReadRows(first int64, rows *mat.Dense) error {
	n, k := rows.Dims()
	if first < 0 || first+int64(n) > f.m.Rows || int64(k) > f.m.Cols {
		return fmt.Errorf("%s holds %s numbers, not %d rows from %d on of %d columns", f.m.Name(), f.m.Shape(), n, first, k)
	}
	if err := f.m.ReadRows(first, 0, rows); err != nil {
		return err
	}
	for i := range n {
		for j, v := range rows.RawRowView(i) {
			if v-v != 0 {
				return damagedResult(f.m.Name(), "entry (%d, %d) is %v", first+int64(i), j, v)
			}
		}
	}
	return nil
}

// Close closes the file.
func (f *Factor) Close() error { return f.m.Close() }

// Values are the singular values, descending, or the eigenvalues of a result of eigenpairs.
func (r *Result) Values() []float64 {
	values := r.Sigma
	if r.Settings.Which != "" {
		values = r.Lambda
	}
	x := make([]float64, len(values))
	for i, v := range values {
		x[i] = float64(v)
	}
	return x
}

// ReadU fills rows with the rows of U from first on, as many of its columns as rows has.
func (r *Result) ReadU(first int64, rows *mat.Dense) error { return readFrom(r.OpenU, first, rows) }

// ReadV fills rows with the rows of V from first on, as many of its columns as rows has.
func (r *Result) ReadV(first int64, rows *mat.Dense) error { return readFrom(r.OpenV, first, rows) }

func readFrom(open func() (*Factor, error), first int64, rows *mat.Dense) error {
	f, err := open()
	if err != nil {
		return err
	}
	return errors.Join(f.ReadRows(first, rows), f.Close())
}
