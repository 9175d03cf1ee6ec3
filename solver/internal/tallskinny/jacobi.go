package tallskinny

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// JacobiSVD returns the singular values of the k×k matrix r in descending
// order and its right singular vectors in the columns of v, by one-sided Jacobi
// rotations (Golub, Van Loan, Matrix Computations, §8.6.3).
//
// It stands in for the bidiagonal SVD of LAPACK because r is W = A·V reduced by
// QR, and W is graded: LAPACK's errors are of the size of the largest value, so
// a left vector W·v/σ of a value 10⁶ times smaller would be orthogonal to the
// leading one to ten digits only. Rotations that depend on two columns alone
// respect the scale of both (Demmel, Veselić 1992). The columns of W being
// nearly orthogonal already, two or three sweeps do.
func JacobiSVD(r *mat.Dense) (sigma []float64, v *mat.Dense) {
	k, _ := r.Dims()
	// Rows of b are columns of r, rows of w columns of v.
	b, w := mat.DenseCopyOf(r.T()), mat.NewDense(k, k, nil)
	for i := range k {
		w.Set(i, i, 1)
	}
	sigma = make([]float64, k)
	order := make([]int, k)
	for i := range k {
		sigma[i], order[i] = (*Arena)(nil).Norm2(b.RawRowView(i)), i
	}
	const maxSweeps = 60
	for range maxSweeps {
		if jacobiSweep(b, w, sigma) {
			break
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sigma[j], sigma[i]) })
	v = mat.NewDense(k, k, nil)
	for j, i := range order {
		v.SetCol(j, w.RawRowView(i))
	}
	slices.SortFunc(sigma, func(x, y float64) int { return cmp.Compare(y, x) })
	return sigma, v
}

// jacobiSweep rotates every pair of rows of b so that they become orthogonal,
// and w likewise, and keeps their norms up to date. It reports whether all of
// them were.
func jacobiSweep(b, w *mat.Dense, norms []float64) bool {
	k, _ := b.Dims()
	done, tol := true, Epsilon*math.Sqrt(float64(k))
	for p := range k - 1 {
		for q := p + 1; q < k; q++ {
			bp, bq := b.RawRowView(p), b.RawRowView(q)
			np, nq, d := norms[p], norms[q], (*Arena)(nil).Dot(bp, bq)
			if math.Abs(d) <= tol*np*nq {
				continue
			}
			done = false
			// tan of the angle that makes the rows orthogonal, smaller root.
			zeta := (nq/np - np/nq) / (2 * (d / np / nq))
			t := math.Copysign(1, zeta) / (math.Abs(zeta) + math.Hypot(1, zeta))
			c := 1 / math.Hypot(1, t)
			rotate(bp, bq, c, c*t)
			rotate(w.RawRowView(p), w.RawRowView(q), c, c*t)
			norms[p], norms[q] = (*Arena)(nil).Norm2(bp), (*Arena)(nil).Norm2(bq)
		}
	}
	return done
}

// rotate sets (x, y) = (c·x − s·y, s·x + c·y).
func rotate(x, y []float64, c, s float64) {
	for i, xi := range x {
		yi := y[i]
		x[i] = c*xi - s*yi
		y[i] = s*xi + c*yi
	}
}
