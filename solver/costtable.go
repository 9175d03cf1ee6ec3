package solver

// Reference is the machine that Choose chooses for. Every change of these
// numbers may change what is chosen, and with it the last bits of results: they
// are measured anew when kernels or dense work have changed, by
//
//	go run ./bench/auto/calibrate -w solver/costtable.go
//
// and otherwise left alone.
var Reference = Machine{
	Memory:    8 << 30,
	Workers:   2,
	Bandwidth: 2e9,
	Decode:    3.0,
	Columns:   []float64{1024, 8192, 65536, 524288},
	Widths:    []float64{1, 2, 4, 8, 16, 32, 64},
	Multiply: [][]float64{
		{2, 3.5, 5, 9, 18, 35, 70},
		{2.2, 4, 6, 10, 19, 37, 75},
		{4, 6, 9, 15, 25, 45, 90},
		{10, 12, 16, 24, 40, 75, 150},
	},
	Sum:   3,
	Dense: []float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
}
