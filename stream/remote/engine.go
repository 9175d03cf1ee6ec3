package remote

import (
	"context"
	"io"

	"golang.org/x/sync/errgroup"
)

// Engine has tasks done somewhere.
type Engine interface {
	// Run has tasks done, in any order and any number of times, and calls answer, one call at a time, when one has ended.
	// Answer.ID is its index. It returns when nothing more will be answered; an error, or an answer without error, is not taken
	// for what has happened: see Matrix. A cancelled ctx ends it soon.
	Run(ctx context.Context, tasks []Task, answer func(Answer)) error
	// Name is for people: "local".
	Name() string
	io.Closer
}

// Local does tasks in this process. It is what other engines are compared with.
type Local struct {
	*Worker
	Parallel int // tasks at a time, each with the memory and the goroutines of the Worker; 0: one
}

var _ Engine = (*Local)(nil)

func (*Local) Name() string { return "local" }

func (e *Local) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	var g errgroup.Group
	g.SetLimit(max(1, e.Parallel))
	answers := make(chan Answer)
	go func() {
		for i, t := range tasks {
			if ctx.Err() != nil {
				break
			}
			g.Go(func() error {
				a := e.Do(ctx, t)
				a.ID = i
				answers <- a
				return nil
			})
		}
		_ = g.Wait() // it has none
		close(answers)
	}()
	for a := range answers {
		answer(a)
	}
	return context.Cause(ctx)
}
