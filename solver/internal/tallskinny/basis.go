package tallskinny

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
)

// Basis holds up to k vectors of length n, one after the other in memory, so that products with all of them run over
// contiguous numbers.
//
// A basis may be cut: then every vector is a pair of unit vectors over √2, and the first halves are orthogonal among
// themselves, as are the second halves.
type Basis struct {
	arena  *Arena
	N, Len int
	Cut    int       // length of the first halves, 0 if the vectors are whole
	Data   []float64 // vector i is Data[i·N : (i+1)·N]
	Coef   []float64 // scratch
}

func (a *Arena) NewBasis(n, k int) *Basis {
	return &Basis{arena: a, N: n, Data: a.Planes(n, 1, k), Coef: make([]float64, k)}
}

func (b *Basis) Vector(i int) []float64 { return b.Data[i*b.N : (i+1)*b.N] }

// Next returns the memory of one more vector; Push makes it part of the basis.
func (b *Basis) Next() []float64 { return b.Vector(b.Len) }
func (b *Basis) Push()           { b.Len++ }
func (b *Basis) Reset()          { b.Len = 0 }

// Empty reports whether the basis, which may be nil, has no vectors.
func (b *Basis) Empty() bool { return b == nil || b.Len == 0 }

// Dimension returns the dimension of the space that vectors are kept orthogonal to; the halves of a cut basis count
// separately.
func (b *Basis) Dimension() int {
	if b.Empty() {
		return 0
	}
	return b.Len * len(b.parts())
}

// Remove removes vector i from the basis.
func (b *Basis) Remove(i int) {
	for b.Len--; i < b.Len; i++ {
		b.arena.CopyVector(b.Vector(i), b.Vector(i+1))
	}
}

// Part returns the basis, restricted to a range of its rows, as a len×(to−from) matrix.
func (b *Basis) Part(from, to int) blas64.General {
	g := blas64.General{Rows: b.Len, Cols: to - from, Stride: b.N}
	if b.Len > 0 {
		g.Data = b.Data[from : (b.Len-1)*b.N+to]
	}
	return g
}

// Products sets c = α·Vᵀx for the rows [begin, end) of V, which are the rows of x.
func (b *Basis) Products(c blas64.General, alpha float64, begin, end int, x blas64.General) {
	beta := 0.0
	b.arena.EachTile(end-begin, Reads(x).basis(b, begin), func(from, to int) {
		Multiply(c, alpha, blas.NoTrans, b.Part(begin+from, begin+to), RowsOf(x, from, to-from), beta)
		beta = 1
	})
}

// Subtract sets y −= V·c for the rows [begin, end) of V, which are the rows of y.
func (b *Basis) Subtract(y blas64.General, begin, end int, c blas64.General) {
	b.arena.EachTile(end-begin, Reads(y).basis(b, begin).Writes(y), func(from, to int) {
		Multiply(RowsOf(y, from, to-from), -1, blas.Trans, b.Part(begin+from, begin+to), c, 1)
	})
}

// parts returns where the whole vector, or each of its halves, begins and ends.
func (b *Basis) parts() [][2]int {
	if b.Cut == 0 {
		return [][2]int{{0, b.N}}
	}
	return [][2]int{{0, b.Cut}, {b.Cut, b.N}}
}

// Normalise makes x a unit vector, or if the basis is cut, each half of it a unit vector over √2. A zero part stays zero.
func (b *Basis) Normalise(x []float64) {
	for _, at := range b.parts() {
		part := x[at[0]:at[1]]
		b.arena.Normalise(part, part)
		if b.Cut > 0 {
			b.arena.EachTile(len(part), Reading(part).Writing(part), func(from, to int) { blas64.Scal(math.Sqrt2/2, Vector(part[from:to])) })
		}
	}
}

// project removes the components in the basis from x, once.
func (b *Basis) project(x []float64) {
	if b.Empty() {
		return
	}
	parts := b.parts()
	for _, at := range parts {
		begin, end := at[0], at[1]
		c := blas64.General{Rows: b.Len, Cols: 1, Stride: 1, Data: b.Coef[:b.Len]}
		part := blas64.General{Rows: end - begin, Cols: 1, Stride: 1, Data: x[begin:end]}
		// The squared norms of the parts of a vector of the basis are 1/count.
		b.Products(c, float64(len(parts)), begin, end, part)
		b.Subtract(part, begin, end, c)
	}
}

// Orthonormalise makes x a vector that extends the basis. It projects twice, which is enough unless x is in the span of the
// basis to working precision (Parlett, The Symmetric Eigenvalue Problem, §6.9): then it returns false and the contents of x
// are undefined.
func (b *Basis) Orthonormalise(x []float64) bool {
	const dependent = 1e-12 // remaining norm of a unit vector, well above rounding errors
	b.Normalise(x)
	b.project(x)
	for _, at := range b.parts() {
		if b.arena.Norm2(x[at[0]:at[1]]) <= dependent {
			return false
		}
	}
	b.Normalise(x)
	b.project(x)
	b.Normalise(x)
	return true
}

