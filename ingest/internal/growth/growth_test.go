package growth

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sampled returns the Curve of the first sample draws and the number of distinct values of all n draws.
func sampled(draw func(i int) int, n, sample int) (c Curve, all int) {
	seen := map[int]bool{}
	for i := range n {
		seen[draw(i)] = true
		if i < sample && (i+1)%(sample/32) == 0 {
			c.Mark(int64(i+1), int64(len(seen)))
		}
	}
	return c, len(seen)
}

// TestAt: from a thirtieth of a stream, At gives a range that holds the number of distinct values up to 25 %.
func TestAt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.2, 10, 1<<30)
	const n, sample = 960_000, 32_000
	for name, draw := range map[string]func(i int) int{
		"in order":        func(i int) int { return i / 100 },
		"uniform, few":    func(int) int { return r.IntN(1000) },
		"uniform, many":   func(int) int { return r.IntN(20_000) },
		"Zipf":            func(int) int { return int(zipf.Uint64()) },
		"each its own":    func(i int) int { return i },
		"one alone":       func(int) int { return 7 },
		"new only rarely": func(i int) int { return int(math.Sqrt(float64(i))) },
	} {
		c, all := sampled(draw, n, sample)
		low, likely, high := c.At(n)
		t.Logf("%s: %.0f … %.0f … %.0f, %d", name, low, likely, high, all)
		if low > likely || likely > high || float64(all) < 0.8*low || float64(all) > 1.25*high {
			t.Errorf("%s: %.0f … %.0f … %.0f, there are %d", name, low, likely, high, all)
		}
	}
}

func TestAtOfAll(t *testing.T) {
	var none Curve
	if low, likely, high := none.At(10); low != 0 || likely != 0 || high != 0 {
		t.Errorf("of nothing: %v %v %v", low, likely, high)
	}
	var c Curve
	c.Mark(10, 4)
	c.Mark(20, 6)
	if low, likely, high := c.At(20); low != 6 || likely != 6 || high != 6 {
		t.Errorf("of all: %v %v %v", low, likely, high)
	}
	var zero Curve
	zero.Mark(5, 0)
	if _, likely, _ := zero.At(50); likely != 0 {
		t.Errorf("without any: %v", likely)
	}
}
