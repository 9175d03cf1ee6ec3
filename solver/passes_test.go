package solver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// TestWhenPassesEnd goes through the reasons why no further pass is made.
func TestWhenPassesEnd(t *testing.T) {
	now := time.Unix(1000, 0)
	s := Settings{MaxPasses: 3, Deadline: now.Add(time.Second), Clock: func() time.Time { return now }}
	ctx, cancel := context.WithCancel(t.Context())
	p := newPasses(ctx, tallskinny.NewArena(ctx, nil, 1), nothing5{}, s)
	for i, want := range []Status{NotTerminated, NotTerminated, PassLimit} {
		if got := p.may(1); got != want {
			t.Errorf("after %d of 3 passes, one of them to be kept: %v, want %v", i, got, want)
		}
		must.Do(t, p.make(func() error { return nil }, 5, 2, 2))
	}
	if c := p.cost(); c.Passes != 3 || c.Products != 6 {
		t.Errorf("three passes of two columns cost %+v", c)
	}
	p.most, now = 0, now.Add(time.Minute)
	if got := p.may(0); got != TimeLimit || p.cut {
		t.Errorf("after the deadline: %v, cut %v", got, p.cut)
	}
	other := errors.New("disk")
	if _, err := p.fault(other); err != other {
		t.Errorf("an error of the disk becomes %v", err)
	}
	cancel()
	if got := p.may(0); got != Cancelled || !p.cut {
		t.Errorf("after the context has ended: %v, cut %v", got, p.cut)
	}
	if st, err := p.fault(ctx.Err()); st != Cancelled || err != nil {
		t.Errorf("the error of the context becomes %v, %v", st, err)
	}
}

// TestRounds checks that the search continues after a certificate as long as each certificate
// halves the largest residual, and at most maxRounds times.
func TestRounds(t *testing.T) {
	var r rounds
	for i, c := range []struct {
		worst float64
		want  bool
	}{{1, true}, {0.5, true}, {0.3, false}, {0.1, true}} {
		if got := r.another(c.worst); got != c.want {
			t.Errorf("residual %d, %g: %v", i, c.worst, got)
		}
	}
	r.count = maxRounds
	if r.another(1e-9) {
		t.Error("there is no last round")
	}
}
