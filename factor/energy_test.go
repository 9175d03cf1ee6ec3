package factor_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/stream"
)

// TestEnergy: a run for a share of the energy finds as many triplets as a dense SVD needs for it, and the
// same values whatever vectors are kept.
func TestEnergy(t *testing.T) {
	store := random(t, 400, 60, 8)
	sparse := must.Get(store.ToSparse())(t)
	var svd mat.SVD
	if !svd.Factorize(sparse.ToDense(), mat.SVDNone) {
		t.Fatal("no dense SVD")
	}
	sigma, total, want := svd.Values(nil), 0.0, 0
	for _, s := range sigma {
		total += s * s
	}
	for sum := 0.0; sum < 0.6*total; want++ {
		sum += sigma[want] * sigma[want]
	}
	var first *factor.Result
	for _, v := range []factor.Vectors{factor.Both, factor.Left, factor.Right, factor.None} {
		dir := filepath.Join(t.TempDir(), "out")
		r := run(t, store, factor.Options{Energy: 0.6, Dir: dir, Vectors: v})
		g := r.Target
		if r.K != want || len(r.Sigma) != want || r.Status != "converged" || !g.Reached || !g.Smallest || g.Share != 0.6 || !(g.Before < 0.6 && r.Energy >= 0.6) {
			t.Fatalf("%v: %d triplets, the dense SVD needs %d; %+v", v, r.K, want, g)
		}
		if r.Settings.Energy != 0.6 || r.Settings.MaxRank != 60 || r.Choice == nil || !slices.Contains(r.Choice.Flags, "krylov") {
			t.Errorf("%+v, %+v", r.Settings, r.Choice)
		}
		if first == nil {
			first = r
		}
		if !slices.Equal(r.Sigma, first.Sigma) {
			t.Errorf("%v: other values", v)
		}
		measured := check.Options{Store: store.Path()}
		if v == factor.None {
			measured.Store = "" // there are no vectors to measure
		}
		report, err := check.Result(t.Context(), dir, measured)
		if err != nil || report.Err() != nil || len(report.Warnings) > 0 {
			t.Errorf("%v: %+v, %v", v, report, err)
		}
	}
	for i, s := range first.Sigma {
		if !(math.Abs(float64(s)-sigma[i]) <= 1e-7*sigma[0]) {
			t.Errorf("value %d is %v, want %v", i, s, sigma[i])
		}
	}
	bounded := run(t, store, factor.Options{Energy: 0.6, Rank: 5, Dir: filepath.Join(t.TempDir(), "out")})
	if g := bounded.Target; bounded.K != 5 || bounded.Status != "converged" || g.Reached || g.Smallest {
		t.Errorf("%d triplets, %+v", bounded.K, g)
	}
	cut := factor.Options{Energy: 0.6, Tol: 0.3, MaxPasses: 4, Method: momentum.Nesterov{}, Deflation: solver.Plain, Dir: filepath.Join(t.TempDir(), "out")}
	if r, err := factor.Run(t.Context(), store, cut); !errors.Is(err, factor.ErrNotConverged) || !strings.Contains(err.Error(), "of the 60 % asked for") {
		t.Errorf("cut short: %+v, error %v", r, err)
	}
	for _, share := range []float64{-1, 1, 1.5, math.NaN()} {
		if _, err := factor.Run(t.Context(), store, factor.Options{Energy: share, Dir: filepath.Join(t.TempDir(), "out")}); err == nil || !strings.Contains(err.Error(), "between 0 and 1") {
			t.Errorf("share %v: %v", share, err)
		}
	}
	signed := factor.Options{Energy: 0.5, Which: solver.LargestMagnitude, Dir: filepath.Join(t.TempDir(), "out")}
	if _, err := factor.Run(t.Context(), store, signed); err == nil || !strings.Contains(err.Error(), "not by signed eigenvalues") {
		t.Errorf("of signed eigenvalues: %v", err)
	}
}

// TestEnergySameBits: a run for a share of the energy writes the same bits for any number of workers, with vectors in
// memory or in files, and after an interruption.
func TestEnergySameBits(t *testing.T) {
	store := random(t, 20000, 16000, 9)
	o := factor.Options{Energy: 1e-3, Rank: 12, Tol: 1e-3, Method: lanczos.Krylov{Columns: 4, Basis: 40}, View: pipeline(t, "center=columns")}
	contents := func(dir string) string {
		all := ""
		for _, name := range []string{"sigma.npy", "U.npy", "V.npy"} {
			b := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
			all += string(b)
		}
		return all
	}
	var want string
	tight := o
	tight.Memory = 1 << 20
	var least *stream.BudgetError
	if _, err := factor.Explain(t.Context(), store, tight); !errors.As(err, &least) {
		t.Fatalf("within 1 MiB: %v", err)
	}
	tight.Memory = least.Need + 1<<20
	for i, c := range []factor.Options{o, tight} {
		c.Workers, c.Dir = 1+2*i, filepath.Join(t.TempDir(), "out")
		r := run(t, store, c)
		if i == 0 {
			want = contents(c.Dir)
		}
		if r.K < 2 || r.K > 11 || contents(c.Dir) != want {
			t.Errorf("%d triplets, vectors in %d bytes of files: other bits", r.K, r.VectorFiles)
		}
	}
	o.Dir, o.CheckpointEvery, o.CheckpointShare = filepath.Join(t.TempDir(), "out"), 1, 1e9
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Pass = func(e solver.Event, _ factor.Outlook) {
		if e.Pass == 4 {
			cancel()
		}
	}
	if _, err := factor.Run(ctx, store, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Resume = true
	other := o
	other.Energy = 2e-3
	if _, err := factor.Run(t.Context(), store, other); err == nil || !strings.Contains(err.Error(), "was made with rank of at most 12 for the share 0.001 of the energy, this run has") {
		t.Errorf("resumed for another share: %v", err)
	}
	r := run(t, store, o)
	if contents(o.Dir) != want {
		t.Error("the resumed run has other bits")
	}
	if again := run(t, store, o); again.Passes != r.Passes || again.K != r.K {
		t.Errorf("%+v is not taken for finished", again)
	}
	if _, err := factor.Run(t.Context(), store, other); err == nil {
		t.Error("a result for a share is taken for one for another")
	}
}

// TestEnergyExplained: the rank is not known beforehand, so Explain plans for one triplet and for the largest rank.
func TestEnergyExplained(t *testing.T) {
	store := random(t, 3000, 900, 10)
	e, err := factor.Explain(t.Context(), store, factor.Options{Energy: 0.5})
	if err != nil || e.K != factor.DefaultMaxRank || e.Energy != 0.5 || e.Least == nil || e.Least.Passes >= e.Plan.Passes || !slices.Equal(e.Least.Flags, e.Plan.Flags) {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, c := range e.Considered {
		if c.Flags[1] == "block" {
			t.Errorf("%v is considered, whose passes are as wide as the most triplets", c.Flags)
		}
	}
}
