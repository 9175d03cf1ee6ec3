package main

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// spread is the distribution of a quantity over the cases of an experiment.
type spread struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"` // of the sample; 0 for one case
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	// Median says what is usual where single cases dominate the mean.
	Median float64 `json:"median"`
}

func spreadOf(records []*Record, f func(*Record) float64) spread {
	x := make([]float64, len(records))
	for i, r := range records {
		x[i] = f(r)
	}
	slices.Sort(x)
	s := spread{Mean: stat.Mean(x, nil), Min: x[0], Max: x[len(x)-1], Median: stat.Quantile(0.5, stat.Empirical, x, nil)}
	if len(x) > 1 {
		s.Std = stat.StdDev(x, nil)
	}
	return s
}

func passes(r *Record) float64  { return float64(r.Passes) }
func seconds(r *Record) float64 { return r.Seconds }

// in returns the records with the given properties, in the order of the tasks.
func in(records []*Record, experiment, matrix, method string) []*Record {
	var some []*Record
	for _, r := range records {
		if r.Experiment == experiment && (matrix == "" || r.Matrix == matrix) && (method == "" || r.Method == method) {
			some = append(some, r)
		}
	}
	return some
}

func byGap(records []*Record) [][]*Record {
	groups := map[float64][]*Record{}
	for _, r := range records {
		groups[r.Gap] = append(groups[r.Gap], r)
	}
	var all [][]*Record
	for _, g := range groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b []*Record) int { return cmp.Compare(b[0].Gap, a[0].Gap) })
	return all
}

// largestFitted is the largest gap that counts for a slope: above, the logarithm
// of the factor of a pass is not proportional to the gap yet.
const largestFitted = 0.1

// gapSlope returns the slope of the least-squares line through the mean
// iterations over the gap, both in logarithms; NaN if there are too few.
func gapSlope(records []*Record) float64 {
	var x, y []float64
	for _, g := range byGap(records) {
		if gap := g[0].Gap; gap <= largestFitted*(1+1e-9) {
			x, y = append(x, math.Log(gap)), append(y, math.Log(spreadOf(g, passes).Mean))
		}
	}
	if len(x) < 3 {
		return math.NaN()
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}
