// Package tallskinny is the algebra of blocks of n rows and few columns, row by row,
// which is what a method does between two passes: products, orthonormalisation (QR),
// bases of Lanczos processes (Panels) and of found vectors (Basis), and the singular
// values of small factors (Jacobi).
//
// An Arena allocates the blocks of one run, in memory or in a Space of files that are
// mapped, and runs the loops over their rows. Rows are cut into segments, which run in
// parallel, and these into chunks that stay in the cache while several products use
// them. Both depend on n alone, and sums over rows are added up in order: the bits do
// not depend on the number of workers, nor on where a block lies.
package tallskinny
