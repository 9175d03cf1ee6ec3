package main

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// gapMethod is a line of a gap figure. One with a search tries β around the one
// that theory says is best, and keeps the fastest.
type gapMethod struct {
	name   string
	method method.Method
	search func(beta float64) method.Method
}

// gapFamilies are the two figures: the paper's first, which compares step sizes
// under its stop rule, and the one with momentum. Its methods stop by the
// residual, since that of the paper ends oscillations where they turn.
var gapFamilies = []struct {
	name    string
	rule    solver.StopRule
	methods []gapMethod
}{
	{"gap", solver.StopPaper, []gapMethod{
		{"gd η=¼", gd.Descent{Eta: 0.25}, nil},
		{"gd η=½", gd.Descent{}, nil},
		{"gd η=¾", gd.Descent{Eta: 0.75}, nil},
		{"power", power.Iteration{}, nil},
	}},
	{"momentum", solver.StopResidual, []gapMethod{
		{"gd", gd.Descent{}, nil},
		{"power", power.Iteration{}, nil},
		{"polyak", momentum.Polyak{}, nil},
		{"polyak, best β", nil, func(beta float64) method.Method { return momentum.Polyak{Beta: beta} }},
		{"nesterov", momentum.Nesterov{}, nil},
		{"nesterov, best β", nil, func(beta float64) method.Method { return momentum.Nesterov{Beta: beta} }},
	}},
}

func (l *lab) gapTasks() (tasks []task) {
	sizes, most := []int{50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}, 20 // the largest j of the gaps 10^(−j/4)
	if l.Scale == Small {
		sizes, most = sizes[:3], 12
	}
	for _, family := range gapFamilies {
		for _, n := range sizes {
			for _, m := range family.methods {
				for j := 1; j <= most; j++ {
					r := record(family.name, "rank 2", m.name, n, j)
					tasks = append(tasks, task{r, func(ctx context.Context) error { return l.gapCase(ctx, r, m, family.rule, n, j) }})
				}
			}
		}
	}
	return tasks
}

// gapCase finds the first triplet of a matrix with σ₁ = 1 and σ₂ = 1 − gap.
// Vectors and start are those of its order, whatever the gap.
func (l *lab) gapCase(ctx context.Context, r *Record, m gapMethod, rule solver.StopRule, n, j int) error {
	gap, seed := math.Pow(10, -float64(j)/4), l.Seed+uint64(n)
	f := newFactored(n, seed, []float64{1, 1 - gap})
	r.Gap = gap
	s := paperSettings(m.method, 1, seed)
	s.Stop = rule
	if m.search == nil {
		return r.solveImplicit(ctx, f, s)
	}
	// From the middle outwards: the others need not go on for longer than the
	// best so far.
	begun := *r
	for _, beta := range betasNear(gap) {
		try := begun
		s.Method = m.search(beta)
		if err := try.solveImplicit(ctx, f, s); err != nil {
			return err
		}
		if try.Status != solver.Converged.String() || try.missed() {
			continue
		}
		if s.MaxPasses == 0 || try.Passes < r.Passes {
			*r = try
			r.Beta, s.MaxPasses = beta, try.Passes+1
		}
	}
	if s.MaxPasses == 0 {
		return fmt.Errorf("no β gets anywhere")
	}
	return nil
}

// betasNear returns momentum on both sides of 1 − 1.5q, q the root of half the
// relative gap of MᵀM: theory has 1 − 2q for Polyak and η = ½, to first order and
// for Nesterov too.
func betasNear(gap float64) []float64 {
	q := math.Sqrt((1 - (1-gap)*(1-gap)) / 2)
	betas := make([]float64, 0, 10)
	for _, e := range []float64{0, 1, -1, 2, -2, 3, -3, 4, 5} {
		if beta := 1 - 1.5*q*math.Pow(1.25, e); beta > 0 && beta < 1 {
			betas = append(betas, beta)
		}
	}
	return append(betas, 0.01)
}

// missed reports whether a run has ended far from the leading vector: a fixed
// momentum may lead to the other one.
func (r *Record) missed() bool { return r.ErrVectors > 4*epsilon/r.Gap }

// solveImplicit fills r with what a method makes of a matrix given by its
// factors. Passes are the products of the iteration.
func (r *Record) solveImplicit(ctx context.Context, f *factored, s solver.Settings) error {
	n, k := f.Dim(), s.Rank
	r.Rows, r.Cols, r.Rank = int64(n), int64(n), k
	err := r.solveGram(ctx, f, s, triplets{leading(f.u, k), leading(f.v, k), f.sigma}, func(v *mat.Dense, sigma []float64) (*mat.Dense, error) {
		return f.left(v, sigma), nil
	})
	r.Passes-- // the one that measures residuals is not the algorithm's
	return err
}
