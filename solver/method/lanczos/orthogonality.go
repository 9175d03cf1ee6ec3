package lanczos

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// semi and tidy bound the products of columns of a new block with older columns. A Lanczos basis V need not be
// orthonormal to working precision: as long as |VᵀV − I| stays below √ε, VᵀMV is, to working precision, the same as for
// an orthonormal basis of the same space (Simon 1984, "Analysis of the symmetric Lanczos algorithm with
// reorthogonalization methods"). A new block is therefore orthogonalised against older columns only if it would be
// further from orthogonal than semi, and then against all columns to which it would be further than tidy. To do so
// always would cost more than all other work.
const semi, tidy = 1e-9, 1e-12

// orthogonality estimates how far the basis is from orthonormal, without reading the basis. The recurrence of the
// blocks also gives their products with the basis: from M·X = V·C + X⁺·R + F, F being rounding errors,
//
//	(VᵀX⁺)·R = T·VᵀX − VᵀV·C − VᵀF
//
// in all rows that X⁺ has not been orthogonalised against (Simon's ω-recurrence, with blocks in the place of
// numbers). Errors are added to all entries, with the sign that increases the magnitude. The estimate follows the
// true values closely except for a factor: in measurements it was of the same size to a thousand times as large.
//
// Components removed from a block in older columns are no part of T: M·V = V·(T + E) + X·(0 R). E stays in the
// span of V and is too small to matter there, until Ritz vectors are dropped. Ritz vectors in which orthogonality
// is lost have converged (Paige 1980, "Accuracy and effectiveness of the Lanczos algorithm for the symmetric
// eigenproblem") and are kept, so the dropped ones contain next to nothing of E. What they contain becomes a part
// of F.
type orthogonality struct {
	arena   *tallskinny.Arena
	basis   *mat.Dense // VᵀV − I, nil while V has no columns
	next    *mat.Dense // VᵀX; nil: not known
	removed *mat.Dense // E, nil while V has no columns
	dropped float64    // bound on the part of F that comes from E
}

// roundoff is the error of an entry of VᵀF relative to ‖M‖: the errors of single entries have different signs.
// For Ritz vectors it is the error that their eigenproblem leaves.
const roundoff = tallskinny.Epsilon / 2

// error returns the error of an entry of VᵀF if ‖M‖ is top.
func (d *orthogonality) error(top float64) float64 { return roundoff*top + d.dropped }

// grow adds the block X, of w columns, to the basis, which will have up to most columns.
func (d *orthogonality) grow(w, most int) {
	d.basis, d.removed = grown(d.basis, w, most), grown(d.removed, w, most)
	if d.next != nil {
		size, _ := d.basis.Dims()
		d.basis.Slice(0, size-w, size-w, size).(*mat.Dense).Copy(d.next)
		d.basis.Slice(size-w, size, 0, size-w).(*mat.Dense).Copy(d.next.T())
	}
}

// grown returns a square x, nil for an empty one, with w more rows and columns of
// zeros. It allocates memory for most rows and columns at once.
func grown(x *mat.Dense, w, most int) *mat.Dense {
	if x == nil {
		x = &mat.Dense{}
	}
	old, _ := x.Dims()
	if room, _ := x.Caps(); room < old+w {
		y := mat.NewDense(max(most, old+w), max(most, old+w), nil)
		y.Copy(x)
		x = y
	}
	return x.Slice(0, old+w, 0, old+w).(*mat.Dense) // Grow would lose the capacity
}

// shrunk returns a square y, no larger than x, in the memory that grown has made for x.
func shrunk(x, y *mat.Dense) *mat.Dense {
	room, _ := x.Caps()
	all := x.Slice(0, room, 0, room).(*mat.Dense)
	all.Zero()
	size, _ := y.Dims()
	part := all.Slice(0, size, 0, size).(*mat.Dense)
	part.Copy(y)
	return part
}

