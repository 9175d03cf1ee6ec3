package factor_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/james-bowman/sparse"
	"go.uber.org/goleak"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/remote"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// random returns a store of a random matrix with three entries per row.
func random(t *testing.T, rows, cols int, seed uint64) *csr.Store {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	ptr, columns, values := []int{0}, []int{}, []float64{}
	for range rows {
		at := r.IntN(cols / 3)
		for j := range 3 {
			columns, values = append(columns, at+j*cols/3), append(values, float64(1+r.IntN(5)))
		}
		ptr = append(ptr, len(columns))
	}
	return stored(t, sparse.NewCSR(rows, cols, ptr, columns, values))
}

// stored returns a store of m.
func stored(t *testing.T, m *sparse.CSR) *csr.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.csr")
	must.Do(t, csr.FromSparse(path, m, csr.CreateOptions{}))
	return csrtest.Open(t, path, csr.OpenOptions{})
}

// run calls factor.Run and fails the test on errors other than a limit of passes.
func run(t *testing.T, store *csr.Store, o factor.Options) *factor.Result {
	t.Helper()
	r, err := factor.Run(t.Context(), store, o)
	if err != nil && !errors.Is(err, factor.ErrNotConverged) || r == nil {
		t.Error(err)
	}
	return r
}

// TestConcurrentRuns: runs in one process at the same time, with vectors in files and in memory, each
// write the bytes that they write alone.
func TestConcurrentRuns(t *testing.T) {
	const rows, cols = 90000, 60000
	o := factor.Options{Rank: 3, Method: lanczos.Krylov{Columns: 2, Basis: 12}, MaxPasses: 8, CheckpointEvery: 1, CheckpointShare: 1e9}
	first, second := random(t, rows, cols, 1), random(t, rows, cols, 2)
	tight := o
	tight.Memory = 1 << 20
	var least *stream.BudgetError
	if _, err := factor.Explain(t.Context(), first, tight); !errors.As(err, &least) {
		t.Fatalf("within 1 MiB: %v", err)
	}
	tight.Memory = least.Need + 1<<20
	if e, err := factor.Explain(t.Context(), first, tight); err != nil || e.Files == 0 {
		t.Fatalf("within %d bytes no vectors are in files: %v", tight.Memory, err)
	}
	by := tight // with an engine the driver has its vectors in memory, and Explain returns the budget error of Run
	by.Remote, by.PassCost = &remote.Options{Engine: &remote.Local{Worker: new(remote.Worker)}, Shared: t.TempDir(), Groups: 2}, time.Millisecond
	by.Dir = filepath.Join(t.TempDir(), "engine")
	if _, err := factor.Explain(t.Context(), first, by); !errors.As(err, &least) {
		t.Fatalf("a plan of an engine within %d bytes: %v", by.Memory, err)
	}
	if _, err := factor.Run(t.Context(), first, by); !errors.As(err, &least) {
		t.Fatalf("a run by an engine within %d bytes: %v", by.Memory, err)
	}
	by.Memory = must.Get(by.LeastMemory(t.Context(), first))(t)
	if _, err := factor.Run(t.Context(), first, by); err != nil && !errors.Is(err, factor.ErrNotConverged) {
		t.Errorf("a run by an engine within the %d bytes that it needs: %v", by.Memory, err)
	}
	alone := map[*csr.Store]string{}
	for _, store := range []*csr.Store{first, second} {
		o.Dir = filepath.Join(t.TempDir(), "alone")
		alone[store] = run(t, store, o).Dir()
	}
	var together sync.WaitGroup
	for _, c := range []struct {
		store *csr.Store
		o     factor.Options
	}{{first, tight}, {second, tight}, {first, o}} {
		c.o.Dir = filepath.Join(t.TempDir(), "together")
		together.Go(func() {
			r := run(t, c.store, c.o)
			if r == nil {
				return
			}
			if (r.VectorFiles > 0) != (c.o.Memory > 0) {
				t.Errorf("%d bytes of vectors in files with a budget of %d", r.VectorFiles, c.o.Memory)
			}
			for _, name := range []string{"sigma.npy", "U.npy", "V.npy"} {
				want, err := os.ReadFile(filepath.Join(alone[c.store], name))
				got, err2 := os.ReadFile(filepath.Join(c.o.Dir, name))
				if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s of %d bytes differs from that of a run alone (%v)", name, len(got), err)
				}
			}
		})
	}
	together.Wait()
}

