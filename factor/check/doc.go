// Package check verifies result directories and measures their triplets on the matrix again.
//
// [Result] reads every file of a directory that package factor, foldin or align has written, or of singular values and
// vectors in NumPy's format that another program has: checksums, shapes, numbers that are not finite, ids in order, what
// result.json states of itself, and the checkpoint of an unfinished run. With Options.Store it measures, in one read where
// the memory allows it, the residuals ‖Av−σu‖/σ₁ and ‖Aᵀu−σv‖/σ₁ and max|VᵀV−I|, and compares them with what the result
// states or with Options.Tol.
//
// What is wrong with a result is in the [Report]; the error is for what kept it from being checked. [Report.Err] is the error
// of a result that is damaged (csr.ErrCorrupt), not what it states, or not converged (factor.ErrNotConverged).
package check
