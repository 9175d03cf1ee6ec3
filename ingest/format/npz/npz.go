// Package npz reads sparse matrices that scipy.sparse.save_npz wrote, matrices and arrays: CSR, CSC and COO.
//
// The members of the archive, stored or deflated, are read side by side from beginning to end; no member is in memory as a
// whole. Stored entries are kept even when their value is zero. Integers beyond 2⁵³ are rounded to the nearest float64.
package npz

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Format is an archive of NumPy arrays that together are a sparse matrix.
var Format = format.Format{Name: "npz", Sniff: sniff, Open: open}

func sniff(h format.Head) bool {
	const fixed, magic = 30, "PK\x03\x04"
	if len(h.Bytes) < fixed || string(h.Bytes[:len(magic)]) != magic {
		return false
	}
	name := h.Bytes[fixed:]
	name = name[:min(len(name), int(binary.LittleEndian.Uint16(h.Bytes[26:])))]
	return strings.HasSuffix(string(name), suffix)
}

// A reader returns entries in the order of the file. Its lines are the rows of a CSR matrix, the columns of a CSC matrix and
// the rows of a COO matrix.
type reader struct {
	*archive
	lines, across int64 // number of lines, and their length
	byColumn      bool
	minor, data   *member
	major         *member   // of a COO matrix, else nil
	p             *pointers // of a CSR or CSC matrix, else nil
	n, at         int64     // number of entries, and of those already returned
}

func open(in *format.Input) (format.Reader, error) {
	fail := func(err error) (format.Reader, error) { return nil, &format.ParseError{File: in.Name, Err: err} }
	if in.At == nil {
		return fail(fmt.Errorf("an archive of NumPy arrays that cannot be read at any place, as from a pipe, a compressed file or a server that gives no ranges: %w; save it as an uncompressed file and name that", format.ErrUnsupported))
	}
	a, err := openArchive(in)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(a.names(), "format") {
		return fail(fmt.Errorf("no sparse matrix of SciPy but arrays %s: %w; save it with scipy.sparse.save_npz, or read a dense one: unzip -p %s NAME.npy | gdsvd ingest -",
			a.listed(), format.ErrUnsupported, in.Name))
	}
	m, err := a.open("format")
	if err != nil {
		return nil, err
	}
	kind, err := m.text()
	if err != nil {
		return nil, err
	}
	shape, err := a.shape()
	if err != nil {
		return nil, err
	}
	r := &reader{archive: a, lines: shape[0], across: shape[1], byColumn: kind == "csc"}
	if r.byColumn {
		r.lines, r.across = r.across, r.lines
	}
	switch kind {
	case "csr", "csc":
		if r.minor, err = r.vector("indices", true); err == nil {
			r.n = r.minor.len()
			r.p, err = r.openPointers(r.lines, r.n)
		}
	case "coo":
		err = r.openCOO()
	default:
		return fail(fmt.Errorf("a sparse matrix of kind %q: %w; save x.tocsr()", kind, format.ErrUnsupported))
	}
	if err == nil {
		r.data, err = r.vector("data", false)
	}
	if err == nil && r.data.len() != r.n {
		err = r.fail(r.data.name, 0, fmt.Errorf("%w: %d values for %d indices", format.ErrCount, r.data.len(), r.n))
	}
	if err != nil {
		return nil, err
	}
	if err := in.Declare(format.Shape{Rows: shape[0], Cols: shape[1]}); err != nil {
		return fail(err)
	}
	return r, nil
}

func (a *archive) shape() ([]int64, error) {
	m, err := a.vector("shape", true)
	if err != nil {
		return nil, err
	}
	s, err := m.ints(64)
	if err != nil {
		return nil, err
	}
	if len(s) != 2 {
		return nil, a.fail(m.name, 0, fmt.Errorf("a sparse array of %d dimensions: %w; a matrix has 2", len(s), format.ErrUnsupported))
	}
	if s[0] < 0 || s[1] < 0 {
		return nil, a.fail(m.name, 0, fmt.Errorf("%w: shape %d × %d", format.ErrHeader, s[0], s[1]))
	}
	return s, nil
}

func (r *reader) openCOO() (err error) {
	if names := r.names(); !slices.Contains(names, "row") && slices.Contains(names, "coords") {
		return r.openCoords()
	}
	if r.major, err = r.vector("row", true); err != nil {
		return err
	}
	if r.minor, err = r.vector("col", true); err != nil {
		return err
	}
	r.n = r.minor.len()
	if r.n != r.major.len() {
		return r.fail(r.major.name, 0, fmt.Errorf("%w: %d rows and %d columns", format.ErrCount, r.major.len(), r.n))
	}
	return nil
}

func (r *reader) openCoords() (err error) {
	for _, half := range []**member{&r.major, &r.minor} {
		m, err := r.open("coords")
		if err != nil {
			return err
		}
		if err := m.typed(true); err != nil {
			return err
		}
		if s := m.head.Shape; len(s) != 2 || s[0] != 2 || m.head.Fortran {
			return m.fail(m.name, 0, fmt.Errorf("%w: shape %v, want 2 × entries in C order", format.ErrHeader, s))
		}
		r.n, *half = m.head.Shape[1], m
	}
	return r.minor.skip(r.n * int64(r.minor.kind.Size))
}

func (r *reader) position(entry, row int64) format.Position {
	return format.Position{Part: r.data.name, Byte: r.data.head.Size + entry*int64(r.data.kind.Size), Row: row}
}

// runBytes is the size of a run in a chunk: the line and the number of its entries in this run.
const runBytes = 16

// mostEntries is the largest number of entries of a chunk: each takes 24 bytes of a batch.
const mostEntries = 1 << 15

