package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// noKey is larger than every key (keyPacker allows 63 bits).
const noKey = math.MaxUint64

// A cursor walks one sorted run.
type cursor struct {
	buf  []entry // entries at hand
	pos  int
	file vfs.File
	off  int64 // of the next bytes to read
	left int   // entries not yet read
	sum  uint32
	crc  uint32 // what sum must become
}

// A merger merges sorted runs into one sequence; on equal keys the earlier run
// goes first unless the order says by value. It is a tournament tree of losers
// (Knuth, TAOCP vol. 3, §5.4.1): one comparison a level for each entry.
type merger struct {
	by      sortOrder
	cursors []cursor
	heads   []entry // current entry of each cursor; key noKey at its end
	losers  []int   // losers[0] is the winner
	codec   fileCodec
}

// merge prepares to walk runs; each of those in the file gets a buffer of readBuf entries.
func (s *spool) merge(runs []run, by sortOrder) (*merger, error) {
	m := &merger{by: by, cursors: make([]cursor, len(runs)), heads: make([]entry, len(runs)), losers: make([]int, max(1, len(runs)))}
	for i, r := range runs {
		if r.mem != nil {
			m.cursors[i] = cursor{buf: r.mem}
		} else {
			m.cursors[i] = cursor{buf: make([]entry, 0, min(r.n, s.plan.readBuf)), file: s.file, off: r.off, left: r.n, crc: r.crc}
		}
		if err := m.advance(i); err != nil {
			return nil, err
		}
	}
	m.build()
	return m, nil
}

// advance moves cursor i to its next entry.
func (m *merger) advance(i int) error {
	c := &m.cursors[i]
	if c.pos == len(c.buf) {
		if err := m.refill(c); err != nil {
			return err
		}
		if len(c.buf) == 0 {
			m.heads[i].key = noKey
			return nil
		}
	}
	m.heads[i] = c.buf[c.pos]
	c.pos++
	return nil
}

func (m *merger) refill(c *cursor) error {
	if c.left == 0 {
		c.buf, c.pos = nil, 0
		return nil
	}
	c.buf, c.pos = c.buf[:min(cap(c.buf), c.left)], 0
	sum, err := m.codec.readMore(c.file, c.off, c.buf, c.sum)
	if err != nil {
		return fmt.Errorf("merge entries: %w", err)
	}
	c.sum = sum
	c.left -= len(c.buf)
	c.off += int64(len(c.buf)) * entrySize
	if c.left == 0 && c.sum != c.crc {
		return errTempDamaged
	}
	return nil
}

// before tells whether the head of cursor a goes before that of b.
func (m *merger) before(a, b int) bool {
	x, y := m.heads[a], m.heads[b]
	if x.key != y.key {
		return x.key < y.key
	}
	if m.by.byValue && x.val != y.val {
		return x.val < y.val
	}
	return a < b
}

// build plays the whole tournament. Leaf i is node len(cursors)+i.
func (m *merger) build() {
	k := len(m.cursors)
	if k < 2 {
		return
	}
	winners := make([]int, 2*k)
	for i := range k {
		winners[k+i] = i
	}
	for node := k - 1; node >= 1; node-- {
		a, b := winners[2*node], winners[2*node+1]
		if m.before(b, a) {
			a, b = b, a
		}
		winners[node], m.losers[node] = a, b
	}
	m.losers[0] = winners[1]
}

// next is the next entry; ok is false behind the last.
func (m *merger) next() (e entry, ok bool, err error) {
	if len(m.heads) == 0 {
		return e, false, nil
	}
	w := m.losers[0]
	e = m.heads[w]
	if e.key == noKey {
		return e, false, nil
	}
	if err := m.advance(w); err != nil {
		return e, false, err
	}
	for node := (len(m.cursors) + w) / 2; node >= 1; node /= 2 {
		if l := m.losers[node]; m.before(l, w) {
			m.losers[node], w = w, l
		}
	}
	m.losers[0] = w
	return e, true, nil
}

// reduce merges neighbouring runs in the file until no more than fanIn are left.
func (s *spool) reduce(ctx context.Context, by sortOrder) error {
	for s.file != nil && len(s.runs) > s.plan.fanIn {
		if err := s.reduceOnce(ctx, by); err != nil {
			return err
		}
	}
	return nil
}

// reduceOnce writes groups of fanIn runs as one run each to a new file.
func (s *spool) reduceOnce(ctx context.Context, by sortOrder) error {
	old := spool{plan: s.plan, fs: s.fs, file: s.file, runs: s.runs}
	s.file, s.runs = nil, nil
	err := s.create()
	buf := make([]entry, 0, codecBuf/entrySize)
	for lo := 0; err == nil && lo < len(old.runs); lo += s.plan.fanIn {
		err = s.mergeGroup(ctx, &old, old.runs[lo:min(lo+s.plan.fanIn, len(old.runs))], by, buf)
	}
	return errors.Join(err, old.close())
}

// mergeGroup appends the merge of runs of from as one run.
func (s *spool) mergeGroup(ctx context.Context, from *spool, runs []run, by sortOrder, buf []entry) error {
	m, err := from.merge(runs, by)
	if err != nil {
		return err
	}
	out := run{off: s.end}
	flush := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		crc, err := s.codec.writeMore(s.file, s.end, buf, out.crc)
		if err != nil {
			return fmt.Errorf("merge entries: %w", err)
		}
		out.crc = crc
		out.n += len(buf)
		s.end += int64(len(buf)) * entrySize
		s.spilled.Add(int64(len(buf)) * entrySize)
		buf = buf[:0]
		return nil
	}
	for {
		e, ok, err := m.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if buf = append(buf, e); len(buf) == cap(buf) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	s.runs = append(s.runs, out)
	return nil
}
