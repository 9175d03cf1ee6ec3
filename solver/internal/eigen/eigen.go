package eigen

import (
	"cmp"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// Solver computes eigenvalues and eigenvectors, and reuses its memory. It is not safe for concurrent use; the zero value is
// ready.
type Solver struct {
	Workers int // goroutines; 0 means GOMAXPROCS
	room
	// Results for the last matrix:
	d     []float64 // eigenvalues of the scaled matrix
	order []int     // indices of d in descending order of value
	q     reflections
	turns rotations
}

func (w *Solver) workers() int { return cmp.Or(w.Workers, runtime.GOMAXPROCS(0)) }

// Failure is the value that Symmetric panics with if eigenvalues do not converge.
type Failure string

func (f Failure) Error() string { return string(f) }

// Symmetric returns the eigenvalues of the symmetric part of a in descending order, and the last tail entries of every
// eigenvector, in rows. tail = 0 takes a fifth of the time of tail = n; the bits of the eigenvalues do not depend on tail.
// The entries of a must be finite: if not, Symmetric panics with a Failure.
func (w *Solver) Symmetric(a blas64.General, tail int) (values []float64, vectors blas64.General) {
	n := a.Rows
	if a.Cols != n || tail < 0 || tail > n {
		panic("eigen: dimensions do not match")
	}
	w.reset()
	s, unit := w.scaled(a)
	var e []float64
	w.d, e, w.q = w.reduce(w.workers(), s)
	var z blas64.General
	converged := false
	const alone = 32 // order below which a second goroutine does not pay
	parallel.Each(min(2, w.workers(), 1+n/alone), 2, func(_, part int) {
		if part == 0 {
			converged = w.turns.diagonalise(w.d, e)
		} else {
			z = w.last(w.q, tail)
		}
	})
	if !converged {
		panic(Failure("eigenvalues of a small matrix do not converge"))
	}
	w.order = w.order[:0]
	for i := range n {
		w.order = append(w.order, i)
	}
	slices.SortStableFunc(w.order, func(i, j int) int { return cmp.Compare(w.d[j], w.d[i]) })
	values = make([]float64, n)
	for i, j := range w.order {
		values[i] = w.d[j] * unit
	}
	return values, w.turned(z, tail)
}

// Vectors returns the last tail entries of the eigenvectors of the matrix of the last call of Symmetric.
func (w *Solver) Vectors(tail int) blas64.General {
	defer func(used int) { w.used = used }(w.used)
	return w.turned(w.last(w.q, tail), tail)
}

// turned returns the last entries of the eigenvectors, given z, the last columns of Qᵀ.
func (w *Solver) turned(z blas64.General, tail int) blas64.General {
	w.turns.apply(w.workers(), z)
	n := len(w.d)
	vectors := blas64.General{Rows: n, Cols: tail, Stride: max(1, tail), Data: make([]float64, n*tail)}
	for i, j := range w.order {
		copy(vectors.Data[i*tail:(i+1)*tail], z.Data[j*z.Cols:])
	}
	return vectors
}

// scaled returns the symmetric part of a divided by unit, a power of two such that the largest entry is between ½ and 1.
func (w *room) scaled(a blas64.General) (s blas64.General, unit float64) {
	n, most := a.Rows, 0.0
	s = w.zeros(n, n)
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
	// In two steps, because 1/unit may be out of range.
	first, second := math.Ldexp(1, -exp/2), math.Ldexp(1, exp/2-exp)
	for i, v := range s.Data {
		s.Data[i] = v * first * second
	}
	return s, math.Ldexp(1, exp)
}

// reflections holds the reflections H_j = I − τuuᵀ that reduce a matrix. Row j of u is the vector of H_j: zero up to entry
// j.
type reflections struct {
	u   blas64.General
	tau []float64
}

// reduce returns the diagonal d and the off-diagonal e of the tridiagonal QᵀsQ for Q = H₀·H₁⋯, and destroys s. It starts
// with the first column: bases have their largest values there. The updates by several neighbouring columns are subtracted
// from the remaining columns together (Dongarra, Sorensen, Hammarling 1989, "Block reduction of matrices to condensed forms
// for eigenvalue computations").
func (w *room) reduce(workers int, s blas64.General) (d, e []float64, r reflections) {
	n := s.Rows
	vector := func() []float64 { return w.zeros(n, 1).Data }
	d, e = vector(), vector()
	r = reflections{w.zeros(n, n), vector()}
	p := vector()
	// Small matrices stay in a cache, and several columns at a time do not pay.
	wide := max(1, min(16, n/64))
	// both holds u and w of each of these columns, swapped w and u: s − both·swappedᵀ is reduced next.
	both, swapped, c := w.zeros(n, 2*wide), w.zeros(n, 2*wide), w.zeros(1, 2*wide)
	var f panel.Factor
	var row, y, column, rest, left blas64.General
	var parts int
	multiply := func(_, i int) { // y = uᵀB, for part i of the columns
		a, b := rest.Cols*i/parts, rest.Cols*(i+1)/parts
		panel.AddCross(block(y, 0, 1, a, b), column, block(rest, 0, rest.Rows, a, b))
	}
	subtract := func(_, i int) {
		a, b := rest.Rows*i/parts, rest.Rows*(i+1)/parts
		panel.AddProduct(block(rest, a, b, 0, rest.Cols), block(left, a, b, 0, left.Cols), f)
	}
	for from := 0; from < n; from += wide {
		to := min(from+wide, n)
		for j := from; j < to; j++ {
			k := 2 * (j - from)
			row = blas64.General{Rows: n - j, Cols: 1, Stride: 1, Data: s.Data[j*n+j : (j+1)*n]} // as a column
			if k > 0 {
				f.Pack(-1, block(both, j, j+1, 0, k))
				panel.AddProduct(row, block(swapped, j, n, 0, k), f)
			}
			d[j] = row.Data[0]
			if j == n-1 {
				break
			}
			x := r.u.Data[j*n+j+1 : (j+1)*n]
			copy(x, row.Data[1:])
			e[j], r.tau[j] = reflect(x)
			tau := r.tau[j]
			if tau == 0 {
				clear(x)
			}
			// B − uwᵀ − wuᵀ, with w = τBu − ½τ²(uᵀBu)u.
			m := len(x)
			y = blas64.General{Rows: 1, Cols: m, Stride: m, Data: p[:m]}
			clear(y.Data)
			column = blas64.General{Rows: m, Cols: 1, Stride: 1, Data: x}
			rest, parts = block(s, j+1, n, j+1, n), stripes(m)
			parallel.Each(workers, parts, multiply)
			if k > 0 {
				clear(c.Data)
				panel.AddCross(block(c, 0, 1, 0, k), column, block(swapped, j+1, n, 0, k))
				f.Pack(-1, block(c, 0, 1, 0, k))
				panel.AddProduct(blas64.General{Rows: m, Cols: 1, Stride: 1, Data: y.Data}, block(both, j+1, n, 0, k), f)
			}
			half := 0.0
			for i, x := range x {
				half = math.FMA(x, y.Data[i], half)
			}
			half *= tau * tau / 2
			at := (j+1)*both.Stride + k
			for i, x := range x {
				y := math.FMA(-half, x, tau*y.Data[i])
				both.Data[at], both.Data[at+1] = x, y
				swapped.Data[at], swapped.Data[at+1] = y, x
				at += both.Stride
			}
		}
		if to < n {
			rest, left, parts = block(s, to, n, to, n), block(both, to, n, 0, both.Cols), stripes(n-to)
			f.Pack(-1, block(swapped, to, n, 0, both.Cols))
			parallel.Each(workers, parts, subtract)
		}
	}
	return d, e, r
}

// stripes returns the number of parts of the work on a matrix of order n: one where another goroutine does not pay.
func stripes(n int) int { return 1 + n/256 }

// block returns the rows [top, bottom) and columns [left, right) of x.
func block(x blas64.General, top, bottom, left, right int) blas64.General {
	return blas64.General{Rows: bottom - top, Cols: right - left, Stride: x.Stride, Data: x.Data[top*x.Stride+left:]}
}

// reflect replaces x by the vector u of the reflection that maps x to (β, 0, …, 0), and returns β and τ. τ is 0 if x has
// that form already.
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

// last returns the last tail columns of Qᵀ, which the rotations are applied to. Rows are padded to whole vectors.
func (w *room) last(r reflections, tail int) blas64.General {
	const lanes = 8
	n := len(r.tau)
	z := w.zeros(n, (tail+lanes-1)/lanes*lanes)
	if tail == 0 {
		return z
	}
	// The last rows of Q are eᵀ·H₀·H₁⋯. All of Q is H₀·(H₁⋯(H·I)), where the first products have fewer rows and columns.
	q := w.zeros(tail, n)
	for i := range tail {
		q.Data[i*n+n-tail+i] = 1
	}
	if tail < n {
		w.applyRight(r, q)
	} else {
		w.applyLeft(r, q)
	}
	for i := range tail {
		for j, v := range q.Data[i*n : (i+1)*n] {
			z.Data[j*z.Stride+i] = v
		}
	}
	return z
}

// together is the number of reflections that are applied at a time.
const together = 8

// product returns U and T with H_j·H_{j+1}⋯ = I − U·T·Uᵀ for at most eight reflections (together), T upper triangular
// (Schreiber, Van Loan 1989, "A storage-efficient WY representation for products of Householder transformations"). The rows
// of U up to j, which are zero, are left out.
func (w *room) product(r reflections, j int) (u, t blas64.General) {
	n := len(r.tau)
	c := min(together, n-1-j)
	u, t = w.zeros(n-1-j, c), w.zeros(c, c)
	for i := range c {
		for k, x := range r.u.Data[(j+i)*n+j+i+1 : (j+i+1)*n] {
			u.Data[(i+k)*c+i] = x
		}
	}
	gram := w.zeros(c, c)
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
func (w *room) applyRight(r reflections, q blas64.General) {
	var f panel.Factor
	for j, used := 0, w.used; j < len(r.tau)-1; j += together {
		w.used = used
		u, t := w.product(r, j)
		part := q
		part.Data, part.Cols = q.Data[j+1:], u.Rows
		qu, qut := w.zeros(q.Rows, u.Cols), w.zeros(q.Rows, u.Cols)
		f.Pack(1, w.transposed(u))
		panel.AddProduct(qu, part, f)
		f.Pack(1, w.transposed(t))
		panel.AddProduct(qut, qu, f)
		f.Pack(-1, u)
		panel.AddProduct(part, qut, f)
	}
}

// applyLeft sets q, which is I, to H₀·H₁⋯.
func (w *room) applyLeft(r reflections, q blas64.General) {
	var f panel.Factor
	n, used := q.Cols, w.used
	for j := (n - 1) / together * together; j >= 0; j -= together {
		if j == n-1 {
			continue // row n−1 has no reflection
		}
		w.used = used
		u, t := w.product(r, j)
		part := blas64.General{Rows: u.Rows, Cols: u.Rows, Stride: n, Data: q.Data[(j+1)*n+j+1:]}
		uq, tuq := w.zeros(u.Cols, u.Rows), w.zeros(u.Cols, u.Rows)
		panel.AddCross(uq, u, part)
		f.Pack(1, w.transposed(uq))
		panel.AddProduct(tuq, t, f)
		f.Pack(-1, w.transposed(tuq))
		panel.AddProduct(part, u, f)
	}
}

func (w *room) transposed(x blas64.General) blas64.General {
	y := w.zeros(x.Cols, x.Rows)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			y.Data[j*x.Rows+i] = v
		}
	}
	return y
}
