package tallskinny

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
)

// OrthonormaliseAll makes the columns of x, which are nearly orthonormal, vectors that
// extend the basis, or reports false: then x is useless.
func (b *Basis) OrthonormaliseAll(x blas64.General) bool {
	for range 2 {
		b.ProjectAll(x)
	}
	const nearly = 0.25 // relative pivot
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

// Complement makes columns of x, independent standard normal numbers, unit vectors
// orthogonal to a basis that is not empty, all at once: one after the other they take
// ten times as many loops over x. It reports false, with x in the same span, where what
// the basis leaves of a column is too short for one projection to do, and where the
// basis is cut.
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
	if b.Len == 0 {
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

// rows returns rows [first, first+rows) of all vectors as a block, in the memory of
// buf.
func (b *Basis) rows(buf []float64, first, rows int) blas64.General {
	x := blas64.General{Rows: rows, Cols: b.Len, Stride: b.Len, Data: buf[:rows*b.Len]}
	b.setRows(x, first)
	return x
}

// setRows sets x to the rows of all vectors from the given one on.
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
