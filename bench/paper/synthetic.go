package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
)

// tableTasks returns the cases of matrices of rank ⌊log n⌋, with some draws of each order n and decay.
func (l *lab) tableTasks() (tasks []task) {
	sizes, draws := []int{50, 75, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}, 3
	if l.Scale == Small {
		sizes, draws = sizes[:4], 1
	}
	for d := range decays {
		for _, n := range sizes {
			for draw := range draws {
				for _, m := range tableMethods {
					r := record("table", decays[d].name, m.name, n, draw)
					tasks = append(tasks, task{r, func(ctx context.Context) error { return l.tableCase(ctx, r, d, n, draw, m) }})
				}
			}
		}
	}
	return tasks
}

func (l *lab) tableCase(ctx context.Context, r *Record, decay, n, draw int, m algorithm) error {
	k := int(math.Log(float64(n)))
	seed := l.Seed + uint64(1000*n+10*draw+decay)
	s := decays[decay].draw(rand.New(rand.NewPCG(seed, streamDraw)), k)
	p, err := l.hold(fmt.Sprint("table", decay, n, draw), func() (*problem, error) {
		f := newFactored(n, seed, s.sigma)
		a, err := f.dense()
		if err != nil {
			return nil, err
		}
		return &problem{a: a, triplets: f.triplets, closer: a.Close}, nil
	})
	if err != nil {
		return err
	}
	r.A, r.B, r.Rejected = s.a, s.b, s.rejected
	return r.solve(ctx, p, m, k, seed)
}

// storeMemory is the memory budget of passes over a stored rank-1 matrix.
const storeMemory = 64 << 20

// sizeTasks returns the cases of rank-1 matrices, given by their factors and as a store of n² entries.
func (l *lab) sizeTasks() (tasks []task) {
	add := func(matrix string, run func(ctx context.Context, r *Record, n int, m algorithm) error, orders ...int) {
		for _, n := range orders {
			for _, m := range tableMethods {
				r := record("size", matrix, m.name, n)
				tasks = append(tasks, task{r, func(ctx context.Context) error { return run(ctx, r, n, m) }})
			}
		}
	}
	add("implicit", l.implicitCase, 100, 1000, 10_000, 100_000)
	if l.Scale == Small {
		add("store", l.storeCase, 300, 1000)
	} else {
		add("store", l.storeCase, 1000, 3000, 10_000)
	}
	return tasks
}

func (l *lab) rankOne(n int) *factored { return newFactored(n, l.Seed+uint64(n), []float64{1}) }

func (l *lab) implicitCase(ctx context.Context, r *Record, n int, m algorithm) error {
	return r.solveImplicit(ctx, l.rankOne(n), m.settings(1, l.Seed))
}

func (l *lab) storeCase(ctx context.Context, r *Record, n int, m algorithm) error {
	f := l.rankOne(n)
	p, err := l.hold(fmt.Sprint("size", n), func() (*problem, error) {
		name := filepath.Join(l.storeDir(), fmt.Sprintf("rank-1-%d.csr", n))
		if err := f.writeStore(ctx, name); err != nil {
			return nil, err
		}
		p, err := openProblem(name, stream.Options{Memory: storeMemory, Width: maxColumns, Rank: 1})
		if err == nil {
			p.triplets = f.triplets
		}
		return p, err
	})
	if err != nil {
		return err
	}
	return r.solve(ctx, p, m, 1, l.Seed)
}

// maxColumns is the widest block that a method of the table multiplies in these cases.
const maxColumns = 16

func (f *factored) writeStore(ctx context.Context, name string) (err error) {
	n, _ := f.v.Dims()
	u, v := f.u.RawMatrix().Data, f.v.RawMatrix().Data
	row, cols := make([]float64, n), make([]uint32, n)
	for j := range cols {
		cols[j] = uint32(j)
	}
	var stats csr.ValueStats
	for _, x := range v { // one row already has more distinct values than a dictionary holds
		stats.Add(f.sigma[0] * u[0] * x)
	}
	w, err := csr.Create(name, csr.CreateOptions{Cols: int64(n), Values: stats.Values(), Force: true})
	if err != nil {
		return err
	}
	for _, x := range u {
		floats.ScaleTo(row, f.sigma[0]*x, v)
		if err = w.AppendRow(cols, row); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}

func openProblem(name string, o stream.Options) (*problem, error) {
	store, err := csr.Open(name, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	a, err := stream.New(store, o)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &problem{a: a, bytes: store.Size(), closer: func() error { return errors.Join(a.Close(), store.Close()) }}, nil
}

// gapMethod is a line of a gap figure. If search is not nil, it tries values of β around the theoretical optimum and keeps
// the fastest.
type gapMethod struct {
	name   string
	method method.Method
	search func(beta float64) method.Method
}

// gapFamilies are the two figures: the first one of the paper, which compares step sizes under its stop rule, and one with
// momentum. The methods of the latter stop by the residual: the rule of the paper stops an oscillation at its turning points.
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

// gapCase computes the first triplet of a matrix with σ₁ = 1 and σ₂ = 1 − gap. Vectors and start depend on the order n, not
// on the gap.
func (l *lab) gapCase(ctx context.Context, r *Record, m gapMethod, rule solver.StopRule, n, j int) error {
	gap, seed := math.Pow(10, -float64(j)/4), l.Seed+uint64(n)
	f := newFactored(n, seed, []float64{1, 1 - gap})
	r.Gap = gap
	s := paperSettings(m.method, 1, seed)
	s.Stop = rule
	if m.search == nil {
		return r.solveImplicit(ctx, f, s)
	}
	// betasNear begins in the middle. A run may stop when it has taken more passes than the best one so far.
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

// betasNear returns values of β on both sides of 1 − 1.5q, where q is the square root of half the relative gap of MᵀM. The
// theoretical value is 1 − 2q for Polyak and η = ½, to first order for Nesterov as well.
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

// missed reports whether a run has ended far from the leading vector: with a fixed β it may converge to the other vector.
func (r *Record) missed() bool { return r.ErrVectors > 4*epsilon/r.Gap }

// solveImplicit fills r with the results of a method for a matrix given by its factors. Passes are the products of the iteration.
func (r *Record) solveImplicit(ctx context.Context, f *factored, s solver.Settings) error {
	n, k := f.Dim(), s.Rank
	r.Rows, r.Cols, r.Rank = int64(n), int64(n), k
	err := r.solveGram(ctx, f, s, triplets{leading(f.u, k), leading(f.v, k), f.sigma}, func(v *mat.Dense, sigma []float64) (*mat.Dense, error) {
		return f.left(v, sigma), nil
	})
	r.Passes-- // without the product that measures residuals
	return err
}
