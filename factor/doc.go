// Package factor computes the leading singular triplets of a stored matrix into a directory,
// and opens and explains such directories.
//
// [Run] is a whole factorisation: it chooses the method, plans memory, finds the triplets with
// package solver, certifies them, saves checkpoints meanwhile and writes a [Result]. [Open]
// reads one, [Explain] says how a run would go. [Complete] fits a matrix whose other entries are missing. What comes before and
// after is in packages below this one: look shows what is in a store or a view, check verifies the files of a result and
// measures its triplets on the matrix again, and recommend, foldin, export and others use one. The command gdsvd is these
// calls.
//
// # Contract
//
// The same store, rank, tolerance, seed and method have the same bits in sigma.npy, U.npy and
// V.npy, for any number of workers, any budget, and after any number of interruptions. A method
// that is not given is a function of these and of the budget: see cost.Choose.
//
// The directory appears in one step when it is complete (RESULT.md has the format of its
// files), but for the files of a checkpoint, each of which is replaced in one step. While a run
// is under way its files are in the directory of the same name that ends in ".partial". Nothing
// is replaced that is not a result, and a result only with Options.Replace.
//
// A context that is cancelled ends a run after the step under way: what has been found is
// written as estimates, with the checkpoint that Options.Resume goes on from. A limit of passes
// or of time ends it with a certified result. In both cases Run returns the result and an
// error, an [Error], which says what can be done in the names of Options.
//
// # Using a result
//
// [Result.OpenU] and [Result.OpenV] read the vectors by windows of rows, [Result.Values] are the
// singular values, and [Result.RowNames] and [Result.ColNames] the ids and titles of the rows of U and V:
// the one of a number, and the number of an id. None of them needs the store.
//
// # Memory
//
// Options.Memory is for the whole process. What the method needs comes first: its vectors, or,
// where these have no room, a window of them, with the rest in files without names beside the
// result. What is left keeps blocks of the matrix decoded between passes. A budget that cannot
// work is refused with the least one that can (stream.BudgetError).
//
// The package sets nothing that belongs to the process: no limits of the garbage collector, no
// signals. A program that wants the heap held to the plan sets its limit when Options.Planned
// tells it what is on the heap (Memory.Heap). Runs at the same time in one process, each with a
// budget of its own, do not know of one another.
//
// # Orientation
//
// U and V, rows and columns are those of the user's matrix everywhere in this package. A store
// keeps the longer side as its rows; [Orient] is the one place that translates.
package factor
