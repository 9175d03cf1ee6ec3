package factor

import (
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// TestForecast: for 10¹¹ entries (10¹⁰ in the short form) on 32 machines, Forecast names the limit; more workers are
// never slower, costlier passes never faster, and no number of groups is better than that of Best.
func TestForecast(t *testing.T) {
	rows := longtest.Pick[int64](1e9, 1e8)
	store := csr.Outline{Path: "m.csr", Rows: rows, Cols: 1e6, NNZ: 100 * rows, Values: csr.Values{Coding: csr.Float64}, Size: 400 * rows}.Plan()
	defer store.Close()
	e := must.Get(Explain(t.Context(), store, Options{Rank: 50, Dir: t.TempDir() + "/out", Memory: 64 << 30, Workers: 16, Remote: &remote.Options{Groups: 96}, PassCost: 1 << 25}))(t)
	for _, bucket := range longtest.Pick([]bool{false, true}, []bool{true}) {
		at := e.Forecast(32, e.Engine.Groups, 0.03, 0, bucket)
		t.Logf("bucket %t: %+v", bucket, at)
		best := e.Best(32, store.NumBlocks(), 0.03, 0, bucket)
		t.Logf("best: %+v", best)
		if at.Passes < 2 || at.Limit == "" || !(at.Total > 0) {
			t.Errorf("%+v", at)
		}
		if more := e.Forecast(64, 96, 0.03, 0, bucket); more.Total > at.Total {
			t.Errorf("64 workers take %g s, 32 %g", more.Total, at.Total)
		}
		if dear := e.Forecast(32, 96, 3, 0, bucket); dear.Total < at.Total {
			t.Errorf("dear passes take %g s, cheap ones %g", dear.Total, at.Total)
		}
		for _, groups := range longtest.Pick([]int{32, 64, 96, 128, 256}, []int{64}) {
			if f := e.Forecast(32, groups, 0.03, 0, bucket); f.Total < best.Total {
				t.Errorf("%d groups take %g s, the best %g", groups, f.Total, best.Total)
			}
		}
	}
}
