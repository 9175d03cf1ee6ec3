package tallskinny

import (
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
)

// Panels holds the columns of a Lanczos basis in panels, n×w row-major each and contiguous, so that work on some columns
// does not touch others.
//
// A block that is added becomes a panel as it is. Blocks too narrow for the kernels are merged into wider panels when they
// are no longer among the last two. Every operation on panels is a sweep over rows: each worker is at a chunk of a segment,
// the same rows of all panels.
type Panels struct {
	arena *Arena
	N     int
	block int          // usual number of columns of a block that is added
	Wide  int          // columns of a wide panel, a multiple of block
	List  []Piece      // in the order of the columns
	spare []*mat.Dense // free panels of n rows and block or Wide columns
	mem   Scratch
	// alloc returns n×cols zeros in contiguous memory. Large Go slices begin
	// at a page, so every row of eight float64s is a cache line.
	alloc func(n, cols int) *mat.Dense
}

// Piece is a range of columns of a panel.
type Piece struct {
	at   int // index of its first column in the basis, or in the span
	X    blas64.General
	Room *mat.Dense // the whole panel
}

// wideColumns is the least width of a panel at which the kernels are fastest.
const wideColumns = 4

// NewPanels returns an empty basis of n rows, which grows by block columns at a time.
func (a *Arena) NewPanels(n, block int) Panels {
	return Panels{arena: a, N: n, block: block, Wide: WideFor(block), alloc: a.Dense}
}

// WideFor returns the width of the wide panels that blocks are merged into.
func WideFor(block int) int { return (wideColumns + block - 1) / block * block }

// Free frees all panels.
func (p *Panels) Free() {
	for _, b := range p.List {
		p.arena.Free(b.Room)
	}
	p.arena.Free(p.spare...)
	p.List, p.spare = nil, nil
}

// Size returns the number of columns.
func (p *Panels) Size() int { return Span(p.List).Columns() }

// Take returns an n×cols block with undefined contents, to be filled and added.
func (p *Panels) Take(cols int) *mat.Dense {
	for i, s := range p.spare {
		if Width(s) == cols {
			p.spare = slices.Delete(p.spare, i, i+1)
			return s
		}
	}
	return p.alloc(p.N, cols)
}

func (p *Panels) give(x *mat.Dense) {
	if w := Width(x); w == p.block || w == p.Wide {
		p.spare = append(p.spare, x)
	}
}

// Add merges narrow blocks that were the last ones, and appends the columns of x.
func (p *Panels) Add(x *mat.Dense) {
	p.merge()
	p.Append(x)
}

// Append appends the columns of x, and leaves all other panels as they are.
func (p *Panels) Append(x *mat.Dense) {
	p.List = append(p.List, Piece{p.Size(), x.RawMatrix(), x})
}

// merge merges narrow blocks into a wide panel, if there are enough of them without the last one.
func (p *Panels) merge() {
	if p.arena.Outside() {
		return // moving them costs more than narrow panels do
	}
	count, from := p.Wide/p.block, len(p.List)-1
	for from > 0 && p.narrow(p.List[from-1]) {
		from--
	}
	to := from + count
	if count == 1 || to >= len(p.List) {
		return
	}
	parts, room := slices.Clone(p.List[from:to]), p.Take(p.Wide)
	wide := Piece{parts[0].at, room.RawMatrix(), room}
	p.arena.Sweep(p.N, InCache(FirstCache, p.Wide), p.Wide, uses{}.Spans(parts).Writes(wide.X), func(_, _, i, rows int) {
		for _, b := range parts {
			SetRows(RowsOf(ColumnsFrom(wide.X, b.at-wide.at), i, rows), RowsOf(b.X, i, rows))
		}
	})
	for _, b := range parts {
		p.give(b.Room)
	}
	p.List = slices.Replace(p.List, from, to, wide)
}

func (p *Panels) narrow(b Piece) bool { return Width(b.Room) == p.block && b.X.Cols == p.block }

// Span returns the columns [from, to).
func (p *Panels) Span(from, to int) Span {
	var s Span
	for _, b := range p.List {
		lo, hi := max(from, b.at), min(to, b.at+b.X.Cols)
		if lo < hi {
			s = append(s, Piece{lo - from, ColumnsOf(ColumnsFrom(b.X, lo-b.at), hi-lo), b.Room})
		}
	}
	return s
}

// All returns the span of all columns.
func (p *Panels) All() Span { return p.Span(0, p.Size()) }

