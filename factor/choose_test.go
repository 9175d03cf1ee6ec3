package factor

import (
	"errors"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// TestMethodsHaveFlags: canonical returns each method with explicit settings unchanged.
func TestMethodsHaveFlags(t *testing.T) {
	for _, m := range []method.Method{
		gd.Descent{Eta: 0.5}, gd.Descent{Eta: 0.25}, power.Iteration{}, momentum.Polyak{Eta: 0.5, Beta: 0.5}, momentum.Nesterov{Eta: 0.5},
		momentum.NesterovGeneral{Mu: 0.01, Rho: 100}, block.Descent{Columns: 7}, block.Descent{Oversample: 3}, lanczos.Krylov{Columns: 2, Basis: 20},
	} {
		if got := canonical(m, 1); got != m {
			t.Errorf("%+v becomes %+v", m, got)
		}
	}
}

// TestFoundSettings: canonical fills the settings of Krylov with those of its Traits for the number of triplets.
func TestFoundSettings(t *testing.T) {
	for _, rank := range []int{1, 10, 50} {
		want := lanczos.Krylov{}.Traits(rank).Settings
		got, ok := canonical(lanczos.Krylov{}, rank).(lanczos.Krylov)
		if !ok || float64(got.Columns) != want[0].Value || float64(got.Basis) != want[1].Value || got.Basis < rank {
			t.Errorf("%d triplets: %+v, want %v and %v", rank, got, want[0].Value, want[1].Value)
		}
	}
}

// TestNoCliffs: if twice the memory makes a plan more than three times as fast, the plan with less memory says so, and
// the memory that the warning names makes the plan three times as fast.
func TestNoCliffs(t *testing.T) {
	shop := csr.Outline{Rows: 3e6, Cols: 59_296, NNZ: 2e8, Size: 4e8}.Plan()
	graph := csr.Outline{Rows: 1e6, Cols: 1e6, NNZ: 4e7, Size: 1e8}.Plan()
	for _, run := range []struct {
		store *csr.Store
		rank  int
	}{{shop, 10}, {graph, 50}, {shop, 50}, {shop, 200}, {graph, 10}}[:longtest.Pick(5, 2)] {
		store, rank := run.store, run.rank
		plan := func(memory int64) (cost.Choice, *Choice) {
			task, before, err := begin(store, Options{Rank: rank, Memory: memory})
			must.Do(t, err)
			said, _, err := task.choose(t.Context(), before)
			must.Do(t, err)
			return cost.Choose(task.problem(task.planned)), said
		}
		least := must.Get(Options{Rank: rank}.LeastMemory(t.Context(), store))(t)
		warned := 0
		for memory := least; memory < 64<<30; memory = memory * 5 / 4 {
			c, said := plan(memory)
			if !c.Fits {
				t.Fatalf("k %d: %d bytes are too few, and %d were said to be enough", rank, memory, least)
			}
			twice, _ := plan(2 * memory)
			warns := strings.Contains(said.Reason, "a third of the time")
			if c.Total > 3*twice.Total && !warns {
				t.Errorf("k %d: %v with %d bytes, %v with twice as many: %s", rank, c.Total, memory, twice.Total, said.Reason)
			}
			if !warns {
				continue
			}
			warned++
			task, _, err := begin(store, Options{Rank: rank, Memory: memory})
			must.Do(t, err)
			enough, _ := plan(task.dear(c))
			if enough.Total > c.Total/3 {
				t.Errorf("k %d: %v with %d bytes, %v with those that it names", rank, c.Total, memory, enough.Total)
			}
		}
		if store == shop && rank == 200 && warned == 0 {
			t.Error("nothing is said anywhere: the test does not test")
		}
	}
}

// TestViewsTakeMemory: a run that works within a budget measures its view within it, with as many workers as it has.
func TestViewsTakeMemory(t *testing.T) {
	for _, cells := range []csr.Outline{{Rows: 1e5, Cols: 5000, NNZ: 2e7, Size: 4e7}, {Rows: 1e6, Cols: 1e6, NNZ: 4e7, Size: 1e8}} {
		for _, pipeline := range []string{"center=columns", "bias=both"} {
			o := Options{Rank: 1, View: must.Get(view.Parse(pipeline))(t), Workers: 64}
			o.Memory = must.Get(o.LeastMemory(t.Context(), cells.Plan()))(t)
			task, _, err := begin(cells.Plan(), o)
			must.Do(t, err)
			for i := range task.view.Reads() {
				if err := task.view.Fits(stream.Options{Memory: o.Memory, Workers: o.Workers}, i, 1); err != nil {
					t.Errorf("%d columns, %s, read %d: %v", cells.Cols, pipeline, i, err)
				}
			}
			o.Memory = 1
			if task, _, err = begin(cells.Plan(), o); err != nil {
				t.Fatal(err)
			}
			var least *stream.BudgetError
			if _, err := task.fit(canonical(power.Iteration{}, 1)); !errors.As(err, &least) {
				t.Fatal(err)
			}
			task.Memory = least.Need
			if _, err := task.fit(canonical(power.Iteration{}, 1)); err != nil {
				t.Errorf("%d columns, %s, with the memory that the refusal names: %v", cells.Cols, pipeline, err)
			}
		}
	}
}

// TestViewsTakeTime: the forecast of a pass includes the time to compute the values of a view: less with a table per row
// than for each entry, and none if the values do not change.
func TestViewsTakeTime(t *testing.T) {
	total := func(coding csr.Coding, pipeline string) float64 {
		cells := csr.Outline{Rows: 1e6, Cols: 5000, NNZ: 3e8, Size: 4e8, Values: csr.Values{Coding: coding}}.Plan()
		p := must.Get(view.Parse(pipeline))(t)
		task, _, err := begin(cells, Options{Rank: 20, View: p, Memory: 300 << 20})
		must.Do(t, err)
		problem := task.problem(func(method.Method) cost.Room { return cost.Room{Fits: true} })
		return cost.EstimateOf(problem, task.machine(), lanczos.Krylov{Columns: 8}).Total.Seconds()
	}
	plain := total(csr.Integer, "center=columns")
	rows := total(csr.Integer, "normalize=rows,total:10000 | log1p | center=columns")
	each := total(csr.Float32, "normalize=rows,total:10000 | log1p | center=columns")
	if none := total(csr.Integer, "multiply=2"); plain != none || rows <= plain || each <= 2*rows {
		t.Errorf("%g s without a view, %g s centred, %g and %g s with values anew", none, plain, rows, each)
	}
}
