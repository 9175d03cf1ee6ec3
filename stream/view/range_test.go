package view

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// TestNothingButRounding checks that a view that is 0 up to rounding is exactly 0, in both orientations, also after Recall.
func TestNothingButRounding(t *testing.T) {
	constant, first := mat.NewDense(7, 5, nil), mat.NewDense(7, 5, nil)
	constant.Apply(func(int, int, float64) float64 { return 0.1 }, constant)
	first.Apply(func(i, j int, _ float64) float64 { return math.Sqrt(float64(i+2)) * math.Exp(float64(j)) }, first)
	for text, a := range map[string]*mat.Dense{
		"center=columns": constant, "center=rows": constant, "center=both": constant,
		"center=rows · scale=columns,ddof:1": constant, "normalize=rows · center=columns": first, "correspondence": first,
	} {
		for _, transposed := range []bool{false, true} {
			p := must.Get(Parse(text))(t)
			src := inMemory(a, transposed)
			v := must.Get(New(t.Context(), src, p, transposed, stream.Options{Workers: 2}))(t)
			again := Plan(src, p, transposed)
			must.Do(t, again.Recall(v.Measured()))
			for _, v := range []*View{v, again} {
				m := must.Get(stream.NewFrom(v, stream.Options{Workers: 2}))(t)
				if norm, most := m.Info().Norm, mat.Max(dense(t, m, transposed)); norm != 0 || most != 0 {
					t.Errorf("%s, transposed %v: up to %g, norm %g; want 0", text, transposed, most, norm)
				}
			}
		}
	}
}

// TestSquaresLeaveTheRange checks that values whose squares are out of range are refused or scaled, never taken for 0
// or infinite, and that the least norm that passes scale is refused.
func TestSquaresLeaveTheRange(t *testing.T) {
	a := denseOf([][]float64{{3, 0, 4}, {0, 5, 0}, {0, 12, 5}, {1, 0, 0}})
	for _, transposed := range []bool{false, true} {
		for _, text := range []string{"multiply=1e-200", "multiply=1e200", "multiply=1e-170 · center=columns", "multiply=1e-170 · normalize=rows", "multiply=1e170 · normalize=columns", "multiply=1e-170 · center=columns · scale=columns"} {
			p := must.Get(Parse(text))(t)
			v, err := New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 2})
			if err != nil {
				// names a row of the store, whose deviation is needed
				if !errors.As(err, new(*ValueError)) && !strings.Contains(err.Error(), "after that keeps") {
					t.Errorf("%s, transposed %v: %v", text, transposed, err)
				}
				continue
			}
			m := must.Get(stream.NewFrom(v, stream.Options{Workers: 2}))(t)
			_, rest, more := strings.Cut(text, " · ")
			if !more {
				t.Errorf("%s, transposed %v: not refused", text, transposed)
				continue
			}
			unscaled := must.Get(Parse(rest))(t)
			if e := relative(dense(t, m, transposed), reference(unscaled, a)); !(e < 1e-12) {
				t.Errorf("%s, transposed %v: off by %g", text, transposed, e)
			}
		}
		p := must.Get(Parse("center=columns · multiply=633825300114114700748351602688"))(t) // 2⁹⁹ times a norm of 2
		if v, err := New(t.Context(), inMemory(denseOf([][]float64{{0}, {2}, {0}, {2}}), transposed), p, transposed, stream.Options{Workers: 1}); err == nil {
			t.Errorf("transposed %v: a norm of %g is not refused", transposed, v.norm)
		}
	}
}

// TestFactorsThatAreNamedHelp checks that the factor named in an error about the range is accepted and helps, also for
// tiny numbers.
func TestFactorsThatAreNamedHelp(t *testing.T) {
	for _, size := range []float64{1, 1e-300, 6e-309, 3e-323} {
		a := denseOf([][]float64{{3, 0, 4}, {0, 5, 0}, {0, 12, 5}, {1, 0, 0}})
		a.Scale(size, a)
		for _, first := range []string{"multiply=1", "multiply=1e-300", "multiply=7e-310", "multiply=2e-320"} {
			steps := []string{first, "center=columns"}
			for try := 0; ; try++ {
				_, err := New(t.Context(), inMemory(a, false), must.Get(Parse(strings.Join(steps, " · ")))(t), false, stream.Options{Workers: 2})
				if err == nil {
					break
				}
				factor := regexp.MustCompile(`multiply=\S+[0-9]`).FindString(err.Error()[strings.LastIndex(err.Error(), ": "):])
				if _, wrong := Parse(factor); wrong != nil || try == 2 {
					t.Fatalf("%g, %v: %v", size, steps, err)
				}
				at := 0 // position of the inserted step
				if strings.Contains(err.Error(), "what") {
					at = 1
				}
				steps = slices.Insert(steps, at, factor)
			}
		}
	}
}
