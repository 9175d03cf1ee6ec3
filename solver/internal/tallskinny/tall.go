package tallskinny

import (
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

const (
	ChunkRows   = 128           // rows of a chunk, unless a sweep has its own
	segmentRows = 4 * ChunkRows // least rows of a segment, if there are several
	MaxSegments = 16            // largest number of segments, unless they would exceed longestSegment
	// longestSegment bounds the rows that a sweep touches at a time, for blocks of any length.
	longestSegment = 1 << 16
)

// cuts returns the number of segments of n rows and the rows of each but the last, a multiple of ChunkRows.
func cuts(n int) (segments, rows int) {
	segments = max(1, min(MaxSegments, n/segmentRows), (n+longestSegment-1)/longestSegment)
	rows = (n + segments - 1) / segments
	rows = (rows + ChunkRows - 1) / ChunkRows * ChunkRows
	return (n + rows - 1) / rows, rows
}

// Segments returns the number of segments of n rows.
func Segments(n int) int {
	s, _ := cuts(n)
	return s
}

// EachChunk calls f with every chunk of n rows, those of a segment in order. Segments run in parallel: f may write to its
// own rows and to data of its segment.
func (a *Arena) EachChunk(n int, u uses, f func(segment, first, rows int)) {
	a.Sweep(n, ChunkRows, math.MaxInt32, u, func(_, s, first, rows int) { f(s, first, rows) })
}

// To hand work to another goroutine takes as long as about this number of multiply-adds.
const worthSharing = 1 << 15

// InCache returns the rows of a chunk of which all columns are to stay in a cache of the given bytes. Sums do not depend on
// it. Long chunks are better: at each panel the processor has to start its read-ahead anew.
func InCache(bytes, columns int) int {
	return max(64, min(1024, bytes/(8*max(columns, 1))&^63))
}

const FirstCache, secondCache = 32 << 10, 512 << 10

// Sweep calls f as EachChunk does, with chunks of the given rows. f takes about work multiply-adds a row: if the total is
// small one worker does it. worker is the number of the worker that f runs on, below workers(n).
func (a *Arena) Sweep(n, chunk, work int, u uses, f func(worker, segment, first, rows int)) {
	segments, size := cuts(n)
	over := a.Over(n, u)
	window := over.Rows(ChunkRows, a.workers(n))
	run := func(worker, s int) {
		from, end := s*size, min(n, (s+1)*size)
		ahead := min(end, from+window)
		over.Fetch(from, ahead)
		for i := from; i < end; i += chunk {
			if window > 0 && i == from {
				if a.ended() {
					return
				}
				next := min(end, ahead+window)
				over.Fetch(ahead, next)
				ahead = next
			}
			f(worker, s, i, min(chunk, end-i))
			if next := min(end, i+chunk); window > 0 && (next-from >= window || next == end) {
				over.Evict(from, next)
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
		panic(f.Err) // on the goroutine that Guarded watches
	}
	if window > 0 {
		a.endEarly()
	}
}

// Sums holds one small matrix for each segment, to be added up in order.
type Sums struct {
	r, c int
	data []float64
}

// Reset makes room for r×c sums over n rows and sets them to zero.
func (s *Sums) Reset(n, r, c int) {
	s.r, s.c = r, c
	if need := Segments(n) * r * c; cap(s.data) < need {
		s.data = make([]float64, need)
	} else {
		s.data = s.data[:need]
		clear(s.data)
	}
}

func (s *Sums) Of(segment int) blas64.General {
	return blas64.General{Rows: s.r, Cols: s.c, Stride: s.c, Data: s.data[segment*s.r*s.c : (segment+1)*s.r*s.c]}
}

// Total returns the sum over the segments, in the place of the first.
func (s *Sums) Total() blas64.General {
	t := s.Of(0)
	for at := len(t.Data); at < len(s.data); at += len(t.Data) {
		floats.Add(t.Data, s.data[at:at+len(t.Data)])
	}
	return t
}

// RowsOf returns rows [first, first+rows) of x.
func RowsOf(x blas64.General, first, rows int) blas64.General {
	x.Rows = rows
	if x.Cols > 0 {
		x.Data = x.Data[first*x.Stride:]
	}
	return x
}

// ColumnsOf returns the first c columns of x.
func ColumnsOf(x blas64.General, c int) blas64.General {
	x.Cols = c
	return x
}

// ColumnsFrom returns the columns of x from j on.
func ColumnsFrom(x blas64.General, j int) blas64.General {
	x.Data, x.Cols = x.Data[j:], x.Cols-j
	return x
}

// Cross sets s to yᵀv, summed over segments.
func (a *Arena) Cross(s *Sums, y, v blas64.General) blas64.General {
	s.Reset(y.Rows, y.Cols, v.Cols)
	a.Sweep(y.Rows, InCache(FirstCache, y.Cols+v.Cols), y.Cols*v.Cols, Reads(y, v), func(_, seg, i, rows int) {
		panel.AddCross(s.Of(seg), RowsOf(y, i, rows), RowsOf(v, i, rows))
	})
	return s.Total()
}

// Scratch is memory for a sweep.
type Scratch []float64

// Each returns the buffers of the workers of a sweep over n rows, each of the given number of float64s.
func (s *Scratch) Each(a *Arena, n, floats int) func(worker int) []float64 {
	if size := a.workers(n) * floats; len(*s) < size {
		*s = make([]float64, size)
	}
	return func(w int) []float64 { return (*s)[w*floats : (w+1)*floats] }
}

// Rotate sets the leading columns of y to y·dᵀ in place. d has at most as many rows as y has columns.
func (a *Arena) Rotate(y, d blas64.General) { a.RotateThen(y, d, func(int, blas64.General) {}) }

// RotateThen rotates as Rotate does, and calls then with every chunk of the result.
func (a *Arena) RotateThen(y, d blas64.General, then func(segment int, rows blas64.General)) {
	chunk := InCache(FirstCache, y.Cols+d.Rows)
	buf, f := new(Scratch).Each(a, y.Rows, chunk*d.Rows), panel.Pack(1, d)
	a.Sweep(y.Rows, chunk, 2*d.Rows*d.Cols, Reads(y).Writes(y), func(worker, seg, i, rows int) {
		part := RowsOf(y, i, rows)
		t := Zeros(buf(worker), rows, d.Rows)
		panel.AddProduct(t, ColumnsOf(part, d.Cols), f)
		SetRows(part, t)
		then(seg, part)
	})
}

// productThen sets out to y·dᵀ; y and out do not overlap. Before it reads rows of y, from row i on, it calls prepare with
// them, unless prepare is nil; it calls then with every chunk of the result. also lists the blocks that prepare goes over.
func (a *Arena) productThen(out, y, d blas64.General, also uses, prepare func(rows blas64.General, i int), then func(segment int, rows blas64.General)) {
	f := panel.Pack(1, d)
	a.Sweep(y.Rows, InCache(FirstCache, y.Cols), 4*d.Rows*d.Cols, also.Read(y).Writes(out), func(_, seg, i, rows int) {
		part, from := RowsOf(out, i, rows), RowsOf(y, i, rows)
		if prepare != nil {
			prepare(from, i)
		}
		clearRows(part)
		panel.AddProduct(part, from, f)
		then(seg, part)
	})
}

// SetBlock copies src to dst.
func (a *Arena) SetBlock(dst, src blas64.General) {
	a.EachChunk(src.Rows, Reads(src).Writes(dst), func(_, i, rows int) { SetRows(RowsOf(dst, i, rows), RowsOf(src, i, rows)) })
}

// SetRows copies src to dst row by row.
func SetRows(dst, src blas64.General) {
	for i := range src.Rows {
		copy(dst.Data[i*dst.Stride:][:src.Cols], src.Data[i*src.Stride:])
	}
}

// Single returns a vector as a block of one column.
func Single(x []float64) blas64.General {
	return blas64.General{Rows: len(x), Cols: 1, Stride: 1, Data: x}
}

func clearRows(x blas64.General) {
	for i := range x.Rows {
		clear(x.Data[i*x.Stride:][:x.Cols])
	}
}

// Zeros returns a block of zeros in the memory of buf.
func Zeros(buf []float64, rows, cols int) blas64.General {
	clear(buf[:rows*cols])
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: buf[:rows*cols]}
}
