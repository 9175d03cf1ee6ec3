package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/bench/harness"
)

// Env is what the trials of a run have in common.
type Env struct {
	Program *harness.Program
	Dir     string        // for everything
	Limit   time.Duration // after which a process has hung
	Late    time.Duration // after which an exit on a signal is late; 0: never
	Keep    bool          // directories of trials stay

	mu       sync.Mutex
	fixtures map[string]*fixture
	disk     string // a directory on a disk, once it is asked for
}

// fixture is a directory that trials read from.
type fixture struct {
	once sync.Once
	dir  string
	err  error
}

// Disk is a directory whose files do not lie in memory, where they would count
// against a limit of it: e.Dir, or else one in /var/tmp that Close removes. It is
// empty if there is none.
func (e *Env) Disk() (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.disk != "" {
		return e.disk, nil
	}
	const other = "/var/tmp"
	switch {
	case !inMemory(e.Dir):
		e.disk = e.Dir
	case !inMemory(other):
		dir, err := os.MkdirTemp(other, "gdsvd-hostile-")
		if err != nil {
			return "", err
		}
		e.disk = dir
	}
	return e.disk, nil
}

// Close removes what lies outside of e.Dir.
func (e *Env) Close() error {
	if e.disk == "" || e.disk == e.Dir || e.Keep {
		return nil
	}
	return os.RemoveAll(e.disk)
}

// fixture returns the directory of the name, which is made when it is asked for
// first. What is made in it must not depend on the trial that asks.
func (e *Env) fixture(name string, fill func(t *Trial) error) (string, error) {
	return e.fixtureIn(e.Dir, name, fill)
}

func (e *Env) fixtureIn(parent, name string, fill func(t *Trial) error) (string, error) {
	e.mu.Lock()
	if e.fixtures == nil {
		e.fixtures = map[string]*fixture{}
	}
	f := e.fixtures[name]
	if f == nil {
		f = &fixture{}
		e.fixtures[name] = f
	}
	e.mu.Unlock()
	f.once.Do(func() {
		f.dir = filepath.Join(parent, "fixture-"+name)
		t := newTrial("fixture "+name, 0, 0)
		t.Dir, t.program, t.limit = f.dir, e.Program.Path, max(e.Limit, time.Minute)
		if f.err = os.Mkdir(f.dir, 0o777); f.err != nil {
			return
		}
		if err := fill(t); err != nil {
			f.err = fmt.Errorf("fixture %s: %w", name, err) // no judgement of a trial
		}
	})
	return f.dir, f.err
}

// try runs one trial of an attack in a directory of its own.
func (e *Env) try(ctx context.Context, a Attack, seed uint64, number int, long bool) (v Verdict, commands []string, err error) {
	t := newTrial(a.Name, seed, number)
	t.program, t.limit, t.Long = e.Program.Path, e.Limit, long
	if t.Dir, err = os.MkdirTemp(e.Dir, fmt.Sprintf("%s-%d-", a.Name, number)); err != nil {
		return v, nil, err
	}
	dir := t.Dir
	v = a.Run(ctx, e, t)
	if !e.Keep {
		err = os.RemoveAll(dir)
	}
	if v.Err != nil {
		return v, t.commands, errors.Join(fmt.Errorf("%s, seed %d, trial %d: %w", a.Name, seed, number, v.Err), err)
	}
	return v, t.commands, err
}

// load keeps the processors busy until stop is called.
func load(processes int) (stop func(), err error) {
	var all []*exec.Cmd
	stop = func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for range processes {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			stop()
			return nil, err
		}
		all = append(all, c)
	}
	return stop, nil
}
