package stream

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// Matrix is a stored N×n matrix as the solver sees it: known through passes.
// Its methods must not be called concurrently with one another.
type Matrix struct {
	src      Source
	opt      Options
	plan     Plan
	scaling  *scaling
	ahead    *readAhead   // of the pass under way
	resident []*csr.Block // decoded blocks kept between passes; nil until first read
	scratch  []scratch    // of each worker, reused from pass to pass
	factors  *factors     // of Project, likewise
	vectors  []float64    // x in panels and accumulators, likewise

	bytesRead atomic.Int64 // encoded bytes decoded so far
	fetch     atomic.Int64 // worker-nanoseconds spent obtaining decoded blocks in the pass under way
	multiply  time.Duration
	wait      time.Duration

	fault atomic.Pointer[error] // of memory that the Space has mapped, in the product under way
}

// New plans passes over a store within the budget of o. The store must stay
// open while the Matrix is used. The error is a *BudgetError when the budget
// cannot work.
func New(store *csr.Store, o Options) (*Matrix, error) {
	if m, _ := store.Norm(); math.IsNaN(m) {
		return nil, fmt.Errorf("store %s: its writer, an earlier version of gdsvd, could not sum up the squares of values so small: make the store again", store.Path())
	}
	return NewFrom(store, o)
}

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
	return &Matrix{
		src: src, opt: o, plan: plan, scaling: scale,
		resident: make([]*csr.Block, plan.Resident), scratch: make([]scratch, plan.Workers),
	}, nil
}

// Rows is N, the number of rows of the stored matrix A.
func (m *Matrix) Rows() int64 { return m.src.Rows() }

// Dim is n, the number of columns of A and the order of the Gram operator.
func (m *Matrix) Dim() int { return int(m.src.Cols()) }

// NNZ is the number of stored entries.
func (m *Matrix) NNZ() int64 {
	var n int64
	for i := range m.plan.Blocks {
		n += int64(m.src.Block(i).NNZ)
	}
	return n
}

// MaxWidth is the most columns of a block that Apply multiplies: Options.Width
// if there is a budget, 0 if any number will do.
func (m *Matrix) MaxWidth() int {
	if m.plan.Budget == 0 {
		return 0
	}
	return m.opt.Width
}

// Exponent is the e for which all products are those of 2^−e·A instead of A: 0
// for norms from 2⁻¹⁰⁰ to 2¹⁰⁰. See the package comment, "Scale".
func (m *Matrix) Exponent() int { return m.scaling.exponent }

// Norm is ‖2^−e·A‖_F.
func (m *Matrix) Norm() float64 {
	norm, exponent := m.src.Norm()
	return math.Ldexp(norm, exponent-m.scaling.exponent)
}

// Plan tells how the passes use memory.
func (m *Matrix) Plan() Plan { return m.plan }

// Usage tells what the passes have cost so far: encoded bytes read; wall time
// of multiplication; and wall time per worker spent waiting for a block to
// arrive, be verified and decoded. The last two add up to the time of all passes.
func (m *Matrix) Usage() (bytesRead int64, multiply, wait time.Duration) {
	return m.bytesRead.Load(), m.multiply, m.wait
}

// Close gives the resident blocks back. The store stays open.
func (m *Matrix) Close() error {
	m.resident, m.scratch, m.factors, m.vectors = nil, nil, nil, nil
	m.src = nil
	return nil
}

// Apply sets dst = AᵀA·x, both n×l, in one pass. dst and x must not overlap.
func (m *Matrix) Apply(ctx context.Context, dst, x *mat.Dense) error {
	l, err := m.checkWidth("Apply", x, max(m.opt.Width, m.opt.Rank))
	if err != nil {
		return err
	}
	if r, c := dst.Dims(); r != m.Dim() || c != l {
		panic("stream: Apply: dst has the wrong shape")
	}
	if p := m.lanes(l); m.opt.Space != nil && kernel.Width(l)*(p+1) > m.plan.room {
		return m.applyByColumns(ctx, dst, x, m.plan.columns(l, p))
	}
	xs, acc := m.begin(ctx, x)
	err = m.eachUnit(ctx, len(acc.lane), acc.turns, func(worker int, u *unit) error {
		return acc.gram(worker, u, xs)
	})
	if err != nil {
		return fmt.Errorf("multiply by the Gram matrix: %w", err)
	}
	m.sumInto(ctx, dst, acc)
	return m.kept()
}

// checkWidth panics on a wrong number of rows, and refuses more columns than were planned for.
func (m *Matrix) checkWidth(op string, x *mat.Dense, planned int) (int, error) {
	r, l := x.Dims()
	if r != m.Dim() {
		panic("stream: " + op + ": x has the wrong number of rows")
	}
	if m.plan.Budget > 0 && l > planned {
		return 0, fmt.Errorf("stream: %s: a block of %d columns does not fit the memory plan, which was made for %d", op, l, planned)
	}
	return l, nil
}

// begin prepares a product with x: x in panels, and the sums.
func (m *Matrix) begin(ctx context.Context, x *mat.Dense) (xs []float64, acc *accumulator) {
	_, l := x.Dims()
	xs, sums := m.room(m.sizes(l))
	m.pack(ctx, xs, x)
	return xs, m.accumulator(sums, l, m.lanes(l))
}

// pack sets packed to x in panels (kernel.Pack).
func (m *Matrix) pack(ctx context.Context, packed []float64, x *mat.Dense) {
	raw := x.RawMatrix()
	m.inParallel(raw.Rows, len(packed), func(first, end int) {
		m.eachWindow(ctx, x, first, end, func(from, to int) {
			kernel.Pack(packed, raw.Cols, from, to-from, raw.Data[from*raw.Stride:], raw.Stride)
		})
	})
}

// contiguous returns the numbers of x row by row without gaps, copying only if it has any.
func contiguous(x *mat.Dense) []float64 {
	raw := x.RawMatrix()
	if raw.Stride == raw.Cols {
		return raw.Data[:raw.Rows*raw.Cols]
	}
	return mat.DenseCopyOf(x).RawMatrix().Data
}

func rowsOf(b *csr.Block) kernel.Rows {
	return kernel.Rows{Ptr: b.RowPtr, Col16: b.Col16, Col: b.Col, Code: b.Code, Table: b.Table, Val: b.Val}
}
