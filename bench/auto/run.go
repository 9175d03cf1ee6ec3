package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// run is what one run has come to.
type run struct {
	seconds float64
	passes  int
	choice  *harness.Choice
	failed  string // why there is no result
	late    bool   // it was stopped
}

// measure runs a choice once, for no longer than limit if there is one. The error is for what is wrong with measuring;
// that the choice is impossible, or does not converge, is part of the run.
func measure(o options, store string, k int, flags string, limit time.Duration) (r run, err error) {
	dir, err := os.MkdirTemp("", "gdsvd-auto-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	args := []string{"svd", store, "-k", strconv.Itoa(k), "-o", filepath.Join(dir, "out"), "-q", "--json", "--vectors", "none", "--checkpoint-every", "0"}
	if o.memory > 0 {
		args = append(args, "--memory", strconv.FormatInt(o.memory, 10))
	}
	var g *cgroup.Group
	if o.rate > 0 {
		if g, err = throttle(store, o); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, g.Remove()) }()
	}
	ctx := context.Background()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	done, err := o.gdsvd.Run(ctx, g, append(args, strings.Fields(flags)...)...)
	var exit *exec.ExitError
	switch {
	case err != nil && ctx.Err() != nil:
		return run{late: true}, nil
	case errors.As(err, &exit):
		return run{failed: err.Error()}, nil
	case err != nil:
		return r, err
	}
	var result harness.Result
	err = done.Decode(&result)
	return run{seconds: done.Seconds, passes: result.Passes, choice: result.Choice}, err
}

func throttle(store string, o options) (*cgroup.Group, error) {
	s, err := harness.OpenStore(store, 0)
	if err != nil {
		return nil, err
	}
	if err := s.Forget(); err != nil {
		return nil, err
	}
	g, err := cgroup.New("gdsvd-auto", o.memory)
	if err != nil {
		return nil, err
	}
	if err := g.LimitReads(store, o.rate); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}
