package factor

import (
	"errors"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Memory is how a run divides its budget.
type Memory struct {
	Budget    int64         `json:"budget"`
	Parts     []stream.Part `json:"memory"`
	Files     int64         `json:"vector_files,omitempty"`  // bytes of vectors in files beside the result
	Window    int64         `json:"vector_window,omitempty"` // bytes of them in memory at a time
	Reads     int           `json:"reads,omitempty"`         // of the store by a pass, if vectors are in files
	LastReads int           `json:"last_reads,omitempty"`    // and by the finishing pass
	Resident  int64         `json:"-"`                       // bytes of Parts that stay until the end
}

// Heap returns the sum of the parts that are on Go's heap, and that of the others.
func (m Memory) Heap() (heap, other int64) {
	for _, p := range m.Parts {
		if p.Heap {
			heap += p.Bytes
		} else {
			other += p.Bytes
		}
	}
	return heap, other
}

// placement is where a run has what it needs: all of it in memory, or, if that is
// too much for the budget, the vectors in files beside the result.
type placement struct {
	options stream.Options
	plan    stream.Plan
	files   int64 // bytes of vectors in files; 0: none are
	window  int64 // bytes of them that are in memory at a time
}

func (p *placement) memory() Memory {
	m := Memory{Budget: p.plan.Budget, Parts: p.plan.Parts, Resident: p.plan.ResidentBytes, Files: p.files, Window: p.window}
	if p.files > 0 {
		m.Reads, m.LastReads = p.reads(), 1
		if p.plan.Group > 0 {
			m.LastReads = (p.options.Rank + p.plan.Group - 1) / p.plan.Group
		}
	}
	return m
}

func (p *placement) reads() int { return (p.options.Width + p.plan.Together - 1) / p.plan.Together }

// room is what a run leaves for the matrix.
func (p *placement) room() cost.Room {
	resident := float64(p.plan.Resident) / float64(max(1, p.plan.Blocks))
	return cost.Room{Fits: true, Resident: resident, Outside: p.files > 0, Reads: p.reads()}
}

// onTheWay is what rows take on their way to a file.
const onTheWay = 4 << 20

// task is a factorisation of a store, planned or under way.
type task struct {
	Options
	store    *csr.Store
	view     *view.View     // nil: the store itself is factorised
	read     *source.Source // the store, as its view reads it
	recalled bool           // what was measured for the view lies beside the checkpoint
	space    *spill.Dir     // makes the files of vectors if there are any
}

// newTask is a task with the options that were left to the package.
func newTask(store *csr.Store, o Options) *task {
	return &task{Options: o.withDefaults(), store: store, read: source.New(store)}
}

// fit finds the place for a run with a method. The error is that of the least
// budget that can work.
func (t *task) fit(method method.Method) (placement, error) {
	n := int(t.store.Cols())
	if t.Operator == solver.Dilation {
		n += int(t.store.Rows())
	}
	width := int(min(int64(solver.WidestBlock(method, t.Rank)), t.store.Cols()))
	all := placement{options: stream.Options{
		Memory: t.Memory, Reserve: solver.RunFootprint(method, n, t.Rank) + t.beside(method) + onTheWay,
		Workers: t.Workers, Width: width, Rank: t.Rank,
	}}
	var err error
	if all.plan, err = stream.PlanFor(t.source(), all.options); err == nil || t.Operator == solver.Dilation {
		return all, err
	}
	some := all
	var inside int64
	some.files, some.window, inside = solver.SpaceFootprint(method, n, t.Rank)
	some.files += t.beside(method)
	// And the columns of W that one read of the finishing pass leaves for the next.
	some.files += 8 * t.store.Rows() * int64(t.Rank-1)
	some.options.Reserve, some.options.Mapped, some.options.Space = inside+onTheWay, some.window, t.space
	some.options.Whole = t.Operator == solver.Symmetric && t.Which != solver.LargestMagnitude // as its products do
	var outside error
	if some.plan, outside = stream.PlanFor(t.source(), some.options); outside == nil {
		return some, nil
	}
	var a, b *stream.BudgetError
	if errors.As(err, &a) && errors.As(outside, &b) && b.Need < a.Need {
		err = outside
	}
	return some, err
}
