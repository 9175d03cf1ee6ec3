//go:build !amd64 || noasm

package kernel

func mulPanel(w, x []float64, width int, lo, hi []uint32, b Rows, first int) {
	generic(mulRows, w, x, width, lo, hi, b, first)
}

func addPanel(y, w []float64, width int, lo, hi []uint32, b Rows, first int) {
	generic(addRows, y, w, width, lo, hi, b, first)
}
