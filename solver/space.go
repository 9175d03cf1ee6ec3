package solver

import (
	"gonum.org/v1/gonum/mat"
)

// Space is where the tall blocks of a run lie, the vectors of n numbers, when
// memory is too small for them: in files that are mapped into memory. The solver
// goes through them from the first row to the last and says which stretch it has
// passed, so that a window of some MiB is all that need be in memory. The bits of
// the results are those of a run without. When the context of a run ends it leaves off
// at the end of a window; its last checkpoint is what is known then.
//
// A Space is safe for concurrent use, also by several runs at once.
type Space interface {
	// Make returns room for that many float64s, zeros at first.
	Make(numbers int) ([]float64, error)
	// Fetch says that x, a part of what Make has returned, is gone through next: it
	// may be brought into memory meanwhile.
	Fetch(x []float64)
	// Drop says that x, a part of what Make has returned, need not stay in
	// memory. Its contents stay.
	Drop(x []float64)
	// Free gives back what Make has returned. It is not touched any more.
	Free(x []float64)
	// Err returns the error that may have cost contents, if there was one.
	Err() error
}

// tileRows is the number of rows that one loop over vectors covers before it says
// that it has passed them. Sums are formed tile by tile.
const tileRows = 1 << 14

// eachTile calls f with the tiles of n rows in order, a loop that goes over what u says.
func (a *Arena) eachTile(n int, u uses, f func(from, to int)) {
	over := a.over(n, u)
	over.fetch(0, min(n, tileRows))
	for from := 0; from < n; from += tileRows {
		if len(over.planes) > 0 {
			a.endEarly()
		}
		to := min(n, from+tileRows)
		over.fetch(to, min(n, to+tileRows))
		f(from, to)
		over.passed(from, to)
		a.tell()
	}
}

func width(x *mat.Dense) int { _, l := x.Dims(); return l }
