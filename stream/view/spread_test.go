package view

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// TestSpreadFarBelowMean checks that a column whose spread is 10⁻⁶ of its mean is scaled to about
// 10⁻¹⁰, the rounding of its values over the spread, in both orientations.
func TestSpreadFarBelowMean(t *testing.T) {
	const rows, cols = 6, 3
	a, want := mat.NewDense(rows, cols, nil), mat.NewDense(rows, cols, nil)
	for j := range cols {
		mean, square := 0.0, 0.0
		small := make([]float64, rows)
		for i := range rows {
			small[i] = float64((i*(i+j)+j)%7) / 8 // exact, as is the sum below
			a.Set(i, j, small[i]+float64(1000000+j))
			mean += small[i] / rows
		}
		for _, x := range small {
			square += (x - mean) * (x - mean)
		}
		for i, x := range small {
			want.Set(i, j, (x-mean)/math.Sqrt(square/rows))
		}
	}
	for _, text := range []string{"center=columns · scale=columns", "center=columns · multiply=2 · scale=columns"} {
		for _, transposed := range []bool{false, true} {
			p := must.Get(Parse(text))(t)
			v := must.Get(New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 2}))(t)
			m := must.Get(stream.NewFrom(v, stream.Options{Workers: 2}))(t)
			if e := relative(dense(t, m, transposed), want); !(e < 1e-9) {
				t.Errorf("%s, transposed %v: off by %g", text, transposed, e)
			}
			if e := math.Abs(m.Info().Norm/math.Sqrt(rows*cols) - 1); !(e < 1e-9) {
				t.Errorf("%s, transposed %v: the norm is off by %g", text, transposed, e)
			}
		}
	}
}
