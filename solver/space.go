package solver

import "github.com/gdsvd/gdsvd/solver/internal/tallskinny"

// Space is where the tall blocks of a run lie, all that grows with n, when memory is too
// small for even one of them: in files that are mapped into memory.
//
//	Make(numbers int) ([]float64, error) // room for that many, zeros at first
//	Fetch(x []float64)                   // a part of it is gone through next
//	Evict(x []float64)                   // a part need not stay in memory; its contents stay
//	Free(x []float64)                    // what Make has returned is not touched any more
//	Err() error                          // that may have cost contents
//
// Fetch and Evict leave alone what is not a part of what Make has returned.
//
// The bits of the results are those of a run in memory. What is done between two passes
// goes through the rows of some blocks from the first to the last, a window at a time: the
// next one is fetched, and the one that has been passed is evicted. About 16 MiB are in
// memory at a time, whatever n, the method, and the number of its vectors are: see
// SpaceFootprint. What loops have gone over is counted (Stats). A loop reads no more
// columns than it needs, since a Lanczos basis is kept in panels of few columns, and the
// start vectors, the vectors found, those of the certificate, and their products with G
// each lie in a block of their own. Left vectors go to their RowStore row by row, and a
// checkpoint is written from where the vectors lie: neither takes memory. When the context
// of a run ends it leaves off at the end of a window; its last checkpoint is what is known
// then. What the Space could not keep is an error of the run.
//
// A Space is safe for concurrent use, also by several runs at once.
type Space = tallskinny.Space
