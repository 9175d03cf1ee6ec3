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
// All that grows with n lies in memory, or in a Space if Settings has one: in
// files that are mapped into memory, when there is too little of it even for one
// block. The arithmetic does not see the difference, so that the bits are the
// same. Everything that is done between two passes goes through the rows of some
// blocks from the first to the last, a window at a time: the next one is fetched, and
// the one that has been passed leaves memory (Arena). What is there is about 16 MiB,
// whatever n, the method, and the number of its vectors are: see SpaceFootprint. What
// loops have gone over is counted (Stats). A loop reads no more columns than it needs,
// since a Lanczos basis is kept in panels of few columns, and the start vectors,
// the vectors found, those of the certificate, and their products with G each lie
// in a block of their own. Left vectors go to their RowStore row by row as before,
// and a checkpoint is written from where the vectors lie: neither takes memory.
//
// What the Space could not keep is an error of the run: there was no room for a
// block, a page could not be read, a write has failed meanwhile.
//
// A Space is safe for concurrent use, also by several runs at once.
type Space interface {
	// Make returns room for that many float64s, zeros at first.
	Make(numbers int) ([]float64, error)
	// Fetch says that x, a part of what Make has returned, is gone through next: it
	// may be brought into memory meanwhile. Other memory is left alone.
	Fetch(x []float64)
	// Evict says that x, a part of what Make has returned, need not stay in
	// memory. Its contents stay. Other memory is left alone.
	Evict(x []float64)
	// Free gives back what Make has returned. It is not touched any more.
	Free(x []float64)
	// Err returns the error that may have cost contents, if there was one.
	Err() error
}
