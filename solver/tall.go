package solver

import (
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/parallel"
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
	chunkRows   = 128           // unless a sweep has its own
	segmentRows = 4 * chunkRows // at least, if there is more than one
	maxSegments = 16            // unless they have longestSegment rows
	// longestSegment bounds what a sweep touches at a time, however long the block.
	longestSegment = 1 << 16
)

// cuts returns the number of segments of n rows and the rows of each but the
// last, a multiple of chunkRows.
func cuts(n int) (segments, rows int) {
	segments = max(1, min(maxSegments, n/segmentRows), (n+longestSegment-1)/longestSegment)
	rows = (n + segments - 1) / segments
	rows = (rows + chunkRows - 1) / chunkRows * chunkRows
	return (n + rows - 1) / rows, rows
}

// segments returns the number of segments of n rows.
func segments(n int) int {
	s, _ := cuts(n)
	return s
}

// eachChunk calls f with every chunk of n rows, those of a segment in order.
// Segments run in parallel: f may write to its own rows and to what belongs to
// the segment.
func (a *Arena) eachChunk(n int, u uses, f func(segment, first, rows int)) {
	a.sweep(n, chunkRows, math.MaxInt32, u, func(_, s, first, rows int) { f(s, first, rows) })
}

// To hand work to a helper that is awake takes as long as so many multiply-adds; one
// that is not is not waited for.
const worthSharing = 1 << 15

// inCache returns the rows of a chunk of which so many columns are to stay in a cache
// of so many bytes. Sums do not depend on it. Chunks had better be long: from one
// panel to the next the processor has to begin anew to read ahead.
func inCache(bytes, columns int) int {
	return max(64, min(1024, bytes/(8*max(columns, 1))&^63))
}

const firstCache, secondCache = 32 << 10, 512 << 10

// sweep is eachChunk with chunks of so many rows, for f that is known to take about
// work multiply-adds a row: where all of that is little, one worker does it. f is
// told which one it runs on, a number below workers(n).
func (a *Arena) sweep(n, chunk, work int, u uses, f func(worker, segment, first, rows int)) {
	segments, size := cuts(n)
	over := a.over(n, u)
	window := over.rows(chunkRows, a.workers(n))
	run := func(worker, s int) {
		from, end := s*size, min(n, (s+1)*size)
		ahead := min(end, from+window)
		over.fetch(from, ahead)
		for i := from; i < end; i += chunk {
			if window > 0 && i == from {
				if a.ended() {
					return
				}
				next := min(end, ahead+window)
				over.fetch(ahead, next)
				ahead = next
			}
			f(worker, s, i, min(chunk, end-i))
			if next := min(end, i+chunk); window > 0 && (next-from >= window || next == end) {
				over.passed(from, next)
				if worker == 0 {
					a.tell()
				}
				from = next
			}
		}
	}
	several := a.workers(n)
	if n*work < worthSharing {
		several = 1
	}
	var failed atomic.Pointer[fault.Error]
	parallel.Each(several, segments, func(worker, s int) {
		if window == 0 || several == 1 {
			run(worker, s)
			return
		}
		err := fault.Guard(func() error {
			run(worker, s)
			return nil
		})
		if err != nil {
			failed.CompareAndSwap(nil, err.(*fault.Error))
		}
	})
	if f := failed.Load(); f != nil {
		panic(f.Err) // on the goroutine that guarded watches
	}
	if window > 0 {
		a.endEarly()
	}
}

// sums holds one small matrix a segment, to be added up in order.
type sums struct {
	r, c int
	data []float64
}

// reset makes room for r×c sums over n rows and sets them to zero.
func (s *sums) reset(n, r, c int) {
	s.r, s.c = r, c
	if need := segments(n) * r * c; cap(s.data) < need {
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
func (a *Arena) cross(s *sums, y, v blas64.General) blas64.General {
	s.reset(y.Rows, y.Cols, v.Cols)
	a.sweep(y.Rows, inCache(firstCache, y.Cols+v.Cols), y.Cols*v.Cols, reads(y, v), func(_, seg, i, rows int) {
		panel.AddCross(s.of(seg), rowsOf(y, i, rows), rowsOf(v, i, rows))
	})
	return s.total()
}

// scratch is memory for a sweep.
type scratch []float64

// each gives every worker of a sweep over n rows a buffer of so many float64s.
func (s *scratch) each(a *Arena, n, floats int) func(worker int) []float64 {
	if size := a.workers(n) * floats; len(*s) < size {
		*s = make([]float64, size)
	}
	return func(w int) []float64 { return (*s)[w*floats : (w+1)*floats] }
}

// turn sets the leading columns of y to y·dᵀ in place, d having at most as many
// rows as y has columns.
func (a *Arena) turn(y, d blas64.General) { a.turnThen(y, d, func(int, blas64.General) {}) }

// turnThen is turn, and calls then with every chunk when it has been done.
func (a *Arena) turnThen(y, d blas64.General, then func(segment int, rows blas64.General)) {
	chunk := inCache(firstCache, y.Cols+d.Rows)
	buf, f := new(scratch).each(a, y.Rows, chunk*d.Rows), panel.Pack(1, d)
	a.sweep(y.Rows, chunk, 2*d.Rows*d.Cols, reads(y).writes(y), func(worker, seg, i, rows int) {
		part := rowsOf(y, i, rows)
		t := zeros(buf(worker), rows, d.Rows)
		panel.AddProduct(t, columnsOf(part, d.Cols), f)
		setRows(part, t)
		then(seg, part)
	})
}

// productThen sets out to y·dᵀ, which does not overlap it. Before it reads rows of y
// from i on it calls prepare with them, unless nil, and then with every chunk that has
// been done. prepare goes over what also says.
func (a *Arena) productThen(out, y, d blas64.General, also uses, prepare func(rows blas64.General, i int), then func(segment int, rows blas64.General)) {
	f := panel.Pack(1, d)
	a.sweep(y.Rows, inCache(firstCache, y.Cols), 4*d.Rows*d.Cols, also.read(y).writes(out), func(_, seg, i, rows int) {
		part, from := rowsOf(out, i, rows), rowsOf(y, i, rows)
		if prepare != nil {
			prepare(from, i)
		}
		clearRows(part)
		panel.AddProduct(part, from, f)
		then(seg, part)
	})
}

// setBlock copies src to dst.
func (a *Arena) setBlock(dst, src blas64.General) {
	a.eachChunk(src.Rows, reads(src).writes(dst), func(_, i, rows int) { setRows(rowsOf(dst, i, rows), rowsOf(src, i, rows)) })
}

// setRows copies src to dst row by row.
func setRows(dst, src blas64.General) {
	for i := range src.Rows {
		copy(dst.Data[i*dst.Stride:][:src.Cols], src.Data[i*src.Stride:])
	}
}

// single is a vector as a block of one column.
func single(x []float64) blas64.General {
	return blas64.General{Rows: len(x), Cols: 1, Stride: 1, Data: x}
}

// clearRows sets x to zero.
func clearRows(x blas64.General) {
	for i := range x.Rows {
		clear(x.Data[i*x.Stride:][:x.Cols])
	}
}

// zeros returns a block of zeros in the memory of buf.
func zeros(buf []float64, rows, cols int) blas64.General {
	clear(buf[:rows*cols])
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: buf[:rows*cols]}
}
