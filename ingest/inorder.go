package ingest

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/straight"
)

// Entries of indices that come in the order of the store are not spooled: they are written into it as
// they come. With the first that does not, those written go to the spool, and the others follow them.

func (r *reading) openStraight(ctx context.Context, s format.Shape) error {
	k, err := r.o.packer(s)
	if err != nil {
		return err
	}
	w, err := r.create(ctx, csr.CreateOptions{
		Cols: k.Cols, Missing: s.Missing, Transposed: k.Transposed, Staging: r.staging, Source: map[string]any{},
		Late: r.plan.held, Workers: int(min(int64(r.o.Workers), r.plan.held/2/encoderMemory)),
	})
	if err != nil {
		return err
	}
	r.straight, r.longest, r.stored = w, r.longestRow(), k
	r.inOrder.Store(true)
	return nil
}

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
	had := r.count()
	if r.straight != nil && j.inRows {
		ok, err := r.straight.Add(&j.rows)
		if ok && r.straight.Open() <= r.longest || err != nil {
			return err
		}
	}
	written := int(r.count() - had)
	if r.straight != nil {
		if err := r.pourAll(); err != nil {
			return err
		}
	}
	if !j.inRows {
		return nil
	}
	j.inRows = false
	var stats csr.ValueStats
	r.parseBatch(j, &stats)
	if j.err == nil {
		j.batch.Keep(func(n int) bool { return n >= written })
	}
	return nil
}

func (r *reading) endRows() error {
	if r.straight == nil {
		return nil
	}
	ok, err := r.straight.EndRow()
	if !ok && err == nil {
		err = r.pourAll()
	}
	return err
}

// pourAll is pour, and has the workers make batches from here on.
func (r *reading) pourAll() error {
	r.inOrder.Store(false)
	return r.pour()
}
