package solver

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Result is the result of SVD. It is usable whatever the Status; Residuals tell how far each triplet can be
// trusted.
//
// The methods multiply with the deflated G only. SVD therefore ends with one more pass that computes W = AV, AᵀW,
// and the QR factorisation of W. The SVD of the small factor R rotates V and W into the best triplets their span
// contains, with values that are accurate to ε·σ₁ again; from AᵀW follow the residuals of the returned triplets,
// on A itself:
//
//	r_i = max(‖A v_i − σ_i u_i‖, ‖Aᵀ u_i − σ_i v_i‖) / σ₁.
//
// If a residual exceeds Tol the solver goes on with that vector, and certifies again. Residuals holds the
// measured r_i, and Floor bounds the part of them that rounding may hide. The true residual is at most twice the
// measured one plus the floor, and a triplet counts as converged if both are within Tol. |σ_i − σ| ≤ r_i·σ₁ for
// some singular value σ of A (Weyl); only Outside tells whether σ is the i-th.
type Result struct {
	// Sigma holds the k singular values in descending order. From index Rank
	// on they are exactly 0. (So are earlier ones that are too small for a float64.)
	Sigma []float64
	// Lambda holds, with Settings.Which, the k eigenvalues in the order that Which defines; Sigma holds their
	// magnitudes. Eigenvalues at roundoff are exactly 0. Nil otherwise.
	Lambda []float64
	// Norm is, with Settings.Which, the norm that residuals are relative to: the largest ‖Ax‖ of a unit vector x
	// that the run has seen. No eigenvalue in Lambda is larger in magnitude.
	Norm float64
	// Right holds the right singular vectors in its columns, n×k, orthonormal
	// to machine precision. The entry of largest magnitude of each is
	// positive, the first such entry on ties (unless Settings.SignLeft).
	// Nil if a run with a Space was cancelled, or a run with Settings.Which before its first certificate: then only
	// Status and Stats are known.
	Right *mat.Dense
	// Residuals holds, if Certified, the r_i as measured on the original matrix. Otherwise it holds
	// those of an earlier certificate or estimates from the Gram operator, 1 where nothing is known.
	//
	// For σ_i = 0 the vector u_i completes the left vectors; if the left vectors are not
	// kept, only ‖A v_i‖ counts.
	Residuals []float64
	// Floor holds, if Certified, what rounding may hide of each residual: a bound on the errors of measuring it,
	// relative to σ₁. It is about ε for large values, may be many times ε for tiny ones, and is usually far
	// larger than the actual error.
	Floor []float64
	// Certified is false when the run was cancelled before it had finished.
	Certified bool
	// Converged counts the triplets with both Residuals and Floor at most the
	// tolerance.
	Converged int
	// Rank counts the values above roundoff; the vectors of the remaining ones
	// are an orthonormal completion.
	Rank int
	// Clusters lists half-open ranges of indices whose neighbouring values are closer than the sum of their
	// residuals: the vectors inside a range are not determined one by one, only the space that they span is.
	Clusters [][2]int
	// OrthRight is max|VᵀV−I|, OrthLeft is max|UᵀU−I| (NaN if the left vectors
	// are not kept or were not finished).
	OrthRight, OrthLeft float64
	// Energy is Σσ²/‖A‖²_F, 0 for a zero matrix.
	Energy float64
	// Target compares Energy with Settings.Energy; nil if Settings.Energy is 0 or nothing is certified.
	Target *Target
	// Outside bounds the values that may be missing.
	Outside Outside
	Status  Status
	Stats   Stats
}

// String returns a table of the values and their residuals, and a line with the status, the number of converged
// triplets and the passes.
func (r *Result) String() string {
	var b strings.Builder
	values, name := r.Sigma, "sigma"
	if r.Lambda != nil {
		values, name = r.Lambda, "lambda"
	}
	fmt.Fprintf(&b, "%4s  %-16s  residual\n", "i", name)
	for i, v := range values[:min(len(values), len(r.Residuals))] {
		fmt.Fprintf(&b, "%4d  %-16.10g  %.1e\n", i+1, v, r.Residuals[i])
	}
	fmt.Fprintf(&b, "%v: %d of %d within the tolerance, %d passes", r.Status, r.Converged, len(values), r.Stats.Passes)
	return b.String()
}

