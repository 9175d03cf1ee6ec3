package stream

import (
	"context"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
)

// Sided is a Source whose blocks are those of S in B = D·S·E + P·Qᵀ; passes multiply with B.
// D and E are diagonal, and P·Qᵀ has a small rank r. Norm and Fingerprint are those
// of B.
type Sided interface {
	Source
	// Sides reports whether D is not I, the rank r, and the bytes of memory of E and Q.
	Sides() (scaled bool, rank int, bytes int64)
	// Columns returns the diagonal of E, nil if it is I, and the r columns of Q.
	Columns() (e []float64, q [][]float64)
	// RowSides sets d, if D is not I, and p, row-major with r columns, to the rows of D and P that
	// belong to a block that DecodeBlock has filled. It is called concurrently, and gives
	// the same values every time.
	RowSides(b *csr.Block, d, p []float64)
	// Terms returns ‖D·S·E‖_F or more: rounding errors of products are relative to it, even if ‖B‖_F is much smaller.
	Terms() float64
}

// sides are D, E, P and Q of a matrix. e is nil if E is I, q is empty without P·Qᵀ.
type sides struct {
	Sided
	scaled bool
	e      []float64
	q      [][]float64
	kept   []rowSides // of the first blocks, between passes; nil until first computed
}

// rowSides are rows of D and P.
type rowSides struct {
	d []float64 // nil: all 1
	p []float64
}

func newSides(src Source, plan Plan) *sides {
	s, ok := src.(Sided)
	if !ok {
		return nil
	}
	scaled, _, _ := s.Sides()
	e, q := s.Columns()
	if !scaled && e == nil && len(q) == 0 {
		return nil
	}
	return &sides{s, scaled, e, q, make([]rowSides, plan.sided)}
}

// sidesMemory returns the bytes of D and P for a row, of E and Q in all, and of D, P and D·Z for a row in flight in a
// pass with the given number of columns.
func sidesMemory(src Source, columns int) (row, all, flight int64) {
	s, ok := src.(Sided)
	if !ok {
		return 0, 0, 0
	}
	scaled, rank, all := s.Sides()
	row = 8 * int64(rank)
	if scaled {
		row, flight = row+8, 8*int64(columns)
	}
	return row, all, row + flight
}

// of returns the rows of D and P that belong to block i, which has been decoded to b.
func (s *sides) of(i int, b *csr.Block, scratch *scratch, most int) rowSides {
	if i < len(s.kept) && (s.kept[i].d != nil || s.kept[i].p != nil) {
		return s.kept[i]
	}
	var r rowSides
	rows, n := b.Rows(), len(s.q)
	if i < len(s.kept) {
		if s.scaled {
			r.d = make([]float64, rows)
		}
		r.p = make([]float64, rows*n)
		s.RowSides(b, r.d, r.p)
		s.kept[i] = r
		return r
	}
	all := sized(&scratch.sides, rows*(n+1), most*(n+1))
	if s.scaled {
		r.d = all[:rows:rows]
	}
	r.p = all[rows:]
	s.RowSides(b, r.d, r.p)
	return r
}

// rows returns rows from … to−1 of r.
func (r rowSides) rows(from, to, rank int) rowSides {
	if r.d != nil {
		r.d = r.d[from:to]
	}
	if rank > 0 {
		r.p = r.p[from*rank : to*rank]
	}
	return r
}

// finish turns rows w of S·E·X into rows of B·X, d_i·w_i + p_i·c, in place. w is row-major with the given stride, p_i is
// row i of P, and c holds the columns of QᵀX that w has.
func (r rowSides) finish(w []float64, stride int, c [][]float64) {
	if r.d == nil && len(c) == 0 {
		return
	}
	for i := range len(w) / stride {
		row := w[i*stride:][:stride]
		if r.d != nil {
			d := r.d[i]
			for j := range row {
				row[j] *= d
			}
		}
		for t, ct := range c {
			p := r.p[i*len(c)+t]
			row := row[:len(ct)]
			for j, v := range ct {
				row[j] += float64(p * v)
			}
		}
	}
}

// back adds Pᵀ·Z to low and sets into, unless it is nil or D is I, to D·Z. z holds rows of Z, row-major with the given
// stride; into may be z.
func (r rowSides) back(low [][]float64, into, z []float64, stride int) {
	if r.d == nil && len(low) == 0 {
		return
	}
	for i := range len(z) / stride {
		row := z[i*stride:][:stride]
		for t, g := range low {
			p := r.p[i*len(low)+t]
			row := row[:len(g)]
			for j, v := range row {
				g[j] += float64(p * v)
			}
		}
		if r.d != nil && into != nil {
			d, to := r.d[i], into[i*stride:][:stride]
			for j, v := range row {
				to[j] = d * v
			}
		}
	}
}

// projected returns the rows of QᵀX, summed in parts of fixed size.
func (r *reading) projected(ctx context.Context, x *mat.Dense) [][]float64 {
	const part = 1 << 10
	raw := x.RawMatrix()
	c, sum := make([][]float64, len(r.sides.q)), make([]float64, raw.Cols)
	for t := range c {
		c[t] = make([]float64, raw.Cols)
	}
	r.eachWindow(ctx, x, 0, raw.Rows, func(from, to int) { // windows are of whole parts
		for ; from < to; from += part {
			for t, q := range r.sides.q {
				clear(sum)
				for i := from; i < min(to, from+part); i++ {
					v := q[i]
					for j, x := range raw.Data[i*raw.Stride:][:raw.Cols] {
						sum[j] += float64(v * x)
					}
				}
				floats.Add(c[t], sum)
			}
		}
	})
	return c
}

// columns replaces rows from … to−1 of Y in dst by those of E·Y + Q·low.
func (s *sides) columns(dst []float64, stride, l, from, to int, low [][]float64) {
	for i := from; i < to; i++ {
		row := dst[i*stride:][:l]
		if s.e != nil {
			e := s.e[i]
			for j := range row {
				row[j] *= e
			}
		}
		for t, g := range low {
			q := s.q[t][i]
			for j, v := range g {
				row[j] += float64(q * v)
			}
		}
	}
}

// columnsOf returns columns first … end−1 of c, in the memory of some.
func columnsOf(c [][]float64, first, end int, some [][]float64) [][]float64 {
	some = some[:0]
	for _, row := range c {
		some = append(some, row[first:end])
	}
	return some
}
