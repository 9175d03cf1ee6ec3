package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/csr"
)

// final is an error that another try would not mend.
type final struct {
	text string
	kind error // found by errors.Is; may be nil
}

func (f *final) Error() string { return f.text }
func (f *final) Unwrap() error { return f.kind }

// complete runs the tasks of the stages, one stage after the other, and then calls collect. Missing or damaged pieces are
// made again; there are Options.Tries tries in all.
func (r *pass) complete(ctx context.Context, stages [][]Task, collect func(context.Context) error) error {
	wait, begun := r.opt.Wait, 0 // stages that have been run at least once
	for try := 1; ; try++ {
		var err error
		for i := 0; i < len(stages) && err == nil; i++ {
			err = r.stage(ctx, stages[i], i < begun)
			begun = max(begun, i+1)
		}
		if err == nil {
			err = collect(ctx)
		}
		var bad *badPiece
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx) // a cancelled pass must never look like a failed one
		case errors.As(err, new(*final)):
			return err
		case errors.As(err, &bad):
			if e := r.run.take(bad.name); e != nil {
				return errors.Join(err, e)
			}
		}
		if bad == nil && !errors.As(err, new(*missing)) {
			return err // of the driver, such as a RowsOut that fails
		}
		if try == r.opt.Tries {
			return fmt.Errorf("%w (after %d tries)", err, try)
		}
		r.opt.Log.Warn("tasks that have failed are tried again", "pass", r.pass, "try", try, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// missing is the error for tasks that have not made their pieces.
type missing struct {
	piece string
	count int   // number of these tasks
	why   error // may be nil
}

func (m *missing) Error() string {
	text := fmt.Sprintf("%d tasks have not made their pieces", m.count)
	if m.why != nil {
		return fmt.Sprintf("%s, such as %s: %v", text, m.piece, m.why)
	}
	return fmt.Sprintf("%s, though the engine says that they are done: %s is not there", text, m.piece)
}

func (m *missing) Unwrap() error { return m.why }

// lacks returns a piece that a task has not made, "" if it has made all.
func (r *pass) lacks(t Task) string {
	for _, name := range t.made() {
		if !r.run.has(name, r.numbers[name]) {
			return name
		}
	}
	return ""
}

// stage makes damaged pieces of the driver again, and runs the tasks that have missing pieces. again says that it has been
// called with these tasks before.
func (r *pass) stage(ctx context.Context, tasks []Task, again bool) error {
	for name := range r.spoilt {
		delete(r.spoilt, name)
		if put := r.puts[name]; put != nil {
			if err := put(); err != nil {
				return err
			}
		}
	}
	todo := slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool { return r.lacks(t) == "" })
	if len(todo) == 0 {
		return nil
	}
	r.stats.Tasks += len(todo)
	if again {
		r.stats.Retries += len(todo)
	}
	under, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	why := map[int]error{}
	var stop error
	err := r.opt.Engine.Run(under, todo, func(a Answer) {
		r.cost.BytesRead += a.Read
		if r.read != nil {
			r.read(a.Read)
		}
		r.count(a)
		e := r.check(a)
		switch {
		case e == nil:
			return
		case a.Piece != "" && filepath.IsLocal(a.Piece):
			e, r.spoilt[a.Piece] = errors.Join(e, r.run.take(a.Piece)), true
		case errors.As(e, new(*final)) && stop == nil:
			stop = e
			cancel(e)
		}
		why[a.ID] = e
	})
	if stop != nil {
		return stop
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var lack *missing
	for i, t := range todo {
		name := r.lacks(t)
		if name != "" && lack == nil {
			// A client of NFS goes on to say that a name is missing until it sees its folder change.
			if w, e := r.run.create("look"); e == nil {
				w.discard()
			}
			name = r.lacks(t)
		}
		if name == "" {
			continue
		}
		if lack == nil {
			lack = &missing{piece: name}
		}
		lack.count++
		if lack.why == nil && why[i] != nil {
			lack.piece, lack.why = name, why[i]
		}
	}
	if lack == nil {
		return nil
	}
	if lack.why == nil {
		lack.why = err
	}
	return lack
}

// count adds an answer to the Stats.
func (m *Matrix) count(a Answer) {
	m.stats.Read += a.Read
	if a.Worker != "" {
		m.workers[a.Worker] = m.pass
	}
	maps.DeleteFunc(m.workers, func(_ string, pass int) bool { return pass < m.pass-1 })
	m.stats.Workers = len(m.workers)
	if m.opt.Told != nil {
		m.opt.Told(m.stats)
	}
}

// check returns the error of an answer, or an error if its worker computes with other instructions than the others.
func (r *pass) check(a Answer) error {
	kinds := map[Kind]error{Corrupt: csr.ErrCorrupt, Memory: nil, Refused: nil, Unseen: errUnseen}
	if a.Entry != nil {
		kinds[Value] = a.Entry
	}
	if a.Error != "" {
		if kind, known := kinds[a.Kind]; known {
			return &final{a.Error, kind}
		}
		return errors.New(a.Error)
	}
	r.kernel = cmp.Or(r.kernel, a.Kernel)
	if a.Kernel != "" && a.Kernel != r.kernel {
		return &final{fmt.Sprintf("workers compute with different instructions, %s and %s: their results would depend on who does what; take workers of one kind", r.kernel, a.Kernel), nil}
	}
	return nil
}
