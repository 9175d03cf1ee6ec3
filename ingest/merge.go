package ingest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/titles"
)

// As long as its ids keep their order and its rows stay rows, a store that is appended to is not
// sorted anew: its entries are merged with the new ones as they are written.

// merges tells whether the store appended to is merged rather than read as an input.
func (o Options) merges() bool { return o.base != nil && !o.base.spooled }

// knownIDs are those of a side of the store appended to.
func (g *ingestion) knownIDs(s *csr.Store, side format.Side) *ids.Known {
	axis, file := (&titler{store: s}).axis(side), s.Manifest().IDs.Rows
	n := s.Rows()
	if axis == csr.ColAxis {
		file, n = s.Manifest().IDs.Cols, s.Cols()
	}
	return &ids.Known{N: n, Text: file != nil && file.Kind == csr.StringIDs, Each: func(visit func(*ids.ID) error) error {
		s, err := csr.Open(g.o.base.path, csr.OpenOptions{FS: g.o.FS})
		if err != nil {
			return err
		}
		var id ids.ID
		err = titles.IDsOf(s, axis, func(num int64, text string) error {
			id.Int, id.Text = num, append(id.Text[:0], text...)
			return visit(&id)
		})
		return errors.Join(err, s.Close())
	}}
}

// settleMerged ranks the new ids among those of the store.
func (g *ingestion) settleMerged() (err error) {
	s, err := csr.Open(g.o.base.path, csr.OpenOptions{FS: g.o.FS})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, a := range g.reading.axes() {
		k := g.knownIDs(s, sides[i])
		if err := a.SettleKnown(k); err != nil {
			return err
		}
		g.known[i] = k
	}
	if g.o.Graph != NoGraph {
		g.known[1] = g.known[0]
	}
	if g.pack, err = g.o.packer(shape{Rows: g.reading.users.N, Cols: g.reading.items.N}); err != nil {
		return fmt.Errorf("lay out matrix: %w", err)
	}
	if g.left = g.pack; g.pack.Transposed != s.Transposed() || 4*s.Cols() > g.plan.Space/4 {
		return ids.ErrReorder
	}
	if g.o.Duplicates == DuplicatesError {
		had := csr.StatsOf(s.Values())
		if s.NNZ() > 0 {
			g.reading.stats.Merge(&had)
		}
	}
	return nil
}

// A baseCursor walks the entries of the store appended to, with their keys of now.
type baseCursor struct {
	s     *csr.Store
	pack  extsort.Packer
	row   func() int64
	cols  []uint32
	block int
	d     *csr.Block
	buf   []extsort.Entry
}

func (g *ingestion) openCursor() (*baseCursor, error) {
	s, err := csr.Open(g.o.base.path, csr.OpenOptions{FS: g.o.FS})
	if err != nil {
		return nil, err
	}
	rows, cols := g.known[0], g.known[1]
	if g.pack.Transposed {
		rows, cols = cols, rows
	}
	c := &baseCursor{s: s, pack: g.pack, row: rows.Walk(), cols: make([]uint32, s.Cols()), d: s.Scratch()}
	next := cols.Walk()
	for i := range c.cols {
		c.cols[i] = uint32(next())
	}
	return c, nil
}

// fill decodes the next block that has entries; buf is empty behind the last.
func (c *baseCursor) fill() error {
	for c.buf = c.buf[:0]; len(c.buf) == 0 && c.block < c.s.NumBlocks(); c.block++ {
		if err := c.s.DecodeBlock(c.block, c.d); err != nil {
			return err
		}
		c.buf = slices.Grow(c.buf, c.s.Block(c.block).NNZ)
		for i := range c.d.Rows() {
			row := uint64(c.row()) << c.pack.ColBits
			for col, v := range c.d.Row(i) {
				c.buf = append(c.buf, extsort.Entry{Key: row | uint64(c.cols[col]), Val: v})
			}
		}
	}
	return nil
}

// A baseMerge reads the entries of the store and the new ones in order; of one place that of the store goes first.
type baseMerge struct {
	c         *baseCursor
	old, new  []extsort.Entry // at hand
	room      []extsort.Entry
	read      func([]extsort.Entry) (int, error)
	ended     bool // of new ones
	endedBase bool
}

// Read fills dst, and gives 0 behind the last entry.
func (m *baseMerge) Read(dst []extsort.Entry) (n int, err error) {
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
		if n, m.old = n+k, m.old[k:]; k == 0 {
			break
		}
	}
	return n, nil
}
