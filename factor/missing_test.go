package factor

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMissing: Missing reports that a value is not shown if Outside.Bound is above the last value, unless
// Outside.Leading is set.
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
	// Values that AᵀA cannot distinguish: a smaller one may have been taken for a larger one.
	r.Sigma, r.Outside = []Number{3.1622776601683795, 3.17595e-09, 2.46e-09}, Outside{Bound: 3.17595e-09, Leading: true, Probability: 1e-6}
	for tol, want := range map[float64]string{1e-8: "nothing larger is missing (error probability 1e-6): no other value is above 3.176e-09", 1e-12: "rounding of AᵀA may hide a larger value, which --operator dilation finds (error probability 1e-6): no other value is above 3.176e-09"} {
		if r.Settings.Tol = tol; !strings.Contains(r.Missing(), want) {
			t.Errorf("within %g: %q", tol, r.Missing())
		}
	}
}

// TestMissingBoundIsOutward: a printed bound is rounded outward, to five digits.
func TestMissingBoundIsOutward(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	digits := regexp.MustCompile(`no other \S+ is (?:above|below) (\S+)`)
	for range 2000 {
		for _, which := range []string{"", "LM", "LA", "SA"} {
			bound, side := (1+9*r.Float64())*math.Pow10(r.IntN(40)-20), 1.0
			if which == "SA" {
				side = -1
			}
			if (which == "LA" || which == "SA") && r.IntN(2) == 0 {
				bound = -bound
			}
			of := []Number{Number(2 * bound)}
			text := (&Result{Certified: true, Sigma: of, Lambda: of, Settings: Settings{Which: which, Tol: 1e-8}, Outside: Outside{Bound: Number(bound), Leading: true}}).Missing()
			said, err := strconv.ParseFloat(digits.FindStringSubmatch(text)[1], 64)
			if err != nil || side*said < side*bound || math.Abs(said-bound) > 1e-4*math.Abs(bound) {
				t.Fatalf("%s %v: %s, %v", which, bound, text, err)
			}
		}
	}
}
