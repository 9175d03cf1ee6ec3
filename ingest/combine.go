package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
)

// walk merges the runs and calls emit for all places in ascending order, part
// after part, duplicates combined. Merging goes on meanwhile.
func (g *ingestion) walk(ctx context.Context, emit func(part []extsort.Entry) error) (duplicates int64, err error) {
	m, err := g.spool.Merge(g.order())
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
		defer func() { err = errors.Join(err, old.s.Close()) }()
		read = (&baseMerge{c: old, read: m.Read, room: make([]extsort.Entry, walkPart)}).Read
	}
	group, ctx := errgroup.WithContext(ctx)
	c := combiner{
		policy: g.o.Duplicates, pairs: g.o.Holdout.times(),
		overflow: func(key uint64) error {
			row, col := g.place(g.unpaired(key))
			return fmt.Errorf("combine entries at row %s, column %s: %w", row, col, format.ErrOverflow)
		},
	}
	if g.o.Graph == Undirected {
		c.lower = func(key uint64) bool { row, col := g.pack.Stored(key); return row > int64(col) }
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
	g.rounded = c.rounded
	return c.duplicates, err
}

const (
	walkPart  = 1 << 13 // entries handed over at a time
	walkParts = 3
)

// combine sends all places to parts, in buffers it takes from free. Under
// DuplicatesError it sends no more once two entries are at one place, and counts
// how many others are.
func (g *ingestion) combine(ctx context.Context, read func([]extsort.Entry) (int, error), c *combiner, parts, free chan []extsort.Entry) error {
	for more := true; more; {
		var part []extsort.Entry
		select {
		case part = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		part, n, err := c.next(part, read)
		if err != nil {
			return err
		}
		if more = n > 0; !more {
			if part, err = c.end(part); err != nil {
				return err
			}
		}
		to := parts
		if c.policy == DuplicatesError && c.duplicates > 0 {
			to, part = free, part[:0]
		}
		to <- part // there is room for all
		g.meter.Add(n)
	}
	if c.policy == DuplicatesError && c.duplicates > 0 {
		return g.duplicateError(ctx, c)
	}
	return nil
}

// A combiner makes one entry of those at one place. It is given all entries
// in ascending order, part after part.
type combiner struct {
	policy     Duplicates
	pairs      bool                   // every other place is the time of the one before: the newest is its own
	overflow   func(key uint64) error // the error for a sum that is not finite
	lower      func(key uint64) bool  // places that only mirror others, and are not counted; may be nil
	duplicates int64                  // entries merged away
	repeated   uint64                 // the place of the first of them
	places     int64                  // that have more than one entry

	open  bool          // there is a place that may get further entries
	place extsort.Entry // it, with its first value
	// Of the values there:
	partials   []float64 // their exact sum, see exactSum
	last, most float64
	count      int64
	rounded    int64 // places the sum of which is no float64

	scratch []extsort.Entry
}

// next fills part's capacity with places completed by further entries; n is the number of these.
func (c *combiner) next(part []extsort.Entry, read func([]extsort.Entry) (int, error)) (places []extsort.Entry, n int, err error) {
	part = part[:0]
	if c.open && c.count == 1 {
		part = append(part, c.place)
	}
	had := len(part)
	if n, err = read(part[had : cap(part)-1]); n == 0 || err != nil { // room for the place still open
		return part[:0], n, err
	}
	if part = part[:had+n]; c.open && had == 0 || single(part) < len(part) {
		c.scratch = append(c.scratch[:0], part[had:]...)
		places, err = c.add(part[:0], c.scratch)
		return places, n, err
	}
	// As a rule no two entries are at one place: they stay where they are.
	c.open, c.place, c.count = true, part[len(part)-1], 1
	return part[:len(part)-1], n, nil
}

// add appends to dst the places completed by part.
func (c *combiner) add(dst, part []extsort.Entry) ([]extsort.Entry, error) {
	var err error
	for len(part) > 0 {
		if e := part[0]; c.open && e.Key == c.place.Key {
			c.another(e.Val)
			part = part[1:]
			continue
		}
		if dst, err = c.end(dst); err != nil {
			return dst, err
		}
		n := single(part)
		dst = append(dst, part[:n-1]...)
		c.open, c.place, c.count = true, part[n-1], 1
		part = part[n:]
	}
	return dst, nil
}

// single is how many entries at the beginning of a part, one at least, are at
// different places; the last of them may share its place with what follows.
func single(part []extsort.Entry) int {
	n := 1
	for n < len(part) && part[n].Key != part[n-1].Key {
		n++
	}
	return n
}

// another takes a further value at the open place.
func (c *combiner) another(v float64) {
	once := int64(1)
	if c.isTime() || c.lower != nil && c.lower(c.place.Key) {
		once = 0
	}
	if c.count == 1 {
		c.partials, c.most = append(c.partials[:0], c.place.Val), c.place.Val
		c.places += once
	}
	c.count++
	if c.duplicates == 0 && once > 0 {
		c.repeated = c.place.Key
	}
	c.duplicates += once
	c.last, c.most = v, max(c.most, v)
	if c.policy == Sum || c.policy == Mean {
		c.partials = addExactly(c.partials, v)
	}
}

// end appends the open place, if any, to dst.
func (c *combiner) end(dst []extsort.Entry) ([]extsort.Entry, error) {
	if !c.open {
		return dst, nil
	}
	c.open = false
	e := c.place
	if c.count > 1 {
		switch {
		case c.pairs && isTime(e.Key), c.policy == Max:
			e.Val = c.most
		case c.policy == Last:
			e.Val = c.last
		case c.policy == Sum, c.policy == Mean:
			sum, exact := exactSum(c.partials)
			if e.Val = sum; c.policy == Mean {
				e.Val = sum / float64(c.count)
			}
			if !exact {
				c.rounded++
			}
		}
		if !finite(e.Val) {
			return dst, c.overflow(e.Key)
		}
	}
	return append(dst, e), nil
}

// finite: neither NaN nor infinite.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }
