package main

import (
	"context"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
)

// sums returns the nanoseconds for each of the n·l sums of a pass, from one
// over a store with hardly anything else in it.
func sums(ctx context.Context) (float64, error) {
	const n, l = 1 << 19, 4
	dir, err := os.MkdirTemp("", "gdsvd-calibrate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	store, err := ratings(filepath.Join(dir, "m.csr"), n, n/8)
	if err != nil {
		return 0, err
	}
	defer store.Close()
	m, err := stream.New(store, stream.Options{Workers: workers})
	if err != nil {
		return 0, err
	}
	defer m.Close()
	x, y := mat.NewDense(n, l, nil), mat.NewDense(n, l, nil)
	best := math.Inf(1)
	for range rounds {
		start := harness.ProcessorSeconds()
		if _, err := m.Run(ctx, solver.Pass{X: x, Sum: y}); err != nil {
			return 0, err
		}
		best = min(best, harness.ProcessorSeconds()-start)
	}
	return best * 1e9 / workers / (n * l), nil
}

// diagonal is an operator with eigenvalues that fall as those of ratings do.
type diagonal struct{ n int }

func (d diagonal) Dim() int { return d.n }

func (d diagonal) Apply(_ context.Context, dst, x *mat.Dense) error {
	for i := range d.n {
		v := math.Pow(float64(i+1), -1.4)
		row := dst.RawRowView(i)
		for j, u := range x.RawRowView(i) {
			row[j] = v * u
		}
	}
	return nil
}

// denseWork returns the nanoseconds for an operation between passes, for blocks
// of each of the widths.
func denseWork(ctx context.Context) ([]float64, error) {
	const n, k = 32 << 10, 10
	var all []float64
	for _, b := range widths {
		krylov := lanczos.Krylov{Columns: b}
		var stats solver.Stats
		for range rounds {
			r, err := solver.Eigen(ctx, diagonal{n}, solver.Settings{Rank: k, Method: krylov})
			if err != nil {
				return nil, err
			}
			if stats.Passes == 0 || r.Stats.Orthogonalise < stats.Orthogonalise {
				stats = r.Stats
			}
		}
		// What the model counts, at a nanosecond each.
		one := cost.Machine{Columns: []float64{1}, Widths: []float64{1}, Multiply: [][]float64{{0}}, Dense: []float64{1}}
		e := cost.EstimateOf(cost.Problem{Workload: method.Workload{Order: n, Rank: k, Digits: 1}, Columns: n}, one, krylov)
		scale := math.Pow(float64(stats.Passes)/float64(e.Passes), 2)
		all = append(all, float64(stats.Orthogonalise)/(float64(e.Dense)*scale))
	}
	return all, nil
}
