package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Record holds the results of one case. Fields that have no meaning for its experiment are zero.
type Record struct {
	Key        string  `json:"key"`
	Experiment string  `json:"experiment"`
	Matrix     string  `json:"matrix"`
	Rows       int64   `json:"rows,omitempty"`
	Cols       int64   `json:"cols,omitempty"`
	Bytes      int64   `json:"bytes,omitempty"` // of the store
	Rank       int     `json:"k,omitempty"`
	Gap        float64 `json:"gap,omitempty"` // σ₁−σ₂
	A          float64 `json:"a,omitempty"`   // parameters drawn for the values
	B          float64 `json:"b,omitempty"`
	Rejected   int     `json:"rejected,omitempty"` // number of rejected draws of the parameters

	Method   string  `json:"method"`
	Beta     float64 `json:"beta,omitempty"` // the best of the values tried
	Status   string  `json:"status"`
	Passes   int     `json:"passes"` // number of products with the whole matrix
	Products int64   `json:"products"`
	Seconds  float64 `json:"seconds"`

	ErrSigma   float64 `json:"err_sigma"`          // ε_Σ
	ErrVectors float64 `json:"err_vectors"`        // ε_{U,V}
	Residual   float64 `json:"residual,omitempty"` // largest certified residual

	Points []Point `json:"points,omitempty"`
}

// Point holds the results of a run that is stopped early.
type Point struct {
	Passes  int     `json:"passes"`
	Seconds float64 `json:"seconds"`
	Worst   float64 `json:"worst"` // largest residual of the k triplets
	Mean    float64 `json:"mean"`  // geometric mean of the residuals
}

// spread is the distribution of a quantity over the cases of an experiment.
type spread struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"` // of the sample; 0 for one case
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	// Median shows the usual value where single cases dominate the mean.
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

// in returns the records with the given properties, in the order of the tasks. An empty property matches all records.
func in(records []*Record, experiment, matrix, method string) []*Record {
	return slices.DeleteFunc(slices.Clone(records), func(r *Record) bool {
		return r.Experiment != experiment || matrix != "" && r.Matrix != matrix || method != "" && r.Method != method
	})
}

func byGap(records []*Record) [][]*Record {
	groups := map[float64][]*Record{}
	for _, r := range records {
		groups[r.Gap] = append(groups[r.Gap], r)
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b []*Record) int { return cmp.Compare(b[0].Gap, a[0].Gap) })
}

// largestFitted is the largest gap that is used for a slope: for larger gaps the logarithm of the reduction by a pass is not
// yet proportional to the gap.
const largestFitted = 0.1

// gapSlope returns the slope of the least-squares line through the mean iterations over the gap, both in logarithms, or NaN if
// there are fewer than three gaps.
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

// write writes a JSON file. Times are in seconds, sizes in bytes.
func (l *lab) write(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, name), append(data, '\n'), 0o666)
}
