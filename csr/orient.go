package csr

// Orient returns what belongs to the rows and to the columns of the user's matrix, given
// what belongs to those of the stored one, and the reverse. A store keeps the longer side as
// its rows: a matrix with more columns than rows is stored transposed. Nothing else
// translates between the two.
func Orient[T any](s *Store, rows, cols T) (T, T) { return Exchanged(s.Transposed(), rows, cols) }

// Exchanged is Orient of a store that is, or is going to be, transposed or not.
func Exchanged[T any](transposed bool, rows, cols T) (T, T) {
	if transposed {
		return cols, rows
	}
	return rows, cols
}
