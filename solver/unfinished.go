package solver

import "math"

// unfinished is the result of a run whose vectors lie in a Space and which was cancelled:
// to put estimates together would take as many sweeps over files as a step. What is known
// is in the checkpoint.
func (f *factorisation) unfinished(st Status) *Result {
	res := &Result{
		Sigma: make([]float64, f.s.Rank), Residuals: make([]float64, f.s.Rank),
		OrthRight: math.NaN(), OrthLeft: math.NaN(), Status: st, Stats: f.cost(),
	}
	for i := range res.Residuals {
		res.Residuals[i] = 1
	}
	return res
}

// unfinishedPairs is the same for Eigen.
func (r *run) unfinishedPairs(st Status) *EigenResult {
	res := &EigenResult{
		Values: make([]float64, r.s.Rank), Residuals: make([]float64, r.s.Rank), Seen: make([]float64, r.s.Rank),
		Status: st, Stats: r.cost(),
	}
	for i := range res.Residuals {
		res.Residuals[i], res.Seen[i] = math.NaN(), 1
	}
	return res
}