// step returns (VᵀX⁺)·R, except for F, for the block X⁺ made from the product with the last block X of the basis.
// t is T without the rows and columns of X, and cᵀ has the components removed from the product in the columns
// from fresh on.
func (d *orthogonality) step(t *mat.Dense, c blas64.General, fresh int) *mat.Dense {
	size, _ := d.basis.Dims()
	old := size - c.Rows
	z := mat.NewDense(size, c.Rows, nil)
	if fresh == 0 {
		return z
	}
	rows := tallskinny.RowsOf(z.RawMatrix(), 0, fresh)
	b := d.basis.RawMatrix()
	panel.AddProduct(rows, tallskinny.ColumnsOf(tallskinny.RowsOf(tallskinny.ColumnsFrom(b, fresh), 0, fresh), size-fresh), panel.Pack(-1, c))
	last := d.basis.Slice(0, old, old, size).(*mat.Dense)
	panel.AddProduct(rows, tallskinny.ColumnsOf(tallskinny.RowsOf(t.RawMatrix(), 0, fresh), old), panel.Pack(1, tallskinny.Transposed(last)))
	return z
}

// cleaned records that components in the columns [from, to) have been removed: gᵀ from the last block of the
// basis, and yᵀ from its product. t is T without the rows and columns of the last block, and r the coupling to
// the block before, which begins at fresh.
func (d *orthogonality) cleaned(t, r *mat.Dense, y, g blas64.General, from, to, fresh int) {
	if from == to {
		return
	}
	size, _ := d.basis.Dims()
	old := size - y.Rows
	e := d.removed.RawMatrix()
	add := func(first, rows, column int, a, b blas64.General) {
		part := tallskinny.ColumnsOf(tallskinny.ColumnsFrom(tallskinny.RowsOf(e, first, rows), column), b.Rows)
		panel.AddProduct(part, a, panel.Pack(1, b))
	}
	for i := range y.Rows {
		for j := range y.Cols {
			e.Data[(from+j)*e.Stride+old+i] += y.Data[i*y.Stride+j]
		}
	}
	if g.Cols == 0 {
		return
	}
	// M·X loses M·V·g. The product of the block before, which had X·R, gains V·g·R.
	gt := tallskinny.Transposed(mat.NewDense(g.Rows, g.Cols, g.Data))
	add(from, to-from, fresh, gt, tallskinny.Transposed(r))
	minus := mat.NewDense(g.Rows, g.Cols, nil)
	minus.Scale(-1, mat.NewDense(g.Rows, g.Cols, g.Data))
	add(0, old, old, tallskinny.ColumnsOf(tallskinny.ColumnsFrom(t.RawMatrix(), from), to-from), minus.RawMatrix())
	for i := from; i < to; i++ {
		for j := old; j < size; j++ {
			d.basis.Set(i, j, tallskinny.Epsilon)
			d.basis.Set(j, i, tallskinny.Epsilon)
		}
	}
}

// untidy reports whether the last block, of w columns, is further than tidy from orthogonal to the columns [from,
// to). If the block is cleaned its product need not inherit that.
func (d *orthogonality) untidy(w, from, to int) bool {
	size, _ := d.basis.Dims()
	if from == to {
		return false
	}
	last := d.basis.Slice(from, to, size-w, size).(*mat.Dense)
	return math.Max(mat.Max(last), -mat.Min(last)) > tidy
}

// over returns z·R⁻¹ with errors of the given size in all entries of z.
func (d *orthogonality) over(z, r *mat.Dense, err float64) *mat.Dense {
	size, _ := z.Dims()
	inv := tallskinny.Inverse(r)
	x := d.arena.Times(z, mat.DenseCopyOf(inv.T()))
	for j := range tallskinny.Width(x) {
		e := err * mat.Norm(inv.ColView(j), 2)
		for i := range size {
			v := x.At(i, j)
			x.Set(i, j, v+math.Copysign(e, v))
		}
	}
	return x
}

// unclean returns the range of rows of x with entries above tidy if x has an entry above semi, and otherwise no
// rows.
func unclean(x *mat.Dense) (from, to int) {
	if from, to = rowsAbove(x, semi); from < to {
		return rowsAbove(x, tidy)
	}
	return 0, 0
}

// rowsAbove returns the least range of rows that has all entries above limit.
func rowsAbove(x *mat.Dense, limit float64) (from, to int) {
	size, _ := x.Dims()
	from = size
	for i := range size {
		for _, v := range x.RawRowView(i) {
			if !(math.Abs(v) <= limit) {
				from, to = min(from, i), i+1
			}
		}
	}
	return from, to
}

