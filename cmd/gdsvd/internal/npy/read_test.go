package npy

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

func TestReadBack(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {3, 5}, {200_000, 1}, {2, 200_000}, {40_000, 7}} {
		m := mat.NewDense(shape[0], shape[1], nil)
		for i, d := 0, m.RawMatrix().Data; i < len(d); i++ {
			d[i] = math.Sin(float64(i))
		}
		name := filepath.Join(t.TempDir(), "m.npy")
		if err := WriteMatrix(vfs.OS, name, m, nil); err != nil {
			t.Fatal(err)
		}
		for _, columns := range []int{1, shape[1]} {
			r, err := Open(vfs.OS, name)
			if err != nil {
				t.Fatal(err)
			}
			if r.Rows != int64(shape[0]) || r.Cols != int64(shape[1]) {
				t.Errorf("%d×%d, want %v", r.Rows, r.Cols, shape)
			}
			next := int64(0)
			err = r.Each(columns, func(i int64, row []float64) {
				if i != next || !slices.Equal(row, m.RawRowView(int(i))[:columns]) {
					t.Fatalf("row %d is wrong", i)
				}
				next++
			})
			if err = errors.Join(err, r.Close()); err != nil || next != r.Rows {
				t.Errorf("%d rows, %v", next, err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.npy")
	if err := WriteMatrix(vfs.OS, name, mat.NewDense(2, 2, []float64{1, 2, 3, math.NaN()}), nil); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(vfs.OS, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Each(2, func(int64, []float64) {}); err == nil || !strings.Contains(err.Error(), "entry (1, 1) is NaN") {
		t.Errorf("a NaN: got %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	put := func(old, new string) []byte { return bytes.Replace(good, []byte(old), []byte(new), 1) }
	for what, b := range map[string][]byte{
		"empty":        {},
		"cut magic":    good[:7],
		"cut header":   good[:40],
		"cut data":     good[:len(good)-1],
		"more data":    append(slices.Clone(good), 0),
		"version 2":    append([]byte("\x93NUMPY\x02"), good[7:]...),
		"not an array": []byte("%%MatrixMarket matrix array real general"),
		"float32":      put("<f8", "<f4"),
		"fortran":      put("False", "True "),
		"shape":        put("(2, 2)", "(4, 2)"),
		"huge shape":   put("(2, 2), }    ", "(9999999999999999999, 2), }"),
		"no shape":     put("(2, 2)", "(4,) "),
		"zero":         put("(2, 2)", "(0, 2)"),
	} {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := Open(vfs.OS, name); err == nil {
			t.Errorf("%s: opened as %d×%d", what, r.Rows, r.Cols)
		}
	}
	if _, err := Open(vfs.OS, name+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}
