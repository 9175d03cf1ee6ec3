package main

import (
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
)

// TestShareOfTheEnergy: -k with a share of the energy gives as many triplets as a dense SVD needs, in both
// orientations; 95% is 0.95.
func TestShareOfTheEnergy(t *testing.T) {
	for name, g := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		t.Run(name, func(t *testing.T) {
			file := ratings(t, g)
			store := stored(t, file)
			var dense mat.SVD
			dense.Factorize(denseRatings(t, file), mat.SVDNone)
			sigma, total, sum, want := dense.Values(nil), 0.0, 0.0, 0
			for _, s := range sigma {
				total += s * s
			}
			for sum < 0.95*total {
				sum += sigma[want] * sigma[want]
				want++
			}
			for _, k := range []string{"0.95", "95%"} {
				_, r := factorised(t, store, "-k", k)
				if r.K != want || r.Target == nil || !r.Target.Reached || !r.Target.Smallest || r.Target.Share != 0.95 {
					t.Errorf("-k %s: %d triplets, the dense SVD needs %d; %+v", k, r.K, want, r.Target)
				}
			}
			for _, c := range []struct {
				flags []string
				said  string
			}{
				{[]string{"-k", "0.95"}, "95 % was asked for; with one triplet fewer it is "},
				{[]string{"-k", "0.95", "--max-k", "2"}, "95 % was asked for, which takes more than these 2 triplets\n"},
				{[]string{"-k", "0.001"}, "0.1 % was asked for; with one triplet fewer it is 0 %\n"},
				{[]string{"-k", "0.95", "--explain"}, "as few triplets as capture 95 % of the energy, 40 at most,"},
			} {
				args := append([]string{"svd", "-q", store, "-o", filepath.Join(t.TempDir(), "out")}, c.flags...)
				if text := succeeds(t, args...); !strings.Contains(text, c.said) {
					t.Errorf("%v says %q, want %q", c.flags, text, c.said)
				}
			}
		})
	}
}
