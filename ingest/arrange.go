package ingest

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/combine"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/stored"
	"github.com/gdsvd/gdsvd/internal/escape"
)

// An ordered matrix is all that has been read, every entry in its place: the second stage. It can be walked any number of times.
type ordered struct {
	*ingestion
	pack    extsort.Packer
	known   [2]*ids.Known // of the store that is merged, by side
	rounded int64         // sums of duplicates that are no float64, as last walked
}

// order settles places and sorts the entries.
func (g *ingestion) order(ctx context.Context) (*ordered, error) {
	o := &ordered{ingestion: g}
	return o, o.sort(ctx)
}

// settle ranks the ids and decides the shape and orientation.
func (g *ordered) settle(ctx context.Context) (err error) {
	r := g.reading
	if r.shape != nil {
		if err := g.settleNamed(ctx); err != nil {
			return err
		}
		g.report.IDLists = r.generations()
		g.pack, err = g.o.packer(*r.shape)
		return err
	}
	if g.o.merges() {
		return g.settleMerged()
	}
	if r.generations() > 0 {
		g.meter.begin(stageIDs, 0)
	}
	for _, a := range r.axes() {
		if err := a.Settle(ctx, g.scratch, g.plan.Budget, r.held, g.meter); err != nil {
			return err
		}
	}
	g.report.IDLists = r.generations()
	if g.pack, err = g.o.packer(shape{Rows: r.users.N, Cols: r.items.N}); err != nil {
		return fmt.Errorf("lay out matrix: %w", err)
	}
	if g.pack.Bits > 62 && g.o.Holdout.times() {
		return fmt.Errorf("lay out matrix: %d × %d places with times: %w", g.pack.Rows, g.pack.Cols, format.ErrUnsupported)
	}
	return nil
}

// sort settles places, sorts, and learns the final values.
func (g *ordered) sort(ctx context.Context) error {
	r := g.reading
	total := r.spool.N
	if g.o.Duplicates != DuplicatesError && !g.o.sifts() {
		total *= 2 // they are walked once more to learn the final values
	}
	if err := g.settle(ctx); err != nil {
		return err
	}
	g.meter.begin(stageSort, total)
	by := g.by()
	g.o.Log.Debug("sort", "rows", g.pack.Rows, "cols", g.pack.Cols, "transposed", g.pack.Transposed, "runs", g.spool.Runs())
	remap := g.remap
	switch {
	case r.named() || r.shape != nil && r.shape.Late:
		remap = g.remapIndices
	case r.shape != nil:
		remap = nil
	}
	err := g.spool.Sort(ctx, g.o.Workers, remap, by, g.meter.Add)
	if err = errors.Join(err, r.users.Sorted(), r.items.Sorted()); err != nil {
		return err
	}
	g.report.Runs = g.spool.Most
	if g.spool.InFiles {
		g.report.Spool = max(g.report.Spool, g.spool.FileBytes())
	}
	g.meter.Extend(g.spool.ReduceWork())
	saved := func() error { return nil }
	if g.scratch.Durable {
		saved = func() error { return g.saveNow(stepSort) }
	}
	if err := g.spool.Reduce(ctx, by, saved, g.meter.Add); err != nil {
		return err
	}
	if g.o.Duplicates == DuplicatesError || g.o.sifts() {
		return nil
	}
	r.stats = csr.ValueStats{}
	g.report.Duplicates, err = g.walk(ctx, func(part []extsort.Entry) error {
		for _, e := range part {
			r.stats.Add(e.Val)
		}
		return nil
	})
	return err
}

// by is what entries are sorted by.
func (g *ordered) by() extsort.Order {
	d := g.o.Duplicates
	bits := g.pack.Bits
	if g.o.Holdout.times() {
		bits++ // of pairs
	}
	return extsort.Order{KeyBits: bits, ByValue: d == Sum || d == Mean || d == Max}
}

