package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
)

// runFlags say where a run starts, when it stops and how it is kept meanwhile.
type runFlags struct {
	checkpointEvery time.Duration // 0: never
	resume          bool
	init            string // the result with the start vectors
	timeLimit       time.Duration
}

const defaultCheckpointEvery = 30 * time.Second

func addRunFlags(f *pflag.FlagSet, o *runFlags) {
	f.DurationVar(&o.checkpointEvery, "checkpoint-every", defaultCheckpointEvery,
		"save the run in OUT after so much time, between two passes (0: never)")
	f.BoolVar(&o.resume, "resume", false, "go on from the checkpoint in OUT; the result has the same bits as that of a run without a break; if it is finished, only say so")
	f.StringVar(&o.init, "init", "", "start from the vectors of the result `OUT0`, of this store or a similar one")
	f.DurationVar(&o.timeLimit, "time-limit", 0, "stop iterating after so much time and finish with what there is (0: no limit)")
}

func (o *runFlags) check(cmd *cobra.Command) error {
	switch {
	case o.checkpointEvery < 0:
		return usagef(cmd, "--checkpoint-every %v: want a time, or 0 for never", o.checkpointEvery)
	case o.timeLimit < 0:
		return usagef(cmd, "--time-limit %v: want a time, or 0 for no limit", o.timeLimit)
	}
	return nil
}

// newCheckpoints returns what saves the run.
func (a *app) newCheckpoints(out *output, before outState, o *svdOptions) *checkpoints {
	return &checkpoints{
		fsys: a.fsys, dir: filepath.Clean(o.out), every: o.checkpointEvery, share: a.share,
		events: out.events.copyTo, during: a.during, log: a.display.Logger(), last: time.Now(),
		saved: o.resume && before.checkpoint,
	}
}

// startFrom fills in where the run starts: at a checkpoint, at the vectors of
// another result, or at random. done is to be called after it.
func (a *app) startFrom(ctx context.Context, store *csr.Store, out *output, before outState, o *svdOptions, set *solver.Settings) (done func() error, err error) {
	done = func() error { return nil }
	switch {
	case o.resume && before.checkpoint:
		saved, err := openCheckpoint(a.fsys, o.out)
		if err != nil {
			return nil, err
		}
		err = out.recall(filepath.Join(o.out, checkpointEvents), saved.Passes())
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody has tidied up
			a.display.Logger().Warn("the run goes on; "+eventsFile+" will lack passes before this", "error", message(err))
		}
		set.Resume = saved.Checkpoint
		a.display.Logger().Info("going on", "pass", saved.Passes(), "found", saved.Locked(), "of", o.rank)
		return saved.Close, nil
	case o.init != "":
		set.Init, err = a.startVectors(ctx, store, o.init, max(o.rank, set.Method.Traits(o.rank).Width(o.rank)), out.space)
		if err != nil {
			return nil, err
		}
	}
	if o.resume {
		a.display.Logger().Info("there is no checkpoint to go on from: beginning", "out", o.out)
	}
	return done, nil
}

// unfinished reports whether there is a checkpoint from which a run that ended
// so can go on.
func (c *checkpoints) unfinished(st solver.Status) bool {
	return c.saved && (st == solver.Cancelled || st == solver.TimeLimit || st == solver.PassLimit)
}

// leaves says what there is at OUT after an interruption that has written no
// result.
func (c *checkpoints) leaves(before outState, out string) string {
	switch {
	case c.saved && before.result:
		return fmt.Sprintf("%s is left as it was, with a checkpoint: --resume goes on from there", out)
	case c.saved:
		return fmt.Sprintf("a checkpoint is in %s: --resume goes on from there", out)
	case before.exists:
		return fmt.Sprintf("%s is left as it was", out)
	}
	return "nothing is written"
}

// afterFault adds to the error of a run what there is to be done about it.
func (c *checkpoints) afterFault(err error) error {
	if told := resumeError(err, c.dir); told != nil {
		return told
	}
	if hint := formHint(err); hint != "" {
		return fmt.Errorf("%w; %s", err, hint)
	}
	if now, e := inspectOut(c.fsys, c.dir); !c.saved || e != nil || !now.checkpoint {
		return err
	}
	return fmt.Errorf("%w; a checkpoint is in %s: --resume goes on from there", err, c.dir)
}

// formHint says what to do about a matrix that does not have the form asked for, which
// no checkpoint helps; it is empty for other errors.
func formHint(err error) string {
	switch {
	case errors.Is(err, solver.ErrNotDefinite):
		return "take --operator gram, which works for any matrix, or add a multiple of the identity to the matrix so that no eigenvalue is below zero"
	case errors.Is(err, solver.ErrNotSymmetric):
		return "take --operator gram, which works for any matrix"
	}
	return ""
}
