package solver_test

import (
	"context"
	"io"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
)

// falling is a diagonal operator of order n with eigenvalues 1, 1/2, 1/3, …
type falling int

func (n falling) Dim() int { return int(n) }

func (n falling) Apply(_ context.Context, dst, x *mat.Dense) error {
	dst.Apply(func(i, _ int, v float64) float64 { return v / float64(i+1) }, x)
	return nil
}

// weighing counts the bytes written to a checkpoint and those allocated on the heap meanwhile.
type weighing struct{ written, allocated int64 }

func (w *weighing) Due(s solver.Stats) bool { return s.Passes == 12 }

func (w *weighing) Save(write func(io.Writer) error) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := write(w)
	runtime.ReadMemStats(&after)
	w.allocated = int64(after.TotalAlloc - before.TotalAlloc)
	return err
}

func (w *weighing) Write(p []byte) (int, error) {
	w.written += int64(len(p))
	return len(p), nil
}

// TestCheckpointIsNotCopied checks that a checkpoint is written from the vectors in memory without
// a copy: the buffers allocated meanwhile take less than half a vector.
func TestCheckpointIsNotCopied(t *testing.T) {
	n := longtest.Pick(200_000, 50_000)
	for _, m := range []method.Method{lanczos.Krylov{Columns: 4}, block.Descent{}, momentum.Nesterov{}, gd.Descent{}} {
		w := &weighing{}
		must.Get(solver.Eigen(t.Context(), falling(n), solver.Settings{Rank: 6, Method: m, MaxPasses: 14, Tol: 1e-14, Checkpointer: once{w}}))(t)
		if vector := int64(8 * n); w.written < 2*vector || w.allocated > vector/2 {
			t.Errorf("%s: %d bytes were allocated to write %d", m.Traits(1).Name, w.allocated, w.written)
		}
	}
}

// once writes the first checkpoint that is due and skips the one at the end of the run.
type once struct{ *weighing }

func (o once) Save(write func(io.Writer) error) error {
	if o.written > 0 {
		return nil
	}
	return o.weighing.Save(write)
}
