package ingest

import (
	"context"
	"errors"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/straight"
	"github.com/gdsvd/gdsvd/internal/budget"
)

// Entries of indices that come in the order of the store are not spooled: they are written into it as
// they come. With the first that does not, those written go to the spool, and the others follow them.

// straightens tells whether a matrix is that of the entries as they are.
func (o request) straightens() bool {
	return o.base == nil && o.Graph == NoGraph && !o.sifts() && !o.readsTimes()
}

// openStraight begins the store of entries that may be in order.
func (g *ingestion) openStraight(ctx context.Context, s shape) error {
	k, err := g.o.packer(s)
	if err != nil {
		return err
	}
	w, err := g.create(ctx, csr.CreateOptions{
		Cols: k.Cols, Transposed: k.Transposed, Staging: g.staging, Source: map[string]any{},
		Late: g.plan.held, Workers: int(min(int64(g.o.Workers), g.plan.held/2/encoderMemory)),
	})
	if err != nil {
		return err
	}
	r := g.reading
	r.straight, r.longest, r.stored = w, g.longestRow(), k
	r.inOrder.Store(true)
	return nil
}

// parseRows makes rows of a chunk, if its entries are in order.
func (r *reading) parseRows(j *job) bool {
	j.batch.Reset(r.o.MaxBadLines)
	if p, ok := j.src.reader.(format.RowReader); ok && !r.stored.Transposed && p.ParseRows(&j.chunk, &j.rows) {
		j.batch.Tally.Entries = int64(len(j.rows.Vals))
	} else if j.src.reader.Parse(&j.chunk, &j.batch) != nil || !straight.Rows(&j.rows, &j.batch, r.stored.Transposed, r.stored.Cols) {
		return false // Parse is going to fail again
	}
	if r.o.Events {
		ones(j.rows.Vals)
	}
	return true
}

// takeRows writes the rows of a job, or has a batch made of what is left of it.
func (r *reading) takeRows(j *job) error {
	had := r.entries()
	if r.straight != nil && j.inRows {
		ok, err := r.straight.Add(&j.rows)
		if ok && r.straight.Open() <= r.longest || err != nil {
			return err
		}
	}
	written := int(r.entries() - had)
	if r.straight != nil {
		if err := r.pour(); err != nil {
			return err
		}
	}
	if !j.inRows {
		return nil
	}
	j.inRows = false
	var stats csr.ValueStats
	if r.parseBatch(j, &stats); j.err == nil {
		j.batch.Keep(func(n int) bool { return n >= written })
	}
	return nil
}

// endRows writes the last row.
func (r *reading) endRows() error {
	if r.straight == nil {
		return nil
	}
	ok, err := r.straight.EndRow()
	if !ok && err == nil {
		err = r.pour()
	}
	return err
}

// pour spools what has been written.
func (r *reading) pour() error {
	w := r.straight
	r.straight = nil
	r.inOrder.Store(false)
	r.o.Log.Debug("the entries are not in the order of the store: sort them", "behind", w.N)
	var b format.Batch
	stats, err := w.Pour(func(row int64, cols []uint32, vals []float64) error {
		b.Reset(0)
		lines, across := &b.Row, &b.Col
		if r.stored.Transposed {
			lines, across = across, lines
		}
		for _, c := range cols {
			lines.AddInt(row)
			across.AddInt(int64(c))
		}
		b.Val = append(b.Val, vals...)
		return r.addKeys(&b)
	})
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Merge(&stats)
	return nil
}

// addKeys spools the entries of an input with a declared shape.
func (r *reading) addKeys(b *format.Batch) error {
	if !r.named() {
		r.spool.Loose() // their keys are not pairs of temporary ids; it is the only input
	}
	r.pairs = slices.Grow(r.pairs[:0], len(b.Val))[:len(b.Val)]
	cols := b.Col.Ints[:len(b.Val)]
	if r.named() || r.shape.Late {
		for i, row := range b.Row.Ints[:len(b.Val)] {
			r.pairs[i] = lateKey(row, cols[i])
		}
		return r.spool.Add(r.pairs, b.Val)
	}
	r.spool.Final = true
	k, err := r.o.packer(*r.shape)
	if err != nil {
		return err
	}
	for i, row := range b.Row.Ints[:len(b.Val)] {
		r.pairs[i] = k.Key(row, cols[i])
	}
	return r.spool.Add(r.pairs, b.Val)
}

// addIDs spools entries under temporary ids, user above item.
func (r *reading) addIDs(b *format.Batch) error {
	var err error
	if r.pairs, err = ids.Pairs(r.pairs[:0], b, r.users, r.items); err != nil {
		return err
	}
	keys, vals := r.pairs, b.Val
	if r.o.Holdout.times() {
		r.spool.Loose()
		if keys, vals, err = r.addTimes(b); err != nil {
			return err
		}
	}
	if err := r.spool.Add(keys, vals); err != nil {
		return err
	}
	return r.adjust()
}

// adjust makes room for the ids there are.
func (r *reading) adjust() error {
	for {
		ok, err := r.spool.Adjust()
		if ok || err != nil {
			return err
		}
		if err := r.turn(); err != nil {
			return err
		}
	}
}

// turn begins a generation of the ids that take most.
func (r *reading) turn() error {
	a := r.users
	if r.items.Held() > a.Held() {
		a = r.items
	}
	if a.Empty() {
		return &budget.Error{Need: r.o.Memory + minSpace, Budget: r.o.Memory, What: "no room is left for ids"}
	}
	if r.o.KeepOrder {
		return &budget.Error{Need: r.o.Memory + a.Held(), Budget: r.o.Memory, What: "the ids of rows and columns that keep their order have to be in memory"}
	}
	if err := a.Turn(r.scratch); err != nil {
		return err
	}
	r.o.Log.Debug("ids do not fit: begin another list", "users", r.users.Generations(), "items", r.items.Generations())
	return r.spool.Turn(r.users.Generations(), r.items.Generations())
}
