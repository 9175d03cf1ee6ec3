package factor

import "github.com/gdsvd/gdsvd/csr"

// Orient returns what belongs to the rows and to the columns of the user's matrix, given
// what belongs to those of the stored one, and the reverse. A store keeps the longer side as
// its rows: a matrix with more columns than rows is stored transposed. Nothing else in the
// program translates between the two.
func Orient[T any](store *csr.Store, rows, cols T) (T, T) {
	if store.Transposed() {
		return cols, rows
	}
	return rows, cols
}

// Dims returns the numbers of rows and columns of the user's matrix.
func Dims(store *csr.Store) (rows, cols int64) { return Orient(store, store.Rows(), store.Cols()) }
