package kernel

import "unsafe"

// Portable kernels. Eight accumulators and one value are what the compiler
// keeps in registers, so the products of 16 columns are done as two halves.
//
// They are compiled for each form of the entries: a column index of 16 or 32
// bits, and a number, or its index in a table in one byte, or nothing if every
// value is the first of the table.

type (
	column interface{ uint16 | uint32 }
	first  = struct{}
	value  interface{ uint8 | float64 | first }
)

// of returns the value that *v stands for. The case is decided when a kernel is compiled.
func of[V value](table *[256]float64, v *V) float64 {
	switch unsafe.Sizeof(*v) {
	case 1:
		return table[*(*uint8)(unsafe.Pointer(v))]
	case 8:
		return *(*float64)(unsafe.Pointer(v))
	}
	return table[0]
}

// operation selects what a portable kernel does with the entries lo[r] … hi[r]−1 of each row.
type operation uint8

const (
	mulRows operation = iota // sets the rows of out to their products with the panel in
	addRows                  // adds their products with the rows of in to the panel out
)

// generic applies op to rows of b, from the given row on.
func generic(op operation, out, in []float64, width int, lo, hi []uint32, b Rows, row int) {
	if b.Step > 0 { // one row, with its table, at a time
		all, dense := b, &in
		if op == mulRows {
			dense = &out
		}
		b.Val, b.Step = nil, 0
		for r := range lo {
			b.Table, _ = all.table(row + r)
			generic(op, out, in, width, lo[r:r+1], hi[r:r+1], b, 0)
			*dense = (*dense)[width:]
		}
		return
	}
	switch narrow, ones := len(b.Col16) > 0, make([]first, b.entries()); {
	case narrow && len(b.Code) > 0:
		genericFor(op, out, in, width, lo, hi, b.Col16, b.Code, b.Table)
	case narrow && len(b.Val) > 0:
		genericFor(op, out, in, width, lo, hi, b.Col16, b.Val, nil)
	case narrow:
		genericFor(op, out, in, width, lo, hi, b.Col16, ones, b.Table)
	case len(b.Code) > 0:
		genericFor(op, out, in, width, lo, hi, b.Col, b.Code, b.Table)
	case len(b.Val) > 0:
		genericFor(op, out, in, width, lo, hi, b.Col, b.Val, nil)
	default:
		genericFor(op, out, in, width, lo, hi, b.Col, ones, b.Table)
	}
}

func genericFor[C column, V value](op operation, out, in []float64, width int, lo, hi []uint32, cols []C, vals []V, table *[256]float64) {
	switch op {
	case mulRows:
		mulEach(out, in, width, lo, hi, cols, vals, table)
	case addRows:
		addEach(out, in, width, lo, hi, cols, vals, table)
	}
}

func mulEach[C column, V value](w, x []float64, width int, lo, hi []uint32, cols []C, vals []V, table *[256]float64) {
	for r := range lo {
		col, val := cols[lo[r]:hi[r]], vals[lo[r]:hi[r]]
		w := w[r*width:][:width]
		switch width {
		case 16:
			dots8((*[8]float64)(w), fours(x), 4, col, val, table)
			dots8((*[8]float64)(w[8:]), fours(x[min(8, len(x)):]), 4, col, val, table)
		case 8:
			dots8((*[8]float64)(w), fours(x), 2, col, val, table)
		case 4:
			dots4((*[4]float64)(w), fours(x), col, val, table)
		case 2:
			dots2(w, x, col, val, table)
		default:
			w[0] = dot1(x, col, val, table)
		}
	}
}

func addEach[C column, V value](y, w []float64, width int, lo, hi []uint32, cols []C, vals []V, table *[256]float64) {
	for r := range lo {
		col, val := cols[lo[r]:hi[r]], vals[lo[r]:hi[r]]
		w := w[r*width:][:width]
		switch width {
		case 16:
			axpys16(unsafe.Slice((*[16]float64)(unsafe.Pointer(unsafe.SliceData(y))), len(y)/16), (*[16]float64)(w), col, val, table)
		case 8:
			axpys8(fours(y), (*[8]float64)(w), col, val, table)
		case 4:
			axpys4(fours(y), (*[4]float64)(w), col, val, table)
		case 2:
			axpys2(y, w, col, val, table)
		default:
			axpy1(y, w[0], col, val, table)
		}
	}
}

