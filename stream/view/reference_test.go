package view

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
)

// naiveMatrix is a dense matrix in a pipeline, by the sentences of docs/views.md. size holds for each element
// the size of the terms that it was computed from: an element no larger than the rounding of these is 0.
type naiveMatrix struct {
	b, size       [][]float64
	rows, columns []bool // dropped by masks
	centred       bool   // whether the columns are centred
	rounded       bool   // whether steps have computed new values
}

// rounding is far above the rounding of a float64, and far below the differences that tests look for.
const rounding = 1e-11

// errUndecided reports that a step depends on the last digits of a value, such as one at a threshold.
var errUndecided = errors.New("rounding decides")

// reference returns the dense matrix of a pipeline; its elements are NaN if the pipeline is refused.
func reference(p Pipeline, a *mat.Dense) *mat.Dense {
	b, err := referenceOrError(p, a)
	if err != nil {
		n, k := a.Dims()
		return mat.NewDense(n, k, slices.Repeat([]float64{math.NaN()}, n*k))
	}
	return b
}

func referenceOrError(p Pipeline, a *mat.Dense) (*mat.Dense, error) {
	n, k := a.Dims()
	m := &naiveMatrix{rowsOfDense(a), rowsOfDense(a), make([]bool, n), make([]bool, k), false, false}
	m.each(func(i, j int) { m.size[i][j] = math.Abs(m.b[i][j]) })
	for _, s := range p {
		if err := m.step(s); err != nil {
			return nil, err
		}
		m.rounded = m.rounded || !slices.Contains([]string{"binary", "clip", "multiply", "keep", "drop"}, s.Name)
		if b := denseOf(m.b); !finite(mat.Norm(b, 2)) {
			return nil, fmt.Errorf("%v makes no numbers", s)
		}
	}
	return denseOf(m.b), nil
}

// each calls f with the indices of every element.
func (m *naiveMatrix) each(f func(i, j int)) {
	for i, row := range m.b {
		for j := range row {
			f(i, j)
		}
	}
}

// set sets an element computed from terms.
func (m *naiveMatrix) set(i, j int, x float64, terms ...float64) {
	size := math.Abs(x)
	for _, v := range terms {
		size = max(size, math.Abs(v))
	}
	if finite(x) && math.Abs(x) <= rounding*size {
		x, size = 0, 0
	}
	m.b[i][j], m.size[i][j] = x, size
}

// entries replaces each entry by the value of f, a sum of terms.
func (m *naiveMatrix) entries(f func(i, j int, v float64) (x float64, terms []float64)) {
	m.each(func(i, j int) {
		if v := m.b[i][j]; v != 0 {
			x, terms := f(i, j, v)
			uncertain := m.size[i][j] / math.Abs(v)
			m.set(i, j, x, append(terms, x*uncertain)...)
		}
	})
}

// lines returns the rows or columns, and the sizes of their elements.
func (m *naiveMatrix) lines(axis string) (x, sizes [][]float64) {
	return along(axis, denseOf(m.b)), along(axis, denseOf(m.size))
}

// sums returns the sums of rows or columns, 0 where they may be rounding.
func (m *naiveMatrix) sums(axis string) (y []float64) {
	x, sizes := m.lines(axis)
	for i := range x {
		s := sumOf(x[i], same)
		if math.Abs(s) <= rounding*sumOf(sizes[i], same) {
			s = 0
		}
		y = append(y, s)
	}
	return y
}

func (m *naiveMatrix) all() float64 {
	s := sumOf(slices.Concat(m.b...), same)
	if math.Abs(s) <= rounding*sumOf(slices.Concat(m.size...), same) {
		return 0
	}
	return s
}

// of returns a statistic of each row or column.
func (m *naiveMatrix) of(axis string, f func(line []float64) float64) (y []float64) {
	x, _ := m.lines(axis)
	for _, line := range x {
		y = append(y, f(line))
	}
	return y
}

func counted(x []float64) float64 { return sumOf(x, nonzero) }
func length(x []float64) float64  { return math.Sqrt(sumOf(x, square)) }
func largestOf(x []float64) float64 {
	return max(slices.Max(x), -slices.Min(x))
}

// at returns the row or column number of an element.
func at(axis string, i, j int) int {
	if axis == "rows" {
		return i
	}
	return j
}