// rotate updates the estimates for a change of basis from V to V·S. The rows of kept are the columns of S, and
// the rows of gone are the coefficients of the vectors that are dropped.
func (d *orthogonality) rotate(kept, gone *mat.Dense) {
	d.basis = shrunk(d.basis, d.arena.Times(d.arena.Times(kept, d.basis), kept))
	if d.next != nil {
		d.next = d.arena.Times(kept, mat.DenseCopyOf(d.next.T()))
	}
	e := d.arena.Times(kept, d.removed)
	d.removed = shrunk(d.removed, d.arena.Times(kept, e))
	if gone.IsEmpty() {
		return
	}
	lost := d.arena.Times(gone, e)
	for j := range tallskinny.Width(lost) {
		d.dropped = max(d.dropped, mat.Norm(lost.ColView(j), 2))
	}
}

// orthogonalise removes from the product y its components in the basis. The columns of the basis from old on are
// the block that was multiplied. It returns the components, yᵀV, and the Gram matrix of the rest. The product of
// a Lanczos block has components in the last two blocks only, or in all columns after a restart: these are
// removed first. The components that rounding leaves there, and in other columns where they are too large, are
// computed while the rows are in the cache. r.QR.Prepare removes them when y is read next.
//
// lost has the components that are left in the basis, as returned by orthogonality.step.
func (r *lanczos) orthogonalise(y blas64.General, old int) (c, gram blas64.General, lost *mat.Dense) {
	recent := r.v.Span(r.fresh, r.size)
	first, short := r.coefficients(y, old)
	lost = r.orth.step(r.t, first, r.fresh)
	from, to := r.unclean(lost, short)
	older, both := r.v.Span(from, to), tallskinny.Span(nil)
	if r.orth.untidy(y.Cols, from, to) {
		both = older // the last block must be cleaned, too, lest the next blocks inherit its components
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
		// These components stay: V is that far from orthonormal.
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
	// A product has no components in the vectors found, but the basis subtracted from it has, and a division by a small R
	// makes them grow.
	if a, b := subtractGram(gram, second), subtractGram(gram, third); a || b || !r.QR.Found.Empty() {
		r.QR.Ready(y)
		r.QR.Found.ProjectAll(y)
		gram = r.Arena.Cross(&r.gram, y, y)
	}
	// Components in older columns are no part of T: they are errors of the orthogonality of the basis.
	c = tallskinny.Zeros(make([]float64, y.Cols*r.size), y.Cols, r.size)
	tallskinny.SetRows(tallskinny.ColumnsFrom(c, r.fresh), first)
	for i := range c.Rows {
		for j := range second.Cols {
			c.Data[i*c.Stride+r.fresh+j] += second.Data[i*second.Stride+j]
		}
	}
	return c, gram, lost
}

// coefficients returns yᵀV for the columns from fresh on, and the Gram matrix of y after these components have
// been removed. The components before the last block are known: M is symmetric, and the product of the block
// before had the components R in the last block.
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

// negligible reports whether a block with this Gram matrix has only negligible components, far below tidy, after
// it is made orthonormal, if cᵀ has its components before.
func negligible(c, gram blas64.General) bool {
	const next = tidy / 10
	r, _ := tallskinny.Triangle(gram, 0)
	if r == nil || c.Cols == 0 {
		return false
	}
	x := (*tallskinny.Arena)(nil).Times(mat.DenseCopyOf(tallskinny.Inverse(r).T()), mat.DenseCopyOf(mat.NewDense(c.Rows, c.Cols, c.Data).T()))
	return math.Max(mat.Max(x), -mat.Min(x)) <= next
}

// subtractGram subtracts the removed components c of a block from its Gram matrix. It reports whether they are so
// large that the difference is inaccurate.
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

// unclean returns the range of columns before fresh that the next block must be orthogonalised against, given the
// components lost of its product (orthogonality.step) and an estimate of its Gram matrix. The range is all
// columns before fresh in these cases: before a restart, if vectors are going to be locked while the basis goes
// on, if the basis soon spans everything, and if the components are not known, because the product nearly
// vanishes or because the last restart has dropped too much of E.
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
