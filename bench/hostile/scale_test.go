package hostile

import (
	"math"
	"strconv"
)

var scale = Attack{
	Name: "scale",
	About: "values times 10^e, e from −320 to 300, every method: solved as at e = 0, the values to the same relative accuracy, NaN or Inf nowhere; " +
		"refused only what float64 cannot hold",
	Short: 24, Long: 5000,
	Run: func(t *Trial) {
		decade := t.between(-320, 300)
		if t.IntN(4) == 0 {
			decade = pick(t, -320, -310, -308, -300, -155, -150, -100, -72, -60, 60, 72, 100, 150, 155, 300)
		}
		t.Kind = "scale 1e±60 … 1e±154"
		switch {
		case decade > -60 && decade < 60:
			t.Kind = "scale 1e-59 … 1e59"
		case decade < -307:
			t.Kind = "scale below 1e-307"
		case decade < -154 || decade > 153:
			t.Kind = "scale beyond 1e±154"
		}
		a := t.matrix()
		for a.largest() == 0 {
			a = t.matrix()
		}
		m := &matrix{rows: a.rows, cols: a.cols, kind: a.kind, definite: a.definite}
		for _, x := range a.entries {
			v := need(scaled(x.v, decade))
			if x.v != 0 && math.Abs(v) < 0x1p-1022 { // rounded to a multiple of 2^-1074, which may make a semidefinite matrix indefinite
				m.definite = false
			}
			if v != 0 {
				m.entries = append(m.entries, entry{x.i, x.j, v})
			}
		}
		check(m.write(t, t.path("m.mtx")))
		err := outcome(func() { t.solve(m, t.method(m)) })
		if isRefused(err) && m.finite() {
			err = wrongf("%v, though ‖A‖ is a float64", err)
		}
		check(err)
	},
}

// scaled returns v·10^e, rounded as by parsing its decimal text.
func scaled(v float64, e int) (float64, error) {
	x, err := strconv.ParseFloat(decimal(v, e), 64)
	if math.IsInf(x, 0) {
		return math.Copysign(math.MaxFloat64, v), nil
	}
	return x, err
}

// decimal writes v·10^e with all digits of v.
func decimal(v float64, e int) string {
	s := strconv.FormatFloat(v, 'e', -1, 64)
	for i := range s {
		if s[i] == 'e' {
			own, _ := strconv.Atoi(s[i+1:])
			return s[:i] + "e" + strconv.Itoa(own+e)
		}
	}
	return s
}

// finite reports whether ‖A‖_F is a float64.
func (m *matrix) finite() bool {
	e := m.exponent()
	var s sum
	for _, x := range m.entries {
		v := math.Ldexp(x.v, -e)
		s.addProduct(v, v)
	}
	return !math.IsInf(math.Ldexp(math.Sqrt(s.value()), e), 0)
}
