package kernel

import (
	"math"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

// MulColumn sets w to the product of the rows with a vector x, with the bits that
// Mul gives column j of an l-column block. One column at a time takes the memory of
// one column.
//
// What a column adds to y has the same bits in panels of all widths: for that
// MulTransAdd with one column will do.
func MulColumn(w, x []float64, j, l int, b Rows) {
	b.check()
	b.checkProducts(w, 1)
	lo, hi := b.Ptr[:b.Len()], b.Ptr[1:]
	width := widthAround(j, l)
	if width == 1 || level != cpu.Portable && width <= 8 { // as many chains as a panel of 1
		mulPanel(w, x, 1, lo, hi, b)
		return
	}
	generic(mulAColumn, w, x, width, lo, hi, b)
}

// widthAround is the width of the panel of an l-column block that column j is in.
func widthAround(j, l int) int {
	if j < 0 || j >= l {
		panic("kernel: no such column")
	}
	for {
		w := widthFor(l)
		if j < w {
			return w
		}
		j, l = j-w, l-w
	}
}

// mulColumn sums as the kernels for a panel of the width do.
func mulColumn[C column, V value](w, x []float64, width int, lo, hi []uint32, cols []C, vals []V, table *[256]float64) {
	for r := range lo {
		col, val := cols[lo[r]:hi[r]], vals[lo[r]:hi[r]]
		switch {
		case level != cpu.Portable:
			w[r] = dotFused(x, col, val, table)
		case width == 2:
			w[r] = dotTwice(x, col, val, table)
		default:
			w[r] = dotOnce(x, col, val, table)
		}
	}
}

// dotFused is one column of the kernels of a panel of 16: two sums, fused.
func dotFused[C column, V value](x []float64, col []C, val []V, table *[256]float64) float64 {
	var s, t float64
	for len(col) >= 2 && len(val) >= 2 {
		s = math.FMA(of(table, &val[0]), x[col[0]], s)
		t = math.FMA(of(table, &val[1]), x[col[1]], t)
		col, val = col[2:], val[2:]
	}
	if len(col) > 0 {
		s = math.FMA(of(table, &val[0]), x[col[0]], s)
	}
	return s + t
}

// dotTwice is one column of dots2.
func dotTwice[C column, V value](x []float64, col []C, val []V, table *[256]float64) float64 {
	var s, t float64
	for len(col) >= 2 && len(val) >= 2 {
		s += of(table, &val[0]) * x[col[0]]
		t += of(table, &val[1]) * x[col[1]]
		col, val = col[2:], val[2:]
	}
	if len(col) > 0 {
		s += of(table, &val[0]) * x[col[0]]
	}
	return s + t
}

// dotOnce is one column of dots4 and dots8.
func dotOnce[C column, V value](x []float64, col []C, val []V, table *[256]float64) float64 {
	var s float64
	val = val[:len(col)]
	for i, c := range col {
		s += of(table, &val[i]) * x[c]
	}
	return s
}
