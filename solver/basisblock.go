package solver

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

// orthonormaliseAll makes the columns of x, which are nearly orthonormal, vectors that
// extend the basis, or reports false: then x is useless.
func (b *basis) orthonormaliseAll(x blas64.General) bool {
	for range 2 {
		b.projectAll(x)
	}
	const nearly = 0.25 // relative pivot
	q := blockQR{arena: b.arena}
	gram := b.arena.cross(&q.gram, x, x)
	for range maxQRRounds {
		if _, pivot := q.cholesky(x, x, gram, 0); pivot < nearly {
			return false
		}
		if gram = q.gram.total(); orthonormal(gram) {
			return true
		}
	}
	return false
}

// complement makes columns of x, independent standard normal numbers, unit vectors
// orthogonal to a basis that is not empty, all at once: one after the other they take
// ten times as many loops over x. It reports false, with x in the same span, where what
// the basis leaves of a column is too short for one projection to do, and where the
// basis is cut.
func (b *basis) complement(x blas64.General) bool {
	short := 0.1 * math.Sqrt(float64(x.Rows))
	if b.len == 0 || b.cut > 0 || x.Cols == 1 {
		return false
	}
	b.projectAll(x)
	var s sums
	gram, scale := b.arena.cross(&s, x, x), zeros(make([]float64, x.Cols*x.Cols), x.Cols, x.Cols)
	for j := range x.Cols {
		norm := math.Sqrt(gram.Data[j*gram.Stride+j])
		if !(norm > short) {
			return false
		}
		scale.Data[j*scale.Stride+j] = 1 / norm
	}
	b.arena.turn(x, scale)
	return true
}

// projectAll removes the components in the basis, which is not cut, from the columns
// of x, once.
func (b *basis) projectAll(x blas64.General) {
	if b.len == 0 {
		return
	}
	var s sums
	s.reset(b.n, x.Cols, b.len)
	chunk := inCache(secondCache, b.len+x.Cols)
	buf, work := new(scratch).each(b.arena, b.n, chunk*b.len), x.Cols*b.len
	b.arena.sweep(b.n, chunk, work, reads(x).basis(b, 0), func(worker, seg, i, rows int) {
		panel.AddCross(s.of(seg), rowsOf(x, i, rows), b.rows(buf(worker), i, rows))
	})
	f := panel.Pack(-1, s.total())
	b.arena.sweep(b.n, chunk, work, reads(x).basis(b, 0).writes(x), func(worker, _, i, rows int) {
		panel.AddProduct(rowsOf(x, i, rows), b.rows(buf(worker), i, rows), f)
	})
}

// rows returns rows [first, first+rows) of all vectors as a block, in the memory of
// buf.
func (b *basis) rows(buf []float64, first, rows int) blas64.General {
	x := blas64.General{Rows: rows, Cols: b.len, Stride: b.len, Data: buf[:rows*b.len]}
	b.setRows(x, first)
	return x
}

// setRows sets x to the rows of all vectors from the given one on.
func (b *basis) setRows(x blas64.General, first int) {
	for j := range b.len {
		for i, v := range b.vector(j)[first : first+x.Rows] {
			x.Data[i*x.Stride+j] = v
		}
	}
}

// block stores the vectors in the columns of x and returns it.
func (b *basis) block(x *mat.Dense) *mat.Dense {
	g := x.RawMatrix()
	b.arena.eachChunk(b.n, uses{}.basis(b, 0).writes(g), func(_, i, rows int) { b.setRows(rowsOf(g, i, rows), i) })
	return x
}

// setTransposed stores the columns of x in dst, one after the other.
func (a *Arena) setTransposed(dst []float64, x blas64.General) {
	u := reads(x)
	for j := range x.Cols {
		u = u.writing(dst[j*x.Rows:])
	}
	a.eachChunk(x.Rows, u, func(_, i, rows int) {
		for j := range x.Cols {
			column := dst[j*x.Rows+i:][:rows]
			for r := range column {
				column[r] = x.Data[(i+r)*x.Stride+j]
			}
		}
	})
}
