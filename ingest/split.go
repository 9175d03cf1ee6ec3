package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/internal/mix"
)

// A splitter decides which entries are held out, row after row.
type splitter struct {
	Holdout
	transposed bool // users are the stored columns

	cut    format.Time  // of holdoutTime and holdoutAfter
	rows   *hashes      // of holdoutRandom: those of the ids of the stored rows
	cols   []uint64     // and columns
	newest []newestOnes // of holdoutLast, if users are the stored columns: what is held out of each
	order  []moment     // of the entries of a row
	held   []bool
}

// mark tells which entries of a row are held out.
func (s *splitter) mark(row int64, cols []uint32, times []format.Time) ([]bool, error) {
	s.held = slices.Grow(s.held[:0], len(cols))[:len(cols)]
	switch s.kind {
	case holdoutRandom:
		r, err := s.rows.at(row)
		if err != nil {
			return nil, err
		}
		for i, c := range cols {
			s.held[i] = s.draws(r, s.cols[c])
		}
	case holdoutLast:
		s.markLast(row, cols, times)
	default:
		for i, t := range times {
			s.held[i] = t >= s.cut
		}
	}
	return s.held, nil
}

// markLast marks the newest entries of the row, or those that are so in their column.
func (s *splitter) markLast(row int64, cols []uint32, times []format.Time) {
	if s.transposed {
		for i, c := range cols {
			s.held[i] = s.newest[c][0].compare(moment{times[i], row}) <= 0
		}
		return
	}
	s.order = s.order[:0]
	for i, t := range times {
		s.order = append(s.order, moment{t, int64(i)}) // columns ascend with i
	}
	slices.SortFunc(s.order, moment.compare)
	clear(s.held)
	for _, m := range s.order[max(0, len(s.order)-int(s.n)):] {
		s.held[m.at] = true
	}
}

// A moment is the time of an entry and where it is.
type moment struct {
	t  format.Time
	at int64
}

func (m moment) compare(o moment) int { return cmp.Or(cmp.Compare(m.t, o.t), cmp.Compare(m.at, o.at)) }

// newestOnes are up to a number of moments, in ascending order.
type newestOnes []moment

// add takes a moment in the place of the oldest one, or beside the others if there are fewer than n.
func (s *newestOnes) add(m moment, n int64) {
	at, _ := slices.BinarySearchFunc(*s, m, moment.compare)
	switch {
	case int64(len(*s)) < n:
		*s = slices.Insert(*s, at, m)
	case at > 0:
		copy((*s)[:at-1], (*s)[1:at])
		(*s)[at-1] = m
	}
}

// draws tells whether the entry of a stored row and column, by the hashes of their ids, is one of the fraction.
//
// The hash of an id is FNV-1a of its text in 64 bits behind the finaliser of SplitMix64, F. With h = F(F(F(seed + ⌊2⁶⁴/φ⌋) ⊕ user) + item),
// an entry is held out if the upper 53 bits of h, divided by 2⁵³, are less than the fraction.
func (s *splitter) draws(row, col uint64) bool {
	if s.transposed {
		row, col = col, row
	}
	h := mix.Finalise(mix.Finalise(mix.Next(s.Seed)^row) + col)
	return float64(h>>11)/(1<<53) < s.fraction
}