// Random makes x a random vector that extends the basis. It tries up to 16 vectors of the given stream until one is not in
// the span of the basis. The first one is in it only if the basis spans nearly the whole space.
func (b *Basis) Random(x []float64, seed, stream uint64) {
	block := mat.NewDense(b.N, 1, x)
	for attempt := range uint64(16) {
		b.arena.Gaussian(block, 0, seed, stream|attempt<<56)
		if b.Orthonormalise(x) {
			return
		}
	}
	panic(Breakdown("basis has no complement"))
}

// OrthonormaliseAll makes the columns of x, which are nearly orthonormal, vectors that extend the basis. If it returns false
// the contents of x are undefined.
func (b *Basis) OrthonormaliseAll(x blas64.General) bool {
	for range 2 {
		b.ProjectAll(x)
	}
	const nearly = 0.25 // least relative pivot
	q := BlockQR{Arena: b.arena}
	gram := b.arena.Cross(&q.Gram, x, x)
	for range maxQRRounds {
		if _, pivot := q.cholesky(x, x, gram, 0); pivot < nearly {
			return false
		}
		gram = q.Gram.Total()
		if orthonormal(gram) {
			return true
		}
	}
	return false
}

// Complement makes the columns of x, independent standard normal numbers, unit vectors orthogonal to the basis, all at once:
// one after the other they take ten times as many loops over x. It returns false if the basis is empty or cut, if x has one
// column, or if a column is too short after one projection; x and the basis still span the same space.
func (b *Basis) Complement(x blas64.General) bool {
	short := 0.1 * math.Sqrt(float64(x.Rows))
	if b.Len == 0 || b.Cut > 0 || x.Cols == 1 {
		return false
	}
	b.ProjectAll(x)
	var s Sums
	gram, scale := b.arena.Cross(&s, x, x), Zeros(make([]float64, x.Cols*x.Cols), x.Cols, x.Cols)
	for j := range x.Cols {
		norm := math.Sqrt(gram.Data[j*gram.Stride+j])
		if !(norm > short) {
			return false
		}
		scale.Data[j*scale.Stride+j] = 1 / norm
	}
	b.arena.Rotate(x, scale)
	return true
}

// ProjectAll removes the components in the basis from the columns of x, once.
func (b *Basis) ProjectAll(x blas64.General) {
	if b.Empty() {
		return
	}
	if b.Cut > 0 {
		column := b.arena.Planes(b.N, 1, 1)
		defer b.arena.Release(column)
		for j := range x.Cols {
			b.arena.ColumnOf(column, x, j)
			b.project(column)
			b.arena.SetColumn(x, j, column)
		}
		return
	}
	var s Sums
	s.Reset(b.N, x.Cols, b.Len)
	chunk := InCache(secondCache, b.Len+x.Cols)
	buf, work := new(Scratch).Each(b.arena, b.N, chunk*b.Len), x.Cols*b.Len
	b.arena.Sweep(b.N, chunk, work, Reads(x).basis(b, 0), func(worker, seg, i, rows int) {
		panel.AddCross(s.Of(seg), RowsOf(x, i, rows), b.rows(buf(worker), i, rows))
	})
	f := panel.Pack(-1, s.Total())
	b.arena.Sweep(b.N, chunk, work, Reads(x).basis(b, 0).Writes(x), func(worker, _, i, rows int) {
		panel.AddProduct(RowsOf(x, i, rows), b.rows(buf(worker), i, rows), f)
	})
}

// rows returns rows [first, first+rows) of all vectors as a block in the memory of buf.
func (b *Basis) rows(buf []float64, first, rows int) blas64.General {
	x := blas64.General{Rows: rows, Cols: b.Len, Stride: b.Len, Data: buf[:rows*b.Len]}
	b.setRows(x, first)
	return x
}

// setRows sets x to the rows of all vectors from row first on.
func (b *Basis) setRows(x blas64.General, first int) {
	for j := range b.Len {
		for i, v := range b.Vector(j)[first : first+x.Rows] {
			x.Data[i*x.Stride+j] = v
		}
	}
}

// Block stores the vectors in the columns of x and returns it.
func (b *Basis) Block(x *mat.Dense) *mat.Dense {
	g := x.RawMatrix()
	b.arena.EachChunk(b.N, uses{}.basis(b, 0).Writes(g), func(_, i, rows int) { b.setRows(RowsOf(g, i, rows), i) })
	return x
}

// SetTransposed stores the columns of x in dst, one after the other.
func (a *Arena) SetTransposed(dst []float64, x blas64.General) {
	u := Reads(x)
	for j := range x.Cols {
		u = u.Writing(dst[j*x.Rows:])
	}
	a.EachChunk(x.Rows, u, func(_, i, rows int) {
		for j := range x.Cols {
			column := dst[j*x.Rows+i:][:rows]
			for r := range column {
				column[r] = x.Data[(i+r)*x.Stride+j]
			}
		}
	})
}
