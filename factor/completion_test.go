package factor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
	"github.com/gdsvd/gdsvd/solver"
)

// tastes returns a matrix of rank 3 plus biases and a store of two fifths of its entries, with noise.
func tastes(t *testing.T, rows, cols int) (full *mat.Dense, store *csr.Store) {
	t.Helper()
	random := rand.New(rand.NewPCG(11, uint64(rows)))
	u, v := mat.NewDense(rows, 3, nil), mat.NewDense(3, cols, nil)
	for _, m := range []*mat.Dense{u, v} {
		for i := range m.RawMatrix().Data {
			m.RawMatrix().Data[i] = random.NormFloat64()
		}
	}
	full = mat.NewDense(rows, cols, nil)
	full.Mul(u, v)
	ptr, columns, values := []int{0}, []int{}, []float64{}
	full.Apply(func(i, j int, x float64) float64 { return x + float64(i%3) + float64(j%4)/2 }, full)
	for i := range rows {
		for j := range cols {
			if random.Float64() < .4 {
				columns, values = append(columns, j), append(values, full.At(i, j)+.1*random.NormFloat64())
			}
		}
		ptr = append(ptr, len(columns))
	}
	return full, stored(t, sparse.NewCSR(rows, cols, ptr, columns, values))
}

// predictions returns the entries that a completion predicts, for all places.
func predictions(t *testing.T, r *factor.Result) *mat.Dense {
	t.Helper()
	u, v := mat.NewDense(int(r.Rows), r.K, nil), mat.NewDense(int(r.Cols), r.K, nil)
	rows, err1 := r.RowBiases(t.Context())
	cols, err2 := r.ColBiases(t.Context())
	must.Do(t, errors.Join(err1, err2, r.ReadU(0, u), r.ReadV(0, v)))
	d := make([]float64, r.K)
	for i, s := range r.Sigma {
		d[i] = float64(s)
	}
	p := mat.NewDense(int(r.Rows), int(r.Cols), nil)
	p.Product(u, mat.NewDiagDense(r.K, d), v.T())
	p.Apply(func(i, j int, z float64) float64 {
		z += float64(r.Completion.Mean)
		if r.Completion.Biases {
			z += rows[i] + cols[j]
		}
		return z
	}, p)
	return p
}

// TestComplete: the predictions are close to the full matrix, in both orientations, and check.Result finds no problem.
func TestComplete(t *testing.T) {
	for _, shape := range [][2]int{{120, 40}, {40, 120}} {
		for _, biases := range []bool{false, true} {
			full, store := tastes(t, shape[0], shape[1])
			dir := filepath.Join(t.TempDir(), "out")
			r := must.Get(factor.Complete(t.Context(), store, factor.CompleteOptions{Options: factor.Options{Dir: dir, Rank: 6}, Biases: biases}))(t)
			opened, err := factor.Open(dir)
			if err != nil || opened.Completion == nil || *opened.Completion != *r.Completion || opened.Rows != int64(shape[0]) || opened.Cols != int64(shape[1]) {
				t.Fatalf("%v: %+v, written %+v", err, opened.Completion, r.Completion)
			}
			p := predictions(t, opened)
			p.Sub(p, full)
			rmse := mat.Norm(p, 2) / math.Sqrt(float64(shape[0]*shape[1]))
			if rmse > .75 || opened.Completion.RMSE > .5 {
				t.Errorf("%v, biases %t: error %v of all, %v of what was seen", shape, biases, rmse, opened.Completion.RMSE)
			}
			report, err := check.Result(t.Context(), dir, check.Options{})
			if err != nil || report.Err() != nil || len(report.Warnings) > 0 {
				t.Errorf("%v, %v", err, report)
			}
			_, err = check.Result(t.Context(), dir, check.Options{Store: store.Path()})
			if err == nil || !strings.Contains(err.Error(), "is a completion") {
				t.Errorf("measured on the store: %v", err)
			}
		}
	}
}

