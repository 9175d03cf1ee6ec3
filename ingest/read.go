package ingest

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/straight"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// A job is a chunk on its way from the reader through a worker to the sequencer.
type job struct {
	chunk   format.Chunk
	batch   format.Batch
	rows    format.Rows // the chunk as rows, if inRows
	inRows  bool        // rows holds the chunk; else batch does
	src     *source
	outside span          // span of the entries that the Filter has left out
	loops   int64         // number of edges from a node to itself
	first   bool          // first chunk of its source
	last    bool          // end of its source, without a chunk
	err     error         // of the reader, without a chunk, or of parsing the chunk
	at      place         // place behind the chunk; take adds its Tally
	ready   chan struct{} // receives once the chunk is parsed
}

// A reading is the first stage in progress: inputs to entries under temporary ids. One goroutine reads, workers parse, and one
// goroutine takes the batches in input order, so that its decisions depend on the input alone.
type reading struct {
	*entries
	open       input.Opener
	from       place                    // place where the interrupted ingest has stopped
	save       func() error             // called between batches
	straighten func(format.Shape) error // creates the store for entries that may be in its order; nil: entries are spooled
	inOrder    atomic.Bool              // straight is not nil; read by the workers
	longest    int                      // largest number of entries of a row that straight may hold
}

// read is the first stage: it reads the inputs, or their rest, that e does not have yet. It calls save between batches.
func read(ctx context.Context, e *entries, anew bool, save func() error) error {
	r := &reading{entries: e, open: e.o.opener(e.plan.window), from: e.Place, save: save}
	if anew && e.plan.held > 0 && e.o.straightens() {
		r.straighten = func(s format.Shape) error { return r.openStraight(ctx, s) } // ctx outlives the reading
	}
	return r.run(ctx)
}

func (r *reading) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	l := lanes{make(chan *job, r.plan.jobs), make(chan *job, r.plan.jobs), make(chan *job, r.plan.jobs)}
	for range r.plan.jobs {
		l.free <- &job{ready: make(chan struct{}, 1)}
	}
	g.Go(func() error {
		defer close(l.order)
		defer close(l.work)
		return r.read(ctx, l)
	})
	for range r.o.Workers {
		g.Go(func() error {
			r.parse(l.work)
			return nil
		})
	}
	g.Go(func() error {
		for j := range l.order {
			select {
			case <-j.ready:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := r.take(ctx, j); err != nil {
				return err
			}
			l.free <- j
		}
		return ctx.Err()
	})
	return g.Wait()
}

// lanes are the channels of the jobs. Each has room for all jobs, so that only receiving a free job can block.
type lanes struct{ free, order, work chan *job }

// take returns a free job, or nil if ctx has ended.
func (l lanes) take(ctx context.Context) *job {
	select {
	case j := <-l.free:
		j.last, j.err, j.inRows = false, nil, false
		return j
	case <-ctx.Done():
		return nil
	}
}

// pass sends a job without a chunk to the taker, past the workers.
func (l lanes) pass(j *job) {
	j.ready <- struct{}{}
	l.order <- j
}

// read cuts the inputs into chunks. The error of an input is sent as a job, behind the chunks before it.
func (r *reading) read(ctx context.Context, l lanes) error {
	var prev *source
	for i, name := range r.in.names {
		if i == 0 && r.o.merges() {
			continue
		}
		src, err := openSource(ctx, r.open, name, r.o, prev)
		if err == nil && r.Roles == nil && !src.base && (prev == nil || prev.base) {
			r.Roles = rolesOfPart(src.reader)
		}
		if err == nil && prev == nil && r.shape == nil && !src.base && (src.shape == nil || !src.shape.Late) { // first input, no resume
			err = r.declare(ctx, src)
		}
		if err == nil {
			err = errors.Join(r.input(ctx, i, src, l), src.Close())
		}
		if err != nil {
			j := l.take(ctx)
			if j == nil {
				return ctx.Err()
			}
			j.err = err
			l.pass(j)
			return nil
		}
		prev = src
	}
	return nil
}

func (r *reading) input(ctx context.Context, i int, src *source, l lanes) error {
	from := r.from
	if i < from.Input { // opened only for its layout, which the next input continues
		return nil
	}
	if i == from.Input && from.Offset > 0 {
		if err := src.reader.Seek(format.Position{Line: from.Line, Byte: from.Offset, Row: from.Row}); err != nil {
			return err
		}
		src.tally = from.Tally
	}
	if i == from.Input && from.Disk > 0 {
		r.open.Bytes.Store(from.Disk + src.Ahead())
	}
	return r.cut(ctx, i, src, l)
}

