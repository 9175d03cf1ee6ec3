package eigen

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

// Symmetric returns the eigenvalues of the symmetric part of a, in descending order,
// and of every eigenvector, in rows, its last entries: all for tail = n. The fewer
// the less it takes, down to a fifth for none; the values are the same, bit for bit.
// The entries of a must be finite.
func Symmetric(a blas64.General, tail int) (values []float64, vectors blas64.General) {
	n := a.Rows
	if a.Cols != n || tail < 0 || tail > n {
		panic("eigen: dimensions do not match")
	}
	s, unit := scaled(a)
	d, e, r := reduce(s)
	z := r.last(tail)
	diagonalise(d, e, z)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(d[j], d[i]) })
	values, vectors = make([]float64, n), square(n, tail)
	for i, j := range order {
		values[i] = d[j] * unit
		copy(vectors.Data[i*tail:(i+1)*tail], z.Data[j*z.Cols:])
	}
	return values, vectors
}

// square returns zeros.
func square(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols)}
}

// scaled returns the symmetric part of a over a power of two, unit, such that its
// largest entry is between ½ and 1.
func scaled(a blas64.General) (s blas64.General, unit float64) {
	n, most := a.Rows, 0.0
	s = square(n, n)
	for i := range n {
		for j := range i + 1 {
			v := a.Data[i*a.Stride+j]/2 + a.Data[j*a.Stride+i]/2
			s.Data[i*n+j], s.Data[j*n+i] = v, v
			most = max(most, math.Abs(v))
		}
	}
	if most == 0 {
		return s, 1
	}
	_, exp := math.Frexp(most)
	for i, v := range s.Data {
		s.Data[i] = math.Ldexp(v, -exp)
	}
	return s, math.Ldexp(1, exp)
}

// reflections are those that reduce a matrix, H_j = I − τuuᵀ with a u whose entries
// up to j are zero: row j holds the others.
type reflections struct {
	u   blas64.General
	tau []float64
}

// reduce returns the diagonal d and the other diagonal e of QᵀsQ, tridiagonal, for
// Q = H₀·H₁⋯, and destroys s. Columns are dealt with from the first one on: bases
// have their largest values there.
func reduce(s blas64.General) (d, e []float64, r reflections) {
	n := s.Rows
	d, e = make([]float64, n), make([]float64, n)
	r = reflections{square(n, n), make([]float64, n)}
	p, both, swapped := make([]float64, n), square(n, 2), square(n, 2)
	for j := range n - 1 {
		d[j] = s.Data[j*n+j]
		u := r.u.Data[j*n+j+1 : (j+1)*n]
		copy(u, s.Data[j*n+j+1:])
		e[j], r.tau[j] = reflect(u)
		tau := r.tau[j]
		if tau == 0 {
			continue
		}
		// B − uwᵀ − wuᵀ, with w = τBu − ½τ²(uᵀBu)u.
		m := len(u)
		rest := blas64.General{Rows: m, Cols: m, Stride: n, Data: s.Data[(j+1)*n+j+1:]}
		w := row(p[:m])
		clear(w.Data)
		panel.AddCross(w, column(u), rest)
		half := 0.0
		for i, x := range u {
			half = math.FMA(x, w.Data[i], half)
		}
		half *= tau * tau / 2
		for i, x := range u {
			y := math.FMA(-half, x, tau*w.Data[i])
			both.Data[2*i], both.Data[2*i+1] = x, y
			swapped.Data[2*i], swapped.Data[2*i+1] = y, x
		}
		both.Rows, swapped.Rows = m, m
		panel.AddProduct(rest, both, panel.Pack(-1, swapped))
	}
	d[n-1] = s.Data[n*n-1]
	return d, e, r
}

func row(x []float64) blas64.General {
	return blas64.General{Rows: 1, Cols: len(x), Stride: len(x), Data: x}
}

func column(x []float64) blas64.General {
	return blas64.General{Rows: len(x), Cols: 1, Stride: 1, Data: x}
}

