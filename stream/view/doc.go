// Package view transforms a matrix by weights, scalings and centring: PCA, latent semantic indexing, recommenders and
// spectral methods factorise the result instead of the numbers of the file. The store stays as it is, and no dense matrix
// is formed.
//
// [Parse] reads a [Pipeline] of steps, such as "normalize=rows,total:10000 · log1p · center=columns", or a preset such as
// "bm25". [New] makes a [View] of a source of blocks and a pipeline. The View is again a source, for stream.NewFrom, of the
// matrix
//
//	B = D·S·E + P·Qᵀ
//
// with the pattern of the source in S, diagonal D and E, and P·Qᵀ of rank 0, 1 or 2.
//
// # Contract
//
// A view is a function of the matrix, not of how it is stored: an entry whose value is 0 is no entry, before the first
// step and between any two. "Rows" and "columns" of the steps are those of the user, whichever side the store has as
// its rows. Every step applies the formula of its reference implementation (docs/views.md lists them), to rounding, to
// the matrix that the steps before it have made. A number that may be no more than rounding is exactly 0.
//
// Columns are dropped by a mask: they stay where they are, and are zero in B and in V. [Pipeline.Resolve] gets the
// masks of lists of columns from its caller before there is a View.
//
// After a step that turns zeros into other numbers, Parse refuses a step that would have to compute something for each of
// them. A step that makes an entry NaN or infinite gives a [ValueError] with the place of the entry.
//
// # Statistics
//
// Statistics of a stored row are computed when the row is decoded. Statistics of stored columns take one read of the
// source through the steps before, which [View.Measure] makes, and so does ‖B‖_F. Sums have twice the precision of a
// float64 and are formed in the order of the rows: they have the same bits for any number of workers and any budget.
//
// A view whose ‖B‖_F is no more than the rounding of S, such as constant columns that are centred, is exactly 0. Numbers whose
// squares may leave the range of a float64 are refused where squares are summed.
//
// [Fit] applies what has been measured to rows that the matrix does not have.
//
// [View.Summarise] sums up rows and columns of a view, and [View.FirstRows] and [View.SomeRows] return some rows. [Identity] is
// the view of a source as it is.
package view
