package factor

import (
	"context"
	"errors"

	"github.com/gdsvd/gdsvd/stream/remote"
)

// Engine is what a result says of the engine that made its passes.
type Engine struct {
	Name    string `json:"name"`
	Groups  int    `json:"groups"`  // that the matrix was cut into; the bits depend on it
	Tasks   int    `json:"tasks"`   // that the engine was given
	Retries int    `json:"retries"` // of them, again
	// PassSeconds is what a pass takes beside its work, as it was measured or given for the choice of the method; absent if there was none.
	PassSeconds float64 `json:"pass_seconds,omitempty"`
}

// onEngine begins the tasks that make the passes of the run, and measures what a pass takes beside its work if a method is to be
// chosen by it; nil: passes are made by this process.
func (t *task) onEngine(ctx context.Context, before outState) (_ *remote.Matrix, err error) {
	if t.Remote == nil {
		return nil, nil
	}
	o := *t.Remote
	o.FS, o.Log = t.FS, t.Log
	s := remote.Subject{Store: t.store}
	if t.view != nil {
		s.View, s.Pipeline = t.view, t.View.String()
	}
	tasks, err := remote.New(s, o)
	if err == nil && t.Method == nil && t.PassCost == 0 && !(t.Resume && before.checkpoint) {
		if t.PassCost, err = tasks.PassCost(ctx); err != nil {
			err = errors.Join(err, tasks.Close())
		}
	}
	return tasks, err
}

// explainEngine says what is known of the engine before a run, after measuring what a pass takes unless that is given.
func (t *task) explainEngine(ctx context.Context, before outState) (*Engine, error) {
	if t.Remote == nil {
		return nil, nil
	}
	e := &Engine{Groups: min(t.Remote.Groups, max(1, t.store.NumBlocks()))}
	if t.PassCost == 0 {
		tasks, err := t.onEngine(ctx, before)
		if err == nil {
			err = tasks.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	if e.PassSeconds = t.PassCost.Seconds(); t.Remote.Engine != nil {
		e.Name = t.Remote.Engine.Name()
	}
	return e, nil
}

// placeTasks gives tasks of this process their share of the budget.
func (t *task) placeTasks(place placement) error {
	if t.Remote == nil {
		return nil
	}
	if place.files > 0 {
		return says(nil, "the vectors are too large for %v: a run with an %v has them in memory; give more", Option("Memory"), Option("Remote"))
	}
	if local, ok := t.Remote.Engine.(*remote.Local); ok && local.Memory == 0 {
		local.Memory, local.Workers, local.Reserve = t.Memory, t.Workers, place.options.Reserve
	}
	return nil
}

func (t *task) sayEngine(r *Result, tasks *remote.Matrix) {
	if tasks != nil {
		stats := tasks.Stats()
		r.Engine = &Engine{t.Remote.Engine.Name(), tasks.Groups(), stats.Tasks, stats.Retries, t.PassCost.Seconds()}
	}
}
