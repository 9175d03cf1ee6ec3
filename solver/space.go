package solver

import "github.com/gdsvd/gdsvd/solver/internal/tallskinny"

// Arena allocates the blocks of a run, in its Space if it has one, and runs the loops
// over their rows. Nil is ordinary memory and all processors.
type Arena = tallskinny.Arena

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
