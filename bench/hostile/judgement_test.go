package hostile

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Bounds of rounding, relative to σ₁: of gonum's decomposition, and of a
// residual that is computed in float64 by other code.
const (
	svdRounding      = 1e-13
	gramRounding     = 1.5e-14 // of squares of values, in AᵀA
	residualRounding = 1e-14
)

// sum is a compensated sum (Neumaier, ZAMM 54, 1974) of exact products (by fused multiply-add),
// about as accurate as with twice the digits.
type sum struct{ s, c float64 }

func (z *sum) add(x float64) {
	t := z.s + x
	if math.Abs(z.s) >= math.Abs(x) {
		z.c += (z.s - t) + x
	} else {
		z.c += (x - t) + z.s
	}
	z.s = t
}

func (z *sum) addProduct(x, y float64) {
	p := x * y
	z.add(p)
	z.add(math.FMA(x, y, -p))
}

func (z *sum) value() float64 { return z.s + z.c }

// residual returns max(‖A v − σ u‖, ‖Aᵀ u − σ v‖) of a triplet, A and σ times 2^−e.
func (m *matrix) residual(e int, sigma float64, u, v []float64) float64 {
	left, right := make([]sum, m.rows), make([]sum, m.cols)
	for _, x := range m.entries {
		a := math.Ldexp(x.v, -e)
		left[x.i].addProduct(a, v[x.j])
		right[x.j].addProduct(a, u[x.i])
	}
	sigma = math.Ldexp(sigma, -e)
	norm := func(y []sum, z []float64) float64 {
		var s sum
		for i := range y {
			y[i].addProduct(-sigma, z[i])
			d := y[i].value()
			s.addProduct(d, d)
		}
		return math.Sqrt(s.value())
	}
	return max(norm(left, u), norm(right, v))
}

// values returns the singular values by gonum's dense decomposition, times 2^−e, descending.
func (m *matrix) values(e int) []float64 {
	var svd mat.SVD
	if len(m.entries) == 0 || !svd.Factorize(m.dense(e), mat.SVDNone) {
		return make([]float64, min(m.rows, m.cols))
	}
	return svd.Values(nil)
}

// orthogonality returns max|XᵀX − I|.
func orthogonality(x *mat.Dense) (worst float64) {
	n, k := x.Dims()
	for i := range k {
		for j := range i + 1 {
			var s sum
			for r := range n {
				s.addProduct(x.At(r, i), x.At(r, j))
			}
			if i == j {
				s.add(-1)
			}
			worst = max(worst, math.Abs(s.value()))
		}
	}
	return worst
}

// judge compares a result with the matrix of the text that was ingested.
//
// For every status: all numbers are finite, the values descend, the vectors are about as
// orthonormal as reported, and no residual is smaller than half the true one; if the result is
// certified, every value has a singular value within its residual. If the status is converged,
// residuals are within the tolerance and the values are the leading ones.
func (m *matrix) judge(r *result) error {
	e := m.exponent()
	exact := m.values(e)
	most := exact[0]
	scale := most
	if scale == 0 {
		scale = 1
	}
	// A σ below 2^−1022 has fewer digits.
	denormal := math.Ldexp(1, max(-1073-e, -1074))
	if r.K != len(r.sigma) || len(r.Sigma) != r.K || len(r.Residual) != r.K || r.K > len(exact) {
		return wrongf("k %d, %d values in sigma.npy, %d in result.json, %d residuals, of %d that there are", r.K, len(r.sigma), len(r.Sigma), len(r.Residual), len(exact))
	}
	for i, sigma := range r.sigma {
		switch {
		case sigma != r.Sigma[i]:
			return wrongf("σ[%d] is %g in sigma.npy and %g in result.json", i, sigma, r.Sigma[i])
		case sigma < 0 || i > 0 && sigma > r.sigma[i-1]:
			return wrongf("σ %v does not descend to 0", r.sigma)
		case r.Residual[i] < 0:
			return wrongf("residual[%d] is %g", i, r.Residual[i])
		}
	}
	converged := 0
	for i, sigma := range r.sigma {
		if !r.Certified {
			break
		}
		s := math.Ldexp(sigma, -e)
		real := m.residual(e, sigma, mat.Col(nil, i, r.u), mat.Col(nil, i, r.v)) / scale
		if real > 2*r.Residual[i]+residualRounding+denormal/scale {
			return wrongf("residual[%d] is %.3g, really %.3g (σ %.3g of %.3g)", i, r.Residual[i], real, s, most)
		}
		floor := 0.0
		if i < len(r.Floor) {
			floor = r.Floor[i]
		}
		if r.Residual[i] > 4*real+max(1e-13, floor)+denormal/scale {
			return wrongf("residual[%d] is %.3g, really no more than %.3g (σ %.3g of %.3g)", i, r.Residual[i], real, s, most)
		}
		nearest := math.Inf(1)
		for _, x := range exact {
			nearest = min(nearest, math.Abs(x-s))
		}
		if nearest > (2*r.Residual[i]+svdRounding)*scale+denormal {
			return wrongf("σ[%d] = %.17g is %.3g·σ₁ away from every singular value, its residual is %.3g", i, sigma, nearest/scale, r.Residual[i])
		}
		if max(r.Residual[i], floor) <= r.tol {
			converged++
		}
	}
	if r.Certified && converged != r.Converged {
		return wrongf("%d residuals and floors are within %g, it says %d", converged, r.tol, r.Converged)
	}
	if err := r.judgeVectors(); err != nil {
		return err
	}
	if r.Status != "converged" {
		return nil
	}
	// The stated bound is above the least value: the result says that rounding may hide a larger value.
	blurred := r.Outside.Bound-r.sigma[r.K-1] > 2.01*r.tol*r.sigma[0]
	if !r.Certified || r.Converged != r.K {
		return wrongf("status converged, certified %v, %d of %d", r.Certified, r.Converged, r.K)
	}
	for i, sigma := range r.sigma {
		s := math.Ldexp(sigma, -e)
		if blurred && math.Abs(s*s-exact[i]*exact[i]) <= gramRounding*most*most {
			continue
		}
		if off := math.Abs(s - exact[i]); off > (r.tol+svdRounding)*scale+denormal {
			return wrongf("σ[%d] = %.10g, really %.10g, %.3g·σ₁ away with a tolerance of %g", i, sigma, math.Ldexp(exact[i], e), off/scale, r.tol)
		}
	}
	return nil
}

// judgeVectors compares the reported orthogonality with that of the vectors.
func (r *result) judgeVectors() error {
	for _, x := range []struct {
		name string
		a    *mat.Dense
		said float64
	}{{"U", r.u, r.Orthogonality.U}, {"V", r.v, r.Orthogonality.V}} {
		real := orthogonality(x.a)
		if real > 2*x.said+residualRounding*float64(r.K+1) {
			return wrongf("%s is orthonormal to %.3g, it says %.3g", x.name, real, x.said)
		}
		if real > 1e-6 {
			return wrongf("%s is orthonormal to no more than %.3g", x.name, real)
		}
	}
	return nil
}
