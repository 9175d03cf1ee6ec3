package format

// Rows are entries in strictly ascending order of row and column.
type Rows struct {
	Runs []Run // none is empty
	Cols []uint32
	Vals []float64 // finite
}

// A Run is a number of entries of one row.
type Run struct {
	Row int64
	N   int
}

// A RowReader is a Reader whose chunks may be rows, which take less to parse than a batch.
type RowReader interface {
	// ParseRows is Parse. It is false where that is an error, or the entries are not in order.
	ParseRows(c *Chunk, r *Rows) bool
}
