package recommend

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
)

// Predictions is the factorisation whose scores by Model are the entries that a completion (package complete) predicts:
// μ + b_i + c_j + Σ_s u_is σ_s v_js, of two triplets more than it has, (μ + b_i)·1 and 1·c_j. Of other results it is
// that of Of.
func Predictions(ctx context.Context, r *factor.Result) (*Factorisation, error) {
	f, err := Of(r)
	if err != nil || r.Completion == nil {
		return f, err
	}
	f.completed = true
	rows, err := r.RowBiases(ctx)
	if err != nil {
		return nil, err
	}
	cols, err := r.ColBiases(ctx)
	if err != nil {
		return nil, err
	}
	mean := float64(r.Completion.Mean)
	of := func(biases []float64, i int64) float64 {
		if biases == nil {
			return 0
		}
		return biases[i]
	}
	f.Sigma = append(f.Sigma, 1, 1)
	f.U = with(r.ReadU, r.K, func(i int64) (float64, float64) { return mean + of(rows, i), 1 })
	f.V = with(r.ReadV, r.K, func(j int64) (float64, float64) { return 1, of(cols, j) })
	return f, nil
}

// with reads vectors of k columns and two more.
func with(read func(int64, *mat.Dense) error, k int, more func(i int64) (float64, float64)) func(int64, *mat.Dense) error {
	return func(first int64, rows *mat.Dense) error {
		n, _ := rows.Dims()
		if err := read(first, rows.Slice(0, n, 0, k).(*mat.Dense)); err != nil {
			return err
		}
		for i := range n {
			a, b := more(first + int64(i))
			rows.Set(i, k, a)
			rows.Set(i, k+1, b)
		}
		return nil
	}
}

// notOf is the error of what is not for completions.
func notOf(r *factor.Result, what string) error {
	if r.Completion == nil {
		return nil
	}
	return fmt.Errorf("%s is a completion: %s is for results of gdsvd svd, in which missing entries are zeros", r.Dir(), what)
}
