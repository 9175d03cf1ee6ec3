package solver_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestConcurrentRunsOnOneSpace checks that concurrent runs of equal order with their vectors in one
// Space have the bits that each has alone, and that none frees the blocks of another run.
func TestConcurrentRunsOnOneSpace(t *testing.T) {
	const n = 40000
	methods := []method.Method{
		lanczos.Krylov{Columns: 2, Basis: 12}, block.Descent{Columns: 5}, lanczos.Krylov{Columns: 1, Basis: 8}, power.Iteration{},
	}
	settings := func(i int) solver.Settings {
		return solver.Settings{Rank: 3, Method: methods[i%len(methods)], Seed: uint64(i), MaxPasses: 15}
	}
	for _, runs := range longtest.Pick([]int{2, 4}, []int{3}) {
		space := &spoiling{}
		got, errs := make([]*solver.Result, runs), make([]error, runs)
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() {
				set := settings(i)
				set.Space = space
				got[i], errs[i] = solver.SVD(t.Context(), &weighed{n: n, blind: true}, set)
			})
		}
		wg.Wait()
		for i := range runs {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			want := must.Get(solver.SVD(t.Context(), &weighed{n: n, blind: true}, settings(i)))(t)
			sameBits(t, fmt.Sprintf("run %d of %d", i, runs), got[i], want)
		}
		if left := space.Blocks(); left != runs {
			t.Errorf("%d blocks are left of %d runs", left, runs)
		}
	}
}

// TestWorkersChangeNoBits checks that workers, processors and a Space change no bit, also of vectors longer
// than a tile and a window, and that sweeps evict at least the windows they have passed.
func TestWorkersChangeNoBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const passes = 12
	processors, teams := longtest.Pick([]int{1, 2, 4}, []int{4}), longtest.Pick([]int{1, 2, 3, 8}, []int{1, 3})
	for _, m := range []method.Method{
		lanczos.Krylov{Columns: 2, Basis: 12}, block.Descent{Columns: 5}, momentum.Nesterov{}, power.Iteration{}, momentum.NesterovGeneral{},
	} {
		for _, n := range []int{3000, 40000} {
			var want *solver.Result
			for _, procs := range processors {
				runtime.GOMAXPROCS(procs)
				for _, workers := range teams {
					for _, space := range []*spoiling{nil, {}} {
						set := solver.Settings{Rank: 3, Method: m, MaxPasses: passes, Workers: workers}
						if space != nil {
							set.Space = space
						}
						got := must.Get(solver.SVD(t.Context(), &weighed{n: n, blind: true}, set))(t)
						if want == nil {
							want = got
						}
						what := fmt.Sprintf("%s, n = %d, %d workers, %d processors", m.Traits(1).Name, n, workers, procs)
						sameBits(t, what, got, want)
						if least := passes * 2 * n; space != nil && n == 40000 && space.Dropped < least {
							t.Errorf("%s: %d numbers have been passed, of %d at least", what, space.Dropped, least)
						}
					}
				}
			}
		}
	}
}

func sameBits(t *testing.T, what string, got, want *solver.Result) {
	t.Helper()
	if !slices.Equal(got.Sigma, want.Sigma) || !slices.Equal(got.Residuals, want.Residuals) || !mat.Equal(got.Right, want.Right) {
		t.Errorf("%s: other bits", what)
	}
}
