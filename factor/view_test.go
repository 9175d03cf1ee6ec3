package factor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/remote"
	"github.com/gdsvd/gdsvd/stream/view"
)

// pipeline parses a view.
func pipeline(t *testing.T, text string) view.Pipeline {
	t.Helper()
	return must.Get(view.Parse(text))(t)
}

// TestViewResult: certificate, energy and explained variance of a result with a view are those of the
// view; the statistics that a new row needs are kept, and Check measures on the view.
func TestViewResult(t *testing.T) {
	store := random(t, 500, 60, 3)
	dir := filepath.Join(t.TempDir(), "out")
	r := run(t, store, factor.Options{Rank: 4, Dir: dir, View: pipeline(t, "log1p · pca-scaled")})
	v := r.View
	if v == nil || v.Pipeline != "log1p · center=columns · scale=columns,ddof:0" || v.Reads != 1 || v.Observations != 500 {
		t.Fatalf("%+v", v)
	}
	// The columns of B have variance 1.
	if norm := float64(v.Norm); math.Abs(norm*norm-500*60) > 1e-8 {
		t.Errorf("‖B‖² = %v", norm*norm)
	}
	energy := 0.0
	for i, s := range r.Sigma {
		if v.Variance[i] != s*s/499 || math.Abs(float64(v.VarianceRatio[i]-s*s/(500*60))) > 1e-12 {
			t.Errorf("triplet %d: %v, %v", i, v.Variance[i], v.VarianceRatio[i])
		}
		energy += float64(v.VarianceRatio[i])
	}
	if math.Abs(energy-float64(r.Energy)) > 1e-12 {
		t.Errorf("energy %v, sum of ratios %v", r.Energy, energy)
	}
	var files []string
	for _, f := range r.Files {
		if info, err := os.Stat(filepath.Join(dir, f.Name)); err != nil || info.Size() != f.Size {
			t.Error(err)
		}
		files = append(files, f.Name)
	}
	for _, want := range []string{"view-2-center-mean.npy", "view-3-scale-factor.npy"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not among %v", want, files)
		}
	}
	if !slices.ContainsFunc(r.Memory, func(p stream.Part) bool { return p.Name == "view" && p.Bytes > 8*60 }) {
		t.Errorf("the memory does not count the view: %+v", r.Memory)
	}
	report, err := check.Result(t.Context(), dir, check.Options{Store: store.Path()})
	if err != nil || report.Err() != nil || report.Measured.View != v.Pipeline || len(report.Warnings) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestViewIdentity: checkpoints and finished results belong to one store and one view.
func TestViewIdentity(t *testing.T) {
	store := random(t, 500, 60, 4)
	dir := filepath.Join(t.TempDir(), "out")
	o := factor.Options{Rank: 3, Dir: dir, View: pipeline(t, "bm25=100,0.8"), Method: lanczos.Krylov{Columns: 2, Basis: 12}, MaxPasses: 6, CheckpointEvery: 1, CheckpointShare: 1e9}
	if r, err := factor.Run(t.Context(), store, o); !errors.Is(err, factor.ErrNotConverged) || r == nil {
		t.Fatal(err)
	}
	other := o
	other.Resume, other.MaxPasses, other.View = true, 0, pipeline(t, "bm25=100,0.7")
	if _, err := factor.Run(t.Context(), store, other); err == nil || !strings.Contains(err.Error(), "another store or view") {
		t.Errorf("resumed with another view: %v", err)
	}
	other.View = nil
	if _, err := factor.Run(t.Context(), store, other); err == nil || !strings.Contains(err.Error(), "another store or view") {
		t.Errorf("resumed without the view: %v", err)
	}
	o.Resume, o.MaxPasses, o.CheckpointEvery = true, 0, -1
	resumed := run(t, store, o)
	again := run(t, store, o)
	if resumed == nil || again == nil || resumed.Status != "converged" || again.Passes != resumed.Passes {
		t.Fatalf("%+v, %+v", resumed, again)
	}
	whole := o
	whole.Resume, whole.Dir = false, dir+"2"
	if r := run(t, store, whole); !slices.Equal(r.Sigma, resumed.Sigma) {
		t.Error("the resumed run has other bits")
	}
	other = o
	other.View = nil
	if _, err := factor.Run(t.Context(), store, other); err == nil {
		t.Error("a result of a view is taken for one of the store")
	}
}

// TestViewValueError: an entry that the view makes NaN is an error that names its row and column.
func TestViewValueError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.csr")
	m := sparse.NewCSR(3, 2, []int{0, 1, 2, 4}, []int{0, 1, 0, 1}, []float64{1, 2, 3, -2})
	must.Do(t, csr.FromSparse(path, m, csr.CreateOptions{}))
	store := csrtest.Open(t, path, csr.OpenOptions{})
	dir := filepath.Join(t.TempDir(), "out")
	for _, by := range []*remote.Options{nil, {Engine: &remote.Local{Worker: &remote.Worker{}}, Shared: t.TempDir(), Groups: 2}} {
		_, err := factor.Run(t.Context(), store, factor.Options{Rank: 1, Dir: dir, View: pipeline(t, "log1p"), Remote: by})
		if want := "view: log1p makes -2 in row 2, column 1, NaN"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("something is left behind")
		}
	}
}

