package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/factor/live"
)

func (a *app) completeCommand() *cobra.Command {
	var o factor.CompleteOptions
	lambda := "auto"
	cmd := &cobra.Command{
		Use:   "complete STORE -k K -o OUT",
		Short: "Predict the entries that a store lacks, by a matrix of low rank",
		Long: `complete fits a matrix Z of rank at most K to the stored entries and treats all others as
missing, not as zero (soft-impute: least squares plus λ times the sum of the singular
values of Z), and writes the singular value decomposition of Z to OUT.
A missing entry is predicted as the mean, plus the biases of its row and its
column with --biases, plus the entry of Z.

With --lambda auto a twentieth of the entries is held out, λ decreases from the least
value with Z = 0 until the error on them rises, and all entries are fitted with the best
λ.

result.json has the objective and a lower bound of it over all Z of any rank.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd complete ml-1m.csr -k 20 --biases -o ml-1m.complete
  gdsvd complete ml-1m.csr -k 20 --biases --lambda 18 -o ml-1m.complete`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if lambda != "auto" {
				var err error
				if o.Lambda, err = strconv.ParseFloat(lambda, 64); err != nil || !(o.Lambda > 0 && o.Lambda <= math.MaxFloat64) {
					return ui.Usagef(cmd, "--lambda %s: want a number above 0, or auto", lambda)
				}
			}
			switch {
			case o.Rank < 1:
				return ui.Usagef(cmd, "the largest rank is missing: give it with -k")
			case o.Dir == "":
				return ui.Usagef(cmd, "no OUT to write: give one with -o")
			case !(o.Tol > 0 && o.Tol < 1):
				return ui.Usagef(cmd, "--tol %v: want a tolerance between 0 and 1, both excluded", o.Tol)
			case !(o.Damping > 0):
				return ui.Usagef(cmd, "--damping %v: want a number above 0", o.Damping)
			case !(o.Holdout > 0 && o.Holdout <= 0.9):
				return ui.Usagef(cmd, "--holdout %v: want a share from 0 to 0.9, 0 excluded", o.Holdout)
			case lambda != "auto" && a.standing.Given(cmd, "holdout") || !o.Biases && a.standing.Given(cmd, "damping"):
				return ui.Usagef(cmd, "--holdout is for --lambda auto, --damping for --biases: here it would change nothing")
			case o.Rounds < 1:
				return ui.Usagef(cmd, "--max-rounds %d: want 1 or more", o.Rounds)
			case o.CheckpointEvery == 0:
				o.CheckpointEvery = -1 // the value of factor.Options for never
			}
			r, err := a.complete(cmd, args[0], o)
			if r == nil {
				return err
			}
			return errors.Join(err, a.printResult(r, o.Dir))
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.Rank, "rank", "k", 0, "largest rank `K` of Z")
	f.StringVarP(&o.Dir, "out", "o", "", "the directory `OUT` to write")
	f.StringVar(&lambda, "lambda", lambda, "weight of the sum of the singular values, or auto")
	f.BoolVar(&o.Biases, "biases", false, "also fit a bias for each row and column")
	f.Float64Var(&o.Damping, "damping", complete.DefaultDamping, "entries that a bias is shrunk by")
	f.Float64Var(&o.Holdout, "holdout", complete.DefaultHoldout, "share of the entries that --lambda auto holds out")
	f.Float64Var(&o.Tol, "tol", complete.DefaultTol, "end when a round lowers the objective by less than this share of the objective")
	f.IntVar(&o.Rounds, "max-rounds", complete.DefaultRounds, "most rounds with the final λ")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the random start vectors and of the hold-out")
	f.IntVar(&o.Workers, "workers", 0, "multiply with `N` threads (0: all processors); the result does not depend on it")
	f.Var(ui.Size(&o.Memory, true), "memory", "memory to stay within; auto takes 60 % of what is available")
	f.BoolVar(&o.Replace, "force", false, "replace an existing OUT, in one step at the end")
	partialFlag(f, &a.partialOK)
	f.BoolVar(&o.Resume, "resume", false, "continue from the checkpoint in OUT, with the bits of an uninterrupted run")
	a.recordFlags(f)
	f.DurationVar(&o.CheckpointEvery, "checkpoint-every", factor.DefaultCheckpointEvery, "time between checkpoints of the run in OUT, which are written between two rounds (0: no checkpoints)")
	return cmd
}

func (a *app) complete(cmd *cobra.Command, path string, o factor.CompleteOptions) (_ *factor.Result, err error) {
	defer a.within(&o.Memory)()
	store, err := a.openFor(cmd, path, "", o.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	o.Command = again(cmd, path)
	rec, end, err := a.record(cmd, aboutRun(cmd, store, path, o.Options))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(err)) }()
	a.display.Begin("complete")
	defer a.display.End()
	o.FS, o.Log, o.Writing = a.fsys, a.display.Logger(), a.doing.Writing
	began, first := time.Now(), 0
	var shown atomic.Pointer[ui.State] // the state after the last round
	shown.Store(&ui.State{Text: "round 1, means"})
	o.Reading = func(done, total int64) {
		now := *shown.Load()
		now.Done, now.Total, now.Bytes = done, total, true
		a.display.Update(now)
		rec.Stage(live.Stage{Name: "round", Unit: "bytes", Done: done, Total: total})
	}
	o.Round = func(s *complete.State) {
		if first == 0 {
			first = s.Rounds - 1 // rounds of the run that this one resumes
		}
		rate := float64(s.Rounds-first) / max(time.Since(began).Seconds(), 1e-6)
		text := fmt.Sprintf("round %d, %.3g/s, %v: λ %.4g, rmse %.4f", s.Rounds, rate, s.Phase, s.Lambda, s.RMSE)
		if s.Held > 0 {
			text += fmt.Sprintf(", %.4f on entries held out", s.Held)
		}
		if s.Phase == complete.Final {
			text += fmt.Sprintf("; %d more at most", o.Rounds-s.At)
		}
		shown.Store(&ui.State{Text: text, Attrs: []slog.Attr{
			slog.Int("round", s.Rounds), slog.String("phase", s.Phase.String()), slog.Float64("lambda", s.Lambda), slog.Float64("rmse", s.RMSE),
			slog.Any("rounds/s", ui.Figure{X: rate, Digits: 3}),
		}})
		a.display.Update(*shown.Load())
		rec.Pass(factor.Event{
			Phase: s.Phase.String(), Pass: s.Rounds, Lambda: factor.Number(s.Lambda), Objective: factor.Number(s.F), RMSE: factor.Number(s.RMSE), HeldOut: factor.Number(s.Held),
		}, live.Stage{Name: s.Phase.String()})
	}
	var proof time.Time
	o.Proof = func(done, of int) {
		now := ui.State{Done: int64(done), Total: int64(of), Text: fmt.Sprintf("read %d of %d at most, for the factors and the bound", done+1, of)}
		if done == 0 {
			proof = time.Now()
		} else {
			now.ETA, now.About = time.Since(proof)*time.Duration(of-done)/time.Duration(done), true
		}
		a.display.Update(now)
		rec.Stage(live.Stage{Name: "factors and bound", Unit: "reads", Done: now.Done, Total: now.Total, Left: now.ETA.Seconds()})
	}
	return factor.Complete(cmd.Context(), store, o)
}
