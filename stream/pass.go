package stream

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"golang.org/x/sync/errgroup"
)

// A task is what is added to a lane at a time: a block or, of a matrix that has
// few, some of the rows of one. Tasks are numbered in the order of their rows.
type task struct {
	i      int       // its number
	block  csr.Block // its rows; RowPtr need not begin with 0
	shared bool      // another worker is at the same lane
	sides  rowSides  // its rows of D and P
}

// inOrder is the number of lanes of a pass whose tasks go in ascending order.
const inOrder = 1

// visit does one worker's work on a task. It may wait for its turn on a
// sequencer: when a task is handed out, all earlier ones of its lane have been.
type visit func(worker int, u *task) error

// eachTask reads every block once and calls fn on its tasks: in the order of
// the file or, where blocks are resident, in ascending order in each lane only.
// turns are the sequencers fn may wait on; they are opened for good when the pass fails.
func (m *Matrix) eachTask(ctx context.Context, lanes int, turns []*sequencer, fn visit) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := m.work(ctx, newQueue(m, lanes), turns, fn)
	if err == nil {
		err = m.kept()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // a cancelled pass must never look like a finished or a failed one
	}
	return err
}

// work runs the workers of a pass. The first error ends them all.
func (m *Matrix) work(ctx context.Context, q *queue, turns []*sequencer, fn visit) error {
	ahead := newReadAhead(m.src, m.plan.spans, q.first)
	defer ahead.close()
	m.ahead = ahead
	if m.plan.Workers == 1 {
		return m.worker(ctx, 0, q, fn)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		ahead.stop()
		for _, t := range turns {
			t.abandon()
		}
	})()
	var g errgroup.Group
	for worker := range m.plan.Workers {
		g.Go(func() error {
			err := m.worker(ctx, worker, q, fn)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	if g.Wait() != nil {
		return context.Cause(ctx) // the error that has made the others end
	}
	return nil
}

// worker takes work until there is none.
func (m *Matrix) worker(ctx context.Context, worker int, q *queue, fn visit) error {
	for {
		t, err := q.take(ctx, worker)
		if err != nil || t.to == t.from {
			return err
		}
		b, err := m.block(worker, t.from/m.plan.parts)
		var sides rowSides
		if m.sides != nil && err == nil {
			sides = m.sides.of(t.from/m.plan.parts, b, &m.scratch[worker], m.plan.rows)
		}
		for i := t.from; i < t.to && err == nil; i++ {
			u := task{i: i, block: part(b, i%m.plan.parts, m.plan.parts), shared: t.shared}
			if m.sides != nil {
				from := int(u.block.FirstRow - b.FirstRow)
				u.sides = sides.rows(from, from+u.block.Rows(), len(m.sides.q))
			}
			err = m.guard(func() error { return fn(worker, &u) })
		}
		q.done(t)
		if err != nil {
			return err
		}
	}
}

// part is part i of n of the rows of b, cut so that the parts have about as many entries.
func part(b *csr.Block, i, n int) csr.Block {
	some := *b
	if n > 1 {
		from, to := cut(b.RowPtr, i, n), cut(b.RowPtr, i+1, n)
		some.FirstRow += int64(from)
		some.RowPtr = b.RowPtr[from : to+1]
	}
	return some
}

// cut is the first row of part i of n.
func cut(ptr []uint32, i, n int) int {
	rows := len(ptr) - 1
	if i == n {
		return rows
	}
	entries := uint64(ptr[rows]) * uint64(i) / uint64(n)
	row, _ := slices.BinarySearchFunc(ptr[:rows], entries, func(p uint32, e uint64) int { return cmp.Compare(uint64(p), e) })
	return row
}

// block returns block i decoded: the resident copy, or one read into the worker's
// scratch (and kept, if the plan keeps it).
func (m *Matrix) block(worker, i int) (*csr.Block, error) {
	keep := i < len(m.resident)
	var into *csr.Block
	switch s := &m.scratch[worker]; {
	case keep && m.resident[i] != nil:
		return m.resident[i], nil
	case keep:
		into = new(csr.Block) // of exactly the right size
	case s.block == nil:
		s.block = m.src.Scratch()
		fallthrough
	default:
		into = s.block
	}
	start := time.Now()
	m.ahead.need(i)
	if err := m.src.DecodeBlock(i, into); err != nil {
		return nil, err
	}
	m.scaling.scale(into)
	m.ahead.done(i)
	m.fetch.Add(int64(time.Since(start)))
	m.bytesRead.Add(m.src.Block(i).Size)
	if keep {
		m.resident[i] = into
	}
	return into, nil
}

// firstRead is the first block that is not resident.
func (m *Matrix) firstRead() int {
	for i, b := range m.resident {
		if b == nil {
			return i
		}
	}
	return len(m.resident)
}
