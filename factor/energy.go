package factor

import (
	"github.com/gdsvd/gdsvd/internal/percent"
	"github.com/gdsvd/gdsvd/solver"
)

// Target is what has become of Options.Energy: see solver.Target.
type Target struct {
	Share    float64 `json:"share"`    // that was asked for
	Before   Number  `json:"before"`   // the share that all triplets but the last capture
	Error    Number  `json:"error"`    // how much more as many triplets may capture, by the residuals
	Reached  bool    `json:"reached"`  // Result.Energy is the share asked for, at least
	Smallest bool    `json:"smallest"` // no fewer triplets reach it, if none is missing (Outside)
}

func newTarget(t *solver.Target) *Target {
	if t == nil {
		return nil
	}
	return &Target{t.Share, Number(t.Before), Number(t.Error), t.Reached, t.Smallest}
}

func (t *task) maxRank() int {
	if t.Energy == 0 {
		return 0
	}
	return t.Rank
}

// asMany tells whether a result has the triplets that the task is for.
func (t *task) asMany(r *Result) bool {
	if t.Energy == 0 {
		return r.K == t.Rank
	}
	return r.Settings.Energy == t.Energy && r.Settings.MaxRank == t.Rank
}

// sayTarget warns of a share that is not reached although nothing was in the way but the
// most triplets.
func (t *task) sayTarget(r *Result) {
	if g := r.Target; g != nil && !g.Reached && r.K == t.Rank {
		t.Log.Warn("the most triplets there may be do not capture the share asked for", "triplets", r.K,
			"captured", percent.Text(float64(r.Energy), t.Energy, 'g', 4), "asked", percent.Text(t.Energy, 1, 'g', 4))
	}
}
