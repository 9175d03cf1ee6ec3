package view

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// reference is the matrix that a pipeline makes of a dense one, by the formulas of the steps.
func reference(p Pipeline, a *mat.Dense) *mat.Dense {
	b := mat.DenseCopyOf(a)
	centred := false
	for _, s := range p {
		referenceStep(s, b, &centred)
	}
	return b
}

// sumOf adds up f of the numbers of a row or column, exactly enough.
func sumOf(x []float64, f func(float64) float64) float64 {
	var s sum
	for _, v := range x {
		s.add(f(v))
	}
	return s.value()
}

func same(v float64) float64   { return v }
func square(v float64) float64 { return v * v }
func nonzero(v float64) float64 {
	if v != 0 {
		return 1
	}
	return 0
}

func rowsOfDense(b *mat.Dense) (rows [][]float64) {
	n, _ := b.Dims()
	for i := range n {
		rows = append(rows, mat.Row(nil, i, b))
	}
	return rows
}

// along returns the rows of b, or its columns.
func along(axis string, b *mat.Dense) [][]float64 {
	if axis == "rows" {
		return rowsOfDense(b)
	}
	return rowsOfDense(mat.DenseCopyOf(b.T()))
}

func entries(b *mat.Dense, f func(i, j int, v float64) float64) {
	b.Apply(func(i, j int, v float64) float64 {
		if v == 0 {
			return 0
		}
		return f(i, j, v)
	}, b)
}

func multiplyBy(axis string, b *mat.Dense, by []float64) {
	b.Apply(func(i, j int, v float64) float64 {
		if axis == "rows" {
			return v * by[i]
		}
		return v * by[j]
	}, b)
}

