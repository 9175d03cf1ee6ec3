// Command _gen writes the amd64 kernels of the package above: see panel.go there.
//
// A kernel handles one panel of adjacent columns of the dense blocks, one sparse row after another:
//
//	mul:  w_r = Σ_p val_p · x[col_p]       accumulated in registers
//	add:  y[col_p] += val_p · w_r          w_r held in registers
//
// Row r has the entries lo[r] ≤ p < hi[r]: a column index of 32 bits or 16, and a value, or its index in the table in
// one byte, or nothing if all have the first value of the table; form is the index of this form in forms. There is at
// least one row. The rows of x, y and w have exactly the panel's width. last is the index of the last entry of col that
// may be read ahead of time; −1 forbids reading ahead.
//
// The order of summation is the same in all kernels: mul takes the entries of a row in rounds of four, then at most one of two
// and one of one, adds entry i of a round to sum i mod chains, and at the end one sum to the other. A column therefore has the
// same bits whatever the width of the panel and of the registers.
package main

import . "github.com/mmcloughlin/avo/build"

// level is an instruction set and the panels that kernels are built for.
type level struct {
	name   string
	lanes  int // float64 numbers in its widest register
	widths []int
}

var levels = []level{
	{"AVX2", 4, []int{1, 2, 4, 8, 16}},
	{"AVX512", 8, []int{8, 16}}, // narrower panels fit the registers of AVX2
}

// chains is the number of independent sums of a row: as many as there are registers for
// in a panel of 16. A fused multiply-add takes four cycles or five, and two can begin in each cycle:
// in a narrow panel the next rows fill the cycles that two sums leave empty.
const chains = 2

func main() {
	ConstraintExpr("!noasm")
	for _, l := range levels {
		for _, width := range l.widths {
			mul(l, width)
			add(l, width)
		}
	}
	Generate()
}
