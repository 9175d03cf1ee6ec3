package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
)

// settle ranks the ids and decides the shape and orientation.
func (g *ingestion) settle(ctx context.Context) (err error) {
	r := g.reading
	if r.shape != nil {
		g.pack, err = newKeyPacker(r.shape.Rows, r.shape.Cols, g.o.Orient)
		return err
	}
	if len(r.users.closed)+len(r.items.closed) > 0 {
		g.meter.begin(StageIDs, 0)
	}
	for _, a := range []*axis{r.users, r.items} {
		if err := a.settle(ctx, g.scratch, g.plan, r.held, g.meter); err != nil {
			return err
		}
	}
	g.report.IDLists = len(r.users.closed) + len(r.items.closed)
	if g.pack, err = newKeyPacker(r.users.n, r.items.n, g.o.Orient); err != nil {
		return fmt.Errorf("lay out matrix: %w", err)
	}
	return nil
}

// sort settles places and sorts the entries.
func (g *ingestion) sort(ctx context.Context) error {
	r := g.reading
	total := r.spool.n
	if g.o.Duplicates != DuplicatesError {
		total *= 2 // they are walked once more to learn the final values
	}
	if err := g.settle(ctx); err != nil {
		return err
	}
	g.meter.begin(StageSort, total)
	by := g.order()
	g.o.Log.Debug("sort", "rows", g.pack.rows, "cols", g.pack.cols, "transposed", g.pack.transposed, "runs", len(g.spool.runs))
	if err := g.sortRuns(ctx, by); err != nil {
		return err
	}
	g.report.Runs = g.spool.most
	if g.spool.onto {
		g.report.Spool = max(g.report.Spool, g.spool.fileBytes())
	}
	g.meter.extend(g.spool.reduceWork())
	saved := func() error { return nil }
	if g.scratch.durable {
		saved = func() error { return g.saveNow(stepSort) }
	}
	if err := g.spool.reduce(ctx, by, saved, g.meter.add); err != nil {
		return err
	}
	if g.o.Duplicates == DuplicatesError {
		return nil
	}
	r.stats = csr.ValueStats{}
	_, err := g.walk(ctx, func(part []entry) error {
		for _, e := range part {
			r.stats.Add(e.val)
		}
		return nil
	})
	return err
}

// sortRuns sorts the runs, those of one generation of ids after the other.
func (g *ingestion) sortRuns(ctx context.Context, by sortOrder) error {
	runs := g.spool.runs
	for lo, hi := 0, 0; lo < len(runs); lo = hi {
		for hi = lo + 1; hi < len(runs) && runs[hi].users == runs[lo].users && runs[hi].items == runs[lo].items; hi++ {
		}
		if !slices.ContainsFunc(runs[lo:hi], func(r run) bool { return !r.sorted }) {
			for _, r := range runs[lo:hi] {
				g.meter.add(r.n)
			}
			continue
		}
		remap, err := g.remap(runs[lo].users, runs[lo].items)
		if err != nil {
			return err
		}
		if err := g.spool.sort(ctx, lo, hi, g.o.Workers, remap, by, g.meter.add); err != nil {
			return err
		}
	}
	return errors.Join(g.reading.users.sorted(), g.reading.items.sorted())
}

func (g *ingestion) order() sortOrder {
	d := g.o.Duplicates
	return sortOrder{keyBits: g.pack.bits, byValue: d == Sum || d == Mean || d == Max}
}

// A remap turns temporary ids of one generation of users and one of items into keys.
type remap struct {
	users, items []uint32 // ranks
	pack         keyPacker
}

// entries does nothing if m is nil: keys are places already.
func (m *remap) entries(e []entry) {
	if m == nil {
		return
	}
	users, items, toUser, toItem := m.shifts()
	for i := range e {
		k := e[i].key
		e[i].key = uint64(users[k>>32])<<toUser | uint64(items[uint32(k)])<<toItem
	}
}

// shifts are the ranks and where in a key they are.
func (m *remap) shifts() (users, items []uint32, toUser, toItem int) {
	if m.pack.transposed {
		return m.users, m.items, 0, m.pack.colBits
	}
	return m.users, m.items, m.pack.colBits, 0
}

// remap is that of the generations, or nil.
func (g *ingestion) remap(userGen, itemGen int) (*remap, error) {
	r := g.reading
	if r.shape != nil {
		return nil, nil
	}
	users, err := r.users.ranksOf(userGen)
	if err != nil {
		return nil, err
	}
	items, err := r.items.ranksOf(itemGen)
	if err != nil {
		return nil, err
	}
	return &remap{users, items, g.pack}, nil
}

// place names a place in the user's matrix: ids, or indices from 1.
func (g *ingestion) place(key uint64) (row, col string) {
	i, j := g.userPlace(key)
	if g.reading.shape != nil {
		return fmt.Sprint(i + 1), fmt.Sprint(j + 1)
	}
	return g.reading.users.name(g.scratch, i), g.reading.items.name(g.scratch, j)
}

// userPlace unpacks a key to the user's orientation.
func (g *ingestion) userPlace(key uint64) (row, col int64) {
	i, j := g.pack.stored(key)
	if g.pack.transposed {
		return int64(j), i
	}
	return i, int64(j)
}
