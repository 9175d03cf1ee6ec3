package synth

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// TestExpandScale expands matrices whose squares overflow or underflow, as do those of
// their factors: the truth scales exactly within the range of float64, and a store
// and a source have the same norm.
func TestExpandScale(t *testing.T) {
	times := func(p int) []float64 {
		return []float64{math.Ldexp(1, p), math.Ldexp(2, p), math.Ldexp(3, p)}
	}
	expand := func(base, factor int) (*csr.Store, *csr.Truth, *stream.Matrix) {
		t.Helper()
		e := &Expansion{
			Base:   randomStore(t, 30, 20, false, times(base), 1),
			Factor: Factor{Rows: 3, Cols: 2, NNZ: 4, Values: times(factor)},
		}
		path := filepath.Join(t.TempDir(), "kron.csr")
		must.Do(t, e.Write(t.Context(), path, WriteOptions{}))
		s := must.Get(csr.Open(path, csr.OpenOptions{}))(t)
		t.Cleanup(func() { s.Close() })
		truth := must.Get(s.Truth())(t)
		source := must.Get(e.Source(t.Context()))(t)
		return s, truth, matrixOf(t, source, stream.Options{})
	}
	_, want, _ := expand(0, 0)
	for _, p := range [][2]int{{-1074, 0}, {-700, 500}, {-500, -500}, {300, 300}, {900, 100}, {-300, 1000}} {
		s, truth, m := expand(p[0], p[1])
		sum := p[0] + p[1]
		for i, v := range truth.Sigma {
			if w := math.Ldexp(want.Sigma[i], sum); math.Abs(v-w) > truth.Error*truth.Sigma[0] {
				t.Errorf("2^%d: σ[%d] = %g, want %g", p, i, v, w)
			}
		}
		if got, norm := math.Ldexp(m.Info().Norm, m.Info().Exponent), math.Ldexp(s.Norm()); math.Abs(got-norm) > 1e-13*norm {
			t.Errorf("2^%d: norm %g, stored %g", p, got, norm)
		}
	}
}

// TestExactProduct: exactProduct reports a product that is rounded, also below the smallest number.
func TestExactProduct(t *testing.T) {
	for _, c := range []struct {
		a, b  float64
		exact bool
	}{
		{0.5, 3, true}, {0.1, 0.1, false}, {0, 3, true}, {3, 0, true},
		{0.5, 0x2p-1074, true}, {0.5, 0x3p-1074, false}, {0x1p-600, 0x1p-600, false},
		{0x1p-1000, 0x3p-74, true}, {0x1p-1000, 0x3p-75, false},
		{math.MaxFloat64, 1, true}, {math.MaxFloat64, 2, false}, {0x1p600, 0x1p600, false}, {-0x1p600, 0x1p-1074, true},
	} {
		p, err := exactProduct(c.a, c.b)
		if (err == nil) != c.exact || c.exact && p != c.a*c.b {
			t.Errorf("%g·%g = %g, %v", c.a, c.b, p, err)
		}
	}
}
