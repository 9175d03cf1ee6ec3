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

// Env holds what the trials of a run share.
type Env struct {
	Program *harness.Program
	Dir     string        // directory for all files
	Limit   time.Duration // time after which a process counts as hung
	Late    time.Duration // time after which an exit on a signal is late; 0: never
	Keep    bool          // directories of trials are kept

	mu       sync.Mutex
	fixtures map[string]*fixture
	disk     string // a directory on a disk; empty until Disk is called
}

// fixture is a directory that trials read from.
type fixture struct {
	once sync.Once
	dir  string
	err  error
}

// Disk returns a directory whose files do not lie in memory, where they would count against a
// memory limit: e.Dir, or else a directory in /var/tmp that Close removes. If both lie in memory,
// the trial is skipped.
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

// inMemory reports whether stat(1) names a memory file system for dir.
func inMemory(dir string) bool {
	kind, err := exec.Command("stat", "-f", "-c", "%T", dir).Output()
	name := strings.TrimSpace(string(kind))
	return err == nil && (name == "tmpfs" || name == "ramfs")
}

// Close removes the directory of Disk if it lies outside of e.Dir.
func (e *Env) Close() error {
	if e.disk == "" || e.disk == e.Dir || e.Keep {
		return nil
	}
	return os.RemoveAll(e.disk)
}

// fixture returns the directory of the given name, which fill makes at the first call. Its content
// must not depend on the trial that calls first.
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
			f.err = fmt.Errorf("fixture %s: %w", name, err) // not a judgement of the trial
		}
	})
	check(f.err)
	return f.dir
}

// try runs one trial of an attack in a directory of its own and returns it with its outcome. The
// error is for a trial that could not be carried out.
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

// load keeps the processors busy with the given number of processes until stop is called.
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
