package solver_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
)

// checkpoints is a Checkpointer that is always due and keeps every checkpoint.
type checkpoints struct {
	Passes []int    // passes after which the checkpoints were made
	Saved  [][]byte // the checkpoints
	at     int
}

// Due implements solver.Checkpointer.
func (c *checkpoints) Due(s solver.Stats) bool {
	c.at = s.Passes
	return true
}

// Save implements solver.Checkpointer.
func (c *checkpoints) Save(write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	c.Passes = append(c.Passes, c.at)
	c.Saved = append(c.Saved, b.Bytes())
	return nil
}

// last returns the last checkpoint, nil if there is none.
func (c *checkpoints) last() []byte {
	if len(c.Saved) == 0 {
		return nil
	}
	return c.Saved[len(c.Saved)-1]
}

// never is a Checkpointer that saves only when a run ends early.
type never struct{ checkpoints }

func (*never) Due(solver.Stats) bool { return false }

// resumedFrom returns set with the checkpoint saved to resume from, or set itself if saved is nil.
func resumedFrom(t testing.TB, set solver.Settings, saved []byte) solver.Settings {
	t.Helper()
	if saved == nil {
		return set
	}
	c := must.Get(solver.ReadCheckpoint(bytes.NewReader(saved), int64(len(saved))))(t)
	set.Resume = c
	return set
}

// outcome is a result with its left vectors.
type outcome struct {
	*solver.Result
	left *mat.Dense
}

// factorise runs SVD and keeps the left vectors if Which is Semidefinite.
func factorise(ctx context.Context, t testing.TB, a *denseMatrix, set solver.Settings) outcome {
	t.Helper()
	rows, _ := a.A.Dims()
	left := solver.NewDenseRows(rows, set.Rank)
	if set.Which == solver.Semidefinite {
		set.Left = left
	}
	res := must.Get(solver.SVD(ctx, a, set))(t)
	return outcome{res, left.Dense}
}

// same reports whether two outcomes agree in every bit, times excepted.
func (o outcome) same(p outcome) bool {
	bits := func(x, y []float64) bool {
		return slices.EqualFunc(x, y, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
	}
	return bits(o.Sigma, p.Sigma) && bits(o.Lambda, p.Lambda) && o.Norm == p.Norm && bits(o.Residuals, p.Residuals) &&
		bits(o.Right.RawMatrix().Data, p.Right.RawMatrix().Data) &&
		(!o.Certified || bits(o.left.RawMatrix().Data, p.left.RawMatrix().Data)) &&
		o.Status == p.Status && o.Rank == p.Rank && o.Converged == p.Converged && o.Certified == p.Certified &&
		o.Stats.Passes == p.Stats.Passes && o.Stats.Products == p.Stats.Products
}

// checkResume checks that a run of set on a, saved after a pass or cancelled in one and continued,
// has the bits and the passes of the uninterrupted run. It tries about as many passes as tries,
// spread over the run and drawn anew for every seed.
func checkResume(t *testing.T, a *mat.Dense, set solver.Settings, tries int) {
	t.Helper()
	draw := rand.New(rand.NewPCG(set.Seed, 1))
	want := factorise(t.Context(), t, newDense(a), set)

	all := new(checkpoints)
	watched := set
	watched.Checkpointer = all
	if got := factorise(t.Context(), t, newDense(a), watched); !got.same(want) {
		t.Error("a run that is saved differs from one that is not")
	}
	for _, i := range sample(draw, len(all.Saved), tries) {
		saved := all.Saved[i]
		d := newDense(a)
		got := factorise(t.Context(), t, d, resumedFrom(t, set, saved))
		if !got.same(want) {
			t.Fatalf("saved after pass %d of %d: the continued run ends with %v after %d passes, want %v; σ %v, want %v",
				all.Passes[i], want.Stats.Passes, got.Status, got.Stats.Passes, want.Status, got.Sigma, want.Sigma)
		}
		if d.Passes+all.Passes[i] != want.Stats.Passes {
			t.Fatalf("saved after pass %d of %d: %d more", all.Passes[i], want.Stats.Passes, d.Passes)
		}
	}
	for _, at := range sample(draw, want.Stats.Passes, tries) {
		at++ // passes are counted from 1
		saved := cancelIn(t, a, set, nil, at)
		// The continued run is cancelled once more.
		again := (at + want.Stats.Passes + 1) / 2
		if later := cancelIn(t, a, set, saved, again); later != nil {
			saved = later
		}
		if got := factorise(t.Context(), t, newDense(a), resumedFrom(t, set, saved)); !got.same(want) {
			t.Fatalf("cancelled in passes %d and %d of %d: the continued run ends with %v after %d passes, want %v",
				at, again, want.Stats.Passes, got.Status, got.Stats.Passes, want.Status)
		}
	}
}

// checkInterrupted checks the same for a run that is cancelled before its first pass or between two passes.
func checkInterrupted(t *testing.T, a *mat.Dense, set solver.Settings, tries int) {
	t.Helper()
	events, watched := 0, set
	watched.Observer = func(solver.Event) error {
		events++
		return nil
	}
	want := factorise(t.Context(), t, newDense(a), watched)
	draw := rand.New(rand.NewPCG(set.Seed, 2))
	for _, at := range append(sample(draw, events, tries), -1) {
		ctx, cancel := context.WithCancel(t.Context())
		if at < 0 {
			cancel()
		}
		cut, keep, left := set, new(never), at
		cut.Checkpointer = keep
		cut.Observer = func(solver.Event) error {
			if left--; left < 0 {
				cancel()
			}
			return nil
		}
		got := factorise(ctx, t, newDense(a), cut)
		cancel()
		if got.Status == solver.Cancelled {
			got = factorise(t.Context(), t, newDense(a), resumedFrom(t, set, keep.last()))
		}
		if !got.same(want) {
			t.Fatalf("cancelled behind event %d of %d: ends with %v after %d passes, want %v", at, events, got.Status, got.Stats.Passes, want.Status)
		}
	}
}

// sample returns about tries of the first n integers, among them the first and
// the last two.
func sample(draw *rand.Rand, n, tries int) []int {
	var out []int
	for i := range n {
		if i == 0 || i >= n-2 || draw.IntN(n) < tries {
			out = append(out, i)
		}
	}
	return out
}

// cancelIn continues from saved, cancels in the given pass and returns the last checkpoint, nil if
// none was written.
func cancelIn(t *testing.T, a *mat.Dense, set solver.Settings, saved []byte, pass int) []byte {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set = resumedFrom(t, set, saved)
	d := newDense(a)
	if set.Resume != nil {
		d.Passes = set.Resume.Passes()
	}
	d.Hook = cancelAt(pass, cancel)
	var keep never
	set.Checkpointer = &keep
	factorise(ctx, t, d, set)
	return keep.last()
}
