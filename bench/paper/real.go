package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
)

// realRank is the k of all experiments on real data, as in the paper.
const realRank = 10

// dataset is a matrix of real data.
type dataset struct {
	name  string
	slug  string   // part of the names of its files
	files []string // possible paths in the directory of data
	// The scales at which the dataset is in the table and in the experiment "what a pass buys".
	table, passes []string
}

var datasets = []dataset{
	{"MovieLens 100K", "movielens-100k", []string{"movielens/ml-100k/u.data", "ml-100k/u.data"}, []string{Small, Full}, []string{Small}},
	{"MovieLens 1M", "movielens-1m", []string{"movielens/ml-1m/ratings-notimestamp.dat.gz", "movielens/ml-1m/ratings.dat", "ml-1m/ratings.dat"}, []string{Full}, []string{Full}},
	{"MovieLens 10M", "movielens-10m", nil, []string{Full}, nil},
	{"MNIST", "mnist", []string{"mnist/train-images-idx3-ubyte.gz", "mnist/train-images-idx3-ubyte"}, []string{Full}, []string{Full}},
	{"soc-Slashdot0902", "soc-slashdot", []string{"snap/soc-Slashdot0902.mtx.gz", "soc-Slashdot0902/soc-Slashdot0902.mtx"}, nil, []string{Full}},
}

// where returns the file of a dataset, "" if it is missing.
func (l *lab) where(d dataset) string {
	if d.slug == "movielens-10m" {
		return l.ML10M
	}
	for _, f := range d.files {
		name := filepath.Join(l.Data, filepath.FromSlash(f))
		if _, err := os.Stat(name); l.Data != "" && err == nil {
			return name
		}
	}
	return ""
}

// available returns the datasets of an experiment that are there, and the names of those that are missing.
func (l *lab) available(scales func(dataset) []string) (all []dataset, missing []string) {
	for _, d := range datasets {
		switch {
		case !slices.Contains(scales(d), l.Scale):
		case l.where(d) == "":
			missing = append(missing, d.name)
		default:
			all = append(all, d)
		}
	}
	return all, missing
}

func inTable(d dataset) []string  { return d.table }
func inPasses(d dataset) []string { return d.passes }

// storesName is the directory of stores in that of the run. It is removed at the end.
const storesName = "stores"

func (l *lab) storeDir() string { return filepath.Join(l.Dir, storesName) }

func (l *lab) open(ctx context.Context, d dataset) (*problem, error) {
	return l.hold(d.slug, func() (*problem, error) {
		name := filepath.Join(l.storeDir(), d.slug+".csr")
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			if _, err := ingest.Ingest(ctx, []string{l.where(d)}, name, ingest.Options{}); err != nil {
				return nil, err
			}
		}
		p, err := openProblem(name, stream.Options{})
		if err == nil { // a pass, so that the first method does not pay for decoding blocks that stay decoded
			n := p.a.Info().Cols
			if _, err = p.a.Run(ctx, solver.Pass{X: mat.NewDense(n, 1, nil), Sum: mat.NewDense(n, 1, nil)}); err != nil {
				err = errors.Join(err, p.closer())
			}
		}
		return p, err
	})
}

// crossed returns the tasks of an experiment for each of its datasets and each method.
func (l *lab) crossed(experiment string, on func(dataset) []string, methods []algorithm, run func(context.Context, *Record, *problem, algorithm) error) (tasks []task) {
	all, _ := l.available(on)
	for _, d := range all {
		for _, m := range methods {
			r := record(experiment, d.name, m.name)
			tasks = append(tasks, task{r, func(ctx context.Context) error {
				p, err := l.open(ctx, d)
				if err != nil {
					return err
				}
				return run(ctx, r, p, m)
			}})
		}
	}
	return tasks
}

func (l *lab) realCase(ctx context.Context, r *Record, p *problem, m algorithm) error {
	if p.sigma == nil {
		if err := p.refer(ctx, realRank); err != nil {
			return err
		}
	}
	return r.solve(ctx, p, m, realRank, l.Seed)
}

// refer computes reference triplets if the true ones are not known.
func (p *problem) refer(ctx context.Context, k int) error {
	const tol = 1e-12
	left := solver.NewDenseRows(int(p.a.Info().Rows), k)
	res, err := solver.SVD(ctx, p.a, solver.Settings{Rank: k, Method: lanczos.Krylov{Columns: 16}, Tol: tol, Seed: 1 << 32, Left: left})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	if worst := floats.Max(res.Residuals); worst > 10*tol {
		return fmt.Errorf("reference has residuals up to %.2g", worst)
	}
	p.triplets = triplets{left.Dense, res.Right, res.Sigma}
	return nil
}

// passMethods are the methods of the experiment "what a pass buys".
var passMethods = []algorithm{
	{"gd", gd.Descent{}, false},
	{"power", power.Iteration{}, false},
	{"nesterov-general", momentum.NesterovGeneral{}, false},
	{"polyak", momentum.Polyak{}, false},
	{"nesterov", momentum.Nesterov{}, false},
	{"block", block.Descent{}, false},
	{"krylov", lanczos.Krylov{Columns: 4}, false},
	{"krylov, 16 columns", lanczos.Krylov{Columns: 16}, false},
}

// passesCase runs a method to its end, and again with fewer and fewer passes to get the triplets after each number of passes.
// The time of a number of passes is the time at which the first run had made them.
func (l *lab) passesCase(ctx context.Context, r *Record, p *problem, m algorithm) error {
	r.describe(p, realRank)
	s := m.settings(realRank, l.Seed)
	times, begin := map[int]float64{}, time.Now()
	s.Observer = func(e solver.Event) error {
		times[e.Pass] = time.Since(begin).Seconds()
		return nil
	}
	for first := true; first || s.MaxPasses >= 2; first = false {
		res, err := solver.SVD(ctx, p.a, s)
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if first {
			r.Status, r.Passes, r.Products = res.Status.String(), res.Stats.Passes, res.Stats.Products
			r.Seconds, r.Residual = time.Since(begin).Seconds(), floats.Max(res.Residuals)
			s.MaxPasses, s.Observer = r.Passes, nil
		}
		r.Points = append(r.Points, pointOf(res, times))
		if s.MaxPasses > 100 { // small steps at small numbers, and half where a run takes long
			s.MaxPasses /= 2
		} else {
			s.MaxPasses = min(s.MaxPasses-1, s.MaxPasses*5/7)
		}
	}
	slices.Reverse(r.Points)
	return nil
}

// pointOf returns the residuals at the end of a run. They are limited to the range from the tolerance to 1, beyond which they
// mean nothing more.
func pointOf(res *solver.Result, times map[int]float64) Point {
	p := Point{Passes: res.Stats.Passes, Seconds: times[res.Stats.Passes]}
	digits := 0.0
	for _, r := range res.Residuals {
		r = min(max(r, epsilon), 1)
		p.Worst = max(p.Worst, r)
		digits += math.Log10(r)
	}
	p.Mean = math.Pow(10, digits/float64(len(res.Residuals)))
	return p
}
