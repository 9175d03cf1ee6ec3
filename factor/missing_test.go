package factor

import (
	"strings"
	"testing"
)

// What is printed to be missing is what the status was decided by, and of a result
// that does not say, what its numbers allow.
func TestMissing(t *testing.T) {
	r := &Result{Certified: true, Sigma: []Number{10, 2}, Settings: Settings{Operator: "gram", Tol: 1e-4}}
	for _, c := range []struct {
		outside Outside
		want    bool
	}{
		{Outside{Bound: 2.0015, Leading: true}, false},
		{Outside{Bound: 2.0015}, true},
		{Outside{Bound: 2.0005}, true},
		{Outside{Bound: 1.9}, false},
	} {
		r.Outside = c.outside
		if got := r.Missing(); strings.Contains(got, "is not shown") != c.want {
			t.Errorf("%+v: %q", c.outside, got)
		}
	}
	// Of values that AᵀA does not tell apart a smaller one may have been taken for a larger one.
	r.Sigma, r.Outside = []Number{3.1622776601683795, 3.17595e-09, 2.46e-09}, Outside{Bound: 3.17595e-09, Leading: true, Probability: 1e-6}
	for tol, want := range map[float64]string{1e-8: "nothing larger is missing (error probability 1e-6): no other value is above 3.1759e-09", 1e-12: "rounding of AᵀA may hide a larger value, which --operator dilation finds (error probability 1e-6): no other value is above 3.1759e-09"} {
		if r.Settings.Tol = tol; !strings.Contains(r.Missing(), want) {
			t.Errorf("within %g: %q", tol, r.Missing())
		}
	}
}
