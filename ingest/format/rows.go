package format

import "slices"

// Rows are entries in strictly ascending order of row and column.
type Rows struct {
	Runs []Run // none is empty
	Cols []uint32
	Vals []float64 // finite

	cut int // columns in runs
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

// Reset makes room for n entries in no rows yet.
func (r *Rows) Reset(n int) {
	r.Runs, r.Cols, r.Vals, r.cut = r.Runs[:0], slices.Grow(r.Cols[:0], n)[:n], slices.Grow(r.Vals[:0], n)[:n], 0
}

// Cut takes the next n columns for those of a row, which is behind the one before. It is false if there are fewer, they
// do not ascend, or are not below a limit.
func (r *Rows) Cut(row int64, n int, limit int64) bool {
	if n > len(r.Cols)-r.cut {
		return false
	}
	if n == 0 {
		return true
	}
	cols := r.Cols[r.cut:][:n]
	last := cols[0]
	for _, c := range cols[1:] {
		if c <= last {
			return false
		}
		last = c
	}
	r.Runs = append(r.Runs, Run{row, n})
	r.cut += n
	return int64(last) < limit
}

// Whole tells whether all columns are those of rows, and all values finite.
func (r *Rows) Whole() bool {
	sum := 0.0 // of differences that are 0, or NaN
	vals := r.Vals
	for ; len(vals) >= 4; vals = vals[4:] { // one addition has to wait for another
		v := (*[4]float64)(vals)
		sum += ((v[0] - v[0]) + (v[1] - v[1])) + ((v[2] - v[2]) + (v[3] - v[3]))
	}
	for _, v := range vals {
		sum += v - v
	}
	return r.cut == len(r.Cols) && sum == 0
}
