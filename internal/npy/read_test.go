package npy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
)

func TestReadBack(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {3, 5}, {200_000, 1}, {2, 200_000}, {40_000, 7}} {
		m := mat.NewDense(shape[0], shape[1], nil)
		for i, d := 0, m.RawMatrix().Data; i < len(d); i++ {
			d[i] = math.Sin(float64(i))
		}
		name := filepath.Join(t.TempDir(), "m.npy")
		must.Get(WriteMatrix(vfs.OS(), name, m, nil))(t)
		for _, columns := range []int{1, shape[1]} {
			r, err := Open(vfs.OS(), name)
			must.Do(t, err)
			if r.Rows != int64(shape[0]) || r.Cols != int64(shape[1]) {
				t.Errorf("%d×%d, want %v", r.Rows, r.Cols, shape)
			}
			next := int64(0)
			err = r.Each(t.Context(), columns, func(i int64, row []float64) {
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
	must.Get(WriteMatrix(vfs.OS(), name, mat.NewDense(2, 2, []float64{1, 2, 3, math.NaN()}), nil))(t)
	good := must.Get(os.ReadFile(name))(t)
	r := must.Get(Open(vfs.OS(), name))(t)
	const nan = "entry (1, 1) at byte 152 is NaN"
	if err := r.Each(t.Context(), 2, func(int64, []float64) {}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), nan) {
		t.Errorf("a NaN: got %v", err)
	}
	seen := 0
	if err := r.Scan(t.Context(), func(b []byte) { seen += len(b) }); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), nan) || seen != len(good) {
		t.Errorf("a NaN, scanned: got %v after %d bytes", err, seen)
	}
	must.Do(t, r.Close())
	put := func(old, new string) []byte { return bytes.Replace(good, []byte(old), []byte(new), 1) }
	for what, b := range map[string][]byte{
		"empty":        {},
		"cut magic":    good[:7],
		"cut header":   good[:40],
		"cut data":     good[:len(good)-1],
		"more data":    append(slices.Clone(good), 0),
		"version 4":    append([]byte("\x93NUMPY\x04"), good[7:]...),
		"long header":  append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), good[10:]...),
		"not an array": []byte("%%MatrixMarket matrix array real general"),
		"float32":      put("<f8", "<f4"),
		"big endian":   put("<f8", ">f8"),
		"integers":     put("<f8", "<i8"),
		"structure":    put("'<f8'", "[('a',"),
		"shape":        put("(2, 2)", "(4, 2)"),
		"huge shape":   put("(2, 2), }    ", "(9999999999999999999, 2), }"),
		"no shape":     put("(2, 2)", "()    "),
		"3 dimensions": put("(2, 2), }   ", "(2, 2, 1), }"),
		"zero":         put("(2, 2)", "(0, 2)"),
	} {
		must.Do(t, os.WriteFile(name, b, 0o666))
		if r, err := Open(vfs.OS(), name); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: opened as %+v, %v", what, r, err)
		}
	}
	if _, err := Open(vfs.OS(), name+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}

