package percent

import "testing"

// TestText checks that a share slightly below 1, or below the wanted share, is not rounded up to it.
func TestText(t *testing.T) {
	for _, c := range []struct {
		share, other float64
		verb         byte
		prec         int
		want         string
	}{
		{0.9, 1, 'g', 6, "90 %"},
		{0.3, 1, 'g', 6, "30 %"},
		{0.303712, 1, 'f', 2, "30.37 %"},
		{0.99999999, 1, 'g', 6, "99.999999 %"},
		{0.9999999, 1, 'f', 2, "99.99999 %"},
		{0.8999999, 0.9, 'f', 2, "89.99999 %"},
		{1, 1, 'f', 2, "100.00 %"},
		{1 - 1e-15, 1, 'g', 6, "100 %"},
	} {
		if got := Text(c.share, c.other, c.verb, c.prec); got != c.want {
			t.Errorf("%v beside %v: %s, want %s", c.share, c.other, got, c.want)
		}
	}
}