// fours returns x as rows of four numbers. Checking an index into it costs less
// than converting a slice of x to an array.
func fours(x []float64) [][4]float64 {
	return unsafe.Slice((*[4]float64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/4)
}

// dots8 sets w_j = Σ_p val_p x[col_p, j], x in rows of stride fours. Checking the two
// fours one after the other keeps the compiler from beginning all eight products at once,
// for which there are not enough registers. With few columns, the one sum of a column
// waits for the latency of each addition. More sums would give other bits than the same
// column has among many columns, and there are no registers for more sums of many columns.
func dots8[C column, V value](w *[8]float64, x [][4]float64, stride int, col []C, val []V, table *[256]float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, &val[i])
		at := int(c) * stride
		t := &x[at]
		s0 += v * t[0]
		s1 += v * t[1]
		s2 += v * t[2]
		s3 += v * t[3]
		t = &x[at+1]
		s4 += v * t[0]
		s5 += v * t[1]
		s6 += v * t[2]
		s7 += v * t[3]
	}
	*w = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

func dots4[C column, V value](w *[4]float64, x [][4]float64, col []C, val []V, table *[256]float64) {
	var s0, s1, s2, s3 float64
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, &val[i])
		t := &x[c]
		s0 += v * t[0]
		s1 += v * t[1]
		s2 += v * t[2]
		s3 += v * t[3]
	}
	*w = [4]float64{s0, s1, s2, s3}
}

func dots2[C column, V value](w, x []float64, col []C, val []V, table *[256]float64) {
	var s0, s1 float64
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, &val[i])
		t := (*[2]float64)(x[2*int(c):])
		s0 += v * t[0]
		s1 += v * t[1]
	}
	w[0], w[1] = s0, s1
}

func dot1[C column, V value](x []float64, col []C, val []V, table *[256]float64) float64 {
	var s float64
	val = val[:len(col)]
	for i, c := range col {
		s += of(table, &val[i]) * x[c]
	}
	return s
}

// axpys16 adds val_p w_j to y[col_p, j].
func axpys16[C column, V value](y [][16]float64, w *[16]float64, col []C, val []V, table *[256]float64) {
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, &val[i])
		t := &y[c]
		t[0] += v * w[0]
		t[1] += v * w[1]
		t[2] += v * w[2]
		t[3] += v * w[3]
		t[4] += v * w[4]
		t[5] += v * w[5]
		t[6] += v * w[6]
		t[7] += v * w[7]
		t[8] += v * w[8]
		t[9] += v * w[9]
		t[10] += v * w[10]
		t[11] += v * w[11]
		t[12] += v * w[12]
		t[13] += v * w[13]
		t[14] += v * w[14]
		t[15] += v * w[15]
	}
}

func axpys8[C column, V value](y [][4]float64, w *[8]float64, col []C, val []V, table *[256]float64) {
	a0, a1, a2, a3, a4, a5, a6, a7 := w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, &val[i])
		at := 2 * int(c)
		t := &y[at]
		t[0] += v * a0
		t[1] += v * a1
		t[2] += v * a2
		t[3] += v * a3
		t = &y[at+1]
		t[0] += v * a4
		t[1] += v * a5
		t[2] += v * a6
		t[3] += v * a7
	}
}

func axpys4[C column, V value](y [][4]float64, w *[4]float64, col []C, val []V, table *[256]float64) {
	a0, a1, a2, a3 := w[0], w[1], w[2], w[3]
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, &val[i])
		t := &y[c]
		t[0] += v * a0
		t[1] += v * a1
		t[2] += v * a2
		t[3] += v * a3
	}
}

func axpys2[C column, V value](y, w []float64, col []C, val []V, table *[256]float64) {
	a0, a1 := w[0], w[1]
	val = val[:len(col)]
	for i, c := range col {
		v := of(table, &val[i])
		t := (*[2]float64)(y[2*int(c):])
		t[0] += v * a0
		t[1] += v * a1
	}
}

func axpy1[C column, V value](y []float64, w float64, col []C, val []V, table *[256]float64) {
	val = val[:len(col)]
	for i, c := range col {
		y[c] += of(table, &val[i]) * w
	}
}
