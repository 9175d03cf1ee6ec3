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

// Scale is how much of the paper is rerun.
type Scale uint8

const (
	// Small takes some ten seconds: small matrices, gaps down to 10⁻³, and of
	// the real data MovieLens 100K only.
	Small Scale = iota
	// Full is everything that the paper reports.
	Full
)

// String returns "small" or "full".
func (s Scale) String() string {
	if s == Full {
		return "full"
	}
	return "small"
}

func (s *Scale) set(text string) error {
	for _, scale := range []Scale{Small, Full} {
		if text == scale.String() {
			*s = scale
			return nil
		}
	}
	return errors.New("choose small or full")
}

// Config says what to run and where. Scale, Seed, ML10M and what is found in Data
// determine all results but the seconds.
type Config struct {
	Scale Scale
	Dir   string // for the journal and all outputs; made if it does not exist
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

// Run runs the cases that the journal in c.Dir does not have yet, and writes
// the report of all it has then, also when it was interrupted: the error is that
// of the context in this case. The report says which cases are missing.
func Run(ctx context.Context, c Config) (err error) {
	if err := os.MkdirAll(filepath.Join(c.Dir, storesName), 0o777); err != nil {
		return err
	}
	l := &lab{Config: c}
	tasks := l.tasks()
	if l.journal, err = openJournal(c.Dir, fmt.Sprintf("gdsvd bench paper, scale %v, seed %d", c.Scale, c.Seed)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.journal.close()) }()
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
		if l.journal.records[t.Key] != nil {
			continue
		}
		l.Progress(i, len(tasks), t.Key)
		err := ended(ctx, t.run(ctx))
		if err == nil {
			err = l.journal.add(t.Record)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.Key, err)
		}
	}
	l.Progress(len(tasks), len(tasks), "report")
	return nil
}

// lab is a run under way.
type lab struct {
	Config
	journal *journal

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