// multiply multiplies the rows or columns.
func (m *naiveMatrix) multiply(axis string, by []float64) {
	m.each(func(i, j int) {
		d := by[at(axis, i, j)]
		m.b[i][j] *= d
		m.size[i][j] *= math.Abs(d)
	})
}

// over returns 1/x, or otherwise if x is 0.
func over(x, otherwise float64) float64 {
	if x == 0 {
		return otherwise
	}
	return 1 / x
}

func (m *naiveMatrix) step(s Step) error {
	N, n := float64(len(m.b)), float64(len(m.b[0]))
	alone := func(f func(float64) float64) {
		m.entries(func(_, _ int, v float64) (float64, []float64) { return f(v), nil })
	}
	if edge, has := map[string]float64{"log1p": -1, "binary>=": s.X}[s.Name+s.Mode]; has {
		if slices.ContainsFunc(slices.Concat(m.b...), func(v float64) bool { return math.Abs(v-edge) < rounding && (m.rounded || v != edge) }) {
			return errUndecided
		}
	}
	switch s.Name {
	case "binary":
		alone(func(v float64) float64 {
			if s.Mode == ">=" && v < s.X {
				return 0
			}
			return 1
		})
	case "clip":
		alone(func(v float64) float64 { return math.Min(math.Max(v, s.X), s.Y) })
	case "log1p":
		alone(math.Log1p)
	case "sqrt":
		alone(math.Sqrt)
	case "power":
		alone(func(v float64) float64 { return math.Pow(v, s.X) })
	case "confidence":
		m.entries(func(_, _ int, v float64) (float64, []float64) { return 1 + s.X*v, []float64{1} })
	case "multiply":
		m.multiply("rows", slices.Repeat([]float64{s.X}, int(N)))
	case "normalize":
		m.normalize(s.Axis, s.Mode, s.X)
	case "tfidf":
		m.tfidf(s, N)
	case "bm25":
		df, lengths, average := m.of("columns", counted), m.sums("rows"), m.all()/N
		if average == 0 && counted(df) > 0 {
			return errors.New("no mean length")
		}
		m.entries(func(i, j int, v float64) (float64, []float64) {
			return v * (s.X + 1) / (s.X*(1-s.Y+s.Y*lengths[i]/average) + v) * math.Log(N/(1+df[j])), nil
		})
	case "ppmi":
		r, c, t := m.sums("rows"), m.sums("columns"), m.all()
		m.entries(func(i, j int, v float64) (float64, []float64) {
			if v < 0 {
				v = math.NaN()
			}
			return math.Max(0, math.Log(v*t/(r[i]*c[j]))-math.Log(s.X)), []float64{1, math.Log(r[i]), math.Log(c[j]), math.Log(t)}
		})
	case "bias":
		m.bias(s)
	case "center":
		for _, axis := range []string{"columns", "rows"} {
			if s.Axis == axis || s.Axis == "both" {
				m.center(axis)
			}
		}
		m.centred = m.centred || s.Axis != "rows"
	case "weight":
		by := m.sums(s.Axis)
		switch s.Mode {
		case "count":
			by = m.of(s.Axis, counted)
		case "norm":
			by = m.of(s.Axis, length)
		}
		m.multiply(s.Axis, each(by, func(w float64) float64 {
			if w == 0 {
				return 0
			}
			return math.Pow(w, s.X)
		}))
	case "scale":
		m.scale(s.X)
	case "laplacian", "correspondence":
		tau, all := s.X/n, m.all()
		if s.Name == "laplacian" && tau > 0 {
			m.each(func(i, j int) { m.set(i, j, m.b[i][j]+tau, m.size[i][j], tau) })
		}
		r, c := m.sums("rows"), m.sums("columns")
		if s.Name == "correspondence" {
			m.each(func(i, j int) {
				if all == 0 {
					return
				}
				m.set(i, j, m.b[i][j]-r[i]*c[j]/all, m.size[i][j], r[i]*c[j]/all)
			})
		}
		root := func(x float64) float64 { return math.Sqrt(over(x, 0)) }
		m.multiply("rows", each(r, root))
		m.multiply("columns", each(c, root))
	case "impute":
		m.impute(s.Mode == "mean")
	case "patterson":
		return m.patterson()
	case "pearson":
		return m.pearson(s)
	case "keep", "drop":
		return m.mask(s)
	}
	return nil
}