// TestViewWithinLeastMemory: a run on a view works within its least memory, by tasks in its own process, too.
func TestViewWithinLeastMemory(t *testing.T) {
	store := random(t, 90000, 60000, 1)
	for _, by := range []*remote.Options{nil, {Engine: &remote.Local{Worker: new(remote.Worker)}, Shared: t.TempDir(), Groups: 2}} {
		o := factor.Options{Rank: 1, View: pipeline(t, "bias=both"), Dir: filepath.Join(t.TempDir(), "out"), MaxPasses: 3, Remote: by, PassCost: 1e6}
		o.Memory = must.Get(o.LeastMemory(t.Context(), store))(t)
		if _, err := factor.Run(t.Context(), store, o); err != nil && !errors.Is(err, factor.ErrNotConverged) {
			t.Error(err)
		}
	}
}

// TestViewExplain: Explain describes the steps of a view without reading the store.
func TestViewExplain(t *testing.T) {
	store := random(t, 500, 60, 5)
	e := must.Get(factor.Explain(t.Context(), store, factor.Options{Rank: 2, View: pipeline(t, "binary>=3 · tfidf · center=columns")}))(t)
	v := e.View
	if v == nil || v.Reads != 2 || len(v.Steps) != 3 || v.Steps[1].Reads != 1 || v.Steps[2].Reads != 1 ||
		v.Steps[0].Entries != "those that do not become 0" || v.Steps[1].High != 1 || v.Steps[2].Pattern == v.Steps[1].Pattern {
		t.Errorf("%+v", v)
	}
}

// TestViewInterrupted: a run interrupted while it measures the statistics leaves no files, and reports its progress.
func TestViewInterrupted(t *testing.T) {
	store := random(t, 50000, 60, 6)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := filepath.Join(t.TempDir(), "out")
	var told, of atomic.Int64
	_, err := factor.Run(ctx, store, factor.Options{Rank: 2, Dir: dir, View: pipeline(t, "tfidf"), Measuring: func(done, total int64) {
		told.Store(done)
		of.Store(total)
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "statistics of the view") {
		t.Errorf("%v", err)
	}
	if told.Load() == 0 || told.Load() > of.Load() {
		t.Errorf("%d of %d", told.Load(), of.Load())
	}
	if left, err := filepath.Glob(dir + "*"); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
}

// TestInitOfAnotherView: start vectors of another view are used with a warning; the result has the values and the view
// of a run from random vectors.
func TestInitOfAnotherView(t *testing.T) {
	store := random(t, 800, 60, 14)
	raw := run(t, store, factor.Options{Rank: 5, Dir: filepath.Join(t.TempDir(), "raw")})
	o := factor.Options{Rank: 5, View: pipeline(t, "bm25"), Dir: filepath.Join(t.TempDir(), "cold")}
	cold := run(t, store, o)
	said := new(bytes.Buffer)
	o.Init, o.Log, o.Dir = raw.Dir(), slog.New(slog.NewTextHandler(said, nil)), filepath.Join(t.TempDir(), "warm")
	warm := run(t, store, o)
	if !strings.Contains(said.String(), "the start vectors are of another view") {
		t.Errorf("%q", said)
	}
	if warm.View == nil || warm.View.Fingerprint != cold.View.Fingerprint || warm.Status != "converged" || !warm.Outside.Leading {
		t.Errorf("%+v, %+v", warm.View, warm.Outside)
	}
	for i, s := range warm.Sigma {
		if math.Abs(float64(s-cold.Sigma[i])) > 1e-9*float64(cold.Sigma[0]) {
			t.Errorf("value %d is %v, %v from random vectors", i, s, cold.Sigma[i])
		}
	}
}

// TestCentringStatesItsFloor: if the mean is much larger than the spread, the stated residual and floor hold.
// The centred entries are exact in float64, as the number of rows is a power of two.
func TestCentringStatesItsFloor(t *testing.T) {
	const rows, cols, k = 64, 20, 3
	for _, mean := range []float64{0, 1 << 10, 1 << 20, 1 << 30} {
		r := rand.New(rand.NewPCG(5, 1))
		a := mat.NewDense(rows, cols, nil)
		a.Apply(func(int, int, float64) float64 { return mean + float64(1+r.IntN(5)) }, a)
		b := mat.DenseCopyOf(a)
		for j := range cols {
			m := mat.Sum(a.ColView(j)) / rows
			for i := range rows {
				b.Set(i, j, a.At(i, j)-m)
			}
		}
		c := sparse.NewDOK(rows, cols)
		a.Apply(func(i, j int, v float64) float64 { c.Set(i, j, v); return v }, a)
		dir := filepath.Join(t.TempDir(), "out")
		res := run(t, stored(t, c.ToCSR()), factor.Options{Rank: k, Dir: dir, Tol: 1e-4, View: pipeline(t, "center=columns")})
		u, v := mat.NewDense(rows, k, nil), mat.NewDense(cols, k, nil)
		must.Do(t, errors.Join(res.ReadU(0, u), res.ReadV(0, v)))
		for i := range k {
			s := float64(res.Sigma[i])
			var x, y mat.VecDense
			x.MulVec(b, v.ColView(i))
			x.AddScaledVec(&x, -s, u.ColView(i))
			y.MulVec(b.T(), u.ColView(i))
			y.AddScaledVec(&y, -s, v.ColView(i))
			off := max(mat.Norm(&x, 2), mat.Norm(&y, 2)) / float64(res.Sigma[0])
			if floor := float64(res.Floor[i]); !(off <= 2*float64(res.Residual[i])+floor) || floor > max(1e-13, 1e-13*mean) {
				t.Errorf("mean %v, triplet %d: residual %.1e, stated %.1e with a floor of %.1e", mean, i, off, res.Residual[i], floor)
			}
		}
		if report, err := check.Result(t.Context(), dir, check.Options{}); err != nil || report.Err() != nil {
			t.Errorf("mean %v: %+v, %v", mean, report, err)
		}
	}
}
