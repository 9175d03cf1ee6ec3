package tallskinny

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ColumnOf copies column j of x to dst, and setColumn back.
func (a *Arena) ColumnOf(dst []float64, x blas64.General, j int) {
	a.EachChunk(len(dst), Reads(x).Writing(dst), func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			dst[i] = x.Data[i*x.Stride+j]
		}
	})
}

func (a *Arena) SetColumn(x blas64.General, j int, src []float64) {
	a.EachTile(len(src), Reading(src).Read(x).Writes(x), func(from, to int) {
		for i := from; i < to; i++ {
			x.Data[i*x.Stride+j] = src[i]
		}
	})
}

// Shift moves the columns of x from j on to the front and puts zeros behind.
func (a *Arena) Shift(x blas64.General, j int) {
	a.EachTile(x.Rows, Reads(x).Writes(x), func(from, to int) {
		for i := from; i < to; i++ {
			row := x.Data[i*x.Stride:][:x.Cols]
			clear(row[copy(row, row[j:]):])
		}
	})
}

// Larger puts the entries of row into big that are larger in magnitude.
func Larger(big, row []float64) {
	for j, v := range row {
		if math.Abs(v) > math.Abs(big[j]) {
			big[j] = v
		}
	}
}

// SignColumns makes the entry of largest magnitude of every column positive, the
// first one on ties, and reports of which columns it changed the sign.
func (a *Arena) SignColumns(m *mat.Dense) (changed []bool) {
	var s Sums
	x := m.RawMatrix()
	s.Reset(x.Rows, 1, x.Cols)
	a.EachChunk(x.Rows, Reads(x), func(seg, first, rows int) {
		big := s.Of(seg).Data
		for i := first; i < first+rows; i++ {
			Larger(big, x.Data[i*x.Stride:][:x.Cols])
		}
	})
	big, any := s.Of(0).Data, false
	for seg := 1; seg < Segments(x.Rows); seg++ {
		Larger(big, s.Of(seg).Data)
	}
	changed = make([]bool, x.Cols)
	for j, v := range big {
		changed[j], big[j] = v < 0, 1
		if v < 0 {
			any, big[j] = true, -1
		}
	}
	if !any {
		return changed
	}
	a.EachChunk(x.Rows, Reads(x).Writes(x), func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			for j, f := range big {
				x.Data[i*x.Stride+j] *= f
			}
		}
	})
	return changed
}

func (a *Arena) ScaleColumn(m *mat.Dense, j int, f float64) {
	rows, _ := m.Dims()
	a.EachTile(rows, Reads(m.RawMatrix()).Writes(m.RawMatrix()), func(from, to int) {
		for i := from; i < to; i++ {
			m.Set(i, j, f*m.At(i, j))
		}
	})
}

func (a *Arena) GramOf(x *mat.Dense) *mat.Dense {
	var s Sums
	g := a.Cross(&s, x.RawMatrix(), x.RawMatrix())
	return mat.NewDense(g.Rows, g.Cols, g.Data[:g.Rows*g.Cols])
}

// Largest returns the magnitude of the largest entry of x, which are finite.
func (a *Arena) Largest(x blas64.General) float64 {
	var s Sums
	s.Reset(x.Rows, 1, 1)
	a.EachChunk(x.Rows, Reads(x), func(seg, first, rows int) {
		most := s.Of(seg).Data[0]
		for i := first; i < first+rows; i++ {
			for _, v := range x.Data[i*x.Stride:][:x.Cols] {
				v = math.Abs(v)
				if v > most {
					most = v
				}
			}
		}
		s.Of(seg).Data[0] = most
	})
	return slices.Max(s.data)
}

// Finite reports whether all entries of a block that owns its storage are. The
// sum of a NaN or an infinity with anything is not.
func (a *Arena) Finite(y *mat.Dense) bool {
	g := y.RawMatrix()
	var s Sums
	s.Reset(g.Rows, 1, 1)
	a.EachChunk(g.Rows, Reads(g), func(seg, first, rows int) {
		s.Of(seg).Data[0] += floats.Sum(g.Data[first*g.Cols : (first+rows)*g.Cols])
	})
	return AllFinite(s.Total().Data)
}

func AllFinite(x []float64) bool {
	sum := floats.Sum(x)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

// Orthogonality returns max|VᵀV − I|.
func Orthogonality(gram *mat.Dense) float64 {
	k, _ := gram.Dims()
	worst := 0.0
	for i := range k {
		for j := range k {
			want := 0.0
			if i == j {
				want = 1
			}
			worst = max(worst, math.Abs(gram.At(i, j)-want))
		}
	}
	return worst
}
