// Package view is a matrix seen through weights, scalings and centring: what PCA, latent semantic indexing, recommenders and
// spectral methods factorise instead of the numbers of the file. The store stays as it is, and no matrix that is dense is
// formed.
//
// [Parse] reads a [Pipeline] of steps, such as "normalize=rows,total:10000 · log1p · center=columns", or a preset such as
// "bm25". [New] makes a [View] of a source of blocks and a pipeline, which is again a source, for stream.NewFrom. It has the
// form
//
//	B = D·S·E + P·Qᵀ
//
// with the pattern of the source in S, diagonal D and E, and P·Qᵀ of rank 0, 1 or 2.
//
// # Contract
//
// A view is a function of the matrix, not of how it is stored: an entry whose value is 0 is no entry, before the first step and
// between any two. "Rows" and "columns" of the steps are those of the user, whichever side the store has as its rows. Every
// step is the formula of its reference implementation (docs/views.md lists them), to rounding, of the matrix as the steps
// before it have made it. What may be no more than rounding is exactly 0.
//
// Columns are dropped by a mask: they stay where they are, and are zero in B and in V. What a list of columns is,
// [Pipeline.Resolve] asks of its caller before there is a View.
//
// A step that would have to compute something for every zero after these have become other numbers is refused by Parse; one
// that makes an entry NaN or infinite is a [ValueError] with the place of the entry.
//
// # Statistics
//
// What a step needs of a stored row is computed when the row is decoded. What it needs of a stored column takes one read of the
// source through the steps before it, which [View.Measure] makes, as it does for ‖B‖_F. Sums are of twice the precision of a
// float64 and formed in the order of the rows: they have the same bits for any number of workers and any budget.
//
// A view whose ‖B‖_F is no more than the rounding of S, such as constant columns that are centred, is exactly 0. Numbers whose
// squares may leave the range of a float64 are refused where squares are summed.
//
// [Fit] makes of what has been measured a view of rows that the matrix does not have.
//
// [View.Summarise] sums up rows and columns of a view, and [View.FirstRows] and [View.Row] show some; [Identity] has them do so
// of a source as it is.
package view
