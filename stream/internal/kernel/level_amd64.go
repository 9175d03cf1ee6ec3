//go:build !noasm

package kernel

import (
	"math/bits"
	"unsafe"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

// panelFunc is a kernel for one panel: out and in are w and x of mul, y and w of add; table moves by step bytes a row;
// form is Rows.form.
type panelFunc func(out, in *float64, rows int, lo, hi *uint32, col, val *byte, table *float64, step, last, form int)

// The kernels by the width of the panel: 1, 2, 4, 8, 16 with AVX2, and the last two with AVX-512.
var (
	mulAVX2   = [5]panelFunc{mul1AVX2, mul2AVX2, mul4AVX2, mul8AVX2, mul16AVX2}
	addAVX2   = [5]panelFunc{add1AVX2, add2AVX2, add4AVX2, add8AVX2, add16AVX2}
	mulAVX512 = [2]panelFunc{mul8AVX512, mul16AVX512}
	addAVX512 = [2]panelFunc{add8AVX512, add16AVX512}
)

// form returns the index of b's form of entries among the forms of _gen, and pointers to b's first column and value.
// b has entries.
func (b Rows) form() (f int, col, val *byte) {
	if len(b.Col16) > 0 {
		f, col = 3, (*byte)(unsafe.Pointer(&b.Col16[0]))
	} else {
		col = (*byte)(unsafe.Pointer(&b.Col[0]))
	}
	switch {
	case len(b.Code) > 0:
		return f + 1, col, &b.Code[0]
	case len(b.Val) > 0 && b.Step == 0:
		return f, col, (*byte)(unsafe.Pointer(&b.Val[0]))
	}
	return f + 2, col, nil
}

// mulPanel sets the rows of w, one for each of lo and hi, to the products of
// the entries lo[r] … hi[r]−1 of b, in its rows from first on, with the panel x.
func mulPanel(w, x []float64, width int, lo, hi []uint32, b Rows, first int) {
	if level == cpu.Portable || len(lo) == 0 || b.entries() == 0 {
		generic(mulRows, w, x, width, lo, hi, b, first)
		return
	}
	_ = w[len(lo)*width-1]
	run(&mulAVX2, &mulAVX512, w, x, len(x), width, lo, hi, b, first)
}

// addPanel adds the products of the entries lo[r] … hi[r]−1 of b with the rows
// of w to the panel y.
func addPanel(y, w []float64, width int, lo, hi []uint32, b Rows, first int) {
	if level == cpu.Portable || len(lo) == 0 || b.entries() == 0 {
		generic(addRows, y, w, width, lo, hi, b, first)
		return
	}
	_ = w[len(lo)*width-1]
	run(&addAVX2, &addAVX512, y, w, len(y), width, lo, hi, b, first)
}

// farBytes is the size of a panel, in bytes, from which on its rows are
// prefetched: it does not fit the second-level cache any more. In a smaller one the
// processor finds what it needs soon enough, and prefetching takes a fifth longer.
const farBytes = 2 << 20

// run calls the kernel for a panel of size numbers and the form of b, which has entries.
func run(avx2 *[5]panelFunc, avx512 *[2]panelFunc, out, in []float64, size, width int, lo, hi []uint32, b Rows, first int) {
	_ = hi[len(lo)-1]
	f, col, val := b.form()
	kernel := avx2[bits.TrailingZeros(uint(width))]
	if width >= 8 && level >= cpu.AVX512 {
		kernel = avx512[width/16]
	}
	last := -1
	if 8*size > farBytes {
		last = b.entries() - 1
	}
	table, step := b.table(first)
	kernel(&out[0], &in[0], len(lo), &lo[0], &hi[0], col, val, (*float64)(unsafe.Pointer(table)), 8*step, last, f)
}
