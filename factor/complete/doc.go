// Package complete predicts the entries that a matrix lacks, by a matrix of low rank: soft-impute.
//
// Entries that are not stored are missing, not zero. Of an N×n matrix with the stored entries Ω, [Fit]
// minimises over matrices Z of rank k at most
//
//	F(Z) = ½ Σ_Ω (a_ij − μ − b_i − c_j − z_ij)² + λ ‖Z‖_*
//
// (Mazumder, Hastie, Tibshirani, JMLR 11, 2010, (4)), where ‖Z‖_* is the sum of the singular values. μ is
// the mean of the stored entries, and b_i and c_j, unless they are left out, minimise
// Σ_Ω (a_ij − μ − b_i − c_j)² + D·(Σ b_i² + Σ c_j²) (Koren, ACM TKDD 4, 2010, section 2.1).
//
// # Rounds
//
// Z = Z̃·Vᵀ with n×k orthonormal V. A round reads the matrix once. For each row it finds the z̃_i that is best
// for the V there is (ridge regression), and with it the residuals on Ω; of B = P_Ω(A − Z) + Z, which is sparse plus
// low rank, it computes W = B·V and BᵀW. The singular values of UᵀB, U an orthonormal basis of W, less λ, and
// its right singular vectors are the next V: a step of soft-impute from the left space U. F never increases:
// the z̃_i minimise it for the V there is, and the step from U minimises a bound on F that is exact at that Z (Hastie, Mazumder,
// Lee, Zadeh, JMLR 16, 2015, section 3).
//
// What is kept between rounds is V and k singular values ([State]): 8·n·k bytes, nothing of the length N. A
// fit that is interrupted goes on from its State with the same bits.
//
// # λ
//
// Without one given, Fit leaves entries out of Ω, chosen by a hash of their position, goes down a path of λ from the
// one at which Z = 0, each warm from the last, until the error on what was left out falls by less than a share of 2e-4, and fits
// all entries with the best.
//
// # Bits
//
// The same matrix and options have the same bits for any number of workers and any budget.
package complete
