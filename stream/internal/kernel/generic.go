package kernel

import "unsafe"

// Portable kernels. Eight accumulators and one value are what the compiler
// keeps in registers, so a panel of 16 is done as two halves. The array-pointer
// conversions replace eight bounds checks by one.
//
// They are compiled for each form of the entries: a column index of 16 bits or
// 32, and a number or the byte of its place in a table.

type (
	column interface{ uint16 | uint32 }
	value  interface{ uint8 | float64 }
)

// of is the value that v stands for. The compiler knows which branch it takes.
func of[V value](table *[256]float64, v V) float64 {
	if unsafe.Sizeof(v) == 1 {
		return table[uint8(v)]
	}
	return float64(v)
}

// genericMul sets the rows of w to the products of the entries lo[r] … hi[r]−1
// of b with the panel x.
func genericMul(w, x []float64, width int, lo, hi []uint32, b Rows) {
	switch narrow, coded := len(b.Col16) > 0, len(b.Code) > 0; {
	case narrow && coded:
		mulEach(w, x, width, lo, hi, b.Col16, b.Code, b.Table)
	case narrow:
		mulEach(w, x, width, lo, hi, b.Col16, b.Val, nil)
	case coded:
		mulEach(w, x, width, lo, hi, b.Col, b.Code, b.Table)
	default:
		mulEach(w, x, width, lo, hi, b.Col, b.Val, nil)
	}
}

// genericAdd adds the products of the entries lo[r] … hi[r]−1 of b with the
// rows of w to the panel y.
func genericAdd(y, w []float64, width int, lo, hi []uint32, b Rows) {
	switch narrow, coded := len(b.Col16) > 0, len(b.Code) > 0; {
	case narrow && coded:
		addEach(y, w, width, lo, hi, b.Col16, b.Code, b.Table)
	case narrow:
		addEach(y, w, width, lo, hi, b.Col16, b.Val, nil)
	case coded:
		addEach(y, w, width, lo, hi, b.Col, b.Code, b.Table)
	default:
		addEach(y, w, width, lo, hi, b.Col, b.Val, nil)
	}
}

// mulEach is genericMul for one form of the entries.
func mulEach[C column, V value](w, x []float64, width int, lo, hi []uint32, cols []C, vals []V, table *[256]float64) {
	for r := range lo {
		col, val := cols[lo[r]:hi[r]], vals[lo[r]:hi[r]]
		w := w[r*width:][:width]
		switch width {
		case 16:
			dots8(w, x, 16, col, val, table)
			dots8(w[8:], x[min(8, len(x)):], 16, col, val, table)
		case 8:
			dots8(w, x, 8, col, val, table)
		case 4:
			dots4(w, x, col, val, table)
		case 2:
			dots2(w, x, col, val, table)
		default:
			w[0] = dot1(x, col, val, table)
		}
	}
}

// addEach is genericAdd for one form of the entries.
func addEach[C column, V value](y, w []float64, width int, lo, hi []uint32, cols []C, vals []V, table *[256]float64) {
	for r := range lo {
		col, val := cols[lo[r]:hi[r]], vals[lo[r]:hi[r]]
		w := w[r*width:][:width]
		switch width {
		case 16:
			axpys8(y, w, 16, col, val, table)
			axpys8(y[min(8, len(y)):], w[8:], 16, col, val, table)
		case 8:
			axpys8(y, w, 8, col, val, table)
		case 4:
			axpys4(y, w, col, val, table)
		case 2:
			axpys2(y, w, col, val, table)
		default:
			axpy1(y, w[0], col, val, table)
		}
	}
}

// dots8 sets w_j = Σ_p val_p x[col_p, j], x in rows of stride numbers.
func dots8[C column, V value](w, x []float64, stride int, col []C, val []V, table *[256]float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, val[i])
		t := (*[8]float64)(x[int(c)*stride:])
		s0 += v * t[0]
		s1 += v * t[1]
		s2 += v * t[2]
		s3 += v * t[3]
		s4 += v * t[4]
		s5 += v * t[5]
		s6 += v * t[6]
		s7 += v * t[7]
	}
	*(*[8]float64)(w) = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

func dots4[C column, V value](w, x []float64, col []C, val []V, table *[256]float64) {
	var s0, s1, s2, s3 float64
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, val[i])
		t := (*[4]float64)(x[4*int(c):])
		s0 += v * t[0]
		s1 += v * t[1]
		s2 += v * t[2]
		s3 += v * t[3]
	}
	*(*[4]float64)(w) = [4]float64{s0, s1, s2, s3}
}

// dots2 and dot1 keep four partial sums: fewer would wait for each addition's latency.
func dots2[C column, V value](w, x []float64, col []C, val []V, table *[256]float64) {
	var s0, s1, t0, t1 float64
	for len(col) >= 2 && len(val) >= 2 {
		s := (*[2]float64)(x[2*int(col[0]):])
		t := (*[2]float64)(x[2*int(col[1]):])
		s0 += of(table, val[0]) * s[0]
		s1 += of(table, val[0]) * s[1]
		t0 += of(table, val[1]) * t[0]
		t1 += of(table, val[1]) * t[1]
		col, val = col[2:], val[2:]
	}
	if len(col) > 0 {
		s := (*[2]float64)(x[2*int(col[0]):])
		s0 += of(table, val[0]) * s[0]
		s1 += of(table, val[0]) * s[1]
	}
	w[0], w[1] = s0+t0, s1+t1
}

func dot1[C column, V value](x []float64, col []C, val []V, table *[256]float64) float64 {
	var s0, s1, s2, s3 float64
	for len(col) >= 4 && len(val) >= 4 {
		s0 += of(table, val[0]) * x[col[0]]
		s1 += of(table, val[1]) * x[col[1]]
		s2 += of(table, val[2]) * x[col[2]]
		s3 += of(table, val[3]) * x[col[3]]
		col, val = col[4:], val[4:]
	}
	for i, c := range col {
		s0 += of(table, val[i]) * x[c]
	}
	return (s0 + s1) + (s2 + s3)
}

// axpys8 adds val_p w_j to y[col_p, j], y in rows of stride numbers.
func axpys8[C column, V value](y, w []float64, stride int, col []C, val []V, table *[256]float64) {
	a := *(*[8]float64)(w)
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, val[i])
		t := (*[8]float64)(y[int(c)*stride:])
		t[0] += v * a[0]
		t[1] += v * a[1]
		t[2] += v * a[2]
		t[3] += v * a[3]
		t[4] += v * a[4]
		t[5] += v * a[5]
		t[6] += v * a[6]
		t[7] += v * a[7]
	}
}

func axpys4[C column, V value](y, w []float64, col []C, val []V, table *[256]float64) {
	a := *(*[4]float64)(w)
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, val[i])
		t := (*[4]float64)(y[4*int(c):])
		t[0] += v * a[0]
		t[1] += v * a[1]
		t[2] += v * a[2]
		t[3] += v * a[3]
	}
}

func axpys2[C column, V value](y, w []float64, col []C, val []V, table *[256]float64) {
	a0, a1 := w[0], w[1]
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, val[i])
		t := (*[2]float64)(y[2*int(c):])
		t[0] += v * a0
		t[1] += v * a1
	}
}

func axpy1[C column, V value](y []float64, w float64, col []C, val []V, table *[256]float64) {
	val = val[:len(col)]
	for i, c := range col {
		y[c] += of(table, val[i]) * w
	}
}
