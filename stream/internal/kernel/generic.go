package kernel

// Portable kernels. A dense row of l numbers is cut into tiles of 8, 4, then
// single columns: 8 accumulators and one value are what the compiler keeps in
// registers. The array-pointer conversions replace eight bounds checks by one.

func genericGram(y, x []float64, l int, b Rows) {
	if l == 1 {
		gram1(y, x, b)
		return
	}
	// Enough for the widths in use; a wider block falls back to the heap once per call.
	var buf [64]float64
	w := buf[:]
	if l > len(w) {
		w = make([]float64, l)
	}
	w = w[:l]
	for r := range b.Len() {
		col, val := b.row(r)
		dots(w, x, l, col, val)
		axpys(y, w, l, col, val)
	}
}

func genericMul(w, x []float64, l int, b Rows) {
	for r := range b.Len() {
		col, val := b.row(r)
		if l == 1 {
			w[r] = dot1(x, col, val)
			continue
		}
		dots(w[r*l:r*l+l], x, l, col, val)
	}
}

func genericMulTransAdd(y, w []float64, l int, b Rows) {
	for r := range b.Len() {
		col, val := b.row(r)
		if l == 1 {
			axpy1(y, w[r], col, val)
			continue
		}
		axpys(y, w[r*l:r*l+l], l, col, val)
	}
}

func (b Rows) row(r int) (col []uint32, val []float64) {
	lo, hi := b.Ptr[r], b.Ptr[r+1]
	return b.Col[lo:hi], b.Val[lo:hi]
}

func gram1(y, x []float64, b Rows) {
	for r := range b.Len() {
		col, val := b.row(r)
		axpy1(y, dot1(x, col, val), col, val)
	}
}

// dot1 keeps four partial sums: one alone would wait for each addition's latency.
func dot1(x []float64, col []uint32, val []float64) float64 {
	var s0, s1, s2, s3 float64
	for len(col) >= 4 && len(val) >= 4 {
		s0 += val[0] * x[col[0]]
		s1 += val[1] * x[col[1]]
		s2 += val[2] * x[col[2]]
		s3 += val[3] * x[col[3]]
		col, val = col[4:], val[4:]
	}
	for i, c := range col {
		s0 += val[i] * x[c]
	}
	return (s0 + s1) + (s2 + s3)
}

func axpy1(y []float64, w float64, col []uint32, val []float64) {
	val = val[:len(col)]
	for i, c := range col {
		y[c] += val[i] * w
	}
}

// dots sets w_j = Σ_p val_p x[col_p, j] for the l columns of x.
func dots(w, x []float64, l int, col []uint32, val []float64) {
	j := 0
	for ; j+8 <= l; j += 8 {
		dots8(w[j:], x[j:], l, col, val)
	}
	if j+4 <= l {
		dots4(w[j:], x[j:], l, col, val)
		j += 4
	}
	for ; j < l; j++ {
		s := 0.0
		for i, c := range col {
			s += val[i] * x[int(c)*l+j]
		}
		w[j] = s
	}
}

func dots8(w, x []float64, l int, col []uint32, val []float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	val = val[:len(col)]
	for i, c := range col {
		v := val[i]
		t := (*[8]float64)(x[int(c)*l:])
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

func dots4(w, x []float64, l int, col []uint32, val []float64) {
	var s0, s1, s2, s3 float64
	val = val[:len(col)]
	for i, c := range col {
		v := val[i]
		t := (*[4]float64)(x[int(c)*l:])
		s0 += v * t[0]
		s1 += v * t[1]
		s2 += v * t[2]
		s3 += v * t[3]
	}
	*(*[4]float64)(w) = [4]float64{s0, s1, s2, s3}
}

// axpys adds val_p w_j to y[col_p, j] for the l columns of y.
func axpys(y, w []float64, l int, col []uint32, val []float64) {
	j := 0
	for ; j+8 <= l; j += 8 {
		axpys8(y[j:], w[j:], l, col, val)
	}
	if j+4 <= l {
		axpys4(y[j:], w[j:], l, col, val)
		j += 4
	}
	for ; j < l; j++ {
		t := w[j]
		for i, c := range col {
			y[int(c)*l+j] += val[i] * t
		}
	}
}

func axpys8(y, w []float64, l int, col []uint32, val []float64) {
	a := *(*[8]float64)(w)
	val = val[:len(col)]
	for i, c := range col {
		v := val[i]
		t := (*[8]float64)(y[int(c)*l:])
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

func axpys4(y, w []float64, l int, col []uint32, val []float64) {
	a := *(*[4]float64)(w)
	val = val[:len(col)]
	for i, c := range col {
		v := val[i]
		t := (*[4]float64)(y[int(c)*l:])
		t[0] += v * a[0]
		t[1] += v * a[1]
		t[2] += v * a[2]
		t[3] += v * a[3]
	}
}
