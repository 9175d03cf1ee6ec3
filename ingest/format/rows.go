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
	// ParseRows is Parse. It is false where that has to tell: what is wrong, or an order that Rows cannot have.
	ParseRows(c *Chunk, r *Rows) bool
}
