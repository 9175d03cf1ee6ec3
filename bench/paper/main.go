// Command paper repeats the experiments of "k-SVD with Gradient Descent" with the solvers of this project, and reports the
// numbers of the paper beside the new ones:
//
//	go run ./bench/paper [-scale small|full] [-data DIR] [-ml10m FILE] -o DIR
//
// [Run] runs a list of cases, each of which is one solve or a few. It writes their records to records.json, figures (SVG and
// PNG), paper.json, and report.md, which explains the results.
//
// Scale small takes less than a minute, full less than two hours. Real data that are not in -data are left out, and the report
// says so. The counts of a report depend only on the scale and the seed and are the same on every machine of one architecture;
// the seconds depend on the machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/solver"
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

// parse reads the flags. It reports errors before anything is written.
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

// The scales, that is, the parts of the paper that are repeated.
const (
	// Small takes some ten seconds: small matrices, gaps down to 10⁻³, and only MovieLens 100K of the real data.
	Small = "small"
	// Full is everything that the paper reports.
	Full = "full"
)

// Config says what to run and where. Scale, Seed, ML10M and the files found in Data determine all results except the seconds.
type Config struct {
	Scale string
	Dir   string // directory of all outputs; created if it does not exist
	Data  string // directory of real data, with the paths of datasets; may be empty
	ML10M string // ratings.dat of MovieLens 10M; may be empty
	Seed  uint64

	// Data for the head of the report.
	Commit, Machine, Note string

	// Progress is called before each case and after the last one.
	Progress func(done, total int, what string)
}

// task is one case: its record, and the function that fills the record.
type task struct {
	*Record
	run func(ctx context.Context) error
}

// Run runs all cases and writes the report of those that have ended, even if it was interrupted; then the error is that of the
// context. The report says which cases are missing.
func Run(ctx context.Context, c Config) (err error) {
	if err := os.MkdirAll(filepath.Join(c.Dir, storesName), 0o777); err != nil {
		return err
	}
	l := &lab{Config: c, records: map[string]*Record{}}
	tasks := l.tasks()
	err = errors.Join(l.runAll(ctx, tasks), l.release(), l.report(tasks))
	if err == nil {
		err = os.RemoveAll(l.storeDir())
	}
	return err
}

func (l *lab) tasks() []task {
	return slices.Concat(l.tableTasks(), l.crossed("passes", inPasses, passMethods, l.passesCase), l.crossed("real", inTable, tableMethods, l.realCase), l.sizeTasks(), l.gapTasks())
}

func (l *lab) runAll(ctx context.Context, tasks []task) error {
	for i, t := range tasks {
		l.Progress(i, len(tasks), t.Key)
		if err := cmp.Or(t.run(ctx), ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", t.Key, err)
		}
		l.records[t.Key] = t.Record
	}
	l.Progress(len(tasks), len(tasks), "report")
	return nil
}

// lab is the state of a run.
type lab struct {
	Config
	records map[string]*Record // of the tasks that have ended

	// The current matrix, which successive cases share.
	held    *problem
	heldKey string
}

// triplets are the leading singular triplets of a matrix.
type triplets struct {
	u, v  *mat.Dense
	sigma []float64 // descending
}

// problem is a matrix with its known triplets, if any.
type problem struct {
	triplets
	a      solver.Matrix
	bytes  int64 // size of the store
	closer func() error
}

// hold returns the current problem if it has the given key, else it releases it and makes a new one.
func (l *lab) hold(key string, make func() (*problem, error)) (*problem, error) {
	if l.heldKey == key {
		return l.held, nil
	}
	if err := l.release(); err != nil {
		return nil, err
	}
	p, err := make()
	if err != nil {
		return nil, err
	}
	l.held, l.heldKey = p, key
	return p, nil
}

func (l *lab) release() error {
	p := l.held
	l.held, l.heldKey = nil, ""
	if p == nil {
		return nil
	}
	return p.closer()
}
