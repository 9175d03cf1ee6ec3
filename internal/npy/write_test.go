package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/must"
)

// parse reads a file by the description of the format, independently of the package.
func parse(t interface{ Fatalf(string, ...any) }, name string) (shape string, data []float64) {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if !bytes.HasPrefix(b, []byte("\x93NUMPY")) || b[6] != 1 || b[7] != 0 {
		t.Fatalf("magic or version: % x", b[:8])
	}
	n := int(binary.LittleEndian.Uint16(b[8:]))
	if (10+n)%64 != 0 {
		t.Fatalf("data begin at %d, not on a multiple of 64", 10+n)
	}
	head := string(b[10 : 10+n])
	if !strings.HasSuffix(head, "\n") {
		t.Fatalf("header does not end its line: %q", head)
	}
	_, shape, _ = strings.Cut(strings.TrimSpace(head), "'shape': ")
	prefix := "{'descr': '<f8', 'fortran_order': False, "
	if !strings.HasPrefix(head, prefix) || !strings.HasSuffix(shape, ", }") {
		t.Fatalf("header %q", head)
	}
	rest := b[10+n:]
	if len(rest)%8 != 0 {
		t.Fatalf("%d bytes of data", len(rest))
	}
	for i := 0; i < len(rest); i += 8 {
		data = append(data, math.Float64frombits(binary.LittleEndian.Uint64(rest[i:])))
	}
	return strings.TrimSuffix(shape, ", }"), data
}

// checkSum compares a Sum with that of the bytes in the file.
func checkSum(t interface{ Fatalf(string, ...any) }, name string, sum Sum) {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	want := Sum{Size: int64(len(b)), CRC: crc.Sum(crc32.Checksum(b, table))}
	for piece := range slices.Chunk(b, 1<<20) {
		want.Pieces = append(want.Pieces, crc.Sum(crc32.Checksum(piece, table)))
	}
	if !reflect.DeepEqual(sum, want) {
		t.Fatalf("sum %+v, want %+v", sum, want)
	}
}

func TestVector(t *testing.T) {
	for _, x := range [][]float64{{}, {1.5}, {3, math.Copysign(0, -1), math.Inf(1), math.NaN(), 5e-324}} {
		name := filepath.Join(t.TempDir(), "x.npy")
		sum := must.Get(WriteVector(vfs.OS(), name, x))(t)
		checkSum(t, name, sum)
		shape, got := parse(t, name)
		if want := fmt.Sprintf("(%d,)", len(x)); shape != want {
			t.Errorf("shape %s, want %s", shape, want)
		}
		if len(got) != len(x) {
			t.Fatalf("%d numbers, want %d", len(got), len(x))
		}
		for i := range x {
			if math.Float64bits(got[i]) != math.Float64bits(x[i]) {
				t.Errorf("entry %d is %v, want %v", i, got[i], x[i])
			}
		}
	}
}

func TestHeaderIsAlwaysAligned(t *testing.T) {
	for _, shape := range [][]int64{{1}, {1 << 62}, {1, 1}, {1 << 40, 999}, {1 << 62, 1 << 62}} {
		h := HeaderOf("<f8", shape...)
		if len(h)%64 != 0 || h[len(h)-1] != '\n' {
			t.Errorf("shape %v: header of %d bytes ends in %q", shape, len(h), h[len(h)-1])
		}
	}
}

