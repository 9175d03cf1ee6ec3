package extsort

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// noKey is larger than every key (Packer allows 63 bits).
const noKey = math.MaxUint64

type cursor struct {
	buf []Entry // entries that have been read
	pos int
	run *run // the run that is read; if it is in memory and not packed, buf is all of it
	at  int  // packed entries that have been unpacked
	in  *runReader
}

// A Merger merges sorted runs into one sequence. Of entries with equal keys, that of the earlier run comes first, unless the
// order is by value. The Merger is a tournament tree of losers (Knuth, TAOCP vol. 3, §5.4.1): one comparison a level for each
// entry, and fewer for a stretch of entries of one run. Runs whose key ranges follow each other, as those of a sorted input,
// are read one after the other instead.
type Merger struct {
	by      Order
	cursors []cursor
	heads   []Entry // current entry of each cursor; key noKey at its end
	losers  []int   // losers[0] is the winner
	coder   Coder
	spool   *Spool // owner of the runs

	chained bool // runs are read one after the other, without a tournament
	now     int  // index of the cursor that is read, if chained
}

// Merge returns a Merger of the sorted runs, which must be closed.
func (s *Spool) Merge(by Order) (*Merger, error) { return s.merge(s.runs, by) }

// MergeBytes returns the memory that merging takes, including the runs in memory.
func (s *Spool) MergeBytes() int64 {
	if s.InFiles {
		return s.bytes + int64(len(s.runs))*s.budget.CursorBytes()
	}
	return s.bytes
}

