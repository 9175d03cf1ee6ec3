package view

import (
	"cmp"
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

func (m *moments) add(j int, f float64) {
	m.sum[j].add(f)
	m.square[j].addProduct(f, f)
}

func itself(v float64) float64 { return v }

// highlyVariable keeps the n columns with the highest normalised dispersion of those that take part, and all that share
// the lowest dispersion of these, and returns their number. It calls keeper even if it keeps none. Results overwrite
// the sums, so that no more numbers of each column are in memory.
func (m *moments) highlyVariable(flavor string, n int, rows, rounding float64, part func(j int) bool, keeper func() (keep func(j int))) (kept int) {
	for j := range m.sum {
		mean, dispersion := math.NaN(), math.NaN()
		if part(j) {
			mean, dispersion = m.dispersion(flavor, j, rows, rounding)
		}
		m.sum[j] = sum{mean, dispersion}
	}
	all := m.sum
	m.sum, m.square = nil, nil
	buffer := make([]float64, 0, len(all))
	slacks := normalise(flavor, all, buffer, rounding)
	ordered := buffer
	for _, x := range all {
		if !math.IsNaN(x.lo) {
			ordered = append(ordered, x.lo)
		}
	}
	slices.Sort(ordered)
	keep := keeper()
	if len(ordered) == 0 {
		return 0
	}
	least := ordered[max(0, len(ordered)-n)]
	// slack bounds the effect of rounding on a normalised dispersion.
	slack := func(x sum) float64 {
		size := math.Abs(x.lo)
		if math.IsInf(size, 0) {
			return 0 // not at the centre of a bin without spread
		}
		return (slacks[int(x.hi)] + rounding*size) * (1 + size)
	}
	lowest := 0.0
	for _, x := range all {
		if x.lo == least {
			lowest = max(lowest, slack(x))
		}
	}
	for j, x := range all {
		if x.lo >= least || least-x.lo <= lowest+slack(x) {
			keep(j)
			kept++
		}
	}
	return kept
}

// dispersion returns the mean and the dispersion of a column, for seurat in logarithms; NaN: not known.
func (m *moments) dispersion(flavor string, j int, rows, rounding float64) (mean, dispersion float64) {
	size := m.square[j].value()
	mean = cmp.Or(m.sum[j].mean(rows, size, rounding), 1e-12)
	d := variance(m.square[j], m.sum[j], size, rows, rounding) / (rows - 1) / mean
	if flavor != seurat {
		return mean, d
	}
	d = cmp.Or(d, math.NaN())
	return math.Log1p(mean), math.Log(d)
}

// equal reports whether x and y may differ by rounding only.
func equal(x, y, rounding float64) bool {
	return x == y || math.Abs(x-y) <= rounding*(1+math.Abs(x)+math.Abs(y))
}

// normalise replaces each dispersion, lo, by its distance from the centre of its bin of means, over the spread of the
// bin, and each mean, hi, by the number of its bin. slacks bounds the effect of rounding on a dispersion at the centre
// of each bin: a small spread magnifies it. Both columns of a bin of two are equally far from its centre, and tie with
// those of other bins.
func normalise(flavor string, all []sum, buffer []float64, rounding float64) (slacks []float64) {
	means := buffer
	for k, x := range all {
		if math.IsNaN(x.hi) {
			all[k].lo = x.hi // a column without a mean has no dispersion either
			continue
		}
		means = append(means, x.hi)
	}
	if len(means) == 0 {
		return nil
	}
	slices.Sort(means)
	edges := percentiles(means)
	if flavor == seurat {
		edges = evenBins(means[0], means[len(means)-1], rounding)
	}
	for k, x := range all {
		all[k].hi = float64(sort.Search(len(edges), func(i int) bool { // the first edge that is not below
			return x.hi <= edges[i] || equal(x.hi, edges[i], rounding)
		}))
	}
	slacks = make([]float64, len(edges)+1)
	for bin := range slacks {
		in := buffer
		for _, x := range all {
			if x.hi == float64(bin) && !math.IsNaN(x.lo) {
				in = append(in, x.lo)
			}
		}
		centre, spread := meanAndDeviation(in, rounding)
		if flavor != seurat {
			centre, spread = medianAndMAD(in, rounding)
		}
		if spread > 0 {
			slacks[bin] = rounding * (1 + 2*math.Abs(centre)) / spread
		}
		for k, x := range all {
			if x.hi == float64(bin) {
				all[k].lo = distance(x.lo, centre, rounding) / spread
			}
		}
	}
	return slacks
}

// distance returns x−y, or 0 if x and y may differ by rounding only.
func distance(x, y, rounding float64) float64 {
	if equal(x, y, rounding) {
		return 0
	}
	return x - y
}

// evenBins returns the edges of 20 bins of the same width, as pandas.cut makes them.
func evenBins(low, high, rounding float64) []float64 {
	const bins = 20
	edges := make([]float64, bins+1)
	if equal(low, high, rounding) {
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

// percentiles returns the edges of bins at 10 %, 15 %, …, 100 % of sorted means, interpolated as numpy does.
func percentiles(x []float64) (edges []float64) {
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

// meanAndDeviation returns mean and deviation of a sample, and such numbers for a single x that x is 1 when normalised.
func meanAndDeviation(x []float64, rounding float64) (mean, deviation float64) {
	if len(x) == 1 {
		return x[0] - 1, 1
	}
	s := added(x)
	mean = s.over(float64(len(x)))
	var squares sum
	for _, v := range x {
		d := distance(v, mean, rounding)
		squares.addProduct(d, d)
	}
	return mean, math.Sqrt(squares.value() / float64(len(x)-1))
}

// medianAndMAD returns the median of x and 1.4826 times the median distance from it, which is the deviation of a normal
// distribution. The distances are left in x.
func medianAndMAD(x []float64, rounding float64) (centre, deviation float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	centre = middleOf(x)
	for i, v := range x {
		x[i] = math.Abs(distance(v, centre, rounding))
	}
	return centre, middleOf(x) / 0.6744897501960817
}