// cut sends the chunks of one input to the workers, and a last job behind them.
func (r *reading) cut(ctx context.Context, i int, src *source, l lanes) error {
	for first := true; ; first = false {
		j := l.take(ctx)
		if j == nil {
			return ctx.Err()
		}
		j.src, j.first = src, first
		if cap(j.chunk.Data) == 0 {
			j.chunk.Data = make([]byte, 0, r.plan.chunk)
		}
		j.chunk.Data = j.chunk.Data[:0]
		switch err := src.reader.Next(&j.chunk); {
		case err == nil:
			j.at = place{Input: i, Offset: j.chunk.End.Byte, Line: j.chunk.End.Line, Row: j.chunk.End.Row, Disk: r.diskRead(src)}
			src.shared = src.shared || len(j.chunk.Data) == 0 && j.chunk.Held == nil
			l.order <- j
			l.work <- j
		case err == io.EOF:
			j.last = true
			j.at = place{Input: i + 1, Disk: r.diskRead(src)}
			r.open.Bytes.Store(j.at.Disk)
			l.pass(j)
			if src.shared { // workers still read from the input
				select {
				case <-src.taken:
				case <-ctx.Done():
				}
			}
			return nil
		default:
			l.free <- j
			return err
		}
	}
}

// diskRead returns the bytes of all inputs on disk up to the next chunk.
func (r *reading) diskRead(src *source) int64 {
	n := r.open.Bytes.Load() - src.Ahead()
	if src.size > 0 { // a format that jumps may read bytes twice
		n = min(n, src.begin+src.size)
	}
	return n
}

// parse is a worker: it parses chunks into rows or batches. It merges the statistics of values before the batch is taken, so
// that a save includes the values of all entries it saves.
func (r *reading) parse(work <-chan *job) {
	var stats csr.ValueStats
	for j := range work {
		j.inRows = r.inOrder.Load() && r.parseRows(j)
		if !j.inRows {
			r.parseBatch(j, &stats)
		}
		j.ready <- struct{}{}
	}
}

func (r *reading) parseBatch(j *job, stats *csr.ValueStats) {
	j.batch.Reset(r.o.MaxBadLines)
	j.err = j.src.reader.Parse(&j.chunk, &j.batch)
	if j.err == nil && j.first {
		j.err = datesAsNumbers(&j.chunk, &j.batch, j.src)
	}
	if r.o.Events && !j.src.base {
		ones(j.batch.Val)
	}
	if j.err == nil {
		j.outside = r.o.Filter.apply(&j.batch)
		j.loops, j.err = r.o.edges(&j.chunk, &j.batch, j.src)
	}
	if r.o.Duplicates == DuplicatesError { // else the final values are not known yet
		stats.Add(j.batch.Val...)
		r.values.merge(stats)
	}
}

func ones(values []float64) {
	for i := range values {
		values[i] = 1
	}
}

func (r *reading) take(ctx context.Context, j *job) error {
	switch {
	case j.last:
		if err := r.endRows(); err != nil {
			return err
		}
		r.shape, r.Format = j.src.shape, j.src.format
		r.InputBytes += max(j.src.Uncompressed(), j.src.size)
		r.Place = j.at
		close(j.src.taken)
		if reader, ok := j.src.reader.(format.Omitting); ok {
			r.leaveOut(reader.Omits(), j.src.tally.LeftOut)
		}
		if err := j.src.reader.Check(j.src.tally, nil, nil); err != nil || r.shape == nil || !r.shape.Late {
			return err
		}
		return r.declare(ctx, j.src)
	case j.err == nil && (j.inRows || r.straight != nil):
		if err := r.takeRows(j); err != nil {
			return err
		}
	}
	if j.err != nil {
		return j.err
	}
	b := &j.batch
	j.src.tally.Add(b.Tally)
	whole := j.src.reader.Check(j.src.tally, &j.chunk, b)
	if err := text.FirstError(whole, r.tolerate(b.Refused, b.Errs, r.o.MaxBadLines)); err != nil {
		return err
	}
	r.Lines += b.Lines
	if !j.src.base {
		r.Loops += j.loops
	}
	r.Outside.add(j.outside)
	r.shape, r.Format = j.src.shape, j.src.format
	err := error(nil)
	switch {
	case j.inRows:
	case r.shape == nil:
		err = r.addIDs(b)
	default:
		err = r.addKeys(b)
	}
	if err != nil {
		return err
	}
	r.Place = j.at
	r.Place.Tally = j.src.tally
	r.meter.set(j.at.Disk, r.count())
	return r.save()
}

func (o request) straightens() bool {
	return o.base == nil && o.Graph == NoGraph && !o.sifts() && !o.readsTimes()
}

// Entries of indices that come in the order of the store are not spooled, but written into the store at once. At the first
// entry out of order, the entries already written are moved to the spool, and all later ones go there.

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
		return false // parseBatch parses again and reports the error
	}
	if r.o.Events {
		ones(j.rows.Vals)
	}
	return true
}

// takeRows writes the rows of a job. If it cannot write all of them, it ends straight writing and makes a batch of the rest.
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
		if err := r.pour(); err != nil {
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
	err := r.straight.EndRow()
	if errors.Is(err, csr.ErrCoding) {
		return r.pour()
	}
	return err
}
