package solver

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func gaussian(rows, cols int, first int64, seed, stream uint64) *mat.Dense {
	d := mat.NewDense(rows, cols, nil)
	Gaussian(d, first, seed, stream)
	return d
}

// TestGaussianGolden pins the random numbers: every stored result depends on them.
func TestGaussianGolden(t *testing.T) {
	for _, c := range []struct {
		row          int64
		seed, stream uint64
		want         [3]float64
	}{
		{0, 0, 0, [3]float64{-0.1272892933038775, -0.6219965554221892, -0.48919754598269904}},
		{1, 0, 0, [3]float64{-2.664303380164494, -0.23134226865453522, 0.5236720799208647}},
		{1 << 40, 42, streamLeft, [3]float64{-0.6626511355035158, -0.5782296478238658, -1.1882440886009573}},
		{12345, math.MaxUint64, streamStart | 7, [3]float64{-0.7878177178881547, 0.9932124505100328, 0.5539879645576385}},
	} {
		got := gaussian(1, 3, c.row, c.seed, c.stream).RawRowView(0)
		if [3]float64(got) != c.want {
			t.Errorf("row %d, seed %d, stream %d: {%v, %v, %v}, want %v", c.row, c.seed, c.stream, got[0], got[1], got[2], c.want)
		}
	}
}

func TestGaussianChunks(t *testing.T) {
	whole := gaussian(100, 4, 5, 3, 9)
	for _, step := range []int{1, 7, 64} {
		for at := 0; at < 100; at += step {
			rows := min(step, 100-at)
			if !mat.Equal(gaussian(rows, 4, int64(5+at), 3, 9), whole.Slice(at, at+rows, 0, 4)) {
				t.Fatalf("rows from %d on differ in chunks of %d", at, step)
			}
		}
	}
	if !mat.Equal(gaussian(100, 2, 5, 3, 9), whole.Slice(0, 100, 0, 2)) {
		t.Error("a narrower block is not the beginning of a wider one")
	}
	wide := mat.NewDense(100, 6, nil)
	part := wide.Slice(0, 100, 1, 5).(*mat.Dense)
	Gaussian(part, 5, 3, 9)
	if !mat.Equal(part, whole) || mat.Sum(wide) != mat.Sum(part) {
		t.Error("a slice of a wider block is filled differently")
	}
}

// TestGaussianDistribution checks mean, variance and the correlation with neighbouring rows,
// columns, streams and seeds, which would show a poor mix of seed, stream and row.
func TestGaussianDistribution(t *testing.T) {
	const n = 40000
	base := gaussian(n, 2, 0, 1, 1)
	x := mat.Col(nil, 0, base)
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += v / n
		square += v * v / n
	}
	if math.Abs(mean) > 0.02 || math.Abs(square-1) > 0.03 {
		t.Errorf("mean %.3f, variance %.3f", mean, square)
	}
	for name, y := range map[string][]float64{
		"next row":    mat.Col(nil, 0, gaussian(n, 1, 1, 1, 1)),
		"next column": mat.Col(nil, 1, base),
		"next stream": mat.Col(nil, 0, gaussian(n, 1, 0, 1, 2)),
		"next seed":   mat.Col(nil, 0, gaussian(n, 1, 0, 2, 1)),
		"far stream":  mat.Col(nil, 0, gaussian(n, 1, 0, 1, 1|streamLeft)),
	} {
		if c := heap.Dot(x, y) / n; math.Abs(c) > 0.02 {
			t.Errorf("correlation with %s is %.3f", name, c)
		}
	}
}
