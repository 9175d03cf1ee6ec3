package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
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
// against a limit of it: e.Dir, or else one in /var/tmp that Close removes. Without
// one the trial is skipped.
func (e *Env) Disk() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	const other = "/var/tmp"
	switch {
	case e.disk != "":
	case !inMemory(e.Dir):
		e.disk = e.Dir
	case inMemory(other):
		check(skipf("all directories for temporary files lie in memory"))
	default:
		e.disk = need(os.MkdirTemp(other, "gdsvd-hostile-"))
	}
	return e.disk
}

// inMemory reports whether the files of a directory lie in memory, as far as stat(1) tells.
func inMemory(dir string) bool {
	kind, err := exec.Command("stat", "-f", "-c", "%T", dir).Output()
	name := strings.TrimSpace(string(kind))
	return err == nil && (name == "tmpfs" || name == "ramfs")
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
func (t *Trial) fixture(name string, fill func(t *Trial)) string {
	return t.fixtureIn(t.env.Dir, name, fill)
}

func (t *Trial) fixtureIn(parent, name string, fill func(t *Trial)) string {
	e := t.env
	e.mu.Lock()
	if e.fixtures == nil {
		e.fixtures = map[string]*fixture{}
	}
	f := e.fixtures[name]
	if f == nil {
		f = &fixture{dir: filepath.Join(parent, "fixture-"+name)}
		e.fixtures[name] = f
	}
	e.mu.Unlock()
	f.once.Do(func() {
		x := newTrial(t.ctx, e, "fixture "+name, 0, 0)
		x.Dir, x.limit = f.dir, max(e.Limit, time.Minute)
		f.err = os.Mkdir(f.dir, 0o777)
		if f.err != nil {
			return
		}
		if err := outcome(func() { fill(x) }); err != nil {
			f.err = fmt.Errorf("fixture %s: %w", name, err) // no judgement of a trial
		}
	})
	check(f.err)
	return f.dir
}

// try runs one trial of an attack in a directory of its own. The error is for one that could not be
// carried out, else the trial has what came of it.
func (e *Env) try(ctx context.Context, a Attack, seed uint64, number int, long bool) (t *Trial, err error) {
	t = newTrial(ctx, e, a.Name, seed, number)
	t.Long, t.Outcome = long, Right
	if t.Dir, err = os.MkdirTemp(e.Dir, fmt.Sprintf("%s-%d-", a.Name, number)); err != nil {
		return t, err
	}
	dir := t.Dir
	switch j := outcome(func() { a.Run(t) }).(type) {
	case nil:
	case *judgement:
		t.Outcome, t.What = j.outcome, j.what
	default:
		err = fmt.Errorf("%s, seed %d, trial %d: %w", a.Name, seed, number, j)
	}
	if !e.Keep {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return t, err
}

// load keeps the processors busy until stop is called.
func load(processes int) (stop func()) {
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
			check(err)
		}
		all = append(all, c)
	}
	return stop
}
