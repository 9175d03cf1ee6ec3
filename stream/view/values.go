package view

import "math"

// Steps that change each value by itself.

var binaryStep = kind{
	name: "binary", usage: "binary or binary>=T with T > 0", dense: entrywise,
	parse: func(s *Step, a *args) {
		if len(a.fields) == 0 {
			return
		}
		f := a.fields[0]
		if len(f.text) < 2 || f.text[:2] != ">=" {
			a.fail(f, "unknown parameter")
			return
		}
		a.fields = a.fields[1:]
		s.Mode = ">="
		s.X = a.numberOf(field{f.text[2:], f.at + 2}.trimmed(), "T is a number above 0, since zeros stay zero", positive)
	},
	form: func(s Step) string {
		if s.Mode == "" {
			return ""
		}
		return ">=" + text(s.X)
	},
	value: func(s *Step, v float64) float64 {
		if s.Mode == "" || v >= s.X {
			return 1
		}
		return 0
	},
	bounds: func(Step, float64, float64) (float64, float64) { return 0, 1 },
	zeroes: func(s Step) bool { return s.Mode == ">=" },
}

var clipStep = kind{
	name: "clip", usage: "clip=LO,HI with LO ≤ 0 ≤ HI", dense: entrywise,
	parse: func(s *Step, a *args) {
		s.X = a.number("LO is a number not above 0, since zeros stay zero", func(x float64) bool { return x <= 0 })
		s.Y = a.number("HI is a number not below 0, since zeros stay zero", notNegative)
	},
	form:   formXY,
	value:  func(s *Step, v float64) float64 { return min(max(v, s.X), s.Y) },
	zeroes: func(s Step) bool { return s.X == 0 || s.Y == 0 },
}

var log1pStep = kind{
	name: "log1p", usage: "log1p", dense: entrywise,
	value: func(_ *Step, v float64) float64 { return math.Log1p(v) },
}

var sqrtStep = kind{
	name: "sqrt", usage: "sqrt", dense: entrywise,
	value: func(_ *Step, v float64) float64 { return math.Sqrt(v) },
}

var powerStep = kind{
	name: "power", usage: "power=P with P > 0", dense: entrywise,
	parse: func(s *Step, a *args) { s.X = a.number("P is a number above 0, since zeros stay zero", positive) },
	form:  formX,
	value: func(s *Step, v float64) float64 { return math.Pow(v, s.X) },
	bounds: func(s Step, low, high float64) (float64, float64) {
		if low < 0 {
			return unbounded()
		}
		return math.Pow(low, s.X), math.Pow(high, s.X)
	},
}

var multiplyStep = kind{
	name: "multiply", usage: "multiply=C",
	parse:   func(s *Step, a *args) { s.X = a.number("C is a number", nil) },
	form:    formX,
	compile: func(c *compiler, s Step) { c.op(op{kind: times, c: s.X}) },
	zeroes:  func(s Step) bool { return s.X == 0 },
	bounds: func(s Step, low, high float64) (float64, float64) {
		if s.X == 0 {
			return 0, 0
		}
		return min(s.X*low, s.X*high), max(s.X*low, s.X*high)
	},
}

var confidenceStep = kind{
	name: "confidence", usage: "confidence=ALPHA", dense: entrywise,
	parse:   func(s *Step, a *args) { s.X = a.number("ALPHA is a number", nil) },
	form:    formX,
	value:   func(s *Step, v float64) float64 { return 1 + float64(s.X*v) },
	cancels: always,
}

// mapEach sets values that are not 0 to f of them. Values of a row are often counts times the same factor: some results
// of f are cached, since a look-up takes a tenth of the time of a logarithm.
func mapEach(f func(float64) float64, val []float64) {
	var known, made [64]float64 // 0 in known: an empty slot, since no value is 0
	for i, v := range val {
		if v == 0 || v-v != 0 { // NaN and Inf stay, for the error that names the step before
			continue
		}
		k := math.Float64bits(v) * 0x9e3779b97f4a7c15 >> 58
		if known[k] != v {
			known[k], made[k] = v, f(v)
		}
		val[i] = made[k]
	}
}

// logOf returns the logarithm of a value, and −∞ for 0, which is no entry.
func logOf(v float64) float64 {
	if v == 0 {
		return math.Inf(-1)
	}
	return math.Log(v)
}
