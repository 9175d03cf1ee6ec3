package stream

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
)

// Matrix is a solver.Matrix over blocks of rows. Its methods must not be called
// concurrently with one another.
type Matrix struct {
	src      Source
	info     solver.Info
	opt      Options
	plan     Plan
	scaling  *scaling
	ahead    *readAhead   // read-ahead of the current pass
	resident []*csr.Block // decoded blocks kept between passes; nil until first read
	scratch  []scratch    // of each worker, reused from pass to pass
	factors  *factors     // R factors of the last pass, reused likewise
	sides    *sides       // nil if the blocks are those of the matrix itself
	vectors  []float64    // x and accumulators in panels, reused likewise
	together []float64    // rows of A·X to which strips add their columns, reused likewise

	// Of the current pass: encoded bytes decoded, and worker-nanoseconds spent obtaining
	// decoded blocks.
	bytesRead, fetch atomic.Int64

	fault atomic.Pointer[error] // first error that keep got in the current pass
}

// New plans passes over a store within the budget of o. The store must stay
// open while the Matrix is used. The error is a *BudgetError when the budget
// cannot work.
func New(store *csr.Store, o Options) (*Matrix, error) { return NewFrom(store, o) }

// NewFrom is New for a matrix that need not be stored.
func NewFrom(src Source, o Options) (*Matrix, error) {
	o = o.withDefaults()
	plan, err := makePlan(src, o)
	if err != nil {
		return nil, err
	}
	scale, err := newScaling(src)
	if err != nil {
		return nil, err
	}
	norm, exponent := src.Norm()
	m := &Matrix{
		src: src, opt: o, plan: plan, scaling: scale,
		resident: make([]*csr.Block, plan.Resident), scratch: make([]scratch, plan.Workers),
		info: solver.Info{
			Rows: src.Rows(), Cols: int(src.Cols()), NNZ: plan.nnz, ID: src.Fingerprint(),
			Exponent: scale.exponent, Norm: math.Ldexp(norm, exponent-scale.exponent),
		},
	}
	m.sides = newSides(src, plan)
	if m.sides != nil {
		m.info.Terms = math.Ldexp(m.sides.Terms(), -scale.exponent)
	}
	if o.Memory > 0 {
		m.info.MaxWidth = o.Width
	}
	return m, nil
}

func (m *Matrix) Info() solver.Info { return m.info }

// Plan returns the memory plan of the passes.
func (m *Matrix) Plan() Plan { return m.plan }

// Close releases the resident blocks. The store stays open.
func (m *Matrix) Close() error {
	m.resident, m.scratch, m.factors, m.vectors, m.together = nil, nil, nil, nil, nil
	m.src, m.sides = nil, nil
	return nil
}

// Run implements solver.Matrix. With a budget, a pass with R has at most Options.Rank columns, a pass without R at most
// the larger of Options.Rank and Options.Width. Where vectors lie in a Space, Run may read the matrix several times, for
// some columns each.
func (m *Matrix) Run(ctx context.Context, p solver.Pass) (cost solver.Cost, err error) {
	l, planned := p.Columns(m.info), m.opt.Rank
	if p.R == nil {
		planned = max(planned, m.opt.Width)
	}
	if m.plan.Budget > 0 && l > planned {
		return cost, fmt.Errorf("stream: a pass of %d columns does not fit the memory plan, which was made for %d", l, planned)
	}
	start := time.Now()
	m.bytesRead.Store(0)
	m.fetch.Store(0)
	m.keepMore()
	err = m.run(ctx, p, l)
	if fault := m.kept(); err == nil {
		err = fault
	}
	cost.BytesRead, cost.Wait = m.bytesRead.Load(), time.Duration(m.fetch.Load()/int64(m.plan.Workers))
	cost.Multiply = max(0, time.Since(start)-cost.Wait)
	return cost, err
}

// keepMore makes the pass keep further blocks if the kept blocks take less memory than was planned.
func (m *Matrix) keepMore() {
	left := m.plan.ResidentBytes
	for _, b := range m.resident {
		if b == nil {
			return // the first pass has not decoded it yet
		}
		left -= b.Size()
	}
	for n := len(m.resident); n < m.plan.Blocks; n++ {
		if left -= decodedBytes(m.src, n); left < 0 {
			return
		}
		m.resident = append(m.resident, nil)
	}
}

func rowsOf(b *csr.Block) kernel.Rows {
	return kernel.Rows{Ptr: b.RowPtr, Col16: b.Col16, Col: b.Col, Code: b.Code, Table: b.Table, Val: b.Val, Step: b.Step}
}

// A task is the rows that are added to a lane at a time: a block or, in a matrix of few
// blocks, some rows of a block. Tasks are numbered in the order of their rows.
type task struct {
	i      int       // its number
	block  csr.Block // its rows; RowPtr need not begin with 0
	shared bool      // another worker is at the same lane
	sides  rowSides  // its rows of D and P
}

// inOrder is the number of lanes of a pass whose tasks must be taken in ascending order.
const inOrder = 1

// visit does one worker's work on a task. It may wait for its turn on a
// sequencer: when a task is handed out, all earlier tasks of its lane have been handed out.
type visit func(worker int, u *task) error

// eachTask reads the blocks from … to−1 once and calls fn on their tasks: in the order of
// the file or, where blocks are resident, in ascending order in each lane only.
// turns are the sequencers fn may wait on; they are opened for good when the pass fails.
func (m *Matrix) eachTask(ctx context.Context, lanes, from, to int, turns []*sequencer, fn visit) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := m.work(ctx, newQueue(m, lanes, from, to), turns, fn)
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
		return context.Cause(ctx) // the first error, which has ended the other workers
	}
	return nil
}

// worker takes tasks until none is left.
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
		some.Val = b.Val[min(len(b.Val), from*b.Step):]
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

// block returns block i decoded: the resident copy, or a new one to be kept if the plan keeps block i, or else the
// worker's scratch block.
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
