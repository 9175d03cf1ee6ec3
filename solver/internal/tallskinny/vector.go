package tallskinny

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/mix"
	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// Epsilon is the distance from 1 to the next larger float64.
const Epsilon = 0x1p-52

// FloorFactor·ε·‖M‖ bounds the error of a product with M and a unit vector: below it neither a residual nor a product is
// significant.
const FloorFactor = 4

// Column returns the only column of a block that owns its storage.
func Column(x *mat.Dense) []float64 { return x.RawMatrix().Data }

func Vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func (a *Arena) Dot(x, y []float64) (sum float64) {
	a.EachTile(len(x), Reading(x, y), func(from, to int) { sum += blas64.Dot(Vector(x[from:to]), Vector(y[from:to])) })
	return sum
}

// Norm2 returns ‖x‖, guarded against overflow and underflow.
func (a *Arena) Norm2(x []float64) (norm float64) {
	a.EachTile(len(x), Reading(x), func(from, to int) {
		part := blas64.Nrm2(Vector(x[from:to]))
		if from == 0 {
			norm = part
		} else {
			norm = math.Hypot(norm, part)
		}
	})
	return norm
}

// AddScaled sets y += f·x.
func (a *Arena) AddScaled(y []float64, f float64, x []float64) {
	a.EachTile(len(x), Reading(x, y).Writing(y), func(from, to int) { blas64.Axpy(f, Vector(x[from:to]), Vector(y[from:to])) })
}

// CopyVector copies x to dst, of the same length.
func (a *Arena) CopyVector(dst, x []float64) {
	a.EachTile(len(x), Reading(x).Writing(dst), func(from, to int) { copy(dst[from:to], x[from:to]) })
}

// Normalise sets dst = x/‖x‖, or to zero if x is zero.
func (a *Arena) Normalise(dst, x []float64) {
	f := 0.0
	if norm := a.Norm2(x); norm > 0 {
		f = 1 / norm
	}
	a.EachTile(len(x), Reading(x).Writing(dst), func(from, to int) {
		for i := from; i < to; i++ {
			dst[i] = f * x[i]
		}
	})
}

// Distance returns ‖f·x − g·y‖.
func (a *Arena) Distance(x []float64, f float64, y []float64, g float64) float64 {
	sum := 0.0
	a.EachTile(len(x), Reading(x, y), func(from, to int) {
		for i := from; i < to; i++ {
			d := f*x[i] - g*y[i]
			sum += d * d
		}
	})
	return math.Sqrt(sum)
}

// Combine sets dst = f·x + g·y.
func (a *Arena) Combine(dst []float64, f float64, x []float64, g float64, y []float64) {
	a.EachTile(len(x), Reading(x, y).Writing(dst), func(from, to int) {
		for i := from; i < to; i++ {
			dst[i] = f*x[i] + g*y[i]
		}
	})
}

// Shorten multiplies x by a power of two if its norm is outside about 2^±500, so that the norm or its inverse could leave
// the range of float64. It returns the norm from before.
func (a *Arena) Shorten(x []float64) (norm float64) {
	norm = a.Norm2(x)
	_, e := math.Frexp(norm)
	if math.IsInf(norm, 0) {
		e = 1024
	}
	if -500 <= e && e <= 500 {
		return norm
	}
	a.EachTile(len(x), Reading(x).Writing(x), func(from, to int) {
		for i := from; i < to; i++ {
			x[i] = math.Ldexp(x[i], -e)
		}
	})
	return norm
}

// Multiply sets dst = β·dst + α·op(a)·x, with Gemv if x has one column, which is faster.
func Multiply(dst blas64.General, alpha float64, t blas.Transpose, a, x blas64.General, beta float64) {
	if x.Cols == 1 {
		column := func(g blas64.General) blas64.Vector {
			return blas64.Vector{N: g.Rows, Inc: g.Stride, Data: g.Data}
		}
		blas64.Gemv(t, alpha, a, column(x), beta, column(dst))
		return
	}
	blas64.Gemm(t, blas.NoTrans, alpha, a, x, beta, dst)
}

// ColumnOf copies column j of x to dst, and SetColumn copies it back.
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

// Shift moves the columns of x from j on to the front and sets the columns behind them to zero.
func (a *Arena) Shift(x blas64.General, j int) {
	a.EachTile(x.Rows, Reads(x).Writes(x), func(from, to int) {
		for i := from; i < to; i++ {
			row := x.Data[i*x.Stride:][:x.Cols]
			clear(row[copy(row, row[j:]):])
		}
	})
}

// Larger replaces the entries of big by those of row that are larger in magnitude.
func Larger(big, row []float64) {
	for j, v := range row {
		if math.Abs(v) > math.Abs(big[j]) {
			big[j] = v
		}
	}
}

// SignColumns makes the entry of largest magnitude of every column positive, the first one on ties, and reports for each
// column whether it changed the sign.
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

// Largest returns the largest magnitude of the entries of x, which must be finite.
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

// Finite reports whether all entries of a block that owns its storage are finite. A sum with a NaN or an infinity is not
// finite.
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
	off := mat.DenseCopyOf(gram)
	for i := range Width(off) {
		off.Set(i, i, off.At(i, i)-1)
	}
	return floats.Norm(off.RawMatrix().Data, math.Inf(1))
}

// Times returns x·yᵀ.
func (a *Arena) Times(x, y *mat.Dense) *mat.Dense {
	r, _ := x.Dims()
	c, _ := y.Dims()
	p := mat.NewDense(r, c, nil)
	f := packed.Get().(*panel.Factor)
	defer packed.Put(f)
	f.Pack(1, y.RawMatrix())
	const together = 16
	parts := (r + together - 1) / together
	workers := 1
	if r*c*Width(y) >= worthSharing {
		workers = a.Most()
	}
	parallel.Each(workers, parts, func(_, i int) {
		rows := min(together, r-i*together)
		panel.AddProduct(RowsOf(p.RawMatrix(), i*together, rows), RowsOf(x.RawMatrix(), i*together, rows), *f)
	})
	return p
}

// packed holds factors whose memory is reused.
var packed = sync.Pool{New: func() any { return new(panel.Factor) }}

// Gaussian is solver.Gaussian for a block of the arena.
func (a *Arena) Gaussian(dst *mat.Dense, first int64, seed, stream uint64) {
	n, cols := dst.Dims()
	hi, lo := mix.Next(seed), mix.Next(stream)
	a.EachChunk(n, uses{}.Writes(dst.RawMatrix()), func(_, at, rows int) {
		var pcg rand.PCG
		normal := rand.New(&pcg)
		for i := at; i < at+rows; i++ {
			pcg.Seed(hi, mix.Next(lo+uint64(first+int64(i))))
			row := dst.RawRowView(i)[:cols]
			for j := range row {
				row[j] = normal.NormFloat64()
			}
		}
	})
}