// remap is that of the generations.
func (g *ordered) remap(userGen, itemGen int) (*extsort.Remap, error) {
	r := g.reading
	users, err := r.users.Ranks(userGen)
	if err != nil {
		return nil, err
	}
	items, err := r.items.Ranks(itemGen)
	if err != nil {
		return nil, err
	}
	return &extsort.Remap{Users: users, Items: items, Pack: g.pack, Pairs: g.o.Holdout.times()}, nil
}

// place names a place in the user's matrix: ids, or indices from 1.
func (g *ordered) place(key uint64) (row, col string) {
	i, j := g.userPlace(key)
	row, _ = g.name(format.RowSide, i)
	col, _ = g.name(format.ColSide, j)
	return row, col
}

// name is the id of a place on a side, or its index from 1, and what the input has for it.
func (g *ordered) name(side format.Side, i int64) (id, key string) {
	a := g.reading.axis(side)
	if g.reading.shape == nil {
		id, _ = a.Name(g.scratch, i)
		return id, id
	}
	id = fmt.Sprint(i + 1)
	if a.Any() {
		id, i = a.Name(g.scratch, i)
	}
	if side == format.ColSide {
		i += g.reading.shape.First
	}
	return id, fmt.Sprint(i)
}

// userPlace unpacks a key to the user's orientation.
func (g *ordered) userPlace(key uint64) (row, col int64) {
	i, j := g.pack.Stored(key)
	if g.pack.Transposed {
		return int64(j), i
	}
	return i, int64(j)
}

// walk merges the runs and calls emit for all places in ascending order, part
// after part, duplicates combined. Merging goes on meanwhile.
func (g *ordered) walk(ctx context.Context, emit func(part []extsort.Entry) error) (duplicates int64, err error) {
	m, err := g.spool.Merge(g.by())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	read := m.Read
	if g.o.merges() {
		old, err := g.openCursor()
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, old.Close()) }()
		read = stored.NewMerge(old, m.Read, walkPart).Read
	}
	group, ctx := errgroup.WithContext(ctx)
	c := combine.Combiner{
		Policy: combine.Policy(g.o.Duplicates), Pairs: g.o.Holdout.times(),
		Overflow: func(key uint64) error {
			row, col := g.place(g.unpaired(key))
			return fmt.Errorf("combine entries at row %s, column %s: %w", escape.Line(row), escape.Line(col), format.ErrOverflow)
		},
	}
	if g.o.Graph == Undirected {
		c.Lower = func(key uint64) bool { row, col := g.pack.Stored(key); return row > int64(col) }
	}
	parts, free := make(chan []extsort.Entry, walkParts), make(chan []extsort.Entry, walkParts)
	for range walkParts {
		free <- make([]extsort.Entry, 0, walkPart)
	}
	group.Go(func() error {
		defer close(parts)
		return g.combine(ctx, read, &c, parts, free)
	})
	group.Go(func() error {
		for part := range parts {
			if err := emit(part); err != nil {
				return err
			}
			free <- part[:0]
		}
		return nil
	})
	err = group.Wait()
	g.rounded = c.Rounded
	return c.Duplicates, err
}

const (
	walkPart  = 1 << 13 // entries handed over at a time
	walkParts = 3
)

// combine sends all places to parts, in buffers it takes from free. Under
// DuplicatesError it sends no more once two entries are at one place, and counts
// how many others are.
func (g *ordered) combine(ctx context.Context, read func([]extsort.Entry) (int, error), c *combine.Combiner, parts, free chan []extsort.Entry) error {
	for more := true; more; {
		var part []extsort.Entry
		select {
		case part = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		part, n, err := c.Next(part, read)
		if err != nil {
			return err
		}
		more = n > 0
		if !more {
			if part, err = c.End(part); err != nil {
				return err
			}
		}
		to := parts
		if c.Policy == combine.Refuse && c.Duplicates > 0 {
			to, part = free, part[:0]
		}
		to <- part // there is room for all
		g.meter.Add(n)
	}
	if c.Policy == combine.Refuse && c.Duplicates > 0 {
		return g.duplicateError(ctx, c)
	}
	return nil
}