// TestCompleteResumed: a completion that is interrupted several times has the bytes of an uninterrupted one.
func TestCompleteResumed(t *testing.T) {
	_, store := tastes(t, 90, 30)
	o := factor.CompleteOptions{Options: factor.Options{Dir: filepath.Join(t.TempDir(), "whole"), Rank: 4}, Biases: true}
	rounds, reads := 0, 0
	o.Round = func(*complete.State) { rounds++ }
	var mu sync.Mutex
	o.Reading = func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if done > total {
			t.Errorf("%d of %d bytes", done, total)
		}
		if done == total {
			reads++
		}
	}
	must.Get(factor.Complete(t.Context(), store, o))(t)
	if reads < rounds || rounds < 10 {
		t.Errorf("%d rounds read the store to its end %d times", rounds, reads)
	}
	o.Reading = nil
	whole := vfstest.Contents(t, o.Dir)
	delete(whole, factor.ResultFile) // it holds times and memory, which differ
	o.Dir, o.Resume = filepath.Join(t.TempDir(), "resumed"), true
	for step := range 6 {
		at := 0
		ctx, cancel := context.WithCancel(t.Context())
		o.Round = func(*complete.State) {
			if at++; at == 2+step*rounds/20 {
				cancel()
			}
		}
		_, err := factor.Complete(ctx, store, o)
		cancel()
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "goes on from there") {
			t.Fatalf("interrupted: %v", err)
		}
		if _, err := os.Stat(filepath.Join(o.Dir, factor.ResultFile)); err == nil {
			t.Fatal("an interrupted completion has a result")
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := factor.Complete(stopped, store, o); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "goes on from there") {
		t.Fatalf("interrupted before another round: %v", err)
	}
	saved := filepath.Join(o.Dir, "checkpoint")
	state := must.Get(os.ReadFile(saved))(t)
	if report, err := check.Result(t.Context(), o.Dir, check.Options{}); err != nil || report.Err() != nil || !strings.Contains(report.Sound(), "the checkpoint in") {
		t.Errorf("a sound checkpoint: %v, %+v", err, report)
	}
	must.Do(t, os.WriteFile(saved, append(slices.Clone(state[:len(state)-1]), state[len(state)-1]^1), 0o666))
	if report, err := check.Result(t.Context(), o.Dir, check.Options{}); err != nil || !errors.Is(report.Err(), csr.ErrCorrupt) || !strings.Contains(report.Problems[0].Error(), "the checksum is") {
		t.Errorf("a damaged checkpoint: %v, %+v", err, report)
	}
	svd := factor.Options{Dir: filepath.Join(t.TempDir(), "svd"), Rank: 4, MaxPasses: 4}
	if _, err := factor.Run(t.Context(), store, svd); !errors.Is(err, factor.ErrNotConverged) {
		t.Fatal(err)
	}
	factorisation := must.Get(os.ReadFile(filepath.Join(svd.Dir, "checkpoint")))(t)
	for what, c := range map[string]struct {
		state []byte
		with  func(o *factor.CompleteOptions)
		want  string
	}{
		"damaged":       {append(slices.Clone(state[:len(state)-1]), state[len(state)-1]^1), nil, "is damaged: "},
		"short":         {state[:20], nil, "is damaged: "},
		"of svd":        {factorisation, nil, "is of a factorisation, not of a completion"},
		"of another λ":  {state, func(o *factor.CompleteOptions) { o.Lambda = 3 }, "is of another run: "},
		"of no biases":  {state, func(o *factor.CompleteOptions) { o.Biases = false }, "is of another run: "},
		"not asked for": {state, func(o *factor.CompleteOptions) { o.Resume = false }, "holds the checkpoint of an unfinished run"},
	} {
		must.Do(t, os.WriteFile(saved, c.state, 0o666))
		with := o
		if c.with != nil {
			c.with(&with)
		}
		if _, err := factor.Complete(t.Context(), store, with); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("a checkpoint that is %s: %v", what, err)
		}
	}
	must.Do(t, os.WriteFile(saved, state, 0o666))
	if _, err := factor.Run(t.Context(), store, factor.Options{Dir: o.Dir, Rank: 4, Resume: true}); errors.Is(err, csr.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "is of a completion, not of a factorisation") {
		t.Errorf("a factorisation resumed from it: %v", err)
	}
	s, of, err := complete.Load(bytes.NewReader(state), int64(len(state)))
	must.Do(t, err)
	if s.Spent <= 0 {
		t.Errorf("the runs before took %v", s.Spent)
	}
	s.Spent = time.Hour
	var hour bytes.Buffer
	must.Do(t, s.Save(&hour, of))
	must.Do(t, os.WriteFile(saved, hour.Bytes(), 0o666))
	o.Round = nil
	if r := must.Get(factor.Complete(t.Context(), store, o))(t); r.Seconds.Total < time.Hour.Seconds() {
		t.Errorf("%v s in all, of which an hour before the last resume", r.Seconds.Total)
	}
	resumed := vfstest.Contents(t, o.Dir)
	delete(resumed, factor.ResultFile)
	for name, want := range whole {
		if resumed[name] != want {
			t.Errorf("%s: other bytes", name)
		}
		delete(resumed, name)
	}
	for name := range resumed {
		t.Errorf("%s is not in the result of a run without a break", name)
	}
	if _, err := factor.Complete(t.Context(), store, factor.CompleteOptions{Options: factor.Options{Dir: o.Dir, Rank: 4}}); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a result: %v", err)
	}
	if _, err := factor.Complete(t.Context(), store, o); err == nil || !strings.HasSuffix(err.Error(), "holds no checkpoint to go on from: Options.Replace begins anew") {
		t.Errorf("resumed once more: %v", err)
	}
	if r, err := factor.Run(t.Context(), store, factor.Options{Dir: o.Dir, Rank: 4, Resume: true}); err == nil {
		t.Errorf("a completion was taken for a factorisation: %+v", r)
	}
}

