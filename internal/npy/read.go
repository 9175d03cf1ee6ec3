package npy

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Matrix is an array of one or two dimensions in a file that is open for reading. An array of one dimension is one column. A
// Matrix is not safe for concurrent use.
type Matrix struct {
	Rows, Cols int64
	Dims       int

	f          vfs.File
	data, size int64 // offset of the first entry; bytes of the file
	item       int64 // bytes of an entry
	down, over int64 // entries from one row to the next, from one column to the next
	buf        []byte
}

// Open opens an array of float32 or float64 as numpy.save writes it.
func Open(fsys vfs.FS, name string) (*Matrix, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return New(f)
}

// New returns the array in an open file, as Open does. Close of the array closes f; New closes f if it returns an error.
func New(f vfs.File) (*Matrix, error) {
	m := &Matrix{f: f}
	if err := m.readHeader(); err != nil {
		_ = f.Close() // the file was only read
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return m, nil
}

func (m *Matrix) readHeader() error {
	h, err := ReadHeader(io.NewSectionReader(m.f, 0, math.MaxInt64))
	if err != nil {
		return err
	}
	switch h.Descr {
	case "<f8":
		m.item = 8
	case "<f4":
		m.item = 4
	default:
		return badly("its entries are '%.20s'; save them as numbers of '<f8' or '<f4', with numpy.save(file, x.astype('<f8'))", h.Descr)
	}
	m.data, m.Dims = h.Size, len(h.Shape)
	m.Cols, m.over, m.down = 1, 1, 1
	switch m.Dims {
	case 1:
		m.Rows = h.Shape[0]
	case 2:
		m.Rows, m.Cols = h.Shape[0], h.Shape[1]
		m.down = m.Cols
		if h.Fortran {
			m.over, m.down = m.Rows, 1
		}
	default:
		return badly("an array of %d dimensions: want one of one or two", m.Dims)
	}
	info, err := m.f.Stat()
	if err != nil {
		return err
	}
	m.size = info.Size()
	entries := (m.size - m.data) / m.item
	if m.Rows < 1 || m.Cols < 1 || m.Cols > math.MaxInt32 || m.Rows > entries/m.Cols || m.size != m.data+m.item*m.Rows*m.Cols {
		return badly("%d bytes for an array of %s", m.size, m.Shape())
	}
	return nil
}

// Shape returns the shape as text, "1000×10" or "10".
func (m *Matrix) Shape() string {
	if m.Dims == 1 {
		return strconv.FormatInt(m.Rows*m.Cols, 10)
	}
	return fmt.Sprintf("%d×%d", m.Rows, m.Cols)
}

func (m *Matrix) Size() int64  { return m.size }
func (m *Matrix) Name() string { return m.f.Name() }
func (m *Matrix) Transpose()   { m.Rows, m.Cols, m.down, m.over = m.Cols, m.Rows, m.over, m.down }

// ReadRows fills rows with the entries of rows first, first+1, … from the given column on.
func (m *Matrix) ReadRows(first int64, column int, rows *mat.Dense) error {
	n, c := rows.Dims()
	if first < 0 || first+int64(n) > m.Rows || column < 0 || int64(column+c) > m.Cols {
		panic(fmt.Sprintf("npy: %d×%d at (%d, %d) of a %d×%d array", n, c, first, column, m.Rows, m.Cols))
	}
	if m.over == 1 { // rows are contiguous
		from, entries := int64(0), m.Cols
		if m.Cols > chunkBytes/m.item { // a row of the file may not fit in memory: only the columns asked for are read
			from, entries = int64(column), int64(c)
		}
		return m.strips(n, entries, func(i int) int64 { return (first+int64(i))*m.down + from }, func(i int, strip []byte) {
			m.decode(rows.RawRowView(i), strip[(int64(column)-from)*m.item:], 1)
		})
	}
	raw := rows.RawMatrix()
	for j := range c {
		err := m.strips(1, int64(n), func(int) int64 { return (int64(column+j))*m.over + first }, func(_ int, strip []byte) {
			m.decode(raw.Data[j:(n-1)*raw.Stride+j+1], strip, raw.Stride)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// strips reads n strips of the given number of entries, where strip i starts at entry at(i), and calls do with each. Strips
// that are whole, contiguous rows are read together.
func (m *Matrix) strips(n int, entries int64, at func(i int) int64, do func(i int, strip []byte)) error {
	width := entries * m.item
	together := 1
	if entries == m.Cols {
		together = int(max(1, chunkBytes/width))
	}
	if need := int64(min(n, together)) * width; int64(len(m.buf)) < need {
		m.buf = make([]byte, need)
	}
	for i := 0; i < n; i += together {
		count := min(together, n-i)
		b := m.buf[:int64(count)*width]
		if _, err := m.f.ReadAt(b, m.data+at(i)*m.item); err != nil {
			return fmt.Errorf("read %s: %w", m.f.Name(), err)
		}
		for s := range count {
			do(i+s, b[int64(s)*width:][:width])
		}
	}
	return nil
}

func (m *Matrix) decode(dst []float64, b []byte, stride int) {
	for i, at := 0, 0; i < len(dst); i, at = i+stride, at+int(m.item) {
		dst[i] = m.number(b[at:])
	}
}

func (m *Matrix) number(b []byte) float64 {
	if m.item == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// Each calls do with the first columns of every row, in order. row is valid during the call only. An entry that is NaN or
// infinite is an error.
func (m *Matrix) Each(ctx context.Context, columns int, do func(i int64, row []float64)) error {
	read := func(first int64, rows *mat.Dense) error { return m.ReadRows(first, 0, rows) }
	w := Window{N: m.Rows, Most: max(1, chunkBytes/8/m.Cols), K: columns, Read: read}
	return w.Each(ctx, func(first int64, rows *mat.Dense) error {
		for i := range rows.RawMatrix().Rows {
			row := rows.RawRowView(i)
			for j, v := range row {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("read %s: %w", m.f.Name(), m.notFinite(first+int64(i), int64(j), v))
				}
			}
			do(first+int64(i), row)
		}
		return nil
	})
}

func (m *Matrix) notFinite(i, j int64, v float64) error {
	return badly("entry (%d, %d) at byte %d is %v", i, j, m.data+(i*m.down+j*m.over)*m.item, v)
}

// Scan reads the file once from its first byte to its last and calls visit, unless it is nil, with each chunk. If an entry
// is not finite Scan still reads to the end, and returns an error about the first such entry.
func (m *Matrix) Scan(ctx context.Context, visit func(chunk []byte)) error {
	var bad error
	b := make([]byte, chunkBytes)
	for at := int64(0); at < m.size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := b[:min(int64(len(b)), m.size-at)]
		if at < m.data { // every chunk of data begins at an entry
			part = part[:min(int64(len(part)), m.data-at)]
		}
		if _, err := m.f.ReadAt(part, at); err != nil {
			return fmt.Errorf("read %s: %w", m.f.Name(), err)
		}
		if visit != nil {
			visit(part)
		}
		if at >= m.data && bad == nil {
			bad = m.finite((at-m.data)/m.item, part)
		}
		at += int64(len(part))
	}
	return bad
}

// finite returns an error about the first entry of b that is not finite. b begins with entry number first of the file.
func (m *Matrix) finite(first int64, b []byte) error {
	for at := int64(0); at < int64(len(b)); at += m.item {
		if v := m.number(b[at:]); v-v != 0 {
			e := first + at/m.item
			if m.over == 1 {
				return m.notFinite(e/m.Cols, e%m.Cols, v)
			}
			return m.notFinite(e%m.over, e/m.over, v)
		}
	}
	return nil
}

func (m *Matrix) Close() error { return m.f.Close() }
