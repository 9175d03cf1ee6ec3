package stored

import (
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
)

// A Cursor walks the entries of the store appended to, with their keys of now.
type Cursor struct {
	*csr.Store
	pack  extsort.Packer
	row   func() int64
	cols  []uint32
	block int
	d     *csr.Block
	buf   []extsort.Entry
}

// NewCursor begins to walk a store. The rows and columns that its own have now are told by row, in order, and cols.
func NewCursor(s *csr.Store, pack extsort.Packer, row func() int64, cols []uint32) *Cursor {
	return &Cursor{Store: s, pack: pack, row: row, cols: cols, d: s.Scratch()}
}

// fill decodes the next block that has entries; buf is empty behind the last.
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

// A Merge reads the entries of the store and the new ones in order; of one place that of the store goes first.
type Merge struct {
	c         *Cursor
	old, new  []extsort.Entry // at hand
	room      []extsort.Entry
	read      func([]extsort.Entry) (int, error)
	ended     bool // of new ones
	endedBase bool
}

// NewMerge merges the entries of a store with those that read gives, none behind the last; part is how many are read at a time.
func NewMerge(c *Cursor, read func([]extsort.Entry) (int, error), part int) *Merge {
	return &Merge{c: c, read: read, room: make([]extsort.Entry, part)}
}

// Read fills dst, and gives 0 behind the last entry.
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