func referenceStep(s Step, b *mat.Dense, centred *bool) {
	N, n := b.Dims()
	rows, columns := along("rows", b), along("columns", b)
	all := slices.Concat(rows...)
	of := func(x [][]float64, f func(float64) float64) (y []float64) {
		for _, v := range x {
			y = append(y, sumOf(v, f))
		}
		return y
	}
	norm := func(axis, mode string) {
		var by []float64
		for _, x := range along(axis, b) {
			var l float64
			switch mode {
			case "l1":
				l = sumOf(x, math.Abs)
			case "l2":
				l = math.Sqrt(sumOf(x, square))
			case "max":
				l = max(slices.Max(x), -slices.Min(x))
			case "total":
				l = sumOf(x, same) / s.X
			case "median":
				var positive []float64
				for _, t := range of(along(axis, b), same) {
					if t > 0 {
						positive = append(positive, t)
					}
				}
				if len(positive) > 0 {
					slices.Sort(positive)
					l = sumOf(x, same) / ((positive[len(positive)/2] + positive[(len(positive)-1)/2]) / 2)
				}
			}
			if l == 0 {
				l = 1
			}
			by = append(by, 1/l)
		}
		multiplyBy(axis, b, by)
	}
	switch s.Name {
	case "keep", "drop":
		multiplyBy(s.Axis, b, referenceMask(s, along(s.Axis, b)))
	case "binary":
		entries(b, func(_, _ int, v float64) float64 {
			if s.Mode == ">=" && v < s.X {
				return 0
			}
			return 1
		})
	case "clip":
		entries(b, func(_, _ int, v float64) float64 { return math.Min(math.Max(v, s.X), s.Y) })
	case "log1p":
		entries(b, func(_, _ int, v float64) float64 { return math.Log1p(v) })
	case "sqrt":
		entries(b, func(_, _ int, v float64) float64 { return math.Sqrt(v) })
	case "power":
		entries(b, func(_, _ int, v float64) float64 { return math.Pow(v, s.X) })
	case "confidence":
		entries(b, func(_, _ int, v float64) float64 { return 1 + s.X*v })
	case "multiply":
		b.Scale(s.X, b)
	case "normalize":
		norm(s.Axis, s.Mode)
	case "tfidf":
		df := of(columns, nonzero)
		entries(b, func(_, j int, v float64) float64 {
			switch d := df[j]; {
			case s.Mode == "gensim":
				return v * math.Log2(float64(N)/d)
			case s.Mode == "implicit":
				return math.Sqrt(v) * (math.Log(float64(N)) - math.Log1p(d))
			default:
				if s.Sublinear {
					v = math.Log(v) + 1
				}
				if s.Raw {
					return v * (math.Log(float64(N)/d) + 1)
				}
				return v * (math.Log((1+float64(N))/(1+d)) + 1)
			}
		})
		if s.Mode == "gensim" {
			norm("rows", "l2")
		} else if s.Mode == "sklearn" {
			norm("rows", s.Norm)
		}
	case "bm25":
		df, length := of(columns, nonzero), of(rows, same)
		average := sumOf(all, same) / float64(N)
		entries(b, func(i, j int, v float64) float64 {
			return v * (s.X + 1) / (s.X*(1-s.Y+s.Y*length[i]/average) + v) * (math.Log(float64(N)) - math.Log1p(df[j]))
		})
	case "ppmi":
		r, c, t := of(rows, same), of(columns, same), sumOf(all, same)
		entries(b, func(i, j int, v float64) float64 { return math.Max(0, math.Log(v*t/(r[i]*c[j]))-math.Log(s.X)) })
	case "bias":
		mean := sumOf(all, same) / max(1, sumOf(all, nonzero))
		observed := mat.DenseCopyOf(b)
		residual := func(x [][]float64, other []float64) (y []float64) {
			for _, line := range x {
				t, k := 0.0, 0.0
				for j, v := range line {
					if v != 0 {
						t, k = t+v-mean-other[j], k+1
					}
				}
				y = append(y, t/max(1e-300, k+s.X))
			}
			return y
		}
		ofColumns, ofRows := make([]float64, n), make([]float64, N)
		if s.Axis == "columns" || s.Axis == "both" {
			ofColumns = residual(columns, ofRows)
		}
		if s.Axis == "rows" || s.Axis == "both" {
			ofRows = residual(rows, ofColumns)
		}
		b.Apply(func(i, j int, v float64) float64 {
			if observed.At(i, j) == 0 {
				return 0
			}
			return v - mean - ofColumns[j] - ofRows[i]
		}, b)
	case "center":
		for _, axis := range []string{"columns", "rows"} {
			if s.Axis != axis && s.Axis != "both" {
				continue
			}
			*centred = *centred || axis == "columns"
			var mean []float64
			for _, x := range along(axis, b) {
				mean = append(mean, sumOf(x, same)/float64(len(x)))
			}
			b.Apply(func(i, j int, v float64) float64 {
				if axis == "rows" {
					return v - mean[i]
				}
				return v - mean[j]
			}, b)
		}
	case "weight":
		var by []float64
		for _, x := range along(s.Axis, b) {
			w := map[string]float64{"count": sumOf(x, nonzero), "sum": sumOf(x, same), "norm": math.Sqrt(sumOf(x, square))}[s.Mode]
			if sumOf(x, nonzero) == 0 {
				w = 1
			}
			by = append(by, math.Pow(w, s.X))
		}
		multiplyBy(s.Axis, b, by)
	case "scale":
		var by []float64
		for _, x := range columns {
			mean := sumOf(x, same) / float64(N)
			d := math.Sqrt(sumOf(x, func(v float64) float64 { return (v - mean) * (v - mean) }) / (float64(N) - s.X))
			switch {
			case d > 1e-13*slices.Max(append(of([][]float64{x}, math.Abs), 1e-300)):
				by = append(by, 1/d)
			case *centred:
				by = append(by, 0)
			default:
				by = append(by, 1)
			}
		}
		multiplyBy("columns", b, by)
	case "laplacian", "correspondence":
		tau := s.X
		if s.Name == "correspondence" {
			tau = 0
		}
		b.Apply(func(_, _ int, v float64) float64 { return v + tau/float64(n) }, b)
		r, c, t := of(along("rows", b), same), of(along("columns", b), same), 0.0
		for _, v := range r {
			t += v
		}
		b.Apply(func(i, j int, v float64) float64 {
			if s.Name == "correspondence" {
				v -= r[i] * c[j] / t
			}
			if r[i] == 0 || c[j] == 0 {
				return 0
			}
			return v / math.Sqrt(r[i]*c[j])
		}, b)
	}
}

// denseOf is a matrix of rows.
func denseOf(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}

// relative is ‖x−y‖ over ‖y‖.
func relative(x, y mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(x, y)
	return mat.Norm(&d, 2) / max(mat.Norm(y, 2), 1e-300)
}

// The formulas of this file are those of other programs.
func TestReferenceAgreesWithOracles(t *testing.T) {
	a := denseOf(oracleMatrix)
	for text, rows := range oracles {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if e := relative(reference(p, a), denseOf(rows)); !(e < 1e-14) {
			t.Errorf("%s: off by %g", text, e)
		}
	}
}
