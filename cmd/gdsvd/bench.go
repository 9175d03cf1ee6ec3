package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/bench/paper"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/sysmem"
)

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Rerun published experiments",
		Example: `  gdsvd bench paper -o paper`,
		Args:    unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.benchPaperCommand())
	return cmd
}

func (a *app) benchPaperCommand() *cobra.Command {
	var c paper.Config
	cmd := &cobra.Command{
		Use:   "paper -o DIR",
		Short: "Rerun the experiments of “k-SVD with Gradient Descent”",
		Long: `bench paper reruns the experiments of “k-SVD with Gradient Descent” and writes a
report (report.md) with the paper's numbers beside ours, its figures (SVG and
PNG), its data (CSV) and paper.json into DIR. What is done when it is interrupted
is kept: the same command goes on from there.

Scale small takes less than a minute, full less than two hours. Real data are looked for in
--data; what is not there is left out, and the report says so.`,
		Example: `  gdsvd bench paper -o paper
  gdsvd bench paper --scale full --data ~/data --ml10m ml-10M100K/ratings.dat -o paper`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Dir == "" {
				return usagef(cmd, "no DIR to write to: give one with -o")
			}
			if c.ML10M != "" {
				if _, err := os.Stat(c.ML10M); err != nil {
					return usage(cmd, err)
				}
			}
			if cmd.Flags().Changed("data") {
				if _, err := os.ReadDir(c.Data); err != nil {
					return usage(cmd, err)
				}
			}
			return a.benchPaper(cmd.Context(), cmd, c)
		},
	}
	f := cmd.Flags()
	choiceFlag(cmd, f, &c.Scale, "scale", "", paper.Small, named(paper.Small, paper.Full), "how much to run")
	f.StringVarP(&c.Dir, "out", "o", "", "the directory `DIR` for the report")
	f.StringVar(&c.Data, "data", os.Getenv("GDSVD_DATA"), "`DIR` of real data: movielens/ml-1m, mnist, snap, …")
	f.StringVar(&c.ML10M, "ml10m", "", "ratings.dat of MovieLens 10M (scale full)")
	f.Uint64Var(&c.Seed, "seed", 0, "seed of the random numbers")
	f.StringVar(&c.Note, "note", "", "`TEXT` about the circumstances, for the head of the report")
	return cmd
}

func (a *app) benchPaper(ctx context.Context, cmd *cobra.Command, c paper.Config) error {
	v := readVersion()
	c.Commit = "unknown"
	if v.Revision != "" {
		c.Commit = fmt.Sprintf("%.12s", v.Revision)
		if v.Modified {
			c.Commit += " with changes"
		}
	}
	c.Machine = machine()
	a.display.Begin("bench paper")
	defer a.display.End()
	c.Progress = func(done, total int, what string) {
		a.display.Update(progress.State{
			Done: int64(done), Total: int64(total), Text: what,
			Attrs: []slog.Attr{slog.String("case", what)},
		})
	}
	err := paper.Run(ctx, c)
	a.display.End()
	report := filepath.Join(c.Dir, "report.md")
	switch {
	case errors.Is(err, context.Canceled):
		return &outcome{fmt.Sprintf("interrupted; %s has what was done, and the same command goes on", report), context.Canceled}
	case errors.Is(err, paper.ErrOtherRun):
		return usage(cmd, err)
	case err != nil:
		return err
	case a.json:
		return a.printJSON(map[string]any{"report": report, "summary": filepath.Join(c.Dir, "paper.json")})
	}
	_, err = fmt.Fprintln(a.stdout, report)
	return err
}

// modelName is the line of /proc/cpuinfo that names the processor.
var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

// machine describes where the seconds of a report come from.
func machine() string {
	text := fmt.Sprintf("%d processors", runtime.NumCPU())
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if name := modelName.FindSubmatch(info); name != nil {
			text += fmt.Sprintf(" (%s)", name[1])
		}
	}
	if n := sysmem.Available(); n > 0 {
		text += ", " + sysmem.FormatSize(n) + " of memory available"
	}
	return text
}