// Rotate replaces the basis V by V·stᵀ. st has at most as many rows as V has columns. Each chunk of rows is read before the
// result is written in its place.
func (p *Panels) Rotate(st blas64.General) {
	old, size := p.List, p.Size()
	// New panels take the place of old ones of the same shape: rows are read
	// before they are written.
	p.Clear()
	for at := 0; at < st.Rows; at += p.Wide {
		room := p.Take(p.Wide)
		p.List = append(p.List, Piece{at, ColumnsOf(room.RawMatrix(), min(p.Wide, st.Rows-at)), room})
	}
	from, to := Span(old), Span(p.List)
	f := panel.Pack(1, st)
	chunk := InCache(secondCache, size+st.Rows)
	buf := p.mem.Each(p.arena, p.N, chunk*(size+st.Rows))
	over := uses{}.Spans(from)
	for _, b := range to {
		over = over.Writes(b.X)
	}
	p.arena.Sweep(p.N, chunk, size*st.Rows, over, func(worker, _, i, rows int) {
		b := buf(worker)
		y := Zeros(b[chunk*size:], rows, st.Rows)
		panel.AddProduct(y, from.Gather(b, i, rows), f)
		for _, d := range to {
			SetRows(RowsOf(d.X, i, rows), ColumnsOf(ColumnsFrom(y, d.at), d.X.Cols))
		}
	})
}

// Clear drops all columns.
func (p *Panels) Clear() {
	for _, b := range p.List {
		p.give(b.Room)
	}
	p.List = nil
}

// Span is a range of columns of a basis, panel by panel.
type Span []Piece

// SpanOf returns the span of all columns of a block.
func SpanOf(x blas64.General) Span {
	if x.Cols == 0 {
		return nil
	}
	return Span{{X: x}}
}

// Columns returns the number of columns.
func (s Span) Columns() int {
	if len(s) == 0 {
		return 0
	}
	last := s[len(s)-1]
	return last.at + last.X.Cols
}

// Gather returns rows [i, i+rows) of the columns in the memory of buf.
func (s Span) Gather(buf []float64, i, rows int) blas64.General {
	size := s.Columns()
	x := blas64.General{Rows: rows, Cols: size, Stride: max(1, size), Data: buf[:rows*size]}
	for _, b := range s {
		SetRows(ColumnsFrom(x, b.at), RowsOf(b.X, i, rows))
	}
	return x
}

// AddCross adds yᵀV to c; y is rows [i, i+y.Rows) of a block.
func (s Span) AddCross(c, y blas64.General, i int) {
	for _, b := range s {
		panel.AddCross(ColumnsOf(ColumnsFrom(c, b.at), b.X.Cols), y, RowsOf(b.X, i, y.Rows))
	}
}

// Pack returns alpha·dᵀ for AddProduct; d has a column for every column of the span.
func (s Span) Pack(alpha float64, d blas64.General) []panel.Factor {
	f := make([]panel.Factor, len(s))
	for i, b := range s {
		f[i] = panel.Pack(alpha, ColumnsOf(ColumnsFrom(d, b.at), b.X.Cols))
	}
	return f
}

// AddProduct adds the product of V and the packed factor to y, which is rows [i, i+y.Rows) of a block.
func (s Span) AddProduct(y blas64.General, f []panel.Factor, i int) {
	for j, b := range s {
		panel.AddProduct(y, RowsOf(b.X, i, y.Rows), f[j])
	}
}

// Project removes the components of y in the columns of the span, which are orthonormal, once, and returns yᵀV.
func (s Span) Project(a *Arena, t *Sums, y blas64.General) blas64.General {
	if len(s) == 0 {
		return blas64.General{Rows: y.Cols, Stride: 1}
	}
	work, chunk := y.Cols*s.Columns(), InCache(FirstCache, y.Cols)
	t.Reset(y.Rows, y.Cols, s.Columns())
	a.Sweep(y.Rows, chunk, work, Reads(y).Spans(s), func(_, seg, i, rows int) { s.AddCross(t.Of(seg), RowsOf(y, i, rows), i) })
	c := t.Total()
	f := s.Pack(-1, c)
	a.Sweep(y.Rows, chunk, work, Reads(y).Spans(s).Writes(y), func(_, _, i, rows int) { s.AddProduct(RowsOf(y, i, rows), f, i) })
	return c
}

// Multiply sets dst to V·dᵀ.
func (s Span) Multiply(a *Arena, dst, d blas64.General) {
	size := s.Columns()
	chunk := InCache(secondCache, size+dst.Cols)
	f, buf := panel.Pack(1, d), new(Scratch).Each(a, dst.Rows, chunk*size)
	a.Sweep(dst.Rows, chunk, size*d.Rows, uses{}.Spans(s).Writes(dst), func(worker, _, i, rows int) {
		y := RowsOf(dst, i, rows)
		clearRows(y)
		panel.AddProduct(y, s.Gather(buf(worker), i, rows), f)
	})
}
