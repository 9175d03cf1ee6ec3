package lanczos

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// orthogonalise removes the components in the basis, of which the columns from old
// on are the block that has been multiplied, from the product y, and returns them,
// yᵀV, and the Gram matrix of what is left. The product of a Lanczos block has
// components in the last two blocks only, or in all after a restart: these are
// removed first. What rounding has left there, and elsewhere where that is too
// much, is found while the rows it needs are in the cache, and removed when y is
// read next, by what is left to r.QR.prepare.
//
// It also returns what is left in the basis, as orthogonality.step does.
func (r *lanczos) orthogonalise(y blas64.General, old int) (c, gram blas64.General, lost *mat.Dense) {
	recent := r.v.Span(r.fresh, r.size)
	first, short := r.coefficients(y, old)
	lost = r.orth.step(r.t, first, r.fresh)
	from, to := r.unclean(lost, short)
	older, both := r.v.Span(from, to), tallskinny.Span(nil)
	if r.orth.untidy(y.Cols, from, to) {
		both = older // the last block must be cleaned, too, lest the next ones inherit from it
	}
	clear(lost.RawMatrix().Data[from*y.Cols : to*y.Cols])
	last := recent[len(recent)-1].X
	f := recent.Pack(-1, first)
	r.second.Reset(y.Rows, y.Cols, recent.Columns())
	r.third.Reset(y.Rows, y.Cols, older.Columns())
	r.fourth.Reset(y.Rows, y.Cols, both.Columns())
	r.gram.Reset(y.Rows, y.Cols, y.Cols)
	r.Arena.Sweep(y.Rows, tallskinny.InCache(tallskinny.FirstCache, y.Cols), y.Cols*(2*recent.Columns()+2*older.Columns()+y.Cols), tallskinny.Reads(y, last).Spans(recent, older).Writes(y), func(_, seg, i, rows int) {
		part := tallskinny.RowsOf(y, i, rows)
		recent.AddProduct(part, f, i)
		recent.AddCross(r.second.Of(seg), part, i)
		older.AddCross(r.third.Of(seg), part, i)
		both.AddCross(r.fourth.Of(seg), tallskinny.RowsOf(last, i, rows), i)
		panel.AddCross(r.gram.Of(seg), part, part)
	})
	second, third, fourth := r.second.Total(), r.third.Total(), r.fourth.Total()
	r.orth.cleaned(r.t, r.coupling, third, fourth, from, to, r.fresh)
	gram = r.gram.Total()
	if negligible(second, gram) {
		// V lacks that much of being orthonormal, then.
		tallskinny.SetRows(tallskinny.RowsOf(lost.RawMatrix(), r.fresh, second.Cols), tallskinny.Transposed(mat.NewDense(second.Rows, second.Cols, second.Data)))
		second.Cols, recent = 0, nil
	}
	f, g, h := recent.Pack(-1, second), older.Pack(-1, third), both.Pack(-1, fourth)
	r.QR.Uses = tallskinny.Reads().Spans(recent, older)
	if len(both) > 0 {
		r.QR.Uses = r.QR.Uses.Read(last).Writes(last)
	}
	r.QR.Prepare = func(part blas64.General, i int) {
		recent.AddProduct(part, f, i)
		older.AddProduct(part, g, i)
		both.AddProduct(tallskinny.RowsOf(last, i, part.Rows), h, i)
	}
	if a, b := subtractGram(gram, second), subtractGram(gram, third); a || b {
		r.QR.Ready(y)
		gram = r.Arena.Cross(&r.gram, y, y)
	}
	// What was found in older columns is no part of T, but what the basis lacks.
	c = tallskinny.Zeros(make([]float64, y.Cols*r.size), y.Cols, r.size)
	tallskinny.SetRows(tallskinny.ColumnsFrom(c, r.fresh), first)
	for i := range c.Rows {
		for j := range second.Cols {
			c.Data[i*c.Stride+r.fresh+j] += second.Data[i*second.Stride+j]
		}
	}
	return c, gram, lost
}

