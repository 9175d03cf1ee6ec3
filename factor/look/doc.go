// Package look shows what is in a store, or in a view of it, without a factorisation.
//
// [Peek] returns some rows with the ids and titles of rows and columns. [Summarise] reads the store once, besides what the
// view takes, for counts, sums, means and variances of all rows and columns, and can write them to a directory: a table and
// arrays of NumPy for each side, and stats.json, which is a [Stats].
//
// Rows and columns are those of the user's matrix, whichever way it is stored. What is found has the same bits for any number
// of workers and any budget that can work. A directory appears in one step when it is complete, and replaces only one of its
// kind, if StatsOptions.Replace permits it.
package look