// reflect makes x the vector u of a reflection that takes it to (β, 0, …, 0), and
// returns β and τ, which is 0 if x is of that form already.
func reflect(x []float64) (beta, tau float64) {
	most := 0.0
	for _, v := range x[1:] {
		most = max(most, math.Abs(v))
	}
	if most <= negligible {
		return x[0], 0
	}
	most = max(most, math.Abs(x[0]))
	sum := 0.0
	for i := range x {
		x[i] /= most
		sum = math.FMA(x[i], x[i], sum)
	}
	b := -math.Copysign(math.Sqrt(sum), x[0])
	x[0] -= b
	// τ = 2/‖u‖², where ‖u‖² = 2(b² − b·x₀).
	return b * most, -1 / (b * x[0])
}

// last returns Qᵀ less all but the last columns, which is where rotations begin.
// The padding of its rows makes them whole vectors.
func (r reflections) last(tail int) blas64.General {
	const lanes = 8
	n := len(r.tau)
	z := square(n, (tail+lanes-1)/lanes*lanes)
	if tail == 0 {
		return z
	}
	// The last rows of Q, eᵀ·H₀·H₁⋯; all of it H₀·(H₁⋯(H·I)), which begins with
	// fewer rows and columns.
	q := square(tail, n)
	for i := range tail {
		q.Data[i*n+n-tail+i] = 1
	}
	if tail < n {
		r.applyRight(q)
	} else {
		r.applyLeft(q)
	}
	for i := range tail {
		for j, v := range q.Data[i*n : (i+1)*n] {
			z.Data[j*z.Stride+i] = v
		}
	}
	return z
}

// together is how many reflections are applied at a time.
const together = 8

// product returns U and T with H_j·H_{j+1}⋯ = I − U·T·Uᵀ for up to so many of them,
// T upper triangular (Schreiber, Van Loan 1989, "A storage-efficient WY
// representation for products of Householder transformations"), without the rows of
// U up to j, which are zero.
func (r reflections) product(j int) (u, t blas64.General) {
	n := len(r.tau)
	c := min(together, n-1-j)
	u, t = square(n-1-j, c), square(c, c)
	for i := range c {
		for k, x := range r.u.Data[(j+i)*n+j+i+1 : (j+i+1)*n] {
			u.Data[(i+k)*c+i] = x
		}
	}
	gram := square(c, c)
	panel.AddCross(gram, u, u)
	for i := range c {
		tau := r.tau[j+i]
		t.Data[i*c+i] = tau
		for k := range i {
			sum := 0.0
			for l := k; l < i; l++ {
				sum = math.FMA(t.Data[k*c+l], gram.Data[l*c+i], sum)
			}
			t.Data[k*c+i] = -tau * sum
		}
	}
	return u, t
}

// applyRight sets q to q·H₀·H₁⋯.
func (r reflections) applyRight(q blas64.General) {
	for j := 0; j < len(r.tau)-1; j += together {
		u, t := r.product(j)
		part := q
		part.Data, part.Cols = q.Data[j+1:], u.Rows
		qu, qut := square(q.Rows, u.Cols), square(q.Rows, u.Cols)
		panel.AddProduct(qu, part, panel.Pack(1, transposed(u)))
		panel.AddProduct(qut, qu, panel.Pack(1, transposed(t)))
		panel.AddProduct(part, qut, panel.Pack(-1, u))
	}
}

// applyLeft sets q, which is I, to H₀·H₁⋯.
func (r reflections) applyLeft(q blas64.General) {
	n := q.Cols
	for j := (n - 1) / together * together; j >= 0; j -= together {
		if j == n-1 {
			continue // the last reflection is none
		}
		u, t := r.product(j)
		part := blas64.General{Rows: u.Rows, Cols: u.Rows, Stride: n, Data: q.Data[(j+1)*n+j+1:]}
		uq, tuq := square(u.Cols, u.Rows), square(u.Cols, u.Rows)
		panel.AddCross(uq, u, part)
		panel.AddProduct(tuq, t, panel.Pack(1, transposed(uq)))
		panel.AddProduct(part, u, panel.Pack(-1, transposed(tuq)))
	}
}

func transposed(x blas64.General) blas64.General {
	y := square(x.Cols, x.Rows)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			y.Data[j*x.Rows+i] = v
		}
	}
	return y
}
