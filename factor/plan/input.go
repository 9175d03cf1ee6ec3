package plan

import (
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
)

// Input is the matrix that a way begins with.
type Input struct {
	Rows, Cols, Entries Range // of the matrix of the user

	matrix   matrix
	ingest   *Step // that makes the store; nil: there it is
	least    int64 // bytes of memory with which it works
	warnings []string
}

// matrix is a store, three times, or what can be expected of one that does not exist yet.
type matrix struct{ low, likely, high *csr.Store }

// each makes a range of what is found of the three; of a store, of the one.
func (m matrix) each(f func(*csr.Store) (float64, error)) (r Range, err error) {
	if r.Likely, err = f(m.likely); err != nil || m.low == m.likely && m.high == m.likely {
		return Exactly(r.Likely), err
	}
	if r.Low, err = f(m.low); err == nil {
		r.High, err = f(m.high)
	}
	return r.ordered(), err
}

// OfStore is a store, which stays open as long as the Input is of use.
func OfStore(s *csr.Store) Input {
	rows, cols := factor.Dims(s)
	return Input{
		Rows: Exactly(float64(rows)), Cols: Exactly(float64(cols)), Entries: Exactly(float64(s.NNZ())), matrix: matrix{s, s, s},
	}
}

// How far an estimated number of entries, and the bytes of a store of known entries, may be from the truth.
const (
	entriesLow, entriesHigh = 0.9, 1.1
	storeLow, storeHigh     = 0.8, 1.25
)

// Estimate is what a look at inputs tells of the store that is going to be made of them.
type Estimate struct {
	Path       string // of the store
	Rows, Cols Range  // of the matrix of the user
	Entries    int64
	Exact      bool // Entries, and the bytes that follow from them, are not estimated
	ShapeKnown bool
	Values     csr.Values
	Transposes func(rows, cols int64) bool // tells whether the store of such a matrix is transposed
	Store      int64                       // bytes of the store,
	Spool      int64                       // of temporary files,
	Peak       int64                       // of memory, as it is planned,
	Least      int64                       // and of memory, the least that works
	Seconds    float64
	Warnings   []string
}

// Expected is what can be expected of a store that is made within budget bytes.
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

// collected is the memory of an ingest in bytes, from what it may hold: on a loaded machine there is more garbage that has not been collected.
func collected(held, budget int64) Range {
	of := func(times float64) float64 { return min(times*float64(held), float64(budget)) }
	return Range{of(0.45), of(0.75), of(1.7)}
}

// SureRank is the number of triplets that the matrix has, whatever its shape turns out to be.
func (in Input) SureRank() int64 { return min(in.matrix.low.Rows(), in.matrix.low.Cols()) }

// Estimated tells whether the shape or the number of entries is not known.
func (in Input) Estimated() bool { return in.matrix.low != in.matrix.likely }
func (in Input) Close() error    { return in.matrix.likely.Close() }