func (m *naiveMatrix) normalize(axis, mode string, goal float64) {
	var by []float64
	switch mode {
	case "l1":
		by = m.of(axis, func(x []float64) float64 { return sumOf(x, math.Abs) })
	case "l2":
		by = m.of(axis, length)
	case "max":
		by = m.of(axis, largestOf)
	case "total":
		by = each(m.sums(axis), func(t float64) float64 { return t / goal })
	case "total:median":
		positive := slices.DeleteFunc(m.sums(axis), func(t float64) bool { return !(t > 0) })
		if len(positive) == 0 {
			return
		}
		slices.Sort(positive)
		goal = (positive[len(positive)/2] + positive[(len(positive)-1)/2]) / 2
		by = each(m.sums(axis), func(t float64) float64 { return t / goal })
	default:
		return
	}
	m.multiply(axis, each(by, func(l float64) float64 { return over(l, 1) }))
}

func (m *naiveMatrix) tfidf(s Step, documents float64) {
	df := m.of("columns", counted)
	m.entries(func(_, j int, v float64) (float64, []float64) {
		switch d := df[j]; {
		case s.Mode == "gensim":
			return v * math.Log2(documents/d), nil
		case s.Mode == "implicit":
			return math.Sqrt(v) * math.Log(documents/(1+d)), nil
		case s.Raw:
			return s.frequency(v) * (math.Log(documents/d) + 1), nil
		default:
			return s.frequency(v) * (math.Log((1+documents)/(1+d)) + 1), nil
		}
	})
	switch s.Mode {
	case "gensim":
		m.normalize("rows", "l2", 0)
	case "sklearn":
		m.normalize("rows", s.Norm, 0)
	}
}

func (s Step) frequency(v float64) float64 {
	if s.Sublinear {
		return math.Log(v) + 1
	}
	return v
}

// bias subtracts the mean of the entries, then the column means of the result, then the row means.
func (m *naiveMatrix) bias(s Step) {
	x := slices.Concat(m.b...)
	mean := sumOf(x, same) / max(1, counted(x))
	entry := make(map[[2]int]bool)
	m.each(func(i, j int) { entry[[2]int{i, j}] = m.b[i][j] != 0 })
	subtract := func(of func(i, j int) float64) {
		m.each(func(i, j int) {
			if entry[[2]int{i, j}] {
				d := of(i, j)
				m.b[i][j] -= d
				m.size[i][j] += math.Abs(d)
			}
		})
	}
	subtract(func(_, _ int) float64 { return mean })
	means := func(axis string) []float64 {
		counts := make([]float64, max(len(m.b), len(m.b[0])))
		m.each(func(i, j int) {
			if entry[[2]int{i, j}] {
				counts[at(axis, i, j)]++
			}
		})
		x, _ := m.lines(axis)
		var y []float64
		for k := range x {
			y = append(y, sumOf(x[k], same)/max(1e-300, counts[k]+s.X))
		}
		return y
	}
	if s.Axis == "columns" || s.Axis == "both" {
		b := means("columns")
		subtract(func(_, j int) float64 { return b[j] })
	}
	if s.Axis == "rows" || s.Axis == "both" {
		b := means("rows")
		subtract(func(i, _ int) float64 { return b[i] })
	}
	m.each(func(i, j int) { m.set(i, j, m.b[i][j], m.size[i][j]) })
}

// center subtracts the mean over all elements of each row or column.
func (m *naiveMatrix) center(axis string) {
	x, sizes := m.lines(axis)
	n := float64(len(x[0]))
	of := func(lines [][]float64) (means []float64) {
		for _, line := range lines {
			means = append(means, sumOf(line, same)/n)
		}
		return means
	}
	mean, size := of(x), of(sizes)
	m.each(func(i, j int) {
		k := at(axis, i, j)
		m.set(i, j, m.b[i][j]-mean[k], m.size[i][j], size[k])
	})
}

// scale divides columns by their standard deviations; constant columns become 0 if they are centred.
func (m *naiveMatrix) scale(ddof float64) {
	x, sizes := m.lines("columns")
	var by []float64
	for j, line := range x {
		n := float64(len(line))
		mean := sumOf(line, same) / n
		d := math.Sqrt(sumOf(line, func(v float64) float64 { return (v - mean) * (v - mean) }))
		switch {
		case d > rounding*length(sizes[j]) && n > ddof:
			by = append(by, math.Sqrt(n-ddof)/d)
		case m.centred:
			by = append(by, 0)
		default:
			by = append(by, 1)
		}
	}
	m.multiply("columns", by)
}

