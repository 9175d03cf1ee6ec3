// Package recommend finds, for rows of a factorised matrix, the columns with the highest scores, and rows and columns
// that are like one another.
//
// # Scores
//
// Of a factorisation A ≈ U·Σ·Vᵀ with k triplets the score of row i and column j is, by Model, the element of the
// approximation,
//
//	s_ij = u_iᵀ Σ v_j,
//
// and by History that of the row as it is projected on the right vectors,
//
//	s_ij = (Σ_l h_il v_l)ᵀ v_j,
//
// h_i being the entries of the row, or 1 for each that the first step "binary" of the view keeps. The two are the same where
// the matrix has no view. Where a view weights columns, as "recsys" does, V belongs to the weighted matrix and History
// scores the plain row with it: Nikolakopoulos, Kalantzis, Gallopoulos and Garofalakis, "EigenRec: generalizing PureSVD for
// effective and efficient top-N recommendations", Knowledge and Information Systems 58 (2019).
//
// # Contract
//
// What is found are the N columns with the highest scores, not an approximation of them; of a tie those with
// the smaller numbers. Scores are a tie if their nearest multiples of 2⁻³⁶·‖h‖ are the same, h being the entries by History and
// U_i·Σ by Model, so that rounding decides nothing. The bits are the same for any number of workers and any budget. Memory
// is bounded by Options.Memory: rows are taken in blocks, and columns in blocks, too, where V is larger than memory. Rows without
// entries have no recommendations.
package recommend