// TestArrayRoundTrip writes rows in pieces of any size, from views with a stride, and reads them back.
func TestArrayRoundTrip(t *testing.T) {
	dir := t.TempDir()
	files := 0
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 300).Draw(t, "rows")
		cols := rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "cols")
		files++
		name := filepath.Join(dir, fmt.Sprint(files))
		a := must.Get(Create(vfs.OS(), name, int64(rows), int64(cols)))(t)
		wide := mat.NewDense(rows, cols+2, nil) // rows of a view are not contiguous
		for i := range rows {
			for j := range cols {
				wide.Set(i, j+1, float64(i*cols+j))
			}
		}
		for first := 0; first < rows; {
			n := rapid.IntRange(1, rows-first).Draw(t, "piece")
			must.Do(t, a.WriteRows(int64(first), wide.Slice(first, first+n, 1, cols+1).(*mat.Dense)))
			first += n
		}
		from := rapid.IntRange(0, rows-1).Draw(t, "from")
		back := mat.NewDense(rows-from, cols, nil)
		must.Do(t, a.ReadRows(int64(from), back))
		if !mat.Equal(back, wide.Slice(from, rows, 1, cols+1)) {
			t.Fatalf("rows from %d came back different", from)
		}
		if rapid.Bool().Draw(t, "again") { // out of order
			must.Do(t, a.WriteRows(int64(from), back))
		}
		sum := must.Get(a.Finish())(t)
		checkSum(t, name, sum)
		shape, data := parse(t, name)
		if want := fmt.Sprintf("(%d, %d)", rows, cols); shape != want || len(data) != rows*cols {
			t.Fatalf("shape %s with %d numbers, want %s", shape, len(data), want)
		}
		for i, v := range data {
			if v != float64(i) {
				t.Fatalf("number %d is %v", i, v)
			}
		}
	})
}

func TestFinishRefusesMissingRows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.npy")
	a := must.Get(Create(vfs.OS(), name, 5, 2))(t)
	must.Do(t, a.WriteRows(0, mat.NewDense(4, 2, nil)))
	if _, err := a.Finish(); err == nil || !strings.Contains(err.Error(), "rows are missing") {
		t.Errorf("error %v, want one that says rows are missing", err)
	}
}

func TestRowsOutsideTheArrayPanic(t *testing.T) {
	a := must.Get(Create(vfs.OS(), filepath.Join(t.TempDir(), "x.npy"), 5, 2))(t)
	defer a.Discard()
	for _, c := range []struct{ first, rows, cols int }{{0, 6, 2}, {3, 3, 2}, {-1, 1, 2}, {0, 1, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d×%d rows at %d were taken", c.rows, c.cols, c.first)
				}
			}()
			_ = a.WriteRows(int64(c.first), mat.NewDense(c.rows, c.cols, nil))
		}()
	}
}

// TestParts checks that an array written by several parts has the bytes and sums of one written at once; unshared
// arrays are not changed.
func TestParts(t *testing.T) {
	const rows, cols = 70_000, 5
	x := mat.NewDense(rows, cols, nil)
	for i := range rows {
		x.Set(i, i%cols, float64(i))
	}
	dir := t.TempDir()
	want := must.Get(WriteMatrix(vfs.OS(), filepath.Join(dir, "one"), x, nil))(t)
	name := filepath.Join(dir, "many")
	a := must.Get(Create(vfs.OS(), name, rows, cols))(t)
	must.Do(t, a.Share("mark"))
	cuts, sums := []int{0, 1, 30_000, rows}, [3]crc.Pieces{}
	for _, i := range []int{2, 0, 1, 2} { // the last one twice
		part := must.Get(OpenPart(vfs.OS(), name, "mark", int64(cuts[i]), rows, cols))(t)
		must.Do(t, part.WriteRows(int64(cuts[i]), x.Slice(cuts[i], cuts[i+1], 0, cols).(*mat.Dense)))
		sums[i] = must.Get(part.FinishPart())(t).Pieces
	}
	for i, s := range sums {
		must.Do(t, a.Join(int64(cuts[i+1]), s))
	}
	if got := must.Get(a.Finish())(t); !reflect.DeepEqual(got, want) {
		t.Errorf("sums %v, want %v", got, want)
	}
	if one, many := must.Get(os.ReadFile(filepath.Join(dir, "one")))(t), must.Get(os.ReadFile(name))(t); !bytes.Equal(one, many) {
		t.Error("other bytes")
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "short"), []byte("ma"), 0o666))
	for _, other := range []string{"one", "many", "short", "none"} {
		if _, err := OpenPart(vfs.OS(), filepath.Join(dir, other), "mark", 0, rows, cols); err == nil {
			t.Errorf("%s is written into", other)
		}
	}
}
