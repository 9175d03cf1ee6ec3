package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
)

func TestExport(t *testing.T) {
	var rows [][]csrtest.Entry
	ptr, ind, data := []int32{0}, []int32{}, []float64{}
	for i := range 70000 { // more than a block
		var row []csrtest.Entry
		for j := i % 3; j < 7; j += 3 {
			row = append(row, csrtest.Entry{Col: uint32(j), Val: float64(i % 11)})
			ind, data = append(ind, int32(j)), append(data, float64(i%11))
		}
		rows, ptr = append(rows, row), append(ptr, int32(len(ind)))
	}
	s := csrtest.Build(t, 7, rows, csr.CreateOptions{})
	if s.NumBlocks() < 2 {
		t.Fatal("one block only")
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := export(s.Path(), dir); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(array[int32](t, dir, "indptr.i32"), ptr) || !slices.Equal(array[int32](t, dir, "indices.i32"), ind) ||
		!slices.Equal(array[float64](t, dir, "data.f64"), data) {
		t.Error("the arrays are not those of the matrix")
	}
}

func array[T int32 | float64](t *testing.T, dir, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	a := make([]T, info.Size()/int64(binary.Size(T(0))))
	if err := binary.Read(f, binary.LittleEndian, a); err != nil {
		t.Fatal(err)
	}
	return a
}
