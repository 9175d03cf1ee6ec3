package evaluate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	got, err := ParseMetrics("recall@20, map@5,coverage,rmse")
	if want := []Metric{{Recall, 20}, {MAP, 5}, {Coverage, 20}, {Kind: RMSE}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"recal@2": "want some of recall,", "recall": "how long a list?", "recall@x": "want a whole number", "rmse@5": "leave out @5",
		"map@2,map@2": "is there twice", "coverage@3,coverage": "is coverage@3, which is there, too", "": "want some of", "ndcg@0": "want a whole number",
	} {
		if _, err := ParseMetrics(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestBootstrap: the weights of replicates have mean and variance 1; intervals are as wide as by the normal approximation.
func TestBootstrap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const users = 2000
	var all ratio
	var counts [replicates]uint8
	sum, squares, spread := 0.0, 0.0, 0.0
	for u := range int64(users) {
		sample(&counts, 7, u)
		for _, n := range counts {
			sum, squares = sum+float64(n), squares+float64(n)*float64(n)
		}
		x := r.NormFloat64()
		spread += x * x
		all.add(&counts, x, 1)
	}
	n := float64(users * replicates)
	if mean := sum / n; math.Abs(mean-1) > 0.005 || math.Abs(squares/n-mean*mean-1) > 0.01 {
		t.Errorf("mean %v, variance %v", mean, squares/n-mean*mean)
	}
	value, values := all.values(false)
	low, high := interval(values)
	if want := 1.96 * math.Sqrt(spread) / users; math.Abs((high-low)/2-want) > 0.2*want || low > value || high < value {
		t.Errorf("from %v to %v around %v, want ± %v", low, high, value, want)
	}
}

// FuzzParseMetrics: parsing the String of parsed metrics gives the same metrics.
func FuzzParseMetrics(f *testing.F) {
	f.Add("recall@20,precision@10,ndcg@20,map@10,coverage,rmse,mae")
	f.Add("map@2147483648, ndcg@-1,,rmse@")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseMetrics(text)
		if err != nil {
			return
		}
		var words []string
		for _, m := range all {
			words = append(words, m.String())
		}
		again, err := ParseMetrics(strings.Join(words, ","))
		if err != nil || !slices.Equal(all, again) {
			t.Errorf("%q is %v, and then %v, %v", text, all, again, err)
		}
	})
}
