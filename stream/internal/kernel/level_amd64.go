//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

func detect() Level {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasFMA:
		return Portable
	case x.HasAVX512F:
		return AVX512
	}
	return AVX2
}

// mulPanel sets the rows of w, one for each of lo and hi, to the products of
// the entries lo[r] … hi[r]−1 of b with the panel x.
func mulPanel(w, x []float64, width int, lo, hi []uint32, b Rows) {
	rows, last := len(lo), len(b.Col)-1
	if level == Portable || rows == 0 || last < 0 {
		genericMul(w, x, width, lo, hi, b)
		return
	}
	_, _ = w[rows*width-1], hi[rows-1]
	pw, px, plo, phi, col, val := &w[0], &x[0], &lo[0], &hi[0], &b.Col[0], &b.Val[0]
	switch {
	case width == 16 && level >= AVX512:
		mul16AVX512(pw, px, rows, plo, phi, col, val, last)
	case width == 16:
		mul16AVX2(pw, px, rows, plo, phi, col, val, last)
	case width == 8 && level >= AVX512:
		mul8AVX512(pw, px, rows, plo, phi, col, val, last)
	case width == 8:
		mul8AVX2(pw, px, rows, plo, phi, col, val, last)
	case width == 4:
		mul4AVX2(pw, px, rows, plo, phi, col, val, last)
	case width == 2:
		mul2AVX2(pw, px, rows, plo, phi, col, val, last)
	default:
		mul1AVX2(pw, px, rows, plo, phi, col, val, last)
	}
}

// addPanel adds the products of the entries lo[r] … hi[r]−1 of b with the rows
// of w to the panel y.
func addPanel(y, w []float64, width int, lo, hi []uint32, b Rows) {
	rows, last := len(lo), len(b.Col)-1
	if level == Portable || rows == 0 || last < 0 {
		genericAdd(y, w, width, lo, hi, b)
		return
	}
	_, _ = w[rows*width-1], hi[rows-1]
	py, pw, plo, phi, col, val := &y[0], &w[0], &lo[0], &hi[0], &b.Col[0], &b.Val[0]
	switch {
	case width == 16 && level >= AVX512:
		add16AVX512(py, pw, rows, plo, phi, col, val, last)
	case width == 16:
		add16AVX2(py, pw, rows, plo, phi, col, val, last)
	case width == 8 && level >= AVX512:
		add8AVX512(py, pw, rows, plo, phi, col, val, last)
	case width == 8:
		add8AVX2(py, pw, rows, plo, phi, col, val, last)
	case width == 4:
		add4AVX2(py, pw, rows, plo, phi, col, val, last)
	case width == 2:
		add2AVX2(py, pw, rows, plo, phi, col, val, last)
	default:
		add1AVX2(py, pw, rows, plo, phi, col, val, last)
	}
}
