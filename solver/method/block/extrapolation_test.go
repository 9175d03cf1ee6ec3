package block

import "testing"

func TestContraction(t *testing.T) {
	var c extrapolation
	for i, step := range []struct{ res, want float64 }{
		{8, 8}, // nothing to compare with
		{4, 4}, // one step is not enough
		{1, 1}, // from ½ to ¼: the momentum has ½²/¼ of it
		{0.5, 0.25},
		{2, 2}, // growing
		{1, 1}, // has just grown
		{0.1, 0.1},
		{0.04, 0.016}, // the slower of 0.4 and 0.1
	} {
		if got := c.observe([]float64{step.res})[0]; got != step.want {
			t.Errorf("step %d: %g is followed by %g, want %g", i, step.res, got, step.want)
		}
	}
}
