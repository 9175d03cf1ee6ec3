// Package stored reads a store as an input of ids, and merges its entries with new entries.
package stored

import (
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
)

// partNNZ is the largest number of entries of a chunk, which is a part of a block.
const partNNZ = 1 << 14

// A Reader reads a store as an input of ids. A chunk is a part of a block and holds the ids of the block's rows. Position.Byte
// counts parts.
type Reader struct {
	s        *csr.Store
	rows     *csr.IDReader
	parts    int64 // number of parts of each block
	next     int64
	ids      *format.Keys // ids of the rows of the block of next
	named    int          // number of blocks whose row ids have been read
	cols     format.Keys
	mirrored bool
	free     sync.Pool
}

// Open opens a store. mirrored says that it has both entries of each edge of a graph.
func Open(fs vfs.FS, path string, mirrored bool) (*Reader, error) {
	s, err := csr.Open(path, csr.OpenOptions{FS: fs})
	if err != nil {
		return nil, err
	}
	r := &Reader{s: s, parts: max(1, (s.MaxBlock().NNZ+partNNZ-1)/partNNZ), mirrored: mirrored}
	r.free.New = func() any { return s.Scratch() }
	cols, err := s.IDs(csr.ColAxis)
	if err == nil {
		for cols.Next() {
			addID(&r.cols, cols)
		}
		err = errors.Join(cols.Err(), cols.Close())
	}
	if err == nil {
		r.rows, err = s.IDs(csr.RowAxis)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return r, nil
}

func addID(k *format.Keys, r *csr.IDReader) {
	if r.Kind() == csr.IntIDs {
		k.AddInt(r.Int())
	} else {
		k.AddText([]byte(r.String()))
	}
}

func (r *Reader) Close() error { return errors.Join(r.s.Close(), r.rows.Close()) }

// Symmetric reports whether both entries of each edge are there; their values are equal.
func (r *Reader) Symmetric() (mirrored, skew bool) { return r.mirrored, false }

func (r *Reader) Next(c *format.Chunk) error {
	block := int(r.next / r.parts)
	if block >= r.s.NumBlocks() {
		return io.EOF
	}
	for ; r.named <= block; r.named++ {
		r.ids = new(format.Keys) // workers still read the ids of the block before
		for range r.s.Block(r.named).Rows {
			if !r.rows.Next() {
				return errors.Join(errors.New("read ids: too few"), r.rows.Err())
			}
			addID(r.ids, r.rows)
		}
	}
	c.Held = r.ids
	c.Begin.Byte = r.next
	r.next++
	c.End.Byte = r.next
	return nil
}

// Parse decodes a block and takes the entries of one part.
func (r *Reader) Parse(c *format.Chunk, b *format.Batch) error {
	d := r.free.Get().(*csr.Block)
	defer r.free.Put(d)
	block, part := int(c.Begin.Byte/r.parts), c.Begin.Byte%r.parts
	if err := r.s.DecodeBlock(block, d); err != nil {
		return err
	}
	nnz := int64(r.s.Block(block).NNZ)
	lo, hi, n := nnz*part/r.parts, nnz*(part+1)/r.parts, int64(0)
	row, other := csr.Orient(r.s, &b.Row, &b.Col)
	for i := range d.Rows() {
		taken := false
		for col, v := range d.Row(i) {
			n++
			if n <= lo || n > hi {
				continue
			}
			if taken {
				row.AddAgain(1)
			} else {
				row.AddOf(c.Held.(*format.Keys), i)
			}
			taken = true
			other.AddOf(&r.cols, int(col))
			b.AddValue(v)
		}
	}
	return nil
}

// Check returns nil: DecodeBlock has checked the store.
func (r *Reader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

func (r *Reader) Seek(p format.Position) error {
	r.next = p.Byte
	return nil
}

// Locate returns an empty position: a store has no lines.
func (r *Reader) Locate(*format.Chunk, int) format.Position { return format.Position{Byte: -1} }

// A Cursor walks the entries of the store appended to, with their keys in the new matrix.
type Cursor struct {
	*csr.Store
	pack  extsort.Packer
	row   func() int64
	cols  []uint32
	block int
	d     *csr.Block
	buf   []extsort.Entry
}

// NewCursor returns a Cursor of s. row returns the new places of its rows, one with each call; cols are those of its columns.
func NewCursor(s *csr.Store, pack extsort.Packer, row func() int64, cols []uint32) *Cursor {
	return &Cursor{Store: s, pack: pack, row: row, cols: cols, d: s.Scratch()}
}

// fill decodes the next block that has entries into buf, which is empty at the end.
func (c *Cursor) fill() error {
	for c.buf = c.buf[:0]; len(c.buf) == 0 && c.block < c.NumBlocks(); c.block++ {
		if err := c.DecodeBlock(c.block, c.d); err != nil {
			return err
		}
		c.buf = slices.Grow(c.buf, c.Block(c.block).NNZ)
		for i := range c.d.Rows() {
			row := uint64(c.row()) << c.pack.ColBits
			for col, v := range c.d.Row(i) {
				c.buf = append(c.buf, extsort.Entry{Key: row | uint64(c.cols[col]), Val: v})
			}
		}
	}
	return nil
}

// A Merge reads the entries of a store and new entries in order; at one place the entry of the store comes first.
type Merge struct {
	c         *Cursor
	old, new  []extsort.Entry // read, but not returned yet
	room      []extsort.Entry
	read      func([]extsort.Entry) (int, error)
	ended     bool // no more new entries
	endedBase bool
}

// NewMerge merges the entries of c with those that read returns, part at a time; 0 entries end them.
func NewMerge(c *Cursor, read func([]extsort.Entry) (int, error), part int) *Merge {
	return &Merge{c: c, read: read, room: make([]extsort.Entry, part)}
}

// Read fills dst and returns the number of entries; 0 at the end.
func (m *Merge) Read(dst []extsort.Entry) (n int, err error) {
	for n < len(dst) {
		if len(m.old) == 0 && !m.endedBase {
			if err := m.c.fill(); err != nil {
				return n, err
			}
			m.old, m.endedBase = m.c.buf, len(m.c.buf) == 0
		}
		if len(m.new) == 0 && !m.ended {
			k, err := m.read(m.room)
			if err != nil {
				return n, err
			}
			m.new, m.ended = m.room[:k], k == 0
		}
		take := len(m.old)
		if len(m.new) > 0 {
			limit := m.new[0].Key
			for take = 0; take < len(m.old) && take < len(dst)-n && m.old[take].Key <= limit; take++ {
			}
			if take == 0 {
				dst[n], m.new = m.new[0], m.new[1:]
				n++
				continue
			}
		}
		k := copy(dst[n:], m.old[:take])
		n, m.old = n+k, m.old[k:]
		if k == 0 {
			break
		}
	}
	return n, nil
}
