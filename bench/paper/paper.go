package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// The scales: how much of the paper is rerun.
const (
	// Small takes some ten seconds: small matrices, gaps down to 10⁻³, and of
	// the real data MovieLens 100K only.
	Small = "small"
	// Full is everything that the paper reports.
	Full = "full"
)

// Config says what to run and where. Scale, Seed, ML10M and what is found in Data
// determine all results but the seconds.
type Config struct {
	Scale string
	Dir   string // for all outputs; made if it does not exist
	Data  string // directory of real data, laid out as datasets says; may be empty
	ML10M string // ratings.dat of MovieLens 10M; may be empty
	Seed  uint64

	// What the report says about its origin.
	Commit, Machine, Note string

	// Progress is called before each case and after the last.
	Progress func(done, total int, what string)
}

// task is one case: its record, and what fills it.
type task struct {
	*Record
	run func(ctx context.Context) error
}

// Run runs all cases and writes the report of those that have ended, also when it was
// interrupted: the error is that of the context in this case. The report says which cases are missing.
func Run(ctx context.Context, c Config) (err error) {
	if err := os.MkdirAll(filepath.Join(c.Dir, storesName), 0o777); err != nil {
		return err
	}
	l := &lab{Config: c, records: map[string]*Record{}}
	tasks := l.tasks()
	ran := l.runAll(ctx, tasks)
	err = errors.Join(ran, l.release(), l.report(tasks))
	if err == nil {
		err = os.RemoveAll(l.storeDir())
	}
	return err
}

func (l *lab) tasks() []task {
	return slices.Concat(l.tableTasks(), l.passesTasks(), l.realTasks(), l.sizeTasks(), l.gapTasks())
}

func (l *lab) runAll(ctx context.Context, tasks []task) error {
	for i, t := range tasks {
		l.Progress(i, len(tasks), t.Key)
		if err := ended(ctx, t.run(ctx)); err != nil {
			return fmt.Errorf("%s: %w", t.Key, err)
		}
		l.records[t.Key] = t.Record
	}
	l.Progress(len(tasks), len(tasks), "report")
	return nil
}

// lab is a run under way.
type lab struct {
	Config
	records map[string]*Record // of the tasks that have ended

	// The matrix in use: successive cases share one.
	held    *problem
	heldKey string
}

// triplets are the leading ones of a matrix.
type triplets struct {
	u, v  *mat.Dense
	sigma []float64 // descending
}

// problem is a matrix and what is known about it.
type problem struct {
	triplets
	a      solver.Matrix
	bytes  int64 // of its store
	closer func() error
}

// hold returns the problem of that name, making it unless it is the one in use.
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
	if p == nil || p.closer == nil {
		return nil
	}
	return p.closer()
}
