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
	room int // entries in a buffer for those of the file
	file vfs.File
	off  int64 // of the next bytes to read
	left int   // entries not yet read
	sum  uint32
	crc  uint32 // what sum must become
}

// A merger merges sorted runs into one sequence; on equal keys the earlier run
// goes first unless the order says by value. It is a tournament tree of losers
// (Knuth, TAOCP vol. 3, §5.4.1): one comparison a level for each entry. Runs
// that follow upon each other, as those of a sorted input do, are read one
// after the other instead.
type merger struct {
	by      sortOrder
	cursors []cursor
	heads   []entry // current entry of each cursor; key noKey at its end
	losers  []int   // losers[0] is the winner
	codec   fileCodec

	chained bool // no tournament
	now     int  // cursor being read, when chained
}

// merge prepares to walk runs; each of those in the file gets a buffer of readBuf entries.
func (s *spool) merge(runs []run, by sortOrder) (*merger, error) {
	m := &merger{by: by, cursors: make([]cursor, len(runs)), chained: follow(runs)}
	for i, r := range runs {
		if r.mem != nil {
			m.cursors[i] = cursor{buf: r.mem}
		} else {
			m.cursors[i] = cursor{room: min(r.n, s.plan.readBuf), file: s.file, off: r.off, left: r.n, crc: r.crc}
		}
	}
	if m.chained {
		return m, nil
	}
	m.heads, m.losers = make([]entry, len(runs)), make([]int, len(runs))
	for i := range runs {
		if err := m.advance(i); err != nil {
			return nil, err
		}
	}
	m.build()
	return m, nil
}

// follow tells whether each run's keys are above those of the one before.
func follow(runs []run) bool {
	for i := range max(0, len(runs)-1) {
		if runs[i].most >= runs[i+1].least {
			return false
		}
	}
	return true
}

// read fills dst with the next entries and returns their number, less than
// len(dst) only when there are no more.
func (m *merger) read(dst []entry) (n int, err error) {
	if m.chained {
		return m.readChained(dst)
	}
	for ; n < len(dst); n++ {
		w := m.losers[0]
		dst[n] = m.heads[w]
		if dst[n].key == noKey {
			break
		}
		if err := m.advance(w); err != nil {
			return n, err
		}
		m.play(w)
	}
	return n, nil
}

func (m *merger) readChained(dst []entry) (n int, err error) {
	for n < len(dst) && m.now < len(m.cursors) {
		c := &m.cursors[m.now]
		if c.pos == len(c.buf) {
			if err := m.refill(c); err != nil {
				return n, err
			}
			if len(c.buf) == 0 {
				m.now++
				continue
			}
		}
		k := copy(dst[n:], c.buf[c.pos:])
		n, c.pos = n+k, c.pos+k
	}
	return n, nil
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
	if c.buf == nil {
		c.buf = make([]entry, c.room)
	}
	c.buf, c.pos = c.buf[:min(c.room, c.left)], 0
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
	k := len(m.cursors) // at least 2: fewer are chained
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

// play finds the next winner after the head of cursor w has changed.
func (m *merger) play(w int) {
	for node := (len(m.cursors) + w) / 2; node >= 1; node /= 2 {
		if l := m.losers[node]; m.before(l, w) {
			m.losers[node], w = w, l
		}
	}
	m.losers[0] = w
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
	buf := make([]entry, codecBuf/entrySize)
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
	for {
		n, err := m.read(buf)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if out.n == 0 {
			out.least = buf[0].key
		}
		out.most = buf[n-1].key
		if out.crc, err = s.codec.writeMore(s.file, s.end, buf[:n], out.crc); err != nil {
			return fmt.Errorf("merge entries: %w", err)
		}
		out.n += n
		s.end += int64(n) * entrySize
		s.spilled.Add(int64(n) * entrySize)
	}
	s.runs = append(s.runs, out)
	return nil
}
