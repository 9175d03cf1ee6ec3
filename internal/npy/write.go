package npy

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/fault"
)

const (
	alignment = 64
	// chunkBytes is about the number of bytes of one system call.
	chunkBytes = 1 << 20
)

// HeaderOf returns the bytes before the data of an array in C order. descr is the type of its elements, "<f8" for float64.
func HeaderOf(descr string, shape ...int64) []byte {
	tuple := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		tuple += ","
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	// The size of magic, version, two-byte length, dictionary, spaces and newline is a multiple of alignment.
	fixed := len(Magic) + 4
	size := (fixed + len(dict) + 1 + alignment - 1) / alignment * alignment
	b := binary.LittleEndian.AppendUint16([]byte(Magic+"\x01\x00"), uint16(size-fixed))
	return fmt.Appendf(b, "%-*s\n", size-fixed-1, dict)
}

// Array is a rows×cols array in a file that is open for writing. Its rows may be written and read back in any order, so that
// a solver can keep the long singular vectors in it. It is not safe for concurrent use.
type Array struct {
	f          vfs.File
	rows, cols int64
	head       []byte // bytes before the data
	buf        []byte

	sum  Sum   // of the header and rows 0 to next−1, as they were written last
	next int64 // row after those in sum; −1: rows were written out of order
}

type Sum = crc.Summer

// Create creates a file for an array of one or two dimensions. The numbers of an array of one dimension are its rows.
func Create(fsys vfs.FS, name string, shape ...int64) (*Array, error) {
	f, err := fsys.Create(name)
	if err != nil {
		return nil, err
	}
	head := HeaderOf("<f8", shape...)
	if _, err := f.WriteAt(head, 0); err != nil {
		_ = f.Close() // the write is the error to report
		return nil, err
	}
	a := &Array{f: f, rows: shape[0], cols: 1, head: head}
	if len(shape) > 1 {
		a.cols = shape[1]
	}
	_, _ = a.sum.Write(head)
	return a, nil
}

// WriteRows writes rows as rows first, first+1, … of the array.
func (a *Array) WriteRows(first int64, rows *mat.Dense) error {
	n, c := rows.Dims()
	if int64(c) != a.cols || first < 0 || first+int64(n) > a.rows {
		panic(fmt.Sprintf("npy: %d×%d rows at %d of a %d×%d array", n, c, first, a.rows, a.cols))
	}
	width := 8 * c
	step := max(1, chunkBytes/width)
	if need := min(step, n) * width; len(a.buf) < need {
		a.buf = make([]byte, need)
	}
	for i := 0; i < n; i += step {
		chunk := a.buf[:min(step, n-i)*width]
		for at := 0; at < len(chunk); at += width {
			for j, v := range rows.RawRowView(i + at/width) {
				binary.LittleEndian.PutUint64(chunk[at+8*j:], math.Float64bits(v))
			}
		}
		off := int64(len(a.head)) + (first+int64(i))*int64(width)
		a.summed(off, chunk)
		if _, err := a.f.WriteAt(chunk, off); err != nil {
			return err
		}
	}
	return nil
}

// summed adds chunk, which is written at off, to the checksum. After a sweep from the first row to the last sum is the
// checksum of the file.
func (a *Array) summed(off int64, chunk []byte) {
	row := (off - int64(len(a.head))) / (8 * a.cols)
	switch {
	case row == 0:
		a.sum = Sum{}
		_, _ = a.sum.Write(a.head)
	case row != a.next:
		a.next = -1
		return
	}
	_, _ = a.sum.Write(chunk)
	a.next = row + int64(len(chunk))/(8*a.cols)
}

func (a *Array) Name() string { return a.f.Name() }

func (a *Array) ReadRows(first int64, rows *mat.Dense) error {
	m := Matrix{Rows: a.rows, Cols: a.cols, f: a.f, data: int64(len(a.head)), item: 8, down: a.cols, over: 1, buf: a.buf}
	err := m.ReadRows(first, 0, rows)
	a.buf = m.buf
	return err
}