// TestCompleteOnAFullDisk: a completion whose result cannot be written names its checkpoint, even if it is cancelled meanwhile.
func TestCompleteOnAFullDisk(t *testing.T) {
	_, store := tastes(t, 60, 20)
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := factor.CompleteOptions{Options: factor.Options{Dir: filepath.Join(t.TempDir(), "out"), Rank: 2, CheckpointEvery: 1, CheckpointShare: math.Inf(1)}, Lambda: .5}
		o.FS = &vfstest.FaultFS{Inject: func(op vfstest.Op) error {
			if op.Kind != vfstest.OpCreate || filepath.Base(op.Name) != factor.ResultFile {
				return nil
			}
			if cancelled {
				cancel()
			}
			return syscall.ENOSPC
		}}
		if _, err := factor.Complete(ctx, store, o); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "a checkpoint is in "+o.Dir) {
			t.Errorf("cancelled %t: %v", cancelled, err)
		}
		o.FS, o.Resume = nil, true
		must.Get(factor.Complete(t.Context(), store, o))(t)
	}
}

// TestRowBiases: the biases of the rows are collected in the memory that the budget has for them, without copies that grow.
func TestRowBiases(t *testing.T) {
	const rows = 500000
	var made [3]uint64
	o := factor.CompleteOptions{Biases: true, Lambda: 1, Rounds: 1, Proof: func(done, _ int) {
		if done < len(made) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			made[done] = m.TotalAlloc
		}
	}}
	o.Dir, o.Rank, o.Workers = filepath.Join(t.TempDir(), "out"), 1, 1
	if _, err := factor.Complete(t.Context(), random(t, rows, 60, 1), o); err != nil && !errors.Is(err, factor.ErrNotConverged) {
		t.Fatal(err)
	}
	if bytes := made[2] - made[1]; bytes > 8*rows+8<<20 {
		t.Errorf("%d bytes are allocated in the read for the left factors", bytes)
	}
}

// TestCompleteEnds: a λ for which Z = 0 is an error, and so is a limit of rounds that ends the fit early.
func TestCompleteEnds(t *testing.T) {
	_, store := tastes(t, 60, 20)
	o := factor.CompleteOptions{Options: factor.Options{Dir: filepath.Join(t.TempDir(), "out"), Rank: 2}, Lambda: 1e6}
	if _, err := factor.Complete(t.Context(), store, o); err == nil || !strings.Contains(err.Error(), "so large that Z = 0") {
		t.Errorf("λ = 1e6: %v", err)
	}
	if _, err := os.Stat(o.Dir); err == nil {
		t.Error("a result was written")
	}
	path := filepath.Join(t.TempDir(), "m.csr")
	same := sparse.NewCSR(2, 2, []int{0, 1, 2}, []int{0, 1}, []float64{3, 3})
	must.Do(t, csr.FromSparse(path, same, csr.CreateOptions{}))
	threes := csrtest.Open(t, path, csr.OpenOptions{})
	o.Lambda = 1
	if _, err := factor.Complete(t.Context(), threes, o); err == nil || !strings.Contains(err.Error(), "is what the mean and the biases predict") {
		t.Errorf("entries that are all equal: %v", err)
	}
	o.Lambda, o.Rounds, o.Tol = .5, 2, 1e-12
	r, err := factor.Complete(t.Context(), store, o)
	if !errors.Is(err, factor.ErrNotConverged) || r == nil || r.Status != solver.PassLimit.String() {
		t.Errorf("after two rounds: %v", err)
	}
}
