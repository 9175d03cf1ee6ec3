package stream

import (
	"context"
	"fmt"

	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// Project computes W = A·v (N×k, v n×k) in one pass. It returns AᵀW (n×k) and
// the k×k upper triangular R of a QR factorisation of W (TSQR: Demmel,
// Grigori, Hoemmen, Langou, "Communication-optimal parallel and sequential QR
// and LU factorizations", 2012), so that ‖W‖, its singular values and AᵀA·v
// are known without W being kept, unless the plan takes several reads
// (Plan.Group). sink, unless nil, is given the rows of W in
// ascending order, one call at a time; rows is valid during the call only.
func (m *Matrix) Project(ctx context.Context, v *mat.Dense, sink func(first int64, rows *mat.Dense) error) (atw, r *mat.Dense, err error) {
	k, err := m.checkWidth("Project", v, m.opt.Rank)
	if err != nil {
		return nil, nil, err
	}
	if m.plan.Group > 0 {
		if atw, r, err = m.projectByColumns(ctx, v, sink); err != nil {
			return nil, nil, fmt.Errorf("project onto %d vectors: %w", k, err)
		}
		return atw, r, nil
	}
	vs, acc := m.begin(ctx, v)
	factors := m.newFactors(k)
	out := newOrdered(m, k, sink)
	err = m.eachUnit(ctx, inOrder, append(acc.turns, factors.turn, out.turn), func(worker int, u *unit) error {
		b := &u.block
		w := out.buffer(worker, b.Rows())
		kernel.Mul(w, vs, k, rowsOf(b))
		if err := acc.transposed(worker, u, w); err != nil {
			return err
		}
		if err := factors.add(worker, u.i, w); err != nil {
			return err
		}
		return out.hand(u.i, b.FirstRow, w)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("project onto %d vectors: %w", k, err)
	}
	atw = mat.NewDense(m.Dim(), k, nil)
	m.sumInto(ctx, atw, acc)
	return atw, factors.total.r(), m.kept()
}

// factors is the R factor of all rows of W: each unit's is computed by the
// worker that has it, and they are stacked in the order of the units.
type factors struct {
	turn  *turnstile
	total *tsqr
	block []*tsqr // one a worker
}

// newFactors prepares the R factor of k columns, in the memory of the last one.
func (m *Matrix) newFactors(k int) *factors {
	f := m.factors
	if f == nil || f.total.k != k {
		f = &factors{total: newTSQR(k), block: make([]*tsqr, m.plan.Workers)}
		for i := range f.block {
			f.block[i] = newTSQR(k)
		}
		m.factors = f
	}
	f.turn = newTurnstile(1)
	for _, t := range append(f.block, f.total) {
		t.rows = 0
	}
	return f
}

// add takes in w, the rows of unit i.
func (f *factors) add(worker, i int, w []float64) error {
	own := f.block[worker]
	own.add(w)
	r := own.take()
	if !f.turn.enter(i) {
		return context.Canceled // the pass has failed; eachUnit returns the reason
	}
	f.total.add(r)
	f.turn.leave(i)
	return nil
}

// Mul computes A·x (N×l, x n×l) in one pass and hands its rows to sink in
// ascending order, one call at a time; rows is valid during the call only.
func (m *Matrix) Mul(ctx context.Context, x *mat.Dense, sink func(first int64, rows *mat.Dense) error) error {
	planned := max(m.opt.Width, m.opt.Rank)
	if m.opt.Space != nil {
		planned = min(planned, m.plan.room)
	}
	l, err := m.checkWidth("Mul", x, planned)
	if err != nil {
		return err
	}
	size, _ := m.sizes(l)
	xs, _ := m.room(size, 0)
	m.pack(ctx, xs, x)
	out := newOrdered(m, l, sink)
	err = m.eachUnit(ctx, inOrder, []*turnstile{out.turn}, func(worker int, u *unit) error {
		b := &u.block
		w := out.buffer(worker, b.Rows())
		kernel.Mul(w, xs, l, rowsOf(b))
		return out.hand(u.i, b.FirstRow, w)
	})
	if err != nil {
		return fmt.Errorf("multiply: %w", err)
	}
	return nil
}

// MulTrans returns Aᵀ·Y (n×k, Y N×k) from one pass. source is asked for the
// rows of Y in ascending order, one call at a time: it must fill rows with the
// rows of Y from first on. A plan of several reads asks as many times.
func (m *Matrix) MulTrans(ctx context.Context, k int, source func(first int64, rows *mat.Dense) error) (*mat.Dense, error) {
	if m.plan.Budget > 0 && k > m.opt.Rank {
		return nil, fmt.Errorf("stream: MulTrans: a block of %d columns does not fit the memory plan, which was made for %d", k, m.opt.Rank)
	}
	if m.plan.Group > 0 {
		return m.mulTransByColumns(ctx, k, source)
	}
	_, size := m.sizes(k)
	_, sums := m.room(0, size)
	acc := m.accumulator(sums, k, m.lanes(k))
	in := newOrdered(m, k, source)
	err := m.eachUnit(ctx, inOrder, append(acc.turns, in.turn), func(worker int, u *unit) error {
		b := &u.block
		w := in.buffer(worker, b.Rows())
		if err := in.hand(u.i, b.FirstRow, w); err != nil {
			return err
		}
		return acc.transposed(worker, u, w)
	})
	if err != nil {
		return nil, fmt.Errorf("multiply by the transpose: %w", err)
	}
	dst := mat.NewDense(m.Dim(), k, nil)
	m.sumInto(ctx, dst, acc)
	return dst, m.kept()
}

// ordered passes the rows that belong to each unit to a function of the
// caller's, in ascending order although workers finish in any.
type ordered struct {
	m    *Matrix
	turn *turnstile
	k    int
	fn   func(first int64, rows *mat.Dense) error
}

func newOrdered(m *Matrix, k int, fn func(first int64, rows *mat.Dense) error) *ordered {
	return &ordered{m: m, turn: newTurnstile(1), k: k, fn: fn}
}

// buffer is the worker's rows×k scratch.
func (o *ordered) buffer(worker, rows int) []float64 { return o.m.products(worker, rows, o.k) }

func (o *ordered) hand(i int, first int64, w []float64) error {
	if o.fn == nil {
		return nil
	}
	if !o.turn.enter(i) {
		return context.Canceled // the pass has failed; eachUnit returns the reason
	}
	if len(w) > 0 {
		if err := o.fn(first, mat.NewDense(len(w)/o.k, o.k, w)); err != nil {
			return err
		}
	}
	o.turn.leave(i)
	return nil
}