// EigenResult is the result of Eigen: k leading eigenpairs of G as the method found them.
type EigenResult struct {
	// Values holds the k eigenvalues in descending order.
	Values []float64
	// Vectors holds the eigenvectors in its columns, n×k, of unit norm. Nil if a run with
	// Settings.Space was cancelled.
	Vectors *mat.Dense
	// Residuals holds ‖G v_i − λ_i v_i‖/(σ_i σ₁) with σ = √λ, measured with G
	// itself in one last pass. NaN if the run was cancelled before it.
	Residuals []float64
	// Seen holds the same residuals as computed with the deflated operator when v_i was accepted or the run
	// ended, 1 where nothing is known. With Plain deflation they can be far too small.
	Seen []float64
	// Converged counts the pairs with Residuals at most the tolerance.
	Converged int
	Status    Status
	Stats     Stats
}

func (f *factorisation) result(st Status, orthLeft float64) *Result {
	c := f.cert
	res := &Result{
		Sigma:     c.Sigma,
		Right:     c.Right,
		Residuals: c.Residuals,
		Floor:     c.Floor,
		Certified: true,
		Converged: c.Converged(f.s.Tol),
		Rank:      c.Rank,
		Clusters:  c.Clusters(),
		OrthRight: tallskinny.Orthogonality(f.arena.GramOf(c.Right)),
		OrthLeft:  orthLeft,
		Energy:    c.Energy(),
		Outside:   f.beyond(c.Sigma, c.Frobenius),
		Target:    f.target(),
		Status:    st,
		Stats:     f.passes.cost(),
	}
	if c.Lambda != nil {
		f.signed(res)
	}
	return res
}

func (f *factorisation) cutShort(st Status) *Result {
	switch {
	case f.arena.Outside() || f.s.Which.signed() && f.cert == nil:
		return f.unfinished(st)
	case f.cert == nil:
		return f.uncertified(st)
	}
	f.arena.SignColumns(f.cert.Right)
	res := f.result(st, math.NaN())
	res.Certified = false // Left no longer holds W of this certificate
	return res
}

func (f *factorisation) uncertified(st Status) *Result {
	f.estimates()
	f.lower()
	e := f.eigenpairs()
	res := &Result{
		Sigma:     e.Values,
		Right:     e.Vectors,
		Residuals: e.Seen,
		OrthRight: tallskinny.Orthogonality(f.arena.GramOf(e.Vectors)),
		OrthLeft:  math.NaN(),
		Status:    st,
		Stats:     f.passes.cost(),
	}
	norm := f.a.Info().Norm
	for i, v := range e.Values {
		s := f.found.Sigma(v)
		res.Sigma[i] = s
		if s > 0 {
			res.Rank++
			res.Energy += (s / norm) * (s / norm)
		}
		if e.Seen[i] <= f.s.Tol {
			res.Converged++
		}
	}
	res.Outside = Outside{Bound: norm} // no better bound is certain
	return res
}

// unfinished returns the result of a cancelled run whose vectors lie in a Space: to compute estimates would take
// as many sweeps over files as a step. The checkpoint has the state of the run.
func (f *factorisation) unfinished(st Status) *Result {
	return &Result{
		Sigma: make([]float64, f.s.Rank), Residuals: slices.Repeat([]float64{1}, f.s.Rank),
		OrthRight: math.NaN(), OrthLeft: math.NaN(), Status: st, Stats: f.passes.cost(),
	}
}

// unfinishedPairs is unfinished for Eigen.
func (r *run) unfinishedPairs(st Status) *EigenResult {
	return &EigenResult{
		Values: make([]float64, r.s.Rank), Residuals: slices.Repeat([]float64{math.NaN()}, r.s.Rank), Seen: slices.Repeat([]float64{1}, r.s.Rank),
		Status: st, Stats: r.passes.cost(),
	}
}
