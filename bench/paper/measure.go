package main

import (
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

// epsilon is the tolerance of the paper's experiments, and ours.
const epsilon = 1e-8

// algorithm is one under the name the report calls it by.
type algorithm struct {
	name string
	method.Method
	// paper: with the stop rule and the deflation of Algorithms 1 and 2, and
	// the vectors as the iteration leaves them. Otherwise with the residual
	// rule and the certificate.
	paper bool
}

// tableMethods are those of the table, the paper's two first.
var tableMethods = []algorithm{
	{"gd", gd.Descent{}, true},
	{"power", power.Iteration{}, true},
	{"nesterov", momentum.Nesterov{}, false},
	{"polyak", momentum.Polyak{}, false},
	{"block", block.Descent{}, false},
	{"krylov", lanczos.Krylov{}, false},
}

// found is a factorisation as a method returns it.
type found struct {
	u, v     *mat.Dense
	sigma    []float64
	residual float64 // largest certified one, 0 if there is no certificate
	status   solver.Status
	stats    solver.Stats
	seconds  float64
}

// find computes k triplets of a and takes the time.
func (m algorithm) find(ctx context.Context, a solver.Matrix, k int, seed uint64) (*found, error) {
	if m.paper {
		return m.findAsPaper(ctx, a, k, seed)
	}
	left := solver.NewDenseRows(int(a.Info().Rows), k)
	begin := time.Now()
	res, err := solver.SVD(ctx, a, solver.Settings{Rank: k, Method: m.Method, Tol: epsilon, Seed: seed, Left: left})
	if err := ended(ctx, err); err != nil {
		return nil, err
	}
	return &found{
		left.Dense, res.Right, res.Sigma, floats.Max(res.Residuals),
		res.Status, res.Stats, time.Since(begin).Seconds(),
	}, nil
}

// findAsPaper runs Algorithm 1 or 2 with MᵀM in the place of its matrix, and
// gets the vectors of the other side by one product more, as the paper does.
func (m algorithm) findAsPaper(ctx context.Context, a solver.Matrix, k int, seed uint64) (*found, error) {
	begin := time.Now()
	res, err := solver.Eigen(ctx, solver.GramOf(a), paperSettings(m, k, seed))
	if err := ended(ctx, err); err != nil {
		return nil, err
	}
	f := &found{v: res.Vectors, sigma: roots(res.Values), status: res.Status, stats: res.Stats}
	left := solver.NewDenseRows(int(a.Info().Rows), k)
	if _, err := a.Run(ctx, solver.Pass{X: f.v, RowsOut: solver.Rows{Block: left.Dense}}); err != nil {
		return nil, err
	}
	f.u = left.Dense
	divideColumns(f.u, f.sigma)
	f.seconds = time.Since(begin).Seconds()
	return f, nil
}

func paperSettings(m method.Method, k int, seed uint64) solver.Settings {
	return solver.Settings{Rank: k, Method: m, Stop: solver.StopPaper, Deflation: solver.Plain, Tol: epsilon, Seed: seed}
}

// ended turns the cancellation of a run, which the solver does not call an
// error, into one.
func ended(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return ctx.Err()
}

// roots returns the singular values of eigenvalues of MᵀM.
func roots(lambda []float64) []float64 {
	s := make([]float64, len(lambda))
	for i, l := range lambda {
		s[i] = math.Sqrt(max(l, 0))
	}
	return s
}

// errors returns ε_Σ and ε_{U,V} against the truth.
func (f *found) errors(u, v *mat.Dense, sigma []float64) (errSigma, errVectors float64) {
	for i, s := range f.sigma {
		errSigma = max(errSigma, math.Abs(s-sigma[i]))
	}
	return errSigma, max(projectorError(u, f.u), projectorError(v, f.v))
}

// projectorError returns ‖UUᵀ − ÛÛᵀ‖_F for a U with orthonormal columns and any
// Û, without cancellation: with Û = UC + R, UᵀR = 0, it is the root of
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

// record begins the record of a case.
func record(experiment, matrix, name string, parts ...any) *Record {
	key := experiment + "/" + matrix + "/" + name
	for _, p := range parts {
		key += fmt.Sprintf("/%v", p)
	}
	return &Record{Key: key, Experiment: experiment, Matrix: matrix, Method: name}
}

// fill enters what a solve has cost and given.
func (r *Record) fill(f *found) {
	r.Status, r.Passes, r.Products = f.status.String(), f.stats.Passes, f.stats.Products
	r.Seconds, r.Residual = f.seconds, f.residual
}
