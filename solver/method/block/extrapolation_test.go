package block

import "testing"

func TestContraction(t *testing.T) {
	var c extrapolation
	for i, step := range []struct{ res, want float64 }{
		{8, 8},   // no earlier residual to compare with
		{4, 4},   // one step is not enough
		{1, 0.5}, // the slower of ½ and ¼
		{2, 2},   // growing: not extrapolated
		{1, 1},   // has just grown: not extrapolated
		{0.1, 0.05},
		{0.0001, 0.0001}, // the step is far faster than the last one, 0.1
	} {
		if got := c.observe([]float64{step.res})[0]; got != step.want {
			t.Errorf("step %d: %g is followed by %g, want %g", i, step.res, got, step.want)
		}
	}
}
