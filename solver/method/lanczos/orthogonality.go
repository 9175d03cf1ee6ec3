package lanczos

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// A Lanczos basis V need not be orthonormal to working precision: as long as
// |VᵀV − I| stays below √ε, VᵀMV is what it would be for an orthonormal basis of
// the same space, to working precision (Simon 1984, "Analysis of the symmetric
// Lanczos algorithm with reorthogonalization methods"). A new block is therefore
// orthogonalised against older ones, which would cost more than all the rest,
// only where it would be further from orthogonal than semi, and while at it, than
// tidy.
const semi, tidy = 1e-9, 1e-12

// orthogonality estimates what the basis has lost of it without looking at the basis. The
// recurrence that makes the blocks makes their products with the basis, too:
// from M·X = V·C + X⁺·R + F, F being rounding errors,
//
//	(VᵀX⁺)·R = T·VᵀX − VᵀV·C − VᵀF
//
// in all rows that X⁺ has not been orthogonalised against (Simon's ω-recurrence,
// with blocks in the place of numbers). Errors enter everywhere and with the sign
// that makes things worse. What comes out follows what there is closely, but for
// a factor: measured, it is of the same size to a thousand times as large.
//
// What a block is cleaned of is no part of T: M·V = V·(T + E) + X·(0 R). It stays in
// the span of V and is too little to matter there, until Ritz vectors are dropped.
// Those in which orthogonality is lost have converged (Paige 1980, "Accuracy and
// effectiveness of the Lanczos algorithm for the symmetric eigenproblem") and are
// kept, so next to nothing of E is in the others. What is becomes a part of F.
type orthogonality struct {
	arena   *tallskinny.Arena
	basis   *mat.Dense // VᵀV − I, nil while V has no columns
	next    *mat.Dense // VᵀX, nil likewise
	removed *mat.Dense // E, nil likewise
	dropped float64    // bound on what F has of E
}

// roundoff is the error of an entry of VᵀF relative to ‖M‖: errors of single
// entries are of different signs. Of Ritz vectors, it is what their eigenproblem
// has left.
const roundoff = tallskinny.Epsilon / 2

// error is that of an entry of VᵀF when ‖M‖ is top.
func (d *orthogonality) error(top float64) float64 { return roundoff*top + d.dropped }

// grow makes the block X, w wide, a part of the basis, which will have most columns.
func (d *orthogonality) grow(w, most int) {
	d.basis, d.removed = grown(d.basis, w, most), grown(d.removed, w, most)
	if d.next != nil {
		size, _ := d.basis.Dims()
		d.basis.Slice(0, size-w, size-w, size).(*mat.Dense).Copy(d.next)
		d.basis.Slice(size-w, size, 0, size-w).(*mat.Dense).Copy(d.next.T())
	}
}

// grown returns a square x, nil for an empty one, with w more rows and columns of
// zeros. It is made room for most of them at once.
func grown(x *mat.Dense, w, most int) *mat.Dense {
	if x == nil {
		x = &mat.Dense{}
	}
	old, _ := x.Dims()
	if room, _ := x.Caps(); room < old+w {
		y := mat.NewDense(max(most, old+w), max(most, old+w), nil)
		y.Copy(x)
		return y.Slice(0, old+w, 0, old+w).(*mat.Dense)
	}
	return x.Slice(0, old+w, 0, old+w).(*mat.Dense) // Grow would forget how much room there is
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

// step returns (VᵀX⁺)·R, save for F, for the block X⁺ that comes of the product
// with the last block X of the basis: t is T without the rows and columns of X,
// and c, transposed, what has been removed from the product in the columns from
// fresh on.
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

// cleaned takes note that in the columns [from, to) the last block of the basis was
// relieved of g, transposed, and its product of y, transposed; t is T without the rows
// and columns of that block, and r the coupling to the one before, which begins at
// fresh.
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
	// M·X loses M·V·g, and so the block before, whose product had X·R, gains V·g·R.
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

// untidy reports whether the last block, w wide, lacks orthogonality to the columns
// [from, to) that a product need not inherit.
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

// unclean returns the range of rows of x that are to be made smaller.
func unclean(x *mat.Dense) (from, to int) {
	size, _ := x.Dims()
	for i := range size {
		for _, v := range x.RawRowView(i) {
			if !(math.Abs(v) <= semi) {
				return rowsAbove(x, tidy)
			}
		}
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

// rotate follows a change of basis from V to V·S, the rows of kept being the columns of
// S. Those of gone stand for vectors that are dropped.
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
