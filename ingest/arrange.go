package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/combine"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/stored"
	"github.com/gdsvd/gdsvd/internal/escape"
)

// An ordered matrix, the result of the second stage, holds all entries that have been read, each in its place. It can be
// walked any number of times.
type ordered struct {
	*entries
	pack       extsort.Packer
	known      [2]*ids.Known  // ids of the store that is merged, by side
	final      csr.ValueStats // statistics of the values after duplicates are combined
	duplicates int64          // entries combined with others, in the last walk
	rounded    int64          // sums of duplicates that no float64 represents, in the last walk
}

// order is the second stage: it settles places, sorts the entries, and learns the final values. It calls saved after runs have
// been merged.
func order(ctx context.Context, e *entries, saved func() error) (*ordered, error) {
	g := &ordered{entries: e}
	total := g.spool.N
	if g.o.Duplicates != DuplicatesError && !g.o.sifts() {
		total *= 2 // a second walk learns the final values
	}
	if err := g.settle(ctx); err != nil {
		return nil, err
	}
	g.meter.begin(stageSort, total)
	by := g.by()
	g.o.Log.Debug("sort", "rows", g.pack.Rows, "cols", g.pack.Cols, "transposed", g.pack.Transposed, "runs", len(g.spool.Files()))
	remap := g.remap
	switch {
	case g.named() || g.shape != nil && g.shape.Late:
		remap = g.remapIndices
	case g.shape != nil:
		remap = nil
	}
	err := error(nil)
	if g.work != nil {
		err = g.sortByTasks(ctx)
	} else {
		err = g.spool.Sort(ctx, g.o.Workers, remap, by, g.meter.Add)
	}
	if err = errors.Join(err, g.users.Sorted(), g.items.Sorted()); err != nil {
		return nil, err
	}
	g.report.Runs = g.spool.Most
	if g.spool.InFiles {
		g.report.Spool = max(g.report.Spool, g.spool.FileBytes())
	}
	g.meter.Extend(g.spool.ReduceWork())
	if err := g.spool.Reduce(ctx, by, saved, g.meter.Add); err != nil {
		return nil, err
	}
	g.final = g.values.stats
	if g.o.Duplicates == DuplicatesError || g.o.sifts() {
		return g, nil
	}
	g.final = csr.ValueStats{}
	return g, g.walk(ctx, g.addFinal)
}

func (g *ordered) addFinal(part []extsort.Entry) error {
	for _, e := range part {
		g.final.Add(e.Val)
	}
	return nil
}

// settle ranks the ids and decides the shape and orientation of the matrix.
func (g *ordered) settle(ctx context.Context) (err error) {
	if g.shape != nil {
		if err := g.settleNamed(ctx); err != nil {
			return err
		}
		g.report.IDLists = g.generations()
		g.pack, err = g.o.packer(*g.shape)
		return err
	}
	if g.o.merges() {
		return g.settleMerged(ctx)
	}
	if g.generations() > 0 {
		g.meter.begin(stageIDs, 0)
	}
	if g.work != nil && !slices.ContainsFunc(g.all(), (*ids.Axis).Mixed) {
		err = g.settleByTasks(ctx)
	} else {
		for _, a := range g.all() {
			err = errors.Join(err, a.Settle(ctx, g.scratch, g.plan.Budget, g.held, g.meter))
		}
	}
	if err != nil {
		return err
	}
	g.report.IDLists = g.generations()
	if g.pack, err = g.o.packer(format.Shape{Rows: g.users.N, Cols: g.items.N}); err != nil {
		return fmt.Errorf("lay out matrix: %w", err)
	}
	if g.pack.Bits > 62 && g.o.Holdout.times() {
		return fmt.Errorf("lay out matrix: %d × %d places with times: %w", g.pack.Rows, g.pack.Cols, format.ErrUnsupported)
	}
	return nil
}

func (g *ordered) by() extsort.Order {
	d := g.o.Duplicates
	bits := g.pack.Bits
	if g.o.Holdout.times() {
		bits++ // the lowest bit tells the value and the time of an entry apart
	}
	return extsort.Order{KeyBits: bits, ByValue: d == Sum || d == Mean || d == Max}
}

func (g *ordered) remap(userGen, itemGen int) (*extsort.Remap, error) {
	users, err := g.users.Ranks(userGen)
	if err != nil {
		return nil, err
	}
	items, err := g.items.Ranks(itemGen)
	if err != nil {
		return nil, err
	}
	return &extsort.Remap{Users: users, Items: items, Pack: g.pack, Pairs: g.o.Holdout.times()}, nil
}

// place returns the names of a place in the user's matrix: ids, or indices from 1.
func (g *ordered) place(key uint64) (row, col string) {
	i, j := g.userPlace(key)
	row, _ = g.name(g.scratch, format.RowSide, i)
	col, _ = g.name(g.scratch, format.ColSide, j)
	return row, col
}

func (g *ordered) userPlace(key uint64) (row, col int64) {
	i, j := g.pack.Stored(key)
	return csr.Exchanged(g.pack.Transposed, i, int64(j))
}

// walk merges the runs and calls emit with all entries in ascending order of place, part by part, duplicates combined. The
// merge goes on while emit runs.
func (g *ordered) walk(ctx context.Context, emit func(part []extsort.Entry) error) (err error) {
	m, err := g.spool.Merge(g.by())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	read := m.Read
	if g.o.merges() {
		old, err := g.openCursor()
		if err != nil {
			return err
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
	g.duplicates, g.rounded = c.Duplicates, c.Rounded
	return err
}

const (
	walkPart  = 1 << 13 // entries handed over at a time
	walkParts = 3
)

// combine sends all entries, duplicates combined, to parts, in buffers it takes from free. Under DuplicatesError it sends no
// part after the first duplicate, and counts the duplicates.
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
		to <- part // does not block: each channel has room for all buffers
		g.meter.Add(n)
	}
	if c.Policy == combine.Refuse && c.Duplicates > 0 {
		return g.duplicateError(ctx, c)
	}
	return nil
}

// duplicateError names the place and, by reading the inputs once more, the positions of its first two entries.
func (g *ordered) duplicateError(ctx context.Context, c *combine.Combiner) error {
	e := &duplicateError{Count: c.Duplicates, Places: c.Places, Entries: g.given()}
	key := g.unpaired(c.Repeated)
	e.Row, e.Col = g.place(key)
	if slices.Contains(g.in.names, "-") {
		return e
	}
	i, j := g.userPlace(key)
	_, row := g.name(g.scratch, format.RowSide, i)
	_, col := g.name(g.scratch, format.ColSide, j)
	l := &locator{row: []byte(row), col: []byte(col), o: g.o}
	l.either = g.o.Graph == Undirected && row != col
	open := g.o.opener(g.plan.window)
	var prev *source
	for _, name := range g.in.names {
		src, err := openSource(ctx, open, name, g.o, prev)
		if err != nil {
			break
		}
		err = l.search(ctx, src)
		_ = src.Close() // only read; the error names the place anyway
		if err != nil || len(l.found) >= 2 {
			break
		}
		prev = src
	}
	if len(l.found) >= 2 {
		e.FirstFile, e.First = l.files[0], l.found[0]
		e.SecondFile, e.Second = l.files[1], l.found[1]
	}
	return e
}