// Share lets other processes write parts of the rows with OpenPart. Until Join the file begins with mark, at most 64 bytes.
func (a *Array) Share(mark string) error {
	_, err := a.f.WriteAt([]byte(mark), 0)
	return err
}

// OpenPart opens a shared array to write rows from first on, in ascending order. A file that does not begin with mark is an
// error.
func OpenPart(fsys vfs.FS, name, mark string, first int64, shape ...int64) (*Array, error) {
	f, err := fsys.Update(name)
	if err != nil {
		return nil, err
	}
	begin := make([]byte, len(mark))
	if _, err = f.ReadAt(begin, 0); err == nil && string(begin) != mark {
		err = fmt.Errorf("%s is another file than the one that is shared", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a := &Array{f: f, rows: shape[0], cols: shape[1], head: HeaderOf("<f8", shape...), next: first}
	if first > 0 {
		a.sum.Size = int64(len(a.head)) + 8*first*a.cols
	}
	return a, nil
}

// FinishPart makes the written rows durable, closes the array, and returns their checksums, with the header if first was 0.
func (a *Array) FinishPart() (Sum, error) {
	return a.sum, cmp.Or(a.f.Sync(), a.f.Close())
}

// Join adds the checksums of the next rows, up to row next, that others have written. The first Join writes the header.
func (a *Array) Join(next int64, sums crc.Pieces) error {
	var err error
	if a.next = next; a.sum.Size == int64(len(a.head)) {
		_, err = a.f.WriteAt(a.head, 0)
		a.sum = Sum{}
	}
	a.sum.Join(int64(len(a.head))+8*next*a.cols, sums)
	return err
}

// Finish makes the array durable, closes it, and returns the size and checksums of the file. It returns an error if the last
// row was never written.
func (a *Array) Finish() (Sum, error) {
	s, size := a.sum, int64(len(a.head))+8*a.rows*a.cols
	info, err := a.f.Stat()
	if err == nil && info.Size() != size {
		err = fmt.Errorf("write %s: %d bytes instead of %d: rows are missing", a.f.Name(), info.Size(), size)
	}
	if err == nil && a.next != a.rows {
		s = Sum{}
		if _, err = io.Copy(&s, io.NewSectionReader(a.f, 0, size)); err != nil {
			err = fmt.Errorf("read %s: %w", a.f.Name(), err)
		}
	}
	if err == nil {
		err = a.f.Sync()
	}
	return s, cmp.Or(err, a.f.Close())
}

// Discard closes the array without finishing it; it does not remove the file.
func (a *Array) Discard() error { return a.f.Close() }

// WriteMatrix creates a file that holds m. It calls passed, unless passed is nil, with the rows of m after they are written.
func WriteMatrix(fsys vfs.FS, name string, m *mat.Dense, passed func(rows *mat.Dense)) (Sum, error) {
	r, c := m.Dims()
	return writeAll(fsys, name, m, passed, int64(r), int64(c))
}

// WriteVector creates a file that holds the one-dimensional array x.
func WriteVector(fsys vfs.FS, name string, x []float64) (Sum, error) {
	m := new(mat.Dense)
	if len(x) > 0 { // NewDense panics if len(x) is 0
		m = mat.NewDense(len(x), 1, x)
	}
	return writeAll(fsys, name, m, nil, int64(len(x)))
}

func writeAll(fsys vfs.FS, name string, m *mat.Dense, passed func(*mat.Dense), shape ...int64) (Sum, error) {
	a, err := Create(fsys, name, shape...)
	if err != nil {
		return Sum{}, err
	}
	r, c := m.Dims()
	for i, step := 0, max(1, chunkBytes/8/max(1, c)); i < r; i += step {
		rows := m.Slice(i, min(r, i+step), 0, c).(*mat.Dense)
		if err := fault.Guard(func() error { return a.WriteRows(int64(i), rows) }); err != nil { // m may be mapped from a file
			_ = a.Discard() // the write is the error to report
			return Sum{}, err
		}
		if passed != nil {
			passed(rows)
		}
	}
	return a.Finish()
}
