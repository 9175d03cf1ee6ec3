package kernel

// The plain loops are the oracle for every kernel; they are never dispatched to.

func refGram(y, x []float64, l int, b Rows) {
	w := make([]float64, b.Len()*l)
	refMul(w, x, l, b)
	refMulTransAdd(y, w, l, b)
}

func refMul(w, x []float64, l int, b Rows) {
	for r := range b.Len() {
		for j := range l {
			s := 0.0
			for p := b.Ptr[r]; p < b.Ptr[r+1]; p++ {
				s += b.Val[p] * x[int(b.Col[p])*l+j]
			}
			w[r*l+j] = s
		}
	}
}

func refMulTransAdd(y, w []float64, l int, b Rows) {
	for r := range b.Len() {
		for p := b.Ptr[r]; p < b.Ptr[r+1]; p++ {
			for j := range l {
				y[int(b.Col[p])*l+j] += b.Val[p] * w[r*l+j]
			}
		}
	}
}

// some returns the rows from … to−1 of b.
func (b Rows) some(from, to int) Rows {
	b.Ptr = b.Ptr[from : to+1]
	return b
}
