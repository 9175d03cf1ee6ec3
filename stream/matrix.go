package stream

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

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
	ahead    *readAhead   // of the pass under way
	resident []*csr.Block // decoded blocks kept between passes; nil until first read
	scratch  []scratch    // of each worker, reused from pass to pass
	factors  *factors     // of Project, likewise
	sides    *sides       // nil if the blocks are those of the matrix itself
	vectors  []float64    // x in panels and accumulators, likewise

	// Of the pass under way: encoded bytes decoded, and worker-nanoseconds spent obtaining
	// decoded blocks.
	bytesRead, fetch atomic.Int64

	fault atomic.Pointer[error] // of memory that the Space has mapped, in the pass under way
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

// Plan tells how the passes use memory.
func (m *Matrix) Plan() Plan { return m.plan }

// Close gives the resident blocks back. The store stays open.
func (m *Matrix) Close() error {
	m.resident, m.scratch, m.factors, m.vectors = nil, nil, nil, nil
	m.src, m.sides = nil, nil
	return nil
}

// Run implements solver.Matrix. A pass with R takes Options.Rank columns at most if there
// is a budget, any other Options.Width, too. Where vectors lie in a Space it may read the
// matrix several times, for a few columns each.
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
	err = m.run(ctx, p, l)
	if fault := m.kept(); err == nil {
		err = fault
	}
	cost.BytesRead, cost.Wait = m.bytesRead.Load(), time.Duration(m.fetch.Load()/int64(m.plan.Workers))
	cost.Multiply = max(0, time.Since(start)-cost.Wait)
	return cost, err
}

func rowsOf(b *csr.Block) kernel.Rows {
	return kernel.Rows{Ptr: b.RowPtr, Col16: b.Col16, Col: b.Col, Code: b.Code, Table: b.Table, Val: b.Val}
}
