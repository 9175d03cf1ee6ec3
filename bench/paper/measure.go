package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// epsilon is the tolerance of the experiments of the paper, and of this program.
const epsilon = 1e-8

// algorithm is a method under its name in the report.
type algorithm struct {
	name string
	method.Method
	// paper selects the stop rule and the deflation of Algorithms 1 and 2 of the paper, and the vectors as the iteration leaves
	// them. Otherwise the residual rule and the certificate are used.
	paper bool
}

// tableMethods are the methods of the table. The first two are those of the paper.
var tableMethods = []algorithm{
	{"gd", gd.Descent{}, true},
	{"power", power.Iteration{}, true},
	{"nesterov", momentum.Nesterov{}, false},
	{"polyak", momentum.Polyak{}, false},
	{"block", block.Descent{}, false},
	{"krylov", lanczos.Krylov{}, false},
}

// settings returns the settings for k triplets.
func (m algorithm) settings(k int, seed uint64) solver.Settings {
	if m.paper {
		return paperSettings(m.Method, k, seed)
	}
	return solver.Settings{Rank: k, Method: m.Method, Tol: epsilon, Seed: seed}
}

func paperSettings(m method.Method, k int, seed uint64) solver.Settings {
	return solver.Settings{Rank: k, Method: m, Stop: solver.StopPaper, Deflation: solver.Plain, Tol: epsilon, Seed: seed}
}

// solve solves a problem by a method and fills r with the results.
func (r *Record) solve(ctx context.Context, p *problem, m algorithm, k int, seed uint64) error {
	r.describe(p, k)
	left := solver.NewDenseRows(int(r.Rows), k)
	s := m.settings(k, seed)
	if m.paper {
		return r.solveGram(ctx, solver.GramOf(p.a), s, p.triplets, func(v *mat.Dense, sigma []float64) (*mat.Dense, error) {
			_, err := p.a.Run(ctx, solver.Pass{X: v, RowsOut: solver.Rows{Block: left.Dense}})
			divideColumns(left.Dense, sigma)
			return left.Dense, err
		})
	}
	s.Left = left
	begin := time.Now()
	res, err := solver.SVD(ctx, p.a, s)
	if err := cmp.Or(err, ctx.Err()); err != nil { // a cancelled run is not an error of the solver
		return err
	}
	r.Residual = floats.Max(res.Residuals)
	r.fill(begin, res.Status, res.Stats, triplets{left.Dense, res.Right, res.Sigma}, p.triplets)
	return nil
}

// solveGram fills r with the results of a method for MᵀM in place of M, as in the paper. left computes the vectors of the other
// side with one more product.
func (r *Record) solveGram(ctx context.Context, gram solver.Operator, s solver.Settings, truth triplets, left func(v *mat.Dense, sigma []float64) (*mat.Dense, error)) error {
	begin := time.Now()
	res, err := solver.Eigen(ctx, gram, s)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	got := triplets{v: res.Vectors}
	for _, lambda := range res.Values {
		got.sigma = append(got.sigma, math.Sqrt(max(lambda, 0)))
	}
	if got.u, err = left(got.v, got.sigma); err != nil {
		return err
	}
	r.fill(begin, res.Status, res.Stats, got, truth)
	return nil
}

func (r *Record) describe(p *problem, k int) {
	info := p.a.Info()
	r.Rows, r.Cols, r.Bytes, r.Rank = info.Rows, int64(info.Cols), p.bytes, k
}

// fill records the cost and the errors of a solve: ε_Σ and ε_{U,V} against the truth.
func (r *Record) fill(begin time.Time, status solver.Status, stats solver.Stats, got, truth triplets) {
	r.Seconds = time.Since(begin).Seconds()
	r.Status, r.Passes, r.Products = status.String(), stats.Passes, stats.Products
	for i, s := range got.sigma {
		r.ErrSigma = max(r.ErrSigma, math.Abs(s-truth.sigma[i]))
	}
	r.ErrVectors = max(projectorError(truth.u, got.u), projectorError(truth.v, got.v))
}

// projectorError returns ‖UUᵀ − ÛÛᵀ‖_F for a U with orthonormal columns and any Û, without cancellation. With Û = UC + R and
// UᵀR = 0, it is the square root of
//
//	‖I − CCᵀ‖² + 2‖RCᵀ‖² + ‖RᵀR‖².
func projectorError(u, hat *mat.Dense) float64 {
	var c, uc, cct, rct, rtr mat.Dense
	r := mat.DenseCopyOf(hat)
	c.Mul(u.T(), hat)
	uc.Mul(u, &c)
	r.Sub(r, &uc)
	cct.Mul(&c, c.T())
	n, _ := cct.Dims()
	for i := range n {
		cct.Set(i, i, cct.At(i, i)-1)
	}
	rct.Mul(r, c.T())
	rtr.Mul(r.T(), r)
	return math.Sqrt(square(&cct) + 2*square(&rct) + square(&rtr))
}

func square(m *mat.Dense) float64 { f := mat.Norm(m, 2); return f * f }

func record(experiment, matrix, name string, parts ...any) *Record {
	key := experiment + "/" + matrix + "/" + name
	for _, p := range parts {
		key += fmt.Sprintf("/%v", p)
	}
	return &Record{Key: key, Experiment: experiment, Matrix: matrix, Method: name}
}
