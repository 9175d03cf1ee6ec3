package plan

import (
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
)

// Input is the matrix that a way begins with.
type Input struct {
	Rows, Cols, Entries Range // of the matrix of the user

	matrix   matrix
	ingest   *Step // step that makes the store; nil: the store exists
	least    int64 // least bytes of memory with which the ingest works
	warnings []string
}

// matrix is an existing store, three times, or outlines of a store that does not exist yet.
type matrix struct{ low, likely, high *csr.Store }

// each returns the range of the values of f for the three stores; for an existing store it calls f once.
func (m matrix) each(f func(*csr.Store) (float64, error)) (r Range, err error) {
	if r.Likely, err = f(m.likely); err != nil || m.low == m.likely && m.high == m.likely {
		return Exactly(r.Likely), err
	}
	if r.Low, err = f(m.low); err == nil {
		r.High, err = f(m.high)
	}
	return r.ordered(), err
}

// OfStore returns the Input of a store, which must stay open while the Input is used.
func OfStore(s *csr.Store) Input {
	rows, cols := factor.Dims(s)
	return Input{
		Rows: Exactly(float64(rows)), Cols: Exactly(float64(cols)), Entries: Exactly(float64(s.NNZ())), matrix: matrix{s, s, s},
	}
}

// Bounds of the number of entries, and of the bytes of a store of known entries, relative to their estimates.
const (
	entriesLow, entriesHigh = 0.9, 1.1
	storeLow, storeHigh     = 0.8, 1.25
)

// Estimate describes the store that is going to be made of inputs.
type Estimate struct {
	Path       string // path of the store
	Rows, Cols Range  // of the matrix of the user
	Entries    int64
	Exact      bool // Entries, and the bytes that follow from it, are not estimated
	ShapeKnown bool
	Values     csr.Values
	Transposes func(rows, cols int64) bool // tells whether the store of such a matrix is transposed
	Store      int64                       // bytes of the store
	Spool      int64                       // bytes of temporary files
	Peak       int64                       // bytes of memory that are planned
	Least      int64                       // least bytes of memory that work
	Seconds    float64
	Warnings   []string
}

// Expected returns the Input of a store that is going to be made within budget bytes.
func Expected(e Estimate, budget int64) Input {
	spread := func(x int64) Range {
		if e.Exact {
			return Exactly(float64(x))
		}
		return Range{entriesLow * float64(x), float64(x), entriesHigh * float64(x)}
	}
	in := Input{Rows: e.Rows, Cols: e.Cols, Entries: spread(e.Entries), least: e.Least, warnings: e.Warnings}
	size := Range{storeLow, 1, storeHigh}.Times(spread(e.Store))
	outline := func(of func(Range) float64) *csr.Store {
		rows, cols := int64(of(in.Rows)), int64(of(in.Cols))
		o := csr.Outline{Path: e.Path, NNZ: int64(of(in.Entries)), Values: e.Values, Size: int64(of(size)), Transposed: e.Transposes(rows, cols)}
		o.Rows, o.Cols = csr.Exchanged(o.Transposed, rows, cols)
		return o.Plan()
	}
	likely := outline(func(x Range) float64 { return x.Likely })
	in.matrix = (matrix{likely, likely, likely})
	if !e.Exact || !e.ShapeKnown {
		in.matrix.low, in.matrix.high = outline(func(x Range) float64 { return x.Low }), outline(func(x Range) float64 { return x.High })
	}
	in.ingest = &Step{
		Name: "ingest", Seconds: Range{0.5, 1, 2}.Times(Exactly(e.Seconds)), Kept: size, Temporary: spread(e.Spool), Memory: collected(e.Peak, budget),
	}
	return in
}

// collected returns the memory of an ingest in bytes, which may hold held bytes: a loaded machine leaves more garbage uncollected.
func collected(held, budget int64) Range {
	of := func(times float64) float64 { return min(times*float64(held), float64(budget)) }
	return Range{of(0.45), of(0.75), of(1.7)}
}

// SureRank returns a number of triplets that the matrix has, whatever its shape turns out to be.
func (in Input) SureRank() int64 { return min(in.matrix.low.Rows(), in.matrix.low.Cols()) }

// Estimated reports whether the shape or the number of entries is an estimate.
func (in Input) Estimated() bool { return in.matrix.low != in.matrix.likely }
func (in Input) Close() error    { return in.matrix.likely.Close() }