// coefficients returns yᵀV for the columns from fresh on and the Gram matrix that y
// will have when these components have been removed. Before the last block they are
// known: M is symmetric, and what its product had in the last block is R.
func (r *lanczos) coefficients(y blas64.General, old int) (c, gram blas64.General) {
	at := r.fresh
	if r.coupling != nil {
		at = old
	}
	s := r.v.Span(at, r.size)
	r.first.Reset(y.Rows, y.Cols, s.Columns())
	r.gram.Reset(y.Rows, y.Cols, y.Cols)
	r.Arena.Sweep(y.Rows, tallskinny.InCache(tallskinny.FirstCache, y.Cols), y.Cols*(s.Columns()+y.Cols), tallskinny.Reads(y).Spans(s), func(_, seg, i, rows int) {
		part := tallskinny.RowsOf(y, i, rows)
		s.AddCross(r.first.Of(seg), part, i)
		panel.AddCross(r.gram.Of(seg), part, part)
	})
	found := r.first.Total()
	c = tallskinny.Zeros(make([]float64, y.Cols*(r.size-r.fresh)), y.Cols, r.size-r.fresh)
	tallskinny.SetRows(tallskinny.ColumnsFrom(c, at-r.fresh), found)
	if at > r.fresh {
		tallskinny.SetRows(c, r.coupling.RawMatrix())
	}
	gram = r.gram.Total()
	panel.AddProduct(gram, c, panel.Pack(-1, c))
	return c, gram
}

// negligible reports whether a block with this Gram matrix, made orthonormal, has
// components of next to nothing if it has components c, transposed, as it is.
func negligible(c, gram blas64.General) bool {
	const next = tidy / 10
	r, _ := tallskinny.Triangle(gram, 0)
	if r == nil || c.Cols == 0 {
		return false
	}
	x := (*tallskinny.Arena)(nil).Times(mat.DenseCopyOf(tallskinny.Inverse(r).T()), mat.DenseCopyOf(mat.NewDense(c.Rows, c.Cols, c.Data).T()))
	return math.Max(mat.Max(x), -mat.Min(x)) <= next
}

// subtractGram takes what has been removed from a block, c, off its Gram matrix. It
// reports whether so little is left that the difference does not tell what.
func subtractGram(gram, c blas64.General) (cancelled bool) {
	const share = 1e-3 // of a squared length
	before := make([]float64, gram.Rows)
	for i := range before {
		before[i] = gram.Data[i*gram.Stride+i]
	}
	panel.AddProduct(gram, c, panel.Pack(-1, c))
	for i, x := range before {
		cancelled = cancelled || !(gram.Data[i*gram.Stride+i] >= (1-share)*x)
	}
	return cancelled
}

// unclean returns the range of columns before the recent ones that the next block
// must be orthogonalised against, what is lost to its product being given with
// an estimate of its Gram matrix. These are all columns before a restart, when
// vectors are going to be locked while the basis goes on, where it soon spans
// everything, and where nothing is known: because the product nearly vanishes, or
// because the last restart has dropped too much of what products were relieved of.
func (r *lanczos) unclean(lost *mat.Dense, gram blas64.General) (from, to int) {
	if r.orth.dropped > tidy*r.top || r.size+gram.Rows > r.most || r.kept() < r.want || r.room() <= 2*gram.Rows {
		return 0, r.fresh
	}
	const cancelled = 1e6 // times the roundoff of a squared length
	for i := range gram.Rows {
		if gram.Data[i*gram.Stride+i] < cancelled*tallskinny.Epsilon*r.top*r.top {
			return 0, r.fresh
		}
	}
	coupling, pivot := tallskinny.Triangle(gram, 0)
	if coupling == nil || pivot <= tallskinny.Twice {
		return 0, r.fresh
	}
	from, to = unclean(r.orth.over(lost, coupling, r.orth.error(r.top)))
	to = min(to, r.fresh)
	return min(from, to), to
}
