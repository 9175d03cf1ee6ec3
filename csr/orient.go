package csr

// Orient exchanges rows and cols if the store is transposed. It translates between the sides of the stored matrix and
// those of the user's matrix, in both directions; nothing else does. A store keeps the longer side as its rows: a
// matrix with more columns than rows is stored transposed.
func Orient[T any](s *Store, rows, cols T) (T, T) { return Exchanged(s.Transposed(), rows, cols) }

// Exchanged is Orient for a store that may not exist yet.
func Exchanged[T any](transposed bool, rows, cols T) (T, T) {
	if transposed {
		return cols, rows
	}
	return rows, cols
}
