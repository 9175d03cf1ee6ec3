package factor

import (
	"github.com/gdsvd/gdsvd/stream/remote"
)

// Engine is what a result says of the engine that made its passes.
type Engine struct {
	Name    string `json:"name"`
	Groups  int    `json:"groups"`  // that the matrix was cut into; the bits depend on it
	Tasks   int    `json:"tasks"`   // that the engine was given
	Retries int    `json:"retries"` // of them, again
}

// onEngine begins the tasks that make the passes of the run; nil: they are made by this process.
func (t *task) onEngine(place placement) (*remote.Matrix, error) {
	if t.Remote == nil {
		return nil, nil
	}
	if place.files > 0 {
		return nil, says(nil, "the vectors are too large for %v: a run with an %v has them in memory; give more", Option("Memory"), Option("Remote"))
	}
	o := *t.Remote
	o.FS, o.Log = t.FS, t.Log
	if local, ok := o.Engine.(*remote.Local); ok && local.Memory == 0 {
		local.Memory, local.Workers, local.Reserve = t.Memory, t.Workers, place.options.Reserve
	}
	s := remote.Subject{Store: t.store}
	if t.view != nil {
		s.View, s.Pipeline = t.view, t.View.String()
	}
	return remote.New(s, o)
}

func (t *task) sayEngine(r *Result, tasks *remote.Matrix) {
	if tasks != nil {
		stats := tasks.Stats()
		r.Engine = &Engine{t.Remote.Engine.Name(), tasks.Groups(), stats.Tasks, stats.Retries}
	}
}
