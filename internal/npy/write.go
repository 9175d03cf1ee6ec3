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
	// chunkBytes is how much is encoded before one system call.
	chunkBytes = 1 << 20
)

// HeaderOf returns the bytes before the data of an array of the given shape in C order, whose elements are descr, "<f8" for float64.
func HeaderOf(descr string, shape ...int64) []byte {
	tuple := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		tuple += ","
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	// Magic, a version, a two-byte length, the dictionary, spaces and a newline fill whole alignments.
	fixed := len(Magic) + 4
	size := (fixed + len(dict) + 1 + alignment - 1) / alignment * alignment
	b := binary.LittleEndian.AppendUint16([]byte(Magic+"\x01\x00"), uint16(size-fixed))
	return fmt.Appendf(b, "%-*s\n", size-fixed-1, dict)
}

// Array is a rows×cols array in a file that is being written. Its rows may be
// written and read back in any order, so it serves a solver as the place of
// the long singular vectors. It is not safe for concurrent use.
type Array struct {
	f          vfs.File
	rows, cols int64
	head       []byte // what the file begins with
	buf        []byte

	sum  Sum   // of the header and the first next rows, as they were written last
	next int64 // −1: rows were written out of order
}

type Sum = crc.Summer

// Create makes a new file holding an array of one dimension, whose numbers are its rows, or two.
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

// WriteRows stores rows as rows first, first+1, … of the array.
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

// summed takes chunk, which is written at off, into the checksum: a sweep from the
// first row to the last leaves that of the file.
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

// Share lets other processes write the rows, each some by OpenPart: until Join the file begins with mark, of at most 64 bytes, by which they know it.
func (a *Array) Share(mark string) error {
	_, err := a.f.WriteAt([]byte(mark), 0)
	return err
}

// OpenPart opens an array that is shared, to write rows from first on, in ascending order. A file that does not begin with mark is an error.
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

// FinishPart makes what has been written durable, closes the array, and returns the sums of it; the first row's begin with those of the header.
func (a *Array) FinishPart() (Sum, error) {
	return a.sum, cmp.Or(a.f.Sync(), a.f.Close())
}

// Join takes in the sums of rows that others have written, from those that have been joined up to next; the first ones have the header, which is written.
func (a *Array) Join(next int64, sums crc.Pieces) error {
	var err error
	if a.next = next; a.sum.Size == int64(len(a.head)) {
		_, err = a.f.WriteAt(a.head, 0)
		a.sum = Sum{}
	}
	a.sum.Join(int64(len(a.head))+8*next*a.cols, sums)
	return err
}

// Finish makes the array durable, closes it, and returns the size and checksums of
// the file. An array whose last row was never written is an error.
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

// Discard closes the array without finishing it; the file stays.
func (a *Array) Discard() error { return a.f.Close() }

// WriteMatrix makes a new file holding m. passed, unless nil, is called with the
// rows of m that have been written.
func WriteMatrix(fsys vfs.FS, name string, m *mat.Dense, passed func(rows *mat.Dense)) (Sum, error) {
	r, c := m.Dims()
	return writeAll(fsys, name, m, passed, int64(r), int64(c))
}

// WriteVector makes a new file holding the one-dimensional array x.
func WriteVector(fsys vfs.FS, name string, x []float64) (Sum, error) {
	m := new(mat.Dense)
	if len(x) > 0 { // NewDense makes none that is empty
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
		if err := fault.Guard(func() error { return a.WriteRows(int64(i), rows) }); err != nil { // they may lie in a file
			_ = a.Discard() // the write is the error to report
			return Sum{}, err
		}
		if passed != nil {
			passed(rows)
		}
	}
	return a.Finish()
}
