package view

import (
	"math"
	"slices"
	"sort"
)

// Highly variable columns are those of scanpy's highly_variable_genes. The dispersion of a column,
// variance over mean, is compared with those of columns in the same bin of means. Columns that
// an earlier step has masked take no part; those that are empty do, with a mean of 1e-12.

// moments are sums over the entries of each of the user's columns.
type moments struct{ sum, square []sum }

func newMoments(n int64) *moments {
	return &moments{make([]sum, n), make([]sum, n)}
}

// add adds an entry of a column.
func (m *moments) add(j int, f float64) {
	m.sum[j].add(f)
	m.square[j].addProduct(f, f)
}

// itself and expm1 are what moments are of.
func itself(v float64) float64 { return v }
func expm1(v float64) float64  { return math.Expm1(v) }

// highlyVariable tells which n columns, of a matrix of that number of rows, have the highest normalised dispersion,
// with all that share the lowest one, of those that take part.
func (m *moments) highlyVariable(flavor string, n int, rows float64, part func(j int) bool) []bool {
	var columns []int
	var means, dispersions []float64
	for j := range m.sum {
		if !part(j) {
			continue
		}
		mean := m.sum[j].over(rows)
		if mean == 0 {
			mean = 1e-12
		}
		d := variance(m.square[j], m.sum[j], m.square[j].value(), rows) / (rows - 1) / mean
		if flavor == seurat {
			if d == 0 {
				d = math.NaN()
			}
			d, mean = math.Log(d), math.Log1p(mean)
		}
		if !math.IsNaN(mean) {
			columns, means, dispersions = append(columns, j), append(means, mean), append(dispersions, d)
		}
	}
	high := make([]bool, len(m.sum))
	norms := normalised(flavor, means, dispersions)
	ordered := numbers(norms)
	if len(ordered) == 0 {
		return high
	}
	slices.Sort(ordered)
	least := ordered[max(0, len(ordered)-n)]
	for k, j := range columns {
		high[j] = norms[k] >= least
	}
	return high
}

// numbers are those of x that are.
func numbers(x []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(x), math.IsNaN)
}

// normalised are dispersions less the centre of their bin and over its spread.
func normalised(flavor string, means, dispersions []float64) []float64 {
	if len(means) == 0 {
		return nil
	}
	var edges []float64
	if flavor == seurat {
		edges = evenBins(slices.Min(means), slices.Max(means))
	} else {
		edges = percentiles(means)
	}
	bins := make([][]int, len(edges)+1)
	for k, mean := range means {
		b := sort.SearchFloat64s(edges, mean) // the first edge that is not below
		bins[b] = append(bins[b], k)
	}
	norms := make([]float64, len(means))
	for _, bin := range bins {
		var all []float64
		for _, k := range bin {
			all = append(all, dispersions[k])
		}
		centre, spread := meanAndDeviation(numbers(all))
		if flavor != seurat {
			centre, spread = medianAndMAD(numbers(all))
		}
		for _, k := range bin {
			norms[k] = (dispersions[k] - centre) / spread
		}
	}
	return norms
}

// evenBins are the edges of 20 bins of the same width, as pandas.cut makes them.
func evenBins(low, high float64) []float64 {
	const bins = 20
	edges := make([]float64, bins+1)
	if low == high {
		widen := 0.001
		if low != 0 {
			widen = 0.001 * math.Abs(low)
		}
		low, high = low-widen, high+widen
	}
	step := (high - low) / bins
	for i := range edges {
		edges[i] = float64(float64(i)*step) + low
	}
	edges[0], edges[bins] = low-(high-low)*0.001, high
	return edges
}

// percentiles are the edges of bins at 10 %, 15 %, …, 100 % of the means, interpolated as numpy does.
func percentiles(means []float64) (edges []float64) {
	x := slices.Clone(means)
	slices.Sort(x)
	for p := 10; p <= 100; p += 5 {
		at := float64(len(x)-1) * (float64(p) / 100)
		i := int(at)
		t, a, b := at-float64(i), x[i], x[min(i+1, len(x)-1)]
		if edge := a + float64((b-a)*t); t < 0.5 {
			edges = append(edges, edge)
		} else {
			edges = append(edges, b-float64((b-a)*(1-t)))
		}
	}
	return edges
}

// meanAndDeviation are those of a sample; a single number is 1 when normalised.
func meanAndDeviation(x []float64) (mean, deviation float64) {
	if len(x) == 1 {
		return 0, x[0]
	}
	var s, squares sum
	for _, v := range x {
		s.add(v)
	}
	mean = s.over(float64(len(x)))
	for _, v := range x {
		squares.addProduct(v-mean, v-mean)
	}
	return mean, math.Sqrt(squares.value() / float64(len(x)-1))
}

// medianAndMAD are the median and the median distance from it, which is the deviation of a normal
// distribution over 1.4826.
func medianAndMAD(x []float64) (centre, deviation float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	middle := func(x []float64) float64 {
		slices.Sort(x)
		return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	}
	centre = middle(x)
	distances := each(x, func(v float64) float64 { return math.Abs(v - centre) })
	return centre, middle(distances) / 0.6744897501960817
}
