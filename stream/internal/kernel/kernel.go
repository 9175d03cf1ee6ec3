// Package kernel is the arithmetic of one block of rows of a sparse matrix.
//
// The three operations work on a block of rows a₀ … a_{m−1} of A, decoded to
// compressed sparse rows, and on row-major dense blocks with l columns: the
// numbers that belong to one column of A (or one row of A) are contiguous, so
// that an entry of A costs one contiguous dot or axpy of length l.
//
//	Gram:        y += Σ_r a_r (a_rᵀ X)    y, x: n×l
//	Mul:         w_r = a_rᵀ X             w: m×l, x: n×l
//	MulTransAdd: y += Σ_r a_r w_rᵀ        y: n×l, w: m×l
//
// Preconditions, which callers must have proved (csr.Store.DecodeBlock does):
// Ptr[0] = 0, Ptr is non-decreasing, Ptr[m] = len(Col) = len(Val), every column
// index is below n. y and x (or w) do not overlap.
//
// The result is a function of the arguments alone: same bits on every call.
// Bits may differ between the levels below and between architectures, since
// the order of summation within a row and the use of fused multiply-add do.
// Each level is within 2·(nnz(a_r)+l)·ε·Σ|a||x| of the reference, elementwise.
//
// This file is the contract and the dispatch; ref.go holds the plain loops,
// which are the oracle of the tests; generic.go the portable fast ones.
package kernel

// Rows is one decoded block of rows. Row r has the entries Ptr[r] … Ptr[r+1]−1.
type Rows struct {
	Ptr []uint32  // len rows+1
	Col []uint32  // column indices
	Val []float64 // values
}

// Len is the number of rows.
func (b Rows) Len() int { return len(b.Ptr) - 1 }

// Gram adds Σ_r a_r (a_rᵀ X) to y. Each row is read once and used twice.
func Gram(y, x []float64, l int, b Rows) { genericGram(y, x, l, b) }

// Mul sets w to the product of the rows with X.
func Mul(w, x []float64, l int, b Rows) { genericMul(w, x, l, b) }

// MulTransAdd adds the product of the transposed rows with w to y.
func MulTransAdd(y, w []float64, l int, b Rows) { genericMulTransAdd(y, w, l, b) }
