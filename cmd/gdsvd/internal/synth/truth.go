package synth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
)

const (
	// leading is how many values of a large base are computed, and so the
	// least number of values of the expansion that are known.
	leading = 200
	// maxKnown bounds how many known values are written down.
	maxKnown = 4096
	// denseSide: a base of which no side is longer is decomposed densely.
	denseSide = 400
	truthTol  = 1e-11
)

// truth computes the leading singular values of factor ⊗ base.
//
// If only the k leading ones of the base are known, a product with another one
// is at most σ₁(factor)·σ_k(base): what is above that is complete.
func (e *Expansion) truth(ctx context.Context, factor *mat.Dense, o *WriteOptions) (csr.Truth, error) {
	base, all, bound, err := e.baseValues(ctx, o)
	if err != nil {
		return csr.Truth{}, err
	}
	small := dense(factor)
	products := []float64{}
	for _, s := range small {
		for _, b := range base {
			products = append(products, s*b)
		}
	}
	slices.SortFunc(products, func(x, y float64) int { return cmp.Compare(y, x) })
	if !all {
		least := small[0] * base[len(base)-1]
		products = slices.DeleteFunc(products, func(p float64) bool { return p < least })
	}
	if len(products) > maxKnown {
		products, all = products[:maxKnown], false
	}
	// Both decompositions and the product of their values are accurate to a few units of roundoff.
	rows, cols := factor.Dims()
	bound += float64(rows+cols) * 0x1p-50
	if len(products) > 0 && products[0] > 0 {
		// Where float64 has few digits either factor and the product may be off by half the smallest number.
		bound += math.SmallestNonzeroFloat64 * (2 + small[0] + base[0]) / products[0]
	}
	return csr.Truth{Sigma: products, Complete: all, Error: bound}, nil
}

// baseValues returns the leading singular values of the base, whether these
// are all, and a bound of their errors relative to the largest.
func (e *Expansion) baseValues(ctx context.Context, o *WriteOptions) (sigma []float64, all bool, bound float64, err error) {
	if e.Base.Rows() == 0 || e.Base.Cols() == 0 {
		return nil, true, 0, nil
	}
	if max(e.Base.Rows(), e.Base.Cols()) <= denseSide {
		sigma, err := e.denseBase(ctx)
		return sigma, true, denseSide * 0x1p-50, err
	}
	least := min(e.Base.Rows(), e.Base.Cols())
	k := int(min(leading, least))
	res, err := solveBase(ctx, e.Base, k, o)
	if err != nil {
		return nil, false, 0, err
	}
	return res.Sigma, int64(k) == least, slices.Max(res.Residuals), nil
}

func (e *Expansion) denseBase(ctx context.Context) ([]float64, error) {
	a := mat.NewDense(int(e.Base.Rows()), int(e.Base.Cols()), nil)
	err := e.blocks(ctx, func(b *csr.Block) error {
		for r := range b.Rows() {
			for c, v := range b.Row(r) {
				a.Set(int(b.FirstRow)+r, int(c), v)
			}
		}
		return nil
	})
	return dense(a), err
}

func solveBase(ctx context.Context, base *csr.Store, k int, o *WriteOptions) (_ *solver.Result, err error) {
	method := lanczos.Krylov{Columns: 16}
	about := method.Traits(k)
	n := base.Cols()
	memory := cmp.Or(o.Memory, 1<<30)
	m, err := stream.New(base, stream.Options{
		Memory: memory, Reserve: about.Footprint(int(n)) + 8*n*int64(6*k+8),
		Width: int(min(int64(about.Width(k)), n)), Rank: k,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	var passes int64
	res, err := solver.SVD(ctx, m, solver.Settings{
		Rank: k, Method: method, Tol: truthTol,
		Observer: func(solver.Event) error {
			passes++
			o.Progress(StageTruth, passes, 0)
			return nil
		},
	})
	if err == nil {
		err = ctx.Err() // a cancelled run is no fault of the solver's
	}
	if err != nil {
		return nil, err
	}
	if res.Status != solver.Converged {
		return nil, fmt.Errorf("%v: %d of %d triplets are within %g", res.Status, res.Converged, k, truthTol)
	}
	return res, nil
}