// encoded returns an array as numpy.save writes it, independently of the package, by the description of the format.
func encoded(version int, kind string, fortran bool, m *mat.Dense) []byte {
	r, c := m.Dims()
	order := "False"
	if fortran {
		order = "True"
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }\n", kind, order, r, c)
	b := []byte{0x93, 'N', 'U', 'M', 'P', 'Y', byte(version), 0}
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	b = append(b, text...)
	for i := range r * c {
		v := m.At(i/c, i%c)
		if fortran {
			v = m.At(i%r, i/r)
		}
		if kind == "<f4" {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

// TestReadLayouts checks that every layout gives the same rows, in pieces of any size, transposed or not.
func TestReadLayouts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.npy")
	rapid.Check(t, func(t *rapid.T) {
		r, c := rapid.IntRange(1, 40).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "cols")
		m := mat.NewDense(r, c, nil)
		for i := range r {
			for j := range c {
				m.Set(i, j, float64(i*c+j)+0.5) // exact as a float32
			}
		}
		kind := rapid.SampledFrom([]string{"<f4", "<f8"}).Draw(t, "kind")
		version := rapid.IntRange(1, 3).Draw(t, "version")
		must.Do(t, os.WriteFile(name, encoded(version, kind, rapid.Bool().Draw(t, "fortran"), m), 0o666))
		a := must.Get(Open(vfs.OS(), name))(t)
		defer a.Close()
		var want mat.Matrix = m
		if rapid.Bool().Draw(t, "transpose") {
			a.Transpose()
			want = m.T()
		}
		must.Do(t, a.Scan(context.Background(), nil))
		rows, cols := want.Dims()
		from, column := rapid.IntRange(0, rows-1).Draw(t, "from"), rapid.IntRange(0, cols-1).Draw(t, "column")
		to, end := rapid.IntRange(from+1, rows).Draw(t, "to"), rapid.IntRange(column+1, cols).Draw(t, "end")
		room := mat.NewDense(rows+2, cols+3, nil).Slice(1, 1+to-from, 2, 2+end-column).(*mat.Dense)
		must.Do(t, a.ReadRows(int64(from), column, room))
		for i := from; i < to; i++ {
			for j := column; j < end; j++ {
				if got := room.At(i-from, j-column); got != want.At(i, j) {
					t.Fatalf("entry (%d, %d) is %v, want %v", i, j, got, want.At(i, j))
				}
			}
		}
	})
}

// TestScanNamesTheEntry: Scan names the row and the column of an entry that is not finite, in arrays of one row and of one
// column as well, in either order, transposed or not.
func TestScanNamesTheEntry(t *testing.T) {
	for _, dims := range [][2]int{{1, 5}, {5, 1}, {2, 5}, {5, 2}} {
		for _, fortran := range []bool{false, true} {
			for _, transposed := range []bool{false, true} {
				i, j := dims[0]-1, dims[1]-1
				m := mat.NewDense(dims[0], dims[1], nil)
				m.Set(i, j, math.NaN())
				name := filepath.Join(t.TempDir(), "m.npy")
				must.Do(t, os.WriteFile(name, encoded(1, "<f8", fortran, m), 0o666))
				a := must.Get(Open(vfs.OS(), name))(t)
				if transposed {
					a.Transpose()
					i, j = j, i
				}
				want := fmt.Sprintf("entry (%d, %d) at byte %d is NaN", i, j, a.Size()-8)
				if err := a.Scan(t.Context(), nil); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, Fortran %v, transposed %v: %v, want %s", dims, fortran, transposed, err, want)
				}
				must.Do(t, a.Close())
			}
		}
	}
}

func TestScanStops(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.npy")
	must.Get(WriteMatrix(vfs.OS(), name, mat.NewDense(1<<20, 1, nil), nil))(t)
	a := must.Get(Open(vfs.OS(), name))(t)
	defer a.Close()
	ctx, cancel := context.WithCancel(context.Background())
	chunks := 0
	if err := a.Scan(ctx, func([]byte) { chunks++; cancel() }); !errors.Is(err, context.Canceled) || chunks != 1 {
		t.Errorf("%v after %d chunks", err, chunks)
	}
}

// TestLongRows checks that only the wanted part of a very long row is read.
func TestLongRows(t *testing.T) {
	const rows, cols = 3, 1 << 21
	name := filepath.Join(t.TempDir(), "x.npy")
	head := HeaderOf("<f8", rows, cols)
	f, err := os.Create(name)
	must.Do(t, err)
	_, err = f.Write(head)
	if err = errors.Join(err, f.Truncate(int64(len(head))+8*rows*cols)); err != nil {
		t.Fatal(err)
	}
	for i := range int64(rows) {
		at := binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(i+1)))
		must.Get(f.WriteAt(at, int64(len(head))+8*(i*cols+5)))(t)
	}
	m, err := Open(vfs.OS(), name)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	some := mat.NewDense(rows, 2, nil)
	if err := m.ReadRows(0, 4, some); err != nil || !mat.Equal(some, mat.NewDense(rows, 2, []float64{0, 1, 0, 2, 0, 3})) {
		t.Errorf("%v, %v", some, err)
	}
	err = m.Each(t.Context(), 6, func(i int64, row []float64) {
		if row[5] != float64(i+1) {
			t.Errorf("row %d is %v", i, row)
		}
	})
	if err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes for a few numbers", took)
	}
}

// TestWindowInAnyOrder reads rows of a window in any order.
func TestWindowInAnyOrder(t *testing.T) {
	w := Window{N: 10, Most: 4, K: 1, Read: func(first int64, rows *mat.Dense) error {
		for i := range rows.RawMatrix().Rows {
			rows.Set(i, 0, float64(first)+float64(i))
		}
		return nil
	}}
	for _, i := range []int64{9, 0, 7, 3, 8} {
		if row, err := w.Row(i); err != nil || row[0] != float64(i) {
			t.Errorf("row %d is %v, %v", i, row, err)
		}
	}
}
