package solver

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

// Products of tall blocks, n×l row-major with l ≪ n, which is what a block
// method does between two passes.
//
// Package panel multiplies them. Rows are cut into segments, which run in
// parallel, and these into chunks that stay in the cache while several products
// use them. Both depend on n alone, and sums over rows are added up in order: the
// bits do not depend on the machine.
const (
	chunkRows   = 128
	segmentRows = 4 * chunkRows // at least
	maxSegments = 16
)

// cuts returns the number of segments of n rows and the rows of each but the
// last, a multiple of chunkRows.
func cuts(n int) (segments, rows int) {
	segments = max(1, min(maxSegments, n/segmentRows))
	rows = (n + segments - 1) / segments
	rows = (rows + chunkRows - 1) / chunkRows * chunkRows
	return (n + rows - 1) / rows, rows
}

// eachChunk calls f with every chunk of n rows, those of a segment in order.
// Segments run in parallel: f may write to its own rows and to what belongs to
// the segment.
func eachChunk(n int, f func(segment, first, rows int)) {
	segments, size := cuts(n)
	run := func(s int) {
		for i := s * size; i < min(n, (s+1)*size); i += chunkRows {
			f(s, i, min(chunkRows, n-i))
		}
	}
	workers := min(segments, runtime.GOMAXPROCS(0))
	if workers == 1 {
		for s := range segments {
			run(s)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for s := w; s < segments; s += workers {
				run(s)
			}
		})
	}
	wg.Wait()
}

// sums holds one small matrix a segment, to be added up in order.
type sums struct {
	r, c int
	data []float64
}

// reset makes room for r×c sums over n rows and sets them to zero.
func (s *sums) reset(n, r, c int) {
	segments, _ := cuts(n)
	s.r, s.c = r, c
	if need := segments * r * c; cap(s.data) < need {
		s.data = make([]float64, need)
	} else {
		s.data = s.data[:need]
		clear(s.data)
	}
}

func (s *sums) of(segment int) blas64.General {
	return blas64.General{Rows: s.r, Cols: s.c, Stride: s.c, Data: s.data[segment*s.r*s.c : (segment+1)*s.r*s.c]}
}

// total returns the sum over the segments, in the place of the first.
func (s *sums) total() blas64.General {
	t := s.of(0)
	for at := len(t.Data); at < len(s.data); at += len(t.Data) {
		floats.Add(t.Data, s.data[at:at+len(t.Data)])
	}
	return t
}

// rowsOf returns rows [first, first+rows) of x.
func rowsOf(x blas64.General, first, rows int) blas64.General {
	if x.Rows = rows; x.Cols > 0 {
		x.Data = x.Data[first*x.Stride:]
	}
	return x
}

// columnsOf returns the first c columns of x.
func columnsOf(x blas64.General, c int) blas64.General {
	x.Cols = c
	return x
}

// columnsFrom returns the columns of x from j on.
func columnsFrom(x blas64.General, j int) blas64.General {
	x.Data, x.Cols = x.Data[j:], x.Cols-j
	return x
}

// cross sets s to yᵀv, summed over segments.
func cross(s *sums, y, v blas64.General) blas64.General {
	s.reset(y.Rows, y.Cols, v.Cols)
	eachChunk(y.Rows, func(seg, i, rows int) { panel.AddCross(s.of(seg), rowsOf(y, i, rows), rowsOf(v, i, rows)) })
	return s.total()
}

// scratch holds one buffer a segment.
func scratch(n, floats int) func(segment int) []float64 {
	segments, _ := cuts(n)
	data := make([]float64, segments*floats)
	return func(s int) []float64 { return data[s*floats : (s+1)*floats] }
}

// turn sets the leading columns of y to y·dᵀ in place, d having at most as many
// rows as y has columns.
func turn(y, d blas64.General) { turnThen(y, d, func(int, blas64.General) {}) }

// turnThen is turn, and calls then with every chunk when it has been done.
func turnThen(y, d blas64.General, then func(segment int, rows blas64.General)) {
	buf, f := scratch(y.Rows, chunkRows*d.Rows), panel.Pack(1, d)
	eachChunk(y.Rows, func(seg, i, rows int) {
		part := rowsOf(y, i, rows)
		t := zeros(buf(seg), rows, d.Rows)
		panel.AddProduct(t, columnsOf(part, d.Cols), f)
		for r := range rows {
			copy(part.Data[r*part.Stride:][:d.Rows], t.Data[r*t.Stride:][:d.Rows])
		}
		then(seg, part)
	})
}

// productThen sets out to y·dᵀ, which does not overlap it, and calls then with every
// chunk.
func productThen(out, y, d blas64.General, then func(segment int, rows blas64.General)) {
	f := panel.Pack(1, d)
	eachChunk(y.Rows, func(seg, i, rows int) {
		part := rowsOf(out, i, rows)
		for r := range rows {
			clear(part.Data[r*part.Stride:][:part.Cols])
		}
		panel.AddProduct(part, rowsOf(y, i, rows), f)
		then(seg, part)
	})
}

// setBlock copies src to dst.
func setBlock(dst, src blas64.General) {
	eachChunk(src.Rows, func(_, i, rows int) { setRows(rowsOf(dst, i, rows), rowsOf(src, i, rows)) })
}

// largest returns the magnitude of the largest entry of x, which are finite.
func largest(x blas64.General) float64 {
	var s sums
	s.reset(x.Rows, 1, 1)
	eachChunk(x.Rows, func(seg, first, rows int) {
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

// setRows copies src to dst row by row.
func setRows(dst, src blas64.General) {
	for i := range src.Rows {
		copy(dst.Data[i*dst.Stride:][:src.Cols], src.Data[i*src.Stride:])
	}
}

// subtractProduct sets y −= v·dᵀ.
func subtractProduct(y, v, d blas64.General) {
	f := panel.Pack(-1, d)
	eachChunk(y.Rows, func(_, i, rows int) { panel.AddProduct(rowsOf(y, i, rows), rowsOf(v, i, rows), f) })
}

// zeros returns a block of zeros in the memory of buf.
func zeros(buf []float64, rows, cols int) blas64.General {
	clear(buf[:rows*cols])
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: buf[:rows*cols]}
}

// columnOf copies column j of x to dst, and setColumn back.
func columnOf(dst []float64, x blas64.General, j int) {
	eachChunk(len(dst), func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			dst[i] = x.Data[i*x.Stride+j]
		}
	})
}

func setColumn(x blas64.General, j int, src []float64) {
	for i, v := range src {
		x.Data[i*x.Stride+j] = v
	}
}

// shift moves the columns of x from j on to the front and puts zeros behind.
func shift(x blas64.General, j int) {
	for i := range x.Rows {
		row := x.Data[i*x.Stride:][:x.Cols]
		clear(row[copy(row, row[j:]):])
	}
}

// none is a block of n rows without columns.
func none(n int) blas64.General { return blas64.General{Rows: n, Stride: 1} }

func allFinite(x []float64) bool {
	sum := floats.Sum(x)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}
