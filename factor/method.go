package factor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/remote"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Memory describes how a run divides its budget.
type Memory struct {
	Budget    int64         `json:"budget"`                  // memory budget in bytes
	Parts     []stream.Part `json:"memory"`                  // planned memory, one element for each purpose
	Files     int64         `json:"vector_files,omitempty"`  // bytes of vectors in files beside the result
	Window    int64         `json:"vector_window,omitempty"` // largest part of the vectors in files that is in memory at the same time, in bytes
	Reads     int           `json:"reads,omitempty"`         // number of times that a pass reads the store, if vectors are in files
	LastReads int           `json:"last_reads,omitempty"`    // number of times that the last pass reads the store, if vectors are in files
	Resident  int64         `json:"-"`                       // bytes of Parts that stay until the end
}

// Heap returns the bytes of the parts on Go's heap and the bytes of the other parts.
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

// placement says where the vectors of a run lie: in memory or, if that is too much for the budget, in files beside the
// result.
type placement struct {
	options stream.Options
	plan    stream.Plan
	files   int64 // bytes of vectors in files; 0: all vectors are in memory
	window  int64 // bytes of the vectors in files that are in memory at the same time
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

// room returns the memory that a run leaves for the matrix.
func (p *placement) room() cost.Room {
	resident := float64(p.plan.Resident) / float64(max(1, p.plan.Blocks))
	return cost.Room{Fits: true, Resident: resident, Outside: p.files > 0, Reads: p.reads()}
}

// onTheWay is the memory in bytes that rows take while they are written to a file.
const onTheWay = 4 << 20

// task is a factorisation of a store, planned or under way.
type task struct {
	Options
	store    *csr.Store
	view     *view.View     // nil: the store itself is factorised
	read     *source.Source // the store, as its view reads it
	recalled bool           // whether the statistics of the view lie beside the checkpoint
	space    *spill.Dir     // creates the files of vectors, if vectors lie in files
}

// newTask returns a task for a store, with defaults for the options that are zero.
func newTask(store *csr.Store, o Options) *task {
	return &task{Options: o.withDefaults(), store: store, read: source.New(store)}
}

// fit returns the placement of a run with a method. If the budget is too small for the run or for measuring its view, the error
// names the least budget that works.
func (t *task) fit(method method.Method) (placement, error) {
	p, err := t.place(method)
	sums := int64(1)
	if t.Remote != nil {
		sums = 2 // see remote.Matrix.Measure
	}
	for i := 0; t.view != nil && i < t.view.Reads(); i++ {
		var run, read *stream.BudgetError
		small := t.view.Fits(stream.Options{Memory: t.Memory, Workers: t.Workers}, i, sums)
		if errors.As(small, &read) && !(errors.As(err, &run) && run.Need > read.Need) {
			err = small
		}
	}
	return p, err
}

// place is fit without the measuring of the view.
func (t *task) place(method method.Method) (placement, error) {
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
	if all.plan, err = stream.PlanFor(t.source(), all.options); err == nil || t.Operator == solver.Dilation || t.Remote != nil {
		return all, err // with Dilation or Remote, vectors are always in memory
	}
	some := all
	var inside int64
	some.files, some.window, inside = solver.SpaceFootprint(method, n, t.Rank)
	some.files += t.beside(method)
	// Between the reads of the finishing pass, Rank−1 columns of W lie in files as well.
	some.files += 8 * t.store.Rows() * int64(t.Rank-1)
	some.options.Reserve, some.options.Mapped, some.options.Space = inside+onTheWay, some.window, t.space
	some.options.Whole = t.Operator == solver.Symmetric && t.Which != solver.LargestMagnitude // products of such an operator take all columns at once
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

// Choice is how the method of a run was chosen.
type Choice struct {
	Flags  []string `json:"flags"`           // flags that repeat this run exactly
	Why    string   `json:"why"`             // what decided: "table", "memory", "rule" or "checkpoint"
	Reason string   `json:"reason"`          // the reason, in a sentence
	Table  []string `json:"table,omitempty"` // flags of the method that would be chosen with more memory; absent if memory did not change the choice
}

// worthSaying is the least expected time of a run whose method is logged at level Info or above before it starts.
const worthSaying = 2 * time.Second

// choose sets the method unless the options give one: to that of the checkpoint if the run resumes from one, else to the
// cheapest. say logs the choice; it is to be called when the choice is known to be possible.
func (t *task) choose(ctx context.Context, before outState) (c *Choice, say func(), err error) {
	say = func() {}
	if t.Method != nil {
		return nil, say, nil
	}
	if t.Resume && before.checkpoint {
		c, err = t.recorded()
		return c, say, err
	}
	chosen := cost.Choose(t.problem(t.planned))
	t.Method = canonical(chosen.Method, t.Rank)
	c = &Choice{Flags: flagsOf(chosen.Method), Why: chosen.Why, Reason: t.reason(chosen)}
	more := int64(0)
	if chosen.Why == cost.ByMemory || chosen.Outside || chosen.PassBytes > 0 {
		more = t.dear(chosen)
	}
	if more > 0 {
		c.Reason += fmt.Sprintf("; with %s it would take less than a third of the time", memory.FormatSize(more))
	}
	if chosen.Method != chosen.Table {
		c.Table = flagsOf(chosen.Table)
	}
	level := slog.LevelDebug
	if chosen.Total >= worthSaying {
		level = slog.LevelInfo // the result of a shorter run tells the method soon enough
		if more > 0 {
			level = slog.LevelWarn
		}
	}
	return c, func() {
		t.Log.Log(ctx, level, "svd", "chosen", strings.Join(c.Flags, " "), "why", c.Reason)
	}, nil
}

// dear returns the least memory, to a 32nd of the budget, with which the run is expected to take less than a third of
// the time of c, or 0 if eight times the budget is not enough.
func (t *task) dear(c cost.Choice) int64 {
	cheap := func(memory int64) bool {
		other := *t
		other.Memory = memory
		return cost.Choose(other.problem(other.planned)).Total < c.Total/3
	}
	no, yes := t.Memory, 2*t.Memory
	for c.Fits && yes < 8*t.Memory && !cheap(yes) {
		no, yes = yes, 2*yes
	}
	if !c.Fits || !cheap(yes) {
		return 0
	}
	for yes-no > t.Memory/32 {
		half := no + (yes-no)/2
		if cheap(half) {
			yes = half
		} else {
			no = half
		}
	}
	return (yes + 1<<20 - 1) >> 20 << 20
}

func (t *task) recorded() (*Choice, error) {
	saved, err := openCheckpoint(t.FS, t.Dir)
	if err != nil {
		return nil, err
	}
	if err := saved.Close(); err != nil {
		return nil, err
	}
	t.Method = canonical(saved.Method(t.Methods), t.Rank)
	if t.Method == nil {
		return nil, says(nil, "the checkpoint in %s is of a method that this program does not have (%v begins anew)", t.Dir, Option("Replace"))
	}
	return &Choice{Flags: flagsOf(t.Method), Why: "checkpoint", Reason: "the run goes on with the method it began with"}, nil
}

func (t *task) reason(c cost.Choice) string {
	switch {
	case c.Why == cost.ByRule:
		return "the stop rule of the paper belongs to its algorithms, of which this is the first"
	case c.Why == cost.ByMemory:
		return fmt.Sprintf("the fastest by the table of costs of what fits into %s", memory.FormatSize(t.Memory))
	case t.Operator == solver.Dilation:
		return "the dilation has negative eigenvalues and takes methods of one vector at a time; fewest passes of those"
	}
	if t.Energy > 0 {
		return fmt.Sprintf("the fastest for this shape and up to %d triplets by the table of costs, of those that go on until there are enough", t.Rank)
	}
	return "the fastest for this shape and number of triplets by the table of costs"
}

// problem describes a run for the choice of its method. room returns the memory that a method leaves for the matrix.
func (t *task) problem(room func(method.Method) cost.Room) cost.Problem {
	info := solver.Info{Rows: t.store.Rows(), Cols: int(t.store.Cols()), NNZ: t.store.NNZ()}
	p := cost.Problem{
		Workload: solver.Settings{Rank: t.Rank, Energy: t.Energy, Operator: t.Operator, Which: t.Which, Stop: t.Stop, Tol: t.Tol}.Workload(info),
		Rows:     t.store.Rows(), Columns: t.store.Cols(), NNZ: t.store.NNZ(), Methods: t.Methods, Room: room,
	}
	if t.Remote != nil {
		p.Pass, p.Column = t.PassCost.Seconds(), remote.ColumnCost(t.store.Cols()).Seconds()
	}
	for i := range t.store.NumBlocks() {
		p.Encoded += t.store.Block(i).Size
	}
	return p
}

// planned returns the room that a method leaves by the budget alone. It is that of one worker, which needs least, for any
// number of workers.
func (t *task) planned(m method.Method) cost.Room {
	one := *t
	one.Workers = 1
	p, err := one.fit(m)
	if err != nil {
		return cost.Room{}
	}
	r := p.room()
	if t.Remote != nil {
		r.Resident = 0 // a task keeps no blocks
	}
	return r
}

// canonical returns m with all settings explicit: settings that are not given have the values that m uses for rank triplets.
func canonical(m method.Method, rank int) method.Method {
	if m == nil {
		return nil
	}
	t := m.Traits(max(1, rank))
	values := make([]float64, len(t.Settings))
	for i, s := range t.Settings {
		values[i] = s.Value
	}
	return t.With(values)
}

func flagsOf(m method.Method) []string {
	t := m.Traits(1)
	all := []string{"--method", t.Name}
	for _, s := range t.Settings {
		if s.Value != s.Default {
			all = append(all, "--"+s.Name, strconv.FormatFloat(s.Value, 'g', -1, 64))
		}
	}
	return all
}

// said returns the settings of a method by name, without those that the method finds itself.
func said(m method.Method) map[string]float64 {
	all := map[string]float64{}
	for _, s := range m.Traits(1).Settings {
		if s.Value != 0 {
			all[s.Name] = s.Value
		}
	}
	return all
}
