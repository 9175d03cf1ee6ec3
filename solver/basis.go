package solver

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// basis holds up to k vectors of length n, one after the other in memory, so
// that products with all of them run over contiguous numbers.
//
// A basis may be cut: then every vector is a pair of unit vectors over √2, and
// the first halves are orthogonal among themselves, as are the second.
type basis struct {
	arena  *Arena
	n, len int
	cut    int       // length of the first halves, 0 if the vectors are whole
	data   []float64 // vector i is data[i·n : (i+1)·n]
	coef   []float64 // scratch
}

func (a *Arena) newBasis(n, k int) *basis {
	return &basis{arena: a, n: n, data: a.planes(n, 1, k), coef: make([]float64, k)}
}

func (b *basis) vector(i int) []float64 { return b.data[i*b.n : (i+1)*b.n] }

// next returns room for one more vector; push makes it part of the basis.
func (b *basis) next() []float64 { return b.vector(b.len) }

func (b *basis) push() { b.len++ }

func (b *basis) reset() { b.len = 0 }

// dimension returns that of the space which the basis keeps others out of.
func (b *basis) dimension() int { return b.len * (len(b.parts()) - 1) }

// remove takes vector i out of the basis.
func (b *basis) remove(i int) {
	for b.len--; i < b.len; i++ {
		b.arena.copyVector(b.vector(i), b.vector(i+1))
	}
}

// part is the basis, restricted to a range of its rows, as a len×(to−from) matrix.
func (b *basis) part(from, to int) blas64.General {
	g := blas64.General{Rows: b.len, Cols: to - from, Stride: b.n}
	if b.len > 0 {
		g.Data = b.data[from : (b.len-1)*b.n+to]
	}
	return g
}

// products sets c = α·Vᵀx for the rows [begin, end) of V, which x has.
func (b *basis) products(c blas64.General, alpha float64, begin, end int, x blas64.General) {
	beta := 0.0
	b.arena.eachTile(end-begin, reads(x).basis(b, begin), func(from, to int) {
		multiply(c, alpha, blas.NoTrans, b.part(begin+from, begin+to), rowsOf(x, from, to-from), beta)
		beta = 1
	})
}

// subtract sets y −= V·c for the rows [begin, end) of V, which y has.
func (b *basis) subtract(y blas64.General, begin, end int, c blas64.General) {
	b.arena.eachTile(end-begin, reads(y).basis(b, begin).writes(y), func(from, to int) {
		multiply(rowsOf(y, from, to-from), -1, blas.Trans, b.part(begin+from, begin+to), c, 1)
	})
}

// parts returns the borders of the whole vector or of its halves.
func (b *basis) parts() []int {
	if b.cut == 0 {
		return []int{0, b.n}
	}
	return []int{0, b.cut, b.n}
}

// normalise makes x a unit vector, or if the basis is cut, each half of it a
// unit vector over √2. What is zero stays so.
func (b *basis) normalise(x []float64) {
	at := b.parts()
	for i, from := range at[:len(at)-1] {
		part := x[from:at[i+1]]
		b.arena.normalise(part, part)
		if b.cut > 0 {
			b.arena.eachTile(len(part), reading(part).writing(part), func(from, to int) { blas64.Scal(math.Sqrt2/2, vector(part[from:to])) })
		}
	}
}

// project removes the components in the basis from x, once.
func (b *basis) project(x []float64) {
	if b.len == 0 {
		return
	}
	at := b.parts()
	for i, begin := range at[:len(at)-1] {
		end := at[i+1]
		c := blas64.General{Rows: b.len, Cols: 1, Stride: 1, Data: b.coef[:b.len]}
		part := blas64.General{Rows: end - begin, Cols: 1, Stride: 1, Data: x[begin:end]}
		// The squared norms of the parts of a vector of the basis are 1/count.
		b.products(c, float64(len(at)-1), begin, end, part)
		b.subtract(part, begin, end, c)
	}
}

// orthonormalise makes x a vector that extends the basis. It projects twice,
// which is enough unless x is in the span of the basis to working precision
// (Parlett, The Symmetric Eigenvalue Problem, §6.9): then it reports false and x
// is useless.
func (b *basis) orthonormalise(x []float64) bool {
	const dependent = 1e-12 // of a unit vector, well above what rounding leaves
	b.normalise(x)
	b.project(x)
	at := b.parts()
	for i, from := range at[:len(at)-1] {
		if b.arena.norm2(x[from:at[i+1]]) <= dependent {
			return false
		}
	}
	b.normalise(x)
	b.project(x)
	b.normalise(x)
	return true
}

// random makes x a random vector that extends the basis. Rows of the
// given stream are tried until one is not in the span of the basis, which the
// first one is only if the basis spans everything but a sliver.
func (b *basis) random(x []float64, seed, stream uint64) {
	block := mat.NewDense(b.n, 1, x)
	for attempt := range uint64(16) {
		b.arena.gaussian(block, 0, seed, stream|attempt<<56)
		if b.orthonormalise(x) {
			return
		}
	}
	panic(breakdown("basis has no complement"))
}
