package ingest

import (
	"context"
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
	"github.com/gdsvd/gdsvd/ingest/internal/sieve"
	"github.com/gdsvd/gdsvd/internal/budget"
)

// A sifted matrix, the result of the third stage, says which of the sorted entries are written, and to which store.
type sifted struct {
	*ordered
	sieve       *sieve.Sieve      // nil: all rows and columns are left
	left        extsort.Packer    // layout of the matrix that is left
	split       *heldout.Splitter // nil: nothing is held out
	train, test *part             // the two stores of a split
	taken       int64             // bytes that room has granted
}

// sift is the third stage: it determines which rows and columns have enough entries, then which entries are held out. Each
// pass is a walk over the sorted entries.
func sift(ctx context.Context, g *ordered) (*sifted, error) {
	s := &sifted{ordered: g, left: g.pack}
	if !g.o.sifts() {
		return s, nil
	}
	g.meter.begin(stageSift, 0)
	if g.o.Filter.matrix() {
		if err := s.filter(ctx); err != nil {
			return nil, err
		}
	}
	h := g.o.Holdout
	if h.kind() == heldout.None {
		return s, nil
	}
	s.split = &heldout.Splitter{Kind: h.kind(), Fraction: max(h.Random, h.Time), N: h.Last, Seed: h.Seed, Transposed: g.pack.Transposed}
	return s, s.holdOut(ctx)
}

// room returns an error unless need bytes can be held beside the merge of the runs.
func (g *sifted) room(need int64, what string) error {
	have := g.plan.Space - g.taken - g.size()
	if g.spool.InFiles {
		have -= g.plan.Space / 4 // for the merge: see newPlan
	} else {
		have -= g.spool.MergeBytes()
	}
	if need > have {
		return &budget.Error{Need: g.o.Memory + need - have, Budget: g.o.Memory, What: what}
	}
	g.taken += need
	return nil
}

func (g *sifted) filter(ctx context.Context) (err error) {
	if g.pack.Rows > math.MaxUint32 {
		return fmt.Errorf("filter the entries of %d rows: %w", g.pack.Rows, format.ErrUnsupported)
	}
	if err := g.room(sieve.Bytes(g.pack), "the numbers of entries of all columns have to be at hand"); err != nil {
		return err
	}
	s := sieve.New(g.pack, g.o.Filter.MinPerRow, g.o.Filter.MinPerCol, g.o.Filter.MinValue, g.shape != nil || g.o.Graph != NoGraph)
	for again := true; again; again = s.EndPass() {
		g.meter.Extend(g.spool.N)
		err = g.places(ctx, func(part []extsort.Entry, _ []format.Time) error {
			s.Add(part)
			return nil
		})
		if err != nil {
			return err
		}
	}
	g.sieve, g.left = s, s.Left
	f := &g.report.Filtered
	f.Small, f.Entries, f.Passes = s.Small, s.Entries-s.Small-s.Kept, s.Passes
	f.Rows, f.Cols = csr.Exchanged(g.pack.Transposed, g.pack.Rows-s.Left.Rows, g.pack.Cols-s.Left.Cols)
	g.o.Log.Debug("filtered", "passes", f.Passes, "rows", s.Left.Rows, "cols", s.Left.Cols, "entries", s.Kept)
	if s.Kept == 0 {
		return fmt.Errorf("filter: %w left of %d: %d are below the least value, the others in rows or columns with too few", format.ErrEmpty, s.Entries, s.Small)
	}
	if g.o.Holdout.kind() != heldout.None {
		return nil
	}
	g.meter.Extend(g.spool.N)
	g.final = csr.ValueStats{}
	return g.places(ctx, func(part []extsort.Entry, _ []format.Time) error { return g.addFinal(part) })
}

// places is walk with the places in the matrix that is left, and with the times of entries that have times.
func (g *sifted) places(ctx context.Context, emit func(part []extsort.Entry, times []format.Time) error) error {
	var t untimer
	s := sieve.Sifter{Sieve: g.sieve}
	return g.walk(ctx, func(part []extsort.Entry) error {
		var times []format.Time
		if g.o.Holdout.times() {
			part, times = t.split(part)
		}
		if s.Sieve != nil {
			part, times = s.Sift(part, times)
		}
		return emit(part, times)
	})
}

// With times, an entry is a pair in the spool: key and value, then key and time, with a further lowest bit in both keys (see
// extsort.Remap.Pairs). The time is stored as the float64 whose bits are a nonnegative integer: such floats are ordered as the
// integers are.
const timeZero = 1 << 60

func timeValue(t format.Time) float64 {
	return math.Float64frombits(uint64(min(max(t, -timeZero), timeZero) + timeZero))
}

func timeOf(v float64) format.Time { return format.Time(math.Float64bits(v)) - timeZero }

func (g *ordered) unpaired(key uint64) uint64 {
	if g.o.Holdout.times() {
		return key >> 1
	}
	return key
}

type untimer struct {
	open  extsort.Entry // place whose time comes next
	times []format.Time
}

func (u *untimer) split(part []extsort.Entry) ([]extsort.Entry, []format.Time) {
	places := part[:0]
	u.times = u.times[:0]
	for _, e := range part {
		if e.Key&1 == 0 {
			u.open = extsort.Entry{Key: e.Key >> 1, Val: e.Val}
			continue
		}
		places, u.times = append(places, u.open), append(u.times, timeOf(e.Val))
	}
	return places, u.times
}
