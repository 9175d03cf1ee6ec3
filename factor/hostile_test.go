package factor_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/view"
)

// hostile returns the directory of a result of a small store, and a function that rewrites its result.json with a change
// and the right checksum.
func hostile(t *testing.T, pipeline string) (dir string, say func(func(*factor.Result))) {
	t.Helper()
	var rows [][]csrtest.Entry
	for i := range uint32(8) {
		rows = append(rows, []csrtest.Entry{{Col: i % 5, Val: float64(i + 1)}, {Col: 5, Val: 1}})
	}
	p := must.Get(view.Parse(pipeline))(t)
	dir = filepath.Join(t.TempDir(), "out")
	must.Get(factor.Run(t.Context(), csrtest.Build(t, 6, rows, csr.CreateOptions{}), factor.Options{Rank: 3, Dir: dir, View: p, CheckpointEvery: -1}))(t)
	good := must.Get(factor.Open(dir))(t)
	return dir, func(change func(*factor.Result)) {
		t.Helper()
		r := *good
		view := *good.View
		r.View = &view
		change(&r)
		text, err := durable.Seal(&r, &r.CRC)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, factor.ResultFile), text, 0o666)
		}
		must.Do(t, err)
	}
}

// TestResultIsConsistent: Open refuses a result.json whose counts contradict each other, although its checksum is right.
func TestResultIsConsistent(t *testing.T) {
	dir, say := hostile(t, "center=columns")
	for name, change := range map[string]func(*factor.Result){
		"k too large":      func(r *factor.Result) { r.K = math.MaxInt },
		"k negative":       func(r *factor.Result) { r.K = -1 },
		"k smaller":        func(r *factor.Result) { r.K = 2 },
		"no values":        func(r *factor.Result) { r.Sigma = nil },
		"nothing":          func(r *factor.Result) { r.K, r.Sigma, r.Residual, r.Floor = 0, nil, nil, nil },
		"eigenvalues, too": func(r *factor.Result) { r.Lambda = r.Sigma },
		"no eigenvalues":   func(r *factor.Result) { r.Settings.Which = "LM" },
		"not finite":       func(r *factor.Result) { r.Sigma = []factor.Number{2, factor.Number(math.NaN()), 1} },
		"residuals":        func(r *factor.Result) { r.Residual = r.Residual[:1] },
		"floors":           func(r *factor.Result) { r.Floor = append(r.Floor[:3:3], 1) },
		"converged":        func(r *factor.Result) { r.Converged = 4 },
		"rank":             func(r *factor.Result) { r.Rank = -1 },
		"rows":             func(r *factor.Result) { r.Rows = -1 },
		"columns":          func(r *factor.Result) { r.Cols = math.MaxInt64 },
		"completion of eigenvalues": func(r *factor.Result) {
			r.Completion, r.Settings.Which, r.Lambda, r.Sigma = new(factor.Completion), "LM", r.Sigma, nil
		},
		"completion of a lower rank": func(r *factor.Result) { r.Completion, r.Rank = new(factor.Completion), 0 },
		"cluster":                    func(r *factor.Result) { r.Clusters = [][2]int{{1, 9}} },
	} {
		say(change)
		if _, err := factor.Open(dir); !errors.Is(err, csr.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestResultOfTooManyColumns: Find and Fit refuse a number of columns that no file has, instead of allocating for it.
func TestResultOfTooManyColumns(t *testing.T) {
	for _, pipeline := range []string{"center=columns", "center=rows", "tfidf"} {
		dir, say := hostile(t, pipeline)
		for _, cols := range []int64{math.MaxUint32, csr.MaxRows} {
			say(func(r *factor.Result) { r.Cols = cols })
			r := must.Get(factor.Open(dir))(t)
			if _, err := recommend.Find(t.Context(), r, recommend.QueryOf([]int64{1}), recommend.SimilarOptions{N: 1}); err == nil {
				t.Error("a query of it is answered")
			}
			p, err := r.Pipeline(t.Context())
			if err != nil || pipeline == "center=rows" { // with center=rows only Find is tested
				continue
			}
			if _, err := r.Fit(t.Context(), p, false); err == nil {
				t.Error("it is fitted")
			}
		}
	}
}
