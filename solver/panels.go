package solver

import (
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

// panels holds the columns of a Lanczos basis in panels, n×w row-major each and
// contiguous, so that what is done with some columns touches no others.
//
// A block that is added becomes a panel as it is. Blocks too narrow for the
// kernels are put together into wider panels when they are no longer among the
// last two. All that goes over panels is a sweep over rows: each worker is at a
// chunk of a segment of them, the same rows of all panels.
type panels struct {
	arena *Arena
	n     int
	block int          // columns of a block that is added, as a rule
	wide  int          // columns of a wide panel, a multiple of block
	list  []piece      // in the order of the columns
	spare []*mat.Dense // of n rows and block or wide columns, to be used again
	mem   scratch
	// alloc returns n×cols zeros in contiguous memory. Large Go slices begin
	// at a page, so every row of eight float64s is a cache line.
	alloc func(n, cols int) *mat.Dense
}

// piece is a range of columns of a panel.
type piece struct {
	at   int // its first column among those of the basis, or of the span
	x    blas64.General
	room *mat.Dense // the whole panel
}

// wideColumns is the least width of a panel that the kernels are at their best
// with.
const wideColumns = 4

// newPanels returns an empty basis of n rows, which grows by so many columns at a time.
func (a *Arena) newPanels(n, block int) panels {
	return panels{arena: a, n: n, block: block, wide: wideFor(block), alloc: a.Dense}
}

// wideFor returns the width of the wide panels that blocks are put together in.
func wideFor(block int) int { return (wideColumns + block - 1) / block * block }

// free gives all panels back for good.
func (p *panels) free() {
	for _, b := range p.list {
		p.arena.free(b.room)
	}
	p.arena.free(p.spare...)
	p.list, p.spare = nil, nil
}

// size returns the number of columns.
func (p *panels) size() int {
	if len(p.list) == 0 {
		return 0
	}
	last := p.list[len(p.list)-1]
	return last.at + last.x.Cols
}

// take returns an n×cols block with any contents, to be filled and added.
func (p *panels) take(cols int) *mat.Dense {
	for i, s := range p.spare {
		if width(s) == cols {
			p.spare = slices.Delete(p.spare, i, i+1)
			return s
		}
	}
	return p.alloc(p.n, cols)
}

// give takes back a block that is not needed any more.
func (p *panels) give(x *mat.Dense) {
	if w := width(x); w == p.block || w == p.wide {
		p.spare = append(p.spare, x)
	}
}

// add makes x the last columns, and puts blocks together that were the last ones
// before.
func (p *panels) add(x *mat.Dense) {
	p.merge()
	p.list = append(p.list, piece{p.size(), x.RawMatrix(), x})
}

// merge puts narrow blocks together into a wide panel, if there are enough of them
// without the last one.
func (p *panels) merge() {
	if p.arena.outside() {
		return // to move them costs more than narrow panels do
	}
	count, from := p.wide/p.block, len(p.list)-1
	for from > 0 && p.narrow(p.list[from-1]) {
		from--
	}
	to := from + count
	if count == 1 || to >= len(p.list) {
		return
	}
	parts, room := slices.Clone(p.list[from:to]), p.take(p.wide)
	wide := piece{parts[0].at, room.RawMatrix(), room}
	p.arena.sweep(p.n, inCache(firstCache, p.wide), p.wide, uses{}.spans(parts).writes(wide.x), func(_, _, i, rows int) {
		for _, b := range parts {
			setRows(rowsOf(columnsFrom(wide.x, b.at-wide.at), i, rows), rowsOf(b.x, i, rows))
		}
	})
	for _, b := range parts {
		p.give(b.room)
	}
	p.list = slices.Replace(p.list, from, to, wide)
}

func (p *panels) narrow(b piece) bool { return width(b.room) == p.block && b.x.Cols == p.block }

// span returns the columns [from, to).
func (p *panels) span(from, to int) span {
	var s span
	for _, b := range p.list {
		lo, hi := max(from, b.at), min(to, b.at+b.x.Cols)
		if lo < hi {
			s = append(s, piece{lo - from, columnsOf(columnsFrom(b.x, lo-b.at), hi-lo), b.room})
		}
	}
	return s
}

// all returns the span of all columns.
func (p *panels) all() span { return p.span(0, p.size()) }

// turn makes V·Sᵀ for the rows of st the basis, which may be no more than its columns.
// Chunk by chunk, they are read and what comes out is written in their place.
func (p *panels) turn(st blas64.General) {
	old := p.list
	size := p.size()
	p.list = nil
	// New panels take the place of old ones of the same shape: rows are read
	// before they are written.
	free := slices.Clone(old)
	for at := 0; at < st.Rows; at += p.wide {
		i := slices.IndexFunc(free, func(b piece) bool { return width(b.room) == p.wide })
		var room *mat.Dense
		if i >= 0 {
			room = free[i].room
			free = slices.Delete(free, i, i+1)
		} else {
			room = p.take(p.wide)
		}
		p.list = append(p.list, piece{at, columnsOf(room.RawMatrix(), min(p.wide, st.Rows-at)), room})
	}
	from, to := span(old), span(p.list)
	f := panel.Pack(1, st)
	chunk := inCache(secondCache, size+st.Rows)
	buf := p.mem.each(p.arena, p.n, chunk*(size+st.Rows))
	p.arena.sweep(p.n, chunk, size*st.Rows, uses{}.spans(from).outSpan(to), func(worker, _, i, rows int) {
		b := buf(worker)
		y := zeros(b[chunk*size:], rows, st.Rows)
		panel.AddProduct(y, from.gather(b, i, rows), f)
		for _, d := range to {
			setRows(rowsOf(d.x, i, rows), columnsOf(columnsFrom(y, d.at), d.x.Cols))
		}
	})
	for _, b := range free {
		p.give(b.room)
	}
}

// clear drops all columns.
func (p *panels) clear() {
	for _, b := range p.list {
		p.give(b.room)
	}
	p.list = nil
}

// span is a range of columns of a basis, panel by panel.
type span []piece

// spanOf is all of a block.
func spanOf(x blas64.General) span {
	if x.Cols == 0 {
		return nil
	}
	return span{{x: x}}
}

// columns returns their number.
func (s span) columns() int {
	if len(s) == 0 {
		return 0
	}
	last := s[len(s)-1]
	return last.at + last.x.Cols
}

// gather returns rows [i, i+rows) of the columns in the memory of buf.
func (s span) gather(buf []float64, i, rows int) blas64.General {
	size := s.columns()
	x := blas64.General{Rows: rows, Cols: size, Stride: max(1, size), Data: buf[:rows*size]}
	for _, b := range s {
		setRows(columnsFrom(x, b.at), rowsOf(b.x, i, rows))
	}
	return x
}

// addCross adds yᵀV to c, y being rows [i, i+y.Rows) of a block.
func (s span) addCross(c, y blas64.General, i int) {
	for _, b := range s {
		panel.AddCross(columnsOf(columnsFrom(c, b.at), b.x.Cols), y, rowsOf(b.x, i, y.Rows))
	}
}

// pack returns alpha·dᵀ, d having a column for every column of the span, for
// addProduct.
func (s span) pack(alpha float64, d blas64.General) []panel.Factor {
	f := make([]panel.Factor, len(s))
	for i, b := range s {
		f[i] = panel.Pack(alpha, columnsOf(columnsFrom(d, b.at), b.x.Cols))
	}
	return f
}

// addProduct adds the product of V and the packed factor to y, rows [i, i+y.Rows)
// of a block.
func (s span) addProduct(y blas64.General, f []panel.Factor, i int) {
	for j, b := range s {
		panel.AddProduct(y, rowsOf(b.x, i, y.Rows), f[j])
	}
}

// project removes the components along orthonormal columns from y, once, and
// returns yᵀV.
func (s span) project(a *Arena, t *sums, y blas64.General) blas64.General {
	if len(s) == 0 {
		return blas64.General{Rows: y.Cols, Stride: 1}
	}
	work, chunk := y.Cols*s.columns(), inCache(firstCache, y.Cols)
	t.reset(y.Rows, y.Cols, s.columns())
	a.sweep(y.Rows, chunk, work, reads(y).spans(s), func(_, seg, i, rows int) { s.addCross(t.of(seg), rowsOf(y, i, rows), i) })
	c := t.total()
	f := s.pack(-1, c)
	a.sweep(y.Rows, chunk, work, reads(y).spans(s).writes(y), func(_, _, i, rows int) { s.addProduct(rowsOf(y, i, rows), f, i) })
	return c
}

// multiply sets dst to V·dᵀ.
func (s span) multiply(a *Arena, dst, d blas64.General) {
	size := s.columns()
	chunk := inCache(secondCache, size+dst.Cols)
	f, buf := panel.Pack(1, d), new(scratch).each(a, dst.Rows, chunk*size)
	a.sweep(dst.Rows, chunk, size*d.Rows, uses{}.spans(s).writes(dst), func(worker, _, i, rows int) {
		y := rowsOf(dst, i, rows)
		clearRows(y)
		panel.AddProduct(y, s.gather(buf(worker), i, rows), f)
	})
}
