package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Matrix is a two-dimensional array of float64 in a file that is being read.
type Matrix struct {
	Rows, Cols int64
	a          Array
}

// The dictionary that this package writes, as NumPy may space it.
var dictionary = regexp.MustCompile(`^\{'descr': '<f8', 'fortran_order': False, 'shape': \((\d+), *(\d+)\),? *\} *\n$`)

// Open opens a two-dimensional array of float64 in C order, as this package and
// numpy.save write it.
func Open(fsys vfs.FS, name string) (*Matrix, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	m := &Matrix{a: Array{f: f}}
	if err := m.readHeader(); err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return m, nil
}

func (m *Matrix) readHeader() error {
	const fixed = len(magic) + 2
	var b [fixed]byte
	if _, err := io.ReadFull(m.a.f, b[:]); err != nil {
		return fmt.Errorf("header cut short: %w", err)
	}
	if string(b[:len(magic)]) != magic {
		return fmt.Errorf("it is not an array in format 1.0 of NumPy")
	}
	dict := make([]byte, binary.LittleEndian.Uint16(b[len(magic):]))
	if _, err := io.ReadFull(m.a.f, dict); err != nil {
		return fmt.Errorf("header cut short: %w", err)
	}
	shape := dictionary.FindSubmatch(dict)
	if shape == nil {
		return fmt.Errorf("header %.100q: want a two-dimensional array of '<f8' in C order", dict)
	}
	var err error
	if m.Rows, err = strconv.ParseInt(string(shape[1]), 10, 64); err != nil {
		return err
	}
	if m.Cols, err = strconv.ParseInt(string(shape[2]), 10, 64); err != nil {
		return err
	}
	info, err := m.a.f.Stat()
	if err != nil {
		return err
	}
	m.a.rows, m.a.cols, m.a.data = m.Rows, m.Cols, int64(fixed+len(dict))
	entries := (info.Size() - m.a.data) / 8
	if m.Rows < 1 || m.Cols < 1 || m.Rows > entries/m.Cols || info.Size() != m.a.data+8*m.Rows*m.Cols {
		return fmt.Errorf("%d bytes for an array of %d×%d", info.Size(), m.Rows, m.Cols)
	}
	return nil
}

// Each calls do with the first so many columns of every row, in order. row is
// valid during the call only. NaN and infinities are errors.
func (m *Matrix) Each(columns int, do func(i int64, row []float64)) error {
	step := max(1, chunkBytes/8/m.Cols)
	buf := mat.NewDense(int(min(step, m.Rows)), int(m.Cols), nil)
	for first := int64(0); first < m.Rows; first += step {
		n := int(min(step, m.Rows-first))
		rows := buf.Slice(0, n, 0, int(m.Cols)).(*mat.Dense)
		if err := m.a.ReadRows(first, rows); err != nil {
			return err
		}
		for i := range n {
			row := rows.RawRowView(i)[:columns]
			for j, v := range row {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("read %s: entry (%d, %d) is %v", m.a.f.Name(), first+int64(i), j, v)
				}
			}
			do(first+int64(i), row)
		}
	}
	return nil
}

// Close closes the file.
func (m *Matrix) Close() error { return m.a.f.Close() }
