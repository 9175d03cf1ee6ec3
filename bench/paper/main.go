// Command paper reruns the experiments of "k-SVD with Gradient Descent" with the
// solvers of this project, and reports the paper's numbers beside ours:
//
//	go run ./bench/paper [-scale small|full] [-data DIR] [-ml10m FILE] -o DIR
//
// [Run] is one run: a list of cases, each one solve or a few, whose records go into tables
// (CSV), figures (SVG and PNG), paper.json, and report.md, which explains all of it.
//
// Scale small takes less than a minute, full less than two hours. Real data that are
// not in -data are left out, and the report says so. The counts of a report depend on
// the scale and the seed alone and are the same on every machine of one architecture;
// the seconds are those of the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
)

func main() {
	log.SetFlags(log.Ltime)
	c, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		log.Print(err)
		os.Exit(2)
	}
	c.Commit, c.Machine = harness.Commit(), harness.Machine()
	c.Progress = func(done, total int, what string) { log.Printf("case %d of %d: %s", done, total, what) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report := filepath.Join(c.Dir, "report.md")
	switch err := Run(ctx, c); {
	case errors.Is(err, context.Canceled):
		log.Printf("interrupted; %s has what was done", report)
		os.Exit(130)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println(report)
}

// parse reads the flags, whose mistakes it reports before anything is written.
func parse(args []string) (Config, error) {
	var c Config
	f := flag.NewFlagSet("paper", flag.ContinueOnError)
	f.StringVar(&c.Scale, "scale", Small, "how much to run: `small or full`")
	f.StringVar(&c.Dir, "o", "", "`DIR` for the report")
	f.StringVar(&c.Data, "data", os.Getenv("GDSVD_DATA"), "`DIR` of real data: movielens/ml-1m, mnist, snap, …")
	f.StringVar(&c.ML10M, "ml10m", "", "ratings.dat of MovieLens 10M (scale full)")
	f.Uint64Var(&c.Seed, "seed", 0, "seed of the random numbers")
	f.StringVar(&c.Note, "note", "", "`TEXT` about the circumstances, for the head of the report")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("argument %q is not understood: everything is a flag", f.Arg(0))
	case c.Scale != Small && c.Scale != Full:
		return c, fmt.Errorf("scale %q: choose small or full", c.Scale)
	case c.Dir == "":
		return c, errors.New("no DIR to write to: give one with -o")
	}
	if c.ML10M != "" {
		if _, err := os.Stat(c.ML10M); err != nil {
			return c, err
		}
	}
	if c.Data != "" {
		if _, err := os.ReadDir(c.Data); err != nil {
			return c, err
		}
	}
	return c, nil
}