func (s *Spool) merge(runs []run, by Order) (*Merger, error) {
	m := &Merger{by: by, cursors: make([]cursor, len(runs)), chained: follow(runs), spool: s}
	for i := range runs {
		m.cursors[i] = cursor{buf: runs[i].mem, run: &runs[i]}
	}
	if m.chained {
		return m, nil
	}
	m.heads, m.losers = make([]Entry, len(runs)), make([]int, len(runs))
	for i := range runs {
		if err := m.advance(i); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	m.build()
	return m, nil
}

// follow reports whether the keys of each run are above those of the run before.
func follow(runs []run) bool {
	for i := range max(0, len(runs)-1) {
		if runs[i].most >= runs[i+1].least {
			return false
		}
	}
	return true
}

// Read fills dst with the next entries and returns their number. It is less than len(dst) only at the end.
func (m *Merger) Read(dst []Entry) (n int, err error) {
	if m.chained {
		return m.readChained(dst)
	}
	for n < len(dst) {
		w := m.losers[0]
		if m.heads[w].Key == noKey {
			break
		}
		dst[n] = m.heads[w]
		n++
		if err := m.advance(w); err != nil {
			return n, err
		}
		if m.play(w); m.losers[0] != w {
			continue
		}
		k, err := m.stretch(w, dst[n:])
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// stretch fills dst with the next entries of cursor w, which has won twice, while their keys are below those of all other
// cursors: the entries of a row often lie in one run.
func (m *Merger) stretch(w int, dst []Entry) (n int, err error) {
	limit := uint64(noKey)
	for node := (len(m.cursors) + w) / 2; node >= 1; node /= 2 {
		limit = min(limit, m.heads[m.losers[node]].Key)
	}
	c := &m.cursors[w]
	for n < len(dst) && m.heads[w].Key < limit {
		dst[n] = m.heads[w]
		n++
		i := c.pos
		for i < len(c.buf) && n < len(dst) && c.buf[i].Key < limit {
			dst[n] = c.buf[i]
			n, i = n+1, i+1
		}
		c.pos = i
		if err := m.advance(w); err != nil {
			return n, err
		}
	}
	m.play(w)
	return n, nil
}

func (m *Merger) readChained(dst []Entry) (n int, err error) {
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

func (m *Merger) advance(i int) error {
	c := &m.cursors[i]
	if c.pos == len(c.buf) {
		if err := m.refill(c); err != nil {
			return err
		}
		if len(c.buf) == 0 {
			m.heads[i].Key = noKey
			return nil
		}
	}
	m.heads[i] = c.buf[c.pos]
	c.pos++
	return nil
}

// refill reads the next block of a run into the buffer, which is empty after the last block.
func (m *Merger) refill(c *cursor) error {
	c.pos = 0
	switch {
	case c.run == nil || c.run.mem != nil:
		c.buf = nil
		return nil
	case c.run.packed != nil:
		part := c.run.packed[c.at:]
		part = part[:min(len(part), packedBlock)]
		c.at += len(part)
		if c.buf == nil {
			c.buf = make([]Entry, len(part))
		}
		c.buf = c.buf[:len(part)]
		m.spool.values.unpack(c.buf, part, true)
		return nil
	}
	if c.in == nil {
		var err error
		if c.in, err = openRun(m.spool.dir.FS, m.spool.dir.Path(c.run.name), c.run.runInfo, m.spool.budget.ReadBuf); err != nil {
			return err
		}
		c.buf = make([]Entry, min(BlockEntries, c.run.n))
	}
	n, err := c.in.next(&m.coder, c.buf[:cap(c.buf)])
	if err != nil {
		return err
	}
	c.buf = c.buf[:n]
	if n > 0 {
		return nil
	}
	in := c.in
	*c = cursor{}
	return in.close()
}

const packedBlock = 1 << 10

// Close closes the files of runs that have not been read to the end.
func (m *Merger) Close() error {
	var err error
	for i := range m.cursors {
		if in := m.cursors[i].in; in != nil {
			err = errors.Join(err, in.close())
		}
	}
	m.cursors = nil
	return err
}

func (m *Merger) before(a, b int) bool {
	x, y := m.heads[a], m.heads[b]
	if x.Key != y.Key {
		return x.Key < y.Key
	}
	if m.by.ByValue && x.Val != y.Val {
		return x.Val < y.Val
	}
	return a < b
}

// build plays the whole tournament. Leaf i is node len(cursors)+i.
func (m *Merger) build() {
	k := len(m.cursors) // at least 2: fewer runs are chained
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

// play determines the winner after the head of cursor w has changed.
func (m *Merger) play(w int) {
	for node := (len(m.cursors) + w) / 2; node >= 1; node /= 2 {
		if l := m.losers[node]; m.before(l, w) {
			m.losers[node], w = w, l
		}
	}
	m.losers[0] = w
}

// Reduce merges neighbouring runs in files until at most Budget.FanIn are left. It calls saved after each merge, before it
// removes the merged runs; done receives the numbers of entries merged.
func (s *Spool) Reduce(ctx context.Context, by Order, saved func() error, done func(int)) error {
	for s.InFiles && len(s.runs) > s.budget.FanIn && !follow(s.runs) {
		for lo := 0; lo+1 < len(s.runs) && len(s.runs) > s.budget.FanIn; lo++ {
			hi := min(lo+s.budget.FanIn, len(s.runs))
			if err := s.mergeGroup(ctx, lo, hi, by, saved, done); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Spool) ReduceWork() (n int64) {
	if !s.InFiles || follow(s.runs) {
		return 0
	}
	sizes := make([]int64, len(s.runs))
	for i, r := range s.runs {
		sizes[i] = int64(r.n)
	}
	for len(sizes) > s.budget.FanIn {
		for lo := 0; lo+1 < len(sizes) && len(sizes) > s.budget.FanIn; lo++ {
			hi := min(lo+s.budget.FanIn, len(sizes))
			sum := int64(0)
			for _, k := range sizes[lo:hi] {
				sum += k
			}
			n += sum
			sizes = slices.Concat(sizes[:lo], []int64{sum}, sizes[hi:])
		}
	}
	return n
}

func (s *Spool) mergeGroup(ctx context.Context, lo, hi int, by Order, saved func() error, done func(int)) error {
	group := slices.Clone(s.runs[lo:hi])
	merged, err := s.pour(ctx, group, by, []uint64{noKey}, done)
	if err != nil {
		return err
	}
	s.runs = slices.Concat(s.runs[:lo], merged, s.runs[hi:])
	if err := saved(); err != nil {
		return err
	}
	return s.remove(group)
}

// Split merges the sorted runs into one run for each range of keys. Range i ends before below[i]; the last exceeds all keys.
func (s *Spool) Split(ctx context.Context, by Order, below []uint64) error {
	err := s.Reduce(ctx, by, func() error { return nil }, func(int) {})
	if err != nil {
		return err
	}
	old := s.runs
	if s.runs, err = s.pour(ctx, old, by, below, func(int) {}); err != nil {
		return err
	}
	return s.remove(old)
}

func (s *Spool) remove(runs []run) (err error) {
	for _, r := range runs {
		if !r.lent {
			err = errors.Join(err, s.dir.RemoveFile(r.name))
		}
	}
	return err
}

// pour merges sorted runs into a new run for each element of below, with the keys from the element before up to that element.
func (s *Spool) pour(ctx context.Context, group []run, by Order, below []uint64, done func(int)) (made []run, err error) {
	m, err := s.merge(group, by)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	buf, part, more := make([]Entry, BlockEntries), []Entry(nil), true
	for _, end := range below {
		f, err := s.dir.Create("run")
		if err != nil {
			return nil, err
		}
		w := newRunWriter(f, runInfo{sorted: true}, &s.coder)
		for err == nil && (len(part) > 0 || more) {
			if len(part) == 0 {
				n := 0
				if n, err = m.Read(buf); err == nil {
					err = ctx.Err()
				}
				part, more = buf[:n], n == len(buf)
				done(n)
				continue
			}
			n, _ := slices.BinarySearchFunc(part, end, func(e Entry, end uint64) int { return cmp.Compare(e.Key, end) })
			if n == 0 {
				break
			}
			err, part = w.add(part[:n]), part[n:]
		}
		if err == nil {
			err = w.end()
		}
		if err == nil && s.dir.Durable {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("merge entries: %w", err)
		}
		s.spilled.Add(w.info.bytes)
		made = append(made, run{name: filepath.Base(f.Name()), runInfo: w.info})
	}
	return made, nil
}