// mask drops rows or columns.
func (m *naiveMatrix) mask(s Step) error {
	lines, _ := m.lines(s.Axis)
	dropped := m.columns
	if s.Axis == "rows" {
		dropped = m.rows
	}
	kept := make([]float64, len(lines))
	if s.hvg() {
		var part [][]float64
		for k, x := range lines {
			if !dropped[k] {
				part = append(part, x)
			}
		}
		high := referenceHVG(s.Mode, int(s.X), part)
		if !slices.Contains(high, 1) && counted(slices.Concat(part...)) > 0 {
			return errors.New("nothing varies")
		}
		for k := range kept {
			if !dropped[k] {
				kept[k], high = high[0], high[1:]
			}
		}
	} else {
		kept = referenceMask(s, lines)
	}
	for k, x := range kept {
		dropped[k] = dropped[k] || x == 0
	}
	m.multiply(s.Axis, kept)
	return nil
}

// impute replaces unknown elements, NaN, by the mean of the known ones of their column, or by 0.
func (m *naiveMatrix) impute(mean bool) (missing [][2]int, means []float64) {
	columns := along("columns", denseOf(m.b))
	for j, x := range columns {
		known := slices.DeleteFunc(slices.Clone(x), math.IsNaN)
		means = append(means, 0)
		if mean && len(known) > 0 {
			means[j] = sumOf(known, same) / float64(len(known))
		}
	}
	m.each(func(i, j int) {
		if math.IsNaN(m.b[i][j]) {
			missing = append(missing, [2]int{i, j})
			m.b[i][j], m.size[i][j] = means[j], math.Abs(means[j])
		}
	})
	return missing, means
}

// patterson sets (a − 2p)/√(2p(1−p)), 0 where a is unknown or the column is constant.
func (m *naiveMatrix) patterson() (err error) {
	missing, means := m.impute(true)
	m.each(func(i, j int) {
		if m.b[i][j] < 0 || m.b[i][j] > 2 {
			err = fmt.Errorf("%v copies of an allele", m.b[i][j])
		}
		p := means[j] / 2
		if v := 2 * p * (1 - p); v > 0x1p-48 {
			m.set(i, j, (m.b[i][j]-2*p)/math.Sqrt(v), m.size[i][j]/math.Sqrt(v), 2*p/math.Sqrt(v))
		} else {
			m.set(i, j, 0)
		}
	})
	for _, at := range missing {
		m.set(at[0], at[1], 0)
	}
	return err
}

// pearson sets (a − μ)/√μ with μ = r·c/Σ, clipped, and 0 where μ is 0.
func (m *naiveMatrix) pearson(s Step) error {
	r, c, all := m.sums("rows"), m.sums("columns"), m.all()
	clip := math.Sqrt(float64(len(m.b)))
	if s.X != 0 {
		clip = s.X
	}
	if slices.Min(slices.Concat(m.b...)) < 0 {
		return errors.New("no counts")
	}
	if most := slices.Max(r) * slices.Max(c) / all; s.Mode == "" && all > 0 {
		if math.Abs(most/clip/clip-1) < 1e-9 {
			return errUndecided
		}
		if most > clip*clip {
			return errors.New("zeros are clipped")
		}
	}
	m.each(func(i, j int) {
		mu := r[i] * c[j] / all
		if !(mu > 0) {
			m.set(i, j, 0)
			return
		}
		z := (m.b[i][j] - mu) / math.Sqrt(mu)
		if s.Mode == "" {
			z = min(max(z, -clip), clip)
		}
		m.set(i, j, z, m.size[i][j]/math.Sqrt(mu), math.Sqrt(mu))
	})
	return nil
}

// sumOf returns the compensated sum of f over a row or column.
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

// denseOf returns the matrix with the given rows.
func denseOf(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}

// relative returns ‖x−y‖/‖y‖.
func relative(x, y mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(x, y)
	return mat.Norm(&d, 2) / max(mat.Norm(y, 2), 1e-300)
}

// TestReferenceAgreesWithOracles compares the formulas of this file with other programs.
func TestReferenceAgreesWithOracles(t *testing.T) {
	a := denseOf(oracleMatrix)
	for text, rows := range oracles {
		p := must.Get(Parse(text))(t)
		if e := relative(reference(p, a), denseOf(rows)); !(e < 1e-14) {
			t.Errorf("%s: off by %g", text, e)
		}
	}
}