// TestRunRefuses: options that cannot be satisfied are errors before the run begins, and no files are left.
func TestRunRefuses(t *testing.T) {
	store, work := random(t, 30, 20, 1), t.TempDir()
	for want, o := range map[string]factor.Options{
		"needs a directory":                    {Rank: 1},
		"21 triplets: a 30 × 20 matrix has 20": {Rank: 21, Dir: filepath.Join(work, "out")},
		"0 triplets":                           {Dir: filepath.Join(work, "out")},
		"memory budget of":                     {Rank: 1, Memory: 1 << 20, Dir: filepath.Join(work, "out")},
		"Options.Init " + work + ": ":          {Rank: 1, Init: work, Dir: filepath.Join(work, "out")},
	} {
		if r, err := factor.Run(t.Context(), store, o); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %s", r, err, want)
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%v are left (%v)", left, err)
	}
}

// TestResumeAfterCancellation: a cancelled run leaves a checkpoint from which Resume continues to the same values. The
// error names the option, by a name that the caller can replace.
func TestResumeAfterCancellation(t *testing.T) {
	store, dir := random(t, 3000, 900, 3), filepath.Join(t.TempDir(), "out")
	o := factor.Options{Rank: 4, Dir: dir, Method: power.Iteration{}, CheckpointEvery: 1, CheckpointShare: 1e9, MaxPasses: 300}
	want := run(t, store, factor.Options{Rank: 4, Dir: dir + "-whole", Method: power.Iteration{}, MaxPasses: 300})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Pass = func(e solver.Event, _ factor.Outlook) {
		if e.Pass == 20 {
			cancel()
		}
	}
	r, err := factor.Run(ctx, store, o)
	var told *factor.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &told) || !strings.Contains(told.Error(), "Options.Resume goes on from there") {
		t.Fatalf("%v, %v", r, err)
	}
	if said := told.Say(func(o factor.Option) string { return "with " + strings.ToLower(string(o)) }); !strings.Contains(said, "with resume goes on") {
		t.Error(said)
	}
	if _, err := factor.Run(t.Context(), store, o); err == nil || !strings.Contains(err.Error(), "holds the checkpoint of an unfinished run") {
		t.Errorf("over a checkpoint: %v", err)
	}
	o.Resume = true
	if r := run(t, store, o); !reflect.DeepEqual(r.Sigma, want.Sigma) || r.Passes != want.Passes {
		t.Errorf("%v after %d passes, without a break %v after %d", r.Sigma, r.Passes, want.Sigma, want.Passes)
	}
}

// TestErrorsNameOptions: each option that an error names exists.
func TestErrorsNameOptions(t *testing.T) {
	var files []string
	for _, room := range []string{"", "check/", "look/"} {
		names := must.Get(filepath.Glob(room + "*.go"))(t)
		files = append(files, names...)
	}
	found := 0
	for _, name := range files {
		text := must.Get(os.ReadFile(name))(t)
		for _, m := range regexp.MustCompile(`Option\("(\w+)"\)`).FindAllSubmatch(text, -1) {
			found++
			_, run := reflect.TypeFor[factor.Options]().FieldByName(string(m[1]))
			_, peek := reflect.TypeFor[look.PeekOptions]().FieldByName(string(m[1]))
			_, complete := reflect.TypeFor[factor.CompleteOptions]().FieldByName(string(m[1]))
			if !run && !peek && !complete {
				t.Errorf("%s: there is no option %s", name, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d names found", found)
	}
}

// TestToleranceBelowRounding: with a tolerance below the floor of rounding no triplet converges, and the error says so.
func TestToleranceBelowRounding(t *testing.T) {
	const n = 40
	ptr, columns, values := []int{0}, []int{}, []float64{}
	for i := range n { // the identity: residuals are about 10⁻¹⁶, the floor is √n times the floor of one value
		ptr, columns, values = append(ptr, i+1), append(columns, i), append(values, 1)
	}
	o := factor.Options{Rank: 2, Method: lanczos.Krylov{Columns: 4, Basis: 20}, Tol: 4e-15, Dir: filepath.Join(t.TempDir(), "out")}
	r, err := factor.Run(t.Context(), stored(t, sparse.NewCSR(n, n, ptr, columns, values)), o)
	if !errors.Is(err, factor.ErrNotConverged) || r == nil {
		t.Fatal(err)
	}
	for _, x := range r.Residual {
		if float64(x) > o.Tol {
			t.Fatalf("residuals %v, want some that are within the tolerance", r.Residual)
		}
	}
	if !strings.Contains(err.Error(), "the residuals of all are, but rounding may hide up to ") {
		t.Error(err)
	}
}
