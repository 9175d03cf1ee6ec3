//go:build !amd64 || noasm

package kernel

func mulPanel(w, x []float64, width int, lo, hi []uint32, b Rows) {
	generic(mulRows, w, x, width, lo, hi, b)
}

func addPanel(y, w []float64, width int, lo, hi []uint32, b Rows) {
	generic(addRows, y, w, width, lo, hi, b)
}
