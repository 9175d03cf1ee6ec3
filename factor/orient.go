package factor

import "github.com/gdsvd/gdsvd/csr"

// Dims returns the numbers of rows and columns of the user's matrix.
func Dims(store *csr.Store) (rows, cols int64) { return csr.Orient(store, store.Rows(), store.Cols()) }
