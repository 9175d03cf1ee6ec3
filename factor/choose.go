package factor

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// Choice is how the method of a run was chosen.
type Choice struct {
	Flags  []string `json:"flags"` // that make exactly this run again
	Why    string   `json:"why"`   // table, memory, rule or checkpoint
	Reason string   `json:"reason"`
	Table  []string `json:"table,omitempty"` // the flags of the choice where memory holds everything, if that was given up
}

// worthSaying is how long a run must be expected to take for its method to be told
// beforehand.
const worthSaying = 2 * time.Second

// choose fills in the method, unless there is one: that of the checkpoint, if the run goes
// on from one. say logs the choice, once it is known to be possible.
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
		level = slog.LevelInfo // of a shorter run the result says it soon enough
		if more > 0 {
			level = slog.LevelWarn
		}
	}
	return c, func() {
		t.Log.Log(ctx, level, "svd", "chosen", strings.Join(c.Flags, " "), "why", c.Reason)
	}, nil
}

// dear returns the least memory, to a 32nd of what there is, with which the choice is expected to take less
// than a third of the time, and 0 if eight times as much as there is will not do.
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

// problem describes a run for the choice of its method, with the room that a method
// leaves.
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

// planned is the room that a method leaves by the budget alone, whatever the number
// of workers: that of one, which needs least.
func (t *task) planned(m method.Method) cost.Room {
	one := *t
	one.Workers = 1
	p, err := one.fit(m)
	if err != nil {
		return cost.Room{}
	}
	r := p.room()
	if t.Remote != nil {
		r.Resident = 0 // a task keeps nothing
	}
	return r
}

// canonical is a method with what it takes for settings that it is not given, for a number of
// triplets: the same run, said or unsaid.
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

// said are the settings of a method, without those it finds itself.
func said(m method.Method) map[string]float64 {
	all := map[string]float64{}
	for _, s := range m.Traits(1).Settings {
		if s.Value != 0 {
			all[s.Name] = s.Value
		}
	}
	return all
}
