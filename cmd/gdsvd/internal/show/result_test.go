package show

import (
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/factor"
)

// What is printed to be missing is what the status was decided by, and of a result
// that does not say, what its numbers allow.
func TestMissing(t *testing.T) {
	r := &factor.Result{Certified: true, Sigma: []factor.Number{10, 2}, Settings: factor.Settings{Tol: 1e-4}}
	for _, c := range []struct {
		outside factor.Outside
		want    bool
	}{
		{factor.Outside{Bound: 2.0015, Leading: true}, false},
		{factor.Outside{Bound: 2.0015}, true},
		{factor.Outside{Bound: 2.0005}, true},
		{factor.Outside{Bound: 1.9}, false},
	} {
		r.Outside = c.outside
		if got := lacking(r); strings.Contains(got, "is not shown") != c.want {
			t.Errorf("%+v: %q", c.outside, got)
		}
	}
}
