// Package recommend finds, for rows of a factorised matrix, the columns with the highest scores, and similar rows or similar
// columns.
//
// # Scores
//
// Of a factorisation A ≈ U·Σ·Vᵀ with k triplets the score of row i and column j is, by Model, the element of the approximation,
//
//	s_ij = u_iᵀ Σ v_j,
//
// and by History that of the row projected onto the right vectors,
//
//	s_ij = (Σ_l h_il v_l)ᵀ v_j,
//
// where h_i holds the entries of the row, or 1 for each entry that the first step "binary" of the view keeps. The two are equal if
// the matrix has no view. Where a view weights columns, as "recsys" does, V belongs to the weighted matrix and History scores
// the plain row with it: Nikolakopoulos, Kalantzis, Gallopoulos and Garofalakis, "EigenRec: generalizing PureSVD for effective
// and efficient top-N recommendations", Knowledge and Information Systems 58 (2019).
//
// # Contract
//
// The results are the N columns with the highest scores, without approximation; of a tie, the columns with the smaller
// numbers. Scores are a tie if their nearest multiples of 2⁻³⁶·‖h‖ are the same, h being the entries by History and U_i·Σ by
// Model, so that rounding decides nothing; U_i·Σ of at most 10⁻¹²·σ₁ is 0. The bits are the same for any number of workers and
// any budget. Memory is bounded by Options.Memory: rows are taken in blocks, and columns in blocks, too, where V is larger than
// memory. Rows without entries have no recommendations.
package recommend

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Scoring is the way in which rows are scored: see the package documentation.
type Scoring uint8

const (
	// Auto is History where the view has the step weight=columns, and Model elsewhere.
	Auto Scoring = iota
	Model
	History
)

// A Factorisation holds the k triplets of a matrix from which scores are computed. U and V fill a matrix of k columns with
// the rows from first on; U may be nil if scores are by History.
type Factorisation struct {
	Rows, Cols int64
	Sigma      []float64
	U, V       func(first int64, rows *mat.Dense) error
	View       view.Pipeline // of the matrix; nil: none
	Fold       *view.Fitted  // computes h from the entries of a row in History, and has no Q; nil: see the package documentation
	Exact      bool          // tiny vectors of U·Σ are not taken for rounding

	completed bool         // made by Predictions of a completion
	held      int64        // bytes of the biases of a completion
	errors    [2][]float64 // factor.Result.Errors of U·Σ and V·Σ
}

// Of returns the factorisation of a result. Its vectors are read when they are needed.
func Of(r *factor.Result) (f *Factorisation, err error) {
	if r.Settings.Which != "" {
		return nil, fmt.Errorf("%s has eigenpairs: scores are made of singular triplets", r.Dir())
	}
	f = &Factorisation{Rows: r.Rows, Cols: r.Cols, U: r.ReadU, V: r.ReadV}
	// Vectors of σ = 0 are arbitrary orthogonal ones: the one triplet that is kept of a matrix that is 0 gets vectors of 0.
	f.Sigma = r.Values()[:min(len(r.Sigma), max(1, r.Rank))]
	f.errors = [2][]float64{r.Errors(r.Rows, f.Sigma), r.Errors(r.Cols, f.Sigma)}
	if r.Rank == 0 {
		f.U = func(_ int64, rows *mat.Dense) error { rows.Zero(); return nil }
		f.V = f.U
	}
	if r.View != nil {
		if f.View, err = view.Parse(r.View.Pipeline); err != nil {
			return nil, fmt.Errorf("%s: view: %w", r.Dir(), err)
		}
	}
	return f, nil
}

// Belongs returns an error unless a result is of a store.
func Belongs(r *factor.Result, store *csr.Store) error {
	if r.Store.Fingerprint != store.Fingerprint() {
		return fmt.Errorf("%s is a result of another store: its fingerprint is %s (%s), that of %s is %s",
			r.Dir(), r.Store.Fingerprint, r.Store.Path, store.Path(), store.Fingerprint())
	}
	return nil
}

// scoring returns s or, for Auto, the scoring that suits the view.
func (f *Factorisation) scoring(s Scoring) Scoring {
	switch {
	case s != Auto:
		return s
	case f.View.WeightsColumns():
		return History
	}
	return Model
}

// Predictions returns a factorisation whose scores by Model are the entries that a completion (package complete) predicts,
// μ + b_i + c_j + Σ_s u_is σ_s v_js. It has two triplets more than the completion, (μ + b_i)·1 and 1·c·(c_j/c), where c is the
// largest |c_j|: the vector that scores a row then has the length of its predictions. For other results it returns Of.
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
	largest := floats.Norm(cols, math.Inf(1))
	f.Sigma, f.held = append(f.Sigma, 1, largest), 8*int64(len(rows)+len(cols))
	f.U = with(r.ReadU, r.K, func(i int64) (float64, float64) { return mean + of(rows, i), 1 })
	f.V = with(r.ReadV, r.K, func(j int64) (float64, float64) { return 1, of(cols, j) / cmp.Or(largest, 1) })
	return f, nil
}

// with returns a function that reads vectors of k columns, and adds two columns to them.
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