// hashID is that of a text.
func hashID(id []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range id {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return mix.Finalise(h)
}

// hashes are those of the ids of a side, asked for in ascending order.
type hashes struct {
	next func() (uint64, error, bool)
	stop func()
	n    int64 // asked for so far
	now  uint64
}

func (h *hashes) at(n int64) (uint64, error) {
	for h.n <= n {
		now, err, ok := h.next()
		if err == nil && !ok {
			err = fmt.Errorf("hold out entries: %d ids instead of more than %d", h.n, n)
		}
		if err != nil {
			return 0, err
		}
		h.now = now
		h.n++
	}
	return h.now, nil
}

// hashIDs begins to hash the ids of a stored side that are left.
func (g *ingestion) hashIDs(rows bool) *hashes {
	var seq iter.Seq2[uint64, error] = func(yield func(uint64, error) bool) {
		var digits []byte
		err := g.eachLeft(rows, func(id *ids.ID) error {
			text := id.Text
			if !g.isText(rows) {
				digits = strconv.AppendInt(digits[:0], id.Int, 10)
				text = digits
			}
			if !yield(hashID(text), nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(0, err)
		}
	}
	h := &hashes{}
	h.next, h.stop = iter.Pull2(seq)
	return h
}

// storedAxis has the ids of a stored side.
func (g *ingestion) storedAxis(rows bool) *ids.Axis {
	if rows != g.pack.Transposed {
		return g.reading.users
	}
	return g.reading.items
}

// isText tells whether the ids of a stored side are texts.
func (g *ingestion) isText(rows bool) bool { return g.hasIDs(rows) && g.storedAxis(rows).Text }

// hasIDs tells whether a stored side has ids; else they are the indices.
func (g *ingestion) hasIDs(rows bool) bool { return g.reading.shape == nil || g.storedAxis(rows).Any() }

// errStop ends a visit.
var errStop = errors.New("stopped")

// eachLeft visits the ids of a stored side that are left, in ascending order.
func (g *ingestion) eachLeft(rows bool, visit func(*ids.ID) error) error {
	n := int64(0)
	one := func(id *ids.ID) error {
		n++
		if g.sieve != nil && (rows && !g.sieve.HasRow(n-1) || !rows && !g.sieve.HasCol(n-1)) {
			return nil
		}
		return visit(id)
	}
	if g.hasIDs(rows) {
		return g.storedAxis(rows).Each(g.scratch, one)
	}
	length := g.pack.Cols
	if rows {
		length = g.pack.Rows
	}
	for id := (ids.ID{}); id.Int < length; id.Int++ {
		if err := one(&id); err != nil {
			return err
		}
	}
	return nil
}

// prepare learns what decides about an entry beside the entry itself.
func (g *ingestion) prepare(ctx context.Context) error {
	s := g.split
	switch {
	case s.kind == holdoutAfter:
		s.cut = format.Time(s.after.UnixMicro())
	case s.kind == holdoutTime:
		return g.findCut(ctx)
	case s.kind == holdoutRandom:
		if err := g.room(8*g.left.Cols, "the hashes of the ids of all columns have to be at hand"); err != nil {
			return err
		}
		h := g.hashIDs(false)
		defer h.stop()
		s.cols = make([]uint64, g.left.Cols)
		for c := range s.cols {
			var err error
			if s.cols[c], err = h.at(int64(c)); err != nil {
				return err
			}
		}
	case s.kind == holdoutLast && s.transposed:
		if err := g.room((24+16*s.n)*g.left.Cols, fmt.Sprintf("the times of the newest %d entries of all columns have to be at hand", s.n)); err != nil {
			return err
		}
		s.newest = make([]newestOnes, g.left.Cols)
		g.meter.Extend(g.spool.N)
		_, err := g.places(ctx, func(part []extsort.Entry, times []format.Time) error {
			for i, e := range part {
				row, col := g.left.Stored(e.Key)
				s.newest[col].add(moment{times[i], row}, s.n)
			}
			return nil
		})
		return err
	}
	return nil
}

// cutBins is how many bins the times are counted in at a time.
const cutBins = 1 << 16

// findCut finds the time of the oldest of the newest entries, as many as do not exceed the fraction, by counting
// in bins, then in bins of that bin, until it has one moment.
func (g *ingestion) findCut(ctx context.Context) error {
	var all span
	pass := func(visit func(t format.Time)) error {
		g.meter.Extend(g.spool.N)
		_, err := g.places(ctx, func(_ []extsort.Entry, times []format.Time) error {
			for _, t := range times {
				visit(t)
			}
			return nil
		})
		return err
	}
	if err := pass(func(t format.Time) { all.add(span{1, t, t}) }); err != nil {
		return err
	}
	want := int64(g.split.fraction * float64(all.N))
	// Behind hi there are not more than want, from lo on more.
	for lo, hi := all.Least, all.Most+1; ; {
		width := (hi-lo)/cutBins + 1
		var bins [cutBins]int64
		behind, next := int64(0), hi
		if hi <= all.Most {
			next = all.Most
		}
		err := pass(func(t format.Time) {
			switch {
			case t >= hi:
				behind++
				next = min(next, t)
			case t >= lo:
				bins[(t-lo)/width]++
			}
		})
		if err != nil {
			return err
		}
		b := int64(cutBins)
		for b > 0 && behind+bins[b-1] <= want {
			b--
			behind += bins[b]
		}
		if b > 0 && width > 1 { // the bin before b holds too many together with what is behind
			lo, hi = lo+format.Time(b-1)*width, min(hi, lo+format.Time(b)*width)
			continue
		}
		for b < cutBins && bins[b] == 0 {
			b++
		}
		if g.split.cut = next; b < cutBins {
			g.split.cut = lo + format.Time(b)*width
		}
		return nil
	}
}
