package solver

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// columnOf copies column j of x to dst, and setColumn back.
func (a *Arena) columnOf(dst []float64, x blas64.General, j int) {
	a.eachChunk(len(dst), reads(x).writing(dst), func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			dst[i] = x.Data[i*x.Stride+j]
		}
	})
}

func (a *Arena) setColumn(x blas64.General, j int, src []float64) {
	a.eachTile(len(src), reading(src).read(x).writes(x), func(from, to int) {
		for i := from; i < to; i++ {
			x.Data[i*x.Stride+j] = src[i]
		}
	})
}

// shift moves the columns of x from j on to the front and puts zeros behind.
func (a *Arena) shift(x blas64.General, j int) {
	a.eachTile(x.Rows, reads(x).writes(x), func(from, to int) {
		for i := from; i < to; i++ {
			row := x.Data[i*x.Stride:][:x.Cols]
			clear(row[copy(row, row[j:]):])
		}
	})
}

// signColumns makes the entry of largest magnitude of every column positive, the
// first one on ties, and reports of which columns it changed the sign.
func (a *Arena) signColumns(m *mat.Dense) (changed []bool) {
	var s sums
	x := m.RawMatrix()
	s.reset(x.Rows, 1, x.Cols)
	larger := func(big, row []float64) {
		for j, v := range row {
			if math.Abs(v) > math.Abs(big[j]) {
				big[j] = v
			}
		}
	}
	a.eachChunk(x.Rows, reads(x), func(seg, first, rows int) {
		big := s.of(seg).Data
		for i := first; i < first+rows; i++ {
			larger(big, x.Data[i*x.Stride:][:x.Cols])
		}
	})
	big, any := s.of(0).Data, false
	for seg := 1; seg < segments(x.Rows); seg++ {
		larger(big, s.of(seg).Data)
	}
	changed = make([]bool, x.Cols)
	for j, v := range big {
		if changed[j], big[j] = v < 0, 1; v < 0 {
			any, big[j] = true, -1
		}
	}
	if !any {
		return changed
	}
	a.eachChunk(x.Rows, reads(x).writes(x), func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			for j, f := range big {
				x.Data[i*x.Stride+j] *= f
			}
		}
	})
	return changed
}

func (a *Arena) scaleColumn(m *mat.Dense, j int, f float64) {
	rows, _ := m.Dims()
	a.eachTile(rows, reads(m.RawMatrix()).writes(m.RawMatrix()), func(from, to int) {
		for i := from; i < to; i++ {
			m.Set(i, j, f*m.At(i, j))
		}
	})
}

func (a *Arena) gramOf(x *mat.Dense) *mat.Dense {
	var s sums
	g := a.cross(&s, x.RawMatrix(), x.RawMatrix())
	return mat.NewDense(g.Rows, g.Cols, g.Data[:g.Rows*g.Cols])
}

// largest returns the magnitude of the largest entry of x, which are finite.
func (a *Arena) largest(x blas64.General) float64 {
	var s sums
	s.reset(x.Rows, 1, 1)
	a.eachChunk(x.Rows, reads(x), func(seg, first, rows int) {
		most := s.of(seg).Data[0]
		for i := first; i < first+rows; i++ {
			for _, v := range x.Data[i*x.Stride:][:x.Cols] {
				if v = math.Abs(v); v > most {
					most = v
				}
			}
		}
		s.of(seg).Data[0] = most
	})
	return slices.Max(s.data)
}

// finite reports whether all entries of a block that owns its storage are. The
// sum of a NaN or an infinity with anything is not.
func (a *Arena) finite(y *mat.Dense) bool {
	g := y.RawMatrix()
	var s sums
	s.reset(g.Rows, 1, 1)
	a.eachChunk(g.Rows, reads(g), func(seg, first, rows int) {
		s.of(seg).Data[0] += floats.Sum(g.Data[first*g.Cols : (first+rows)*g.Cols])
	})
	return allFinite(s.total().Data)
}

func allFinite(x []float64) bool {
	sum := floats.Sum(x)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}
