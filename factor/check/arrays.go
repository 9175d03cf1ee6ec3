package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// arrays holds the open files of singular values and vectors in a directory, of gdsvd or
// of another program. Vectors are columns: an array that is stored as Vᵀ is transposed.
// Absent arrays are nil.
type arrays struct {
	sigma, u, v *npy.Matrix
}

// arrayNames lists the possible file names of each array, in lower case. A file whose name
// ends in t.npy or h.npy holds the transpose.
var arrayNames = map[string][]string{
	"sigma": {"sigma.npy", "s.npy", factor.LambdaFile},
	"u":     {"u.npy"},
	"v":     {"v.npy", "vt.npy", "vh.npy"},
}

// findArray returns the name of the file of an array, "" if the directory has none. Two such
// files are an error.
func findArray(entries []fs.DirEntry, dir, array string) (string, error) {
	var found []string
	for _, e := range entries {
		if slices.Contains(arrayNames[array], strings.ToLower(e.Name())) {
			found = append(found, e.Name())
		}
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s holds %s: remove all but one", dir, strings.Join(found, " and "))
	}
	return strings.Join(found, ""), nil
}

// Holds reports whether a directory is to be checked as a result: it has files of a result,
// of this program or another, and is not a store.
func Holds(fsys vfs.FS, dir string) bool {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return false
	}
	result := false
	for _, e := range entries {
		name := e.Name()
		if name == csr.ManifestName {
			return false
		}
		made := slices.Contains([]string{folder.Vectors, folder.Projection().File, folder.Alignment().File}, name)
		result = result || made || layout.OfResult(name) && !layout.OfNames(name) // stores have ids, too
	}
	for array := range arrayNames {
		if name, err := findArray(entries, dir, array); name != "" || err != nil {
			return true
		}
	}
	return result
}

func (x *arrays) all() []*npy.Matrix {
	return slices.DeleteFunc([]*npy.Matrix{x.sigma, x.u, x.v}, func(m *npy.Matrix) bool { return m == nil })
}

func (x *arrays) close() (err error) {
	for _, m := range x.all() {
		err = errors.Join(err, m.Close())
	}
	return err
}

// open opens the arrays of a directory. It calls problem with the error of a file that cannot be read as an array.
func (x *arrays) open(fsys vfs.FS, dir string, entries []fs.DirEntry, problem func(error) error) error {
	for _, a := range []struct {
		name string
		to   **npy.Matrix
	}{{"sigma", &x.sigma}, {"u", &x.u}, {"v", &x.v}} {
		name, err := findArray(entries, dir, a.name)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		m, err := npy.Open(fsys, filepath.Join(dir, name))
		if err != nil {
			if err := problem(err); err != nil {
				return err
			}
			continue
		}
		switch strings.ToLower(name) {
		case "vt.npy", "vh.npy":
			m.Transpose()
		}
		*a.to = m
	}
	return nil
}

// maxTriplets is the largest number of values that are read into memory.
const maxTriplets = 1 << 22

// signed reports whether the values are eigenvalues with signs.
func (x *arrays) signed() bool {
	return x.sigma != nil && strings.ToLower(filepath.Base(x.sigma.Name())) == factor.LambdaFile
}

func (x *arrays) values() ([]float64, error) {
	m := x.sigma
	if m.Rows == 1 && m.Cols > 1 { // a row
		m.Transpose()
	}
	if m.Cols != 1 || m.Rows > maxTriplets {
		return nil, fmt.Errorf("%s: shape %s: want a list of singular values: %w", m.Name(), m.Shape(), npy.ErrFormat)
	}
	col := mat.NewDense(int(m.Rows), 1, nil)
	err := m.ReadRows(0, 0, col)
	return col.RawMatrix().Data, err
}

// fits compares the shapes of the arrays with each other and with those of a matrix. A side
// of 0 rows or columns is not compared.
func (x *arrays) fits(rows, cols, k int64) error {
	for _, c := range []struct {
		m    *npy.Matrix
		rows int64
		what string
	}{{x.u, rows, "rows"}, {x.v, cols, "columns"}} {
		switch {
		case c.m == nil:
		case c.m.Cols != k:
			return fmt.Errorf("%s: shape %s: want %d vectors, as there are singular values", c.m.Name(), c.m.Shape(), k)
		case c.rows > 0 && c.m.Rows != c.rows:
			return fmt.Errorf("%s: shape %s: its vectors have %d entries, the matrix has %d %s", c.m.Name(), c.m.Shape(), c.m.Rows, c.rows, c.what)
		}
	}
	return nil
}

// descending returns the indices of the values, that of the largest value first.
func descending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	return order
}

// sorted returns an error unless values can be singular values: none is negative, and they
// are in descending order or, if ascending is true, in ascending order.
func sorted(name string, values []float64, ascending bool) error {
	for i, v := range values {
		if v < 0 {
			return fmt.Errorf("%s: value %d is %g: singular values are not negative", name, i, v)
		}
		if i > 0 && v > values[i-1] && !(ascending && slices.IsSorted(values)) {
			return fmt.Errorf("%s: value %d is %g, larger than the one before: want them in descending order", name, i, v)
		}
	}
	return nil
}