// Next fills the chunk with indices, values, and the lines: their indices for COO, else runs.
func (r *reader) Next(c *format.Chunk) error {
	if r.at == r.n {
		return r.end()
	}
	minor, data, major := int64(r.minor.kind.Size), int64(r.data.kind.Size), int64(runBytes)
	if r.major != nil {
		major = int64(r.major.kind.Size)
	}
	n := min(r.n-r.at, mostEntries, max(1, int64(cap(c.Data))/(minor+data+major)))
	c.Data = format.Resized(c.Data, int(n*(minor+data+major)))[:n*(minor+data)]
	if err := r.minor.read(c.Data[:n*minor]); err != nil {
		return err
	}
	if err := r.data.read(c.Data[n*minor:]); err != nil {
		return err
	}
	c.Begin = r.position(r.at, 0)
	var err error
	if r.major != nil {
		c.Data = c.Data[:n*(minor+data+major)]
		err = r.major.read(c.Data[n*(minor+data):])
	} else {
		err = r.p.take(n, func(line, entries int64) {
			c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(line))
			c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(entries))
		})
	}
	r.at += n
	c.End = r.position(r.at, 0)
	return err
}

// end checks the data after the last entry and returns io.EOF if there are no errors.
func (r *reader) end() error {
	if r.p != nil {
		if err := r.p.end(); err != nil {
			return err
		}
	}
	for _, m := range []*member{r.minor, r.data} {
		if err := m.end(); err != nil {
			return err
		}
	}
	if r.major != nil && r.major.head.Elements() == r.n { // else major is the first half of coords
		if err := r.major.end(); err != nil {
			return err
		}
	}
	return io.EOF
}

// Seek continues at an entry. It reads the data before the entry.
func (r *reader) Seek(at format.Position) error {
	r.at = (at.Byte - r.data.head.Size) / int64(r.data.kind.Size)
	if r.at < 0 || r.at > r.n {
		return r.fail(r.data.name, at.Byte, fmt.Errorf("%w: no entry is there", format.ErrCount))
	}
	for _, m := range []*member{r.minor, r.data, r.major} {
		if m == nil {
			continue
		}
		if err := m.skip(r.at * int64(m.kind.Size)); err != nil {
			return err
		}
	}
	if r.p == nil {
		return nil
	}
	return r.p.take(r.at, func(int64, int64) {})
}

func (r *reader) Describe() format.Description {
	kind := "CSR"
	switch {
	case r.major != nil:
		kind = "COO"
	case r.byColumn:
		kind = "CSC"
	}
	return format.Description{Entries: r.n, Notes: []string{kind + ", values '" + r.data.head.Descr + "'"}}
}

// Check has nothing to do: open and Next check the arrays against each other.
func (r *reader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

func (r *reader) Parse(c *format.Chunk, b *format.Batch) error {
	minor, data := int64(r.minor.kind.Size), int64(r.data.kind.Size)
	n := (c.End.Byte - c.Begin.Byte) / data
	first := (c.Begin.Byte - r.data.head.Size) / data
	b.Tally.Entries = n
	lines, across := &b.Row.Ints, &b.Col.Ints
	if r.byColumn {
		lines, across = across, lines
	}
	*across, b.Val = slices.Grow((*across)[:0], int(n))[:n], slices.Grow(b.Val[:0], int(n))[:n]
	r.minor.kind.Ints(*across, c.Data)
	if err := r.inside(*across, r.minor, r.across, first); err != nil {
		return err
	}
	r.data.kind.Floats(b.Val, c.Data[n*minor:])
	for i, v := range b.Val {
		if v-v != 0 { // NaN or ±Inf
			return &format.ParseError{File: r.name, Part: r.data.name, Byte: c.Begin.Byte + int64(i)*data, Text: fmt.Sprint(v), Err: format.ErrNotFinite}
		}
		b.Val[i] = v + 0
	}
	rest := c.Data[n*(minor+data):]
	if r.major != nil {
		*lines = slices.Grow((*lines)[:0], int(n))[:n]
		r.major.kind.Ints(*lines, rest)
		return r.inside(*lines, r.major, r.lines, first)
	}
	all := *lines
	for ; len(rest) > 0; rest = rest[runBytes:] {
		line := int64(binary.LittleEndian.Uint64(rest))
		for range binary.LittleEndian.Uint64(rest[8:]) {
			all = append(all, line)
		}
	}
	*lines = all
	return nil
}

func (r *reader) ParseRows(c *format.Chunk, rows *format.Rows) bool {
	if r.byColumn || r.major != nil {
		return false
	}
	minor, data := int64(r.minor.kind.Size), int64(r.data.kind.Size)
	n := (c.End.Byte - c.Begin.Byte) / data
	rows.Reset(int(n))
	if !r.minor.kind.Indices(rows.Cols, c.Data) {
		return false
	}
	r.data.kind.Floats(rows.Vals, c.Data[n*minor:])
	for rest := c.Data[n*(minor+data):]; len(rest) > 0; rest = rest[runBytes:] {
		line, entries := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
		if !rows.Cut(int64(line), int(entries), r.across) {
			return false
		}
	}
	return rows.Whole()
}

func (r *reader) inside(indices []int64, m *member, most, first int64) error {
	for i, j := range indices {
		if j < 0 || j >= most {
			at := m.head.Size + (first+int64(i))*int64(m.kind.Size)
			return r.fail(m.name, at, fmt.Errorf("index %d: %w: 0 to %d", j, text.ErrIndex, most-1))
		}
	}
	return nil
}

// Locate returns the position of the value of entry n.
func (r *reader) Locate(c *format.Chunk, n int) format.Position {
	return format.Position{Part: r.data.name, Byte: c.Begin.Byte + int64(n*r.data.kind.Size)}
}
