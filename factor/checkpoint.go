package factor

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/escape"
	"github.com/gdsvd/gdsvd/solver"
)

// again is a line of a checkpoint.jsonl: Options.Command and the working directory of the run.
type again struct {
	Command []string `json:"command"`
	Folder  string   `json:"folder"`
}

// Again returns the command that resumes from the checkpoint in a directory, quoted for a shell. It leaves out the limit
// that ended the run with the given status, and changes to the directory where the run was begun. If the checkpoint has no
// command, Again returns a description.
func Again(fsys vfs.FS, dir, status string) string {
	a := again{}
	if f, err := fsys.Open(filepath.Join(dir, layout.CheckpointEvents)); err == nil {
		size, _ := checkEvents(f)
		lines := bufio.NewScanner(io.NewSectionReader(f, 0, size))
		lines.Buffer(nil, 1<<14) // events are shorter; a longer command is ignored
		for lines.Scan() {
			_ = json.Unmarshal(lines.Bytes(), &a) // other lines have no such fields
		}
		_ = f.Close()
	}
	return a.from(dir, status)
}

func (a again) from(dir, status string) string {
	if len(a.Command) == 0 {
		return "the same command with --resume"
	}
	limit := map[string]string{solver.PassLimit.String(): "--max-passes=", solver.TimeLimit.String(): "--time-limit="}[status]
	words := slices.DeleteFunc(slices.Clone(a.Command), func(w string) bool { return limit != "" && strings.HasPrefix(w, limit) })
	there := ""
	if here, err := filepath.Abs("."); err != nil || here != a.Folder {
		there = escape.Command("cd", a.Folder) + " && "
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
	}
	return there + escape.Command(append(words, "-o", dir, "--resume")...)
}

// goingOn returns the command or option that an error names for resuming a run that ends with a status.
func (t *task) goingOn(status solver.Status) any {
	if len(t.Command) == 0 {
		return Option("Resume")
	}
	return t.again().from(t.Dir, status.String())
}

func (t *task) again() again {
	here, _ := filepath.Abs(".") // "" if not known
	return again{t.Command, here}
}

// outState describes what is at OUT when a run begins.
type outState struct {
	exists     bool
	blank      bool // an empty directory, or the beginnings of a first checkpoint
	checkpoint bool
	result     bool // a result.json, readable or not
	estimates  bool // the result was left by an interrupted run
}

func inspectOut(fsys vfs.FS, dir string) (outState, error) {
	var s outState
	if _, err := fsys.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	s.exists = true
	if info, err := fsys.Stat(dir); err != nil || !info.IsDir() {
		return s, err
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return s, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	s.checkpoint, s.result = has(layout.Checkpoint), has(ResultFile)
	s.blank = !s.checkpoint && !slices.ContainsFunc(entries, stranger)
	if s.result {
		r, err := OpenFS(fsys, dir)
		s.estimates = err == nil && r.Status == solver.Cancelled.String()
	}
	return s, nil
}

// stranger tells whether a file is not part of a checkpoint.
func stranger(e fs.DirEntry) bool { return !layout.OfCheckpoint(e.Name()) }

// mayBegin returns an error if the run would overwrite or resume something at OUT that the options do not allow it to.
func (t *task) mayBegin(s outState) error {
	resume, replace := Option("Resume"), Option("Replace")
	switch {
	case !s.exists || t.Replace:
		return nil
	case (s.checkpoint || s.blank) && t.Resume:
		return nil
	case s.checkpoint:
		return says(nil, "%s holds the checkpoint of an unfinished run: %v goes on from it, %v begins anew", t.Dir, resume, replace)
	case t.Resume && s.result:
		return says(nil, "%s holds no checkpoint to go on from: %v begins anew, %v %s with its vectors", t.Dir, replace, Option("Init"), t.Dir)
	}
	exists := &fs.PathError{Op: "create", Path: t.Dir, Err: fs.ErrExist}
	if !s.result && !s.blank {
		return says(errors.Join(exists, vfs.ErrStays), "%v, %v: it is not a result of gdsvd; give another %v", exists, vfs.ErrStays, Option("Dir"))
	}
	return exists
}

// finished returns the result of a run that is to be resumed but is already finished: it is of this store, has as many
// triplets, and is within the tolerance of the same stop rule. It returns nil if there is no such result.
func (t *task) finished(s outState) *Result {
	if !t.Resume || t.Replace || !s.result || s.checkpoint {
		return nil
	}
	r, err := OpenFS(t.FS, t.Dir)
	if err != nil || r.Status != solver.Converged.String() || r.Matrix() != t.source().Fingerprint() ||
		!t.asMany(r) || r.Settings.Which != t.which() || r.Settings.Stop != t.Stop.String() || r.Settings.Tol > t.Tol {
		return nil
	}
	t.Log.Info("the result is finished: there is nothing to resume", "result", t.Dir)
	return r
}

// replaceable returns an error unless a run may replace what is at path when it finishes: a result if results is true, else
// only the checkpoint of the run itself.
func replaceable(fsys vfs.FS, path string, results bool) error {
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return err
	}
	switch {
	case !slices.ContainsFunc(entries, stranger):
		return nil
	case results:
		return isResult(fsys, path)
	}
	return fs.ErrExist
}

// checkpoints saves a run in its output directory while it is under way. It implements solver.Checkpointer.
type checkpoints struct {
	*task
	out *output

	last  time.Time     // end of the last attempt
	cost  time.Duration // duration of the last attempt
	saved bool          // there is a checkpoint of this run
	fails bool          // the last attempt has failed
}

func (c *checkpoints) Due(solver.Stats) bool {
	return time.Since(c.last) >= max(c.CheckpointEvery, time.Duration(float64(c.cost)/c.CheckpointShare))
}

// Save implements solver.Checkpointer. A run that cannot be saved goes on: the previous checkpoint is still there. Save
// logs the first failure and the first success after it.
func (c *checkpoints) Save(write func(io.Writer) error) error {
	start := time.Now()
	err := c.save(write)
	c.last = time.Now()
	c.cost = c.last.Sub(start)
	switch {
	case err != nil && !c.fails:
		c.Log.Warn("no checkpoint could be written; the run continues, an earlier checkpoint is kept, and the next one is tried at its time", "error", err)
	case err == nil && c.fails:
		c.Log.Warn("checkpoints are written again")
	}
	c.fails, c.saved = err != nil, c.saved || err == nil
	return nil
}

func (c *checkpoints) save(write func(io.Writer) error) (err error) {
	made, err := c.makeDir()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && made {
			_ = c.FS.RemoveAll(c.Dir) // it holds no complete checkpoint
		}
	}()
	if err := c.saveView(); err != nil {
		return err
	}
	if err := c.replace(layout.CheckpointEvents, c.out.events.copyTo); err != nil {
		return err
	}
	if err := c.replace(layout.Checkpoint, write); err != nil {
		return err
	}
	return c.FS.SyncDir(c.Dir)
}

func (c *checkpoints) makeDir() (made bool, err error) {
	if _, err := c.FS.Stat(c.Dir); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := c.FS.Mkdir(c.Dir); err != nil {
		return false, err
	}
	if err := c.FS.SyncDir(filepath.Dir(c.Dir)); err != nil {
		return false, errors.Join(err, c.FS.Remove(c.Dir))
	}
	return true, nil
}

// replace puts a new file in the place of an old one in one step.
func (c *checkpoints) replace(name string, write func(io.Writer) error) error {
	name = filepath.Join(c.Dir, name)
	act := c.writing("writing the checkpoint")
	defer act.end()
	return durable.Replace(c.FS, name, name+layout.Half, func(f vfs.File) error { return write(&countedFile{activity: act, f: f}) })
}

// keep copies the checkpoint into the directory of a result from which the run can be resumed.
func (c *checkpoints) keep(dir string) error {
	act := c.writing("copying the checkpoint")
	defer act.end()
	names := []string{layout.CheckpointEvents, layout.Checkpoint}
	if c.recalled {
		names = append(names, layout.CheckpointView)
	}
	for _, name := range names {
		if err := copyFile(c.FS, filepath.Join(c.Dir, name), filepath.Join(dir, name), act); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(fsys vfs.FS, from, to string, act *activity) error {
	src, err := fsys.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	act.Expect(info.Size())
	return durable.WriteFile(fsys, to, func(f vfs.File) error {
		_, err := io.Copy(&countedFile{activity: act, f: f}, src)
		return err
	})
}

type savedRun struct {
	*solver.Checkpoint
	io.Closer
}

func openCheckpoint(fsys vfs.FS, dir string) (*savedRun, error) {
	f, err := fsys.Open(filepath.Join(dir, layout.Checkpoint))
	if err != nil {
		return nil, err
	}
	if complete.IsState(f) {
		return nil, errors.Join(says(nil, "%s is of a completion, not of a factorisation (%v begins anew)", f.Name(), Option("Replace")), f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	c, err := solver.ReadCheckpoint(f, info.Size())
	if err != nil {
		return nil, errors.Join(cmp.Or(resumeError(err, dir), err), f.Close())
	}
	return &savedRun{c, f}, nil
}

// resumeError returns the error for a checkpoint that cannot be resumed from, or nil if err is about something else.
func resumeError(err error, dir string) error {
	name, replace := filepath.Join(dir, layout.Checkpoint), Option("Replace")
	var other *solver.MismatchError
	switch {
	case errors.As(err, &other) && other.Setting == "matrix":
		return says(nil, "%s is of another store or view: its fingerprint is %.80s, that of this one is %s (%v begins anew)", name, other.Checkpoint, other.Run, replace)
	case errors.As(err, &other):
		return says(nil, "%s was made with %s %.80s, this run has %s %s (%v begins anew)",
			name, other.Setting, other.Checkpoint, other.Setting, other.Run, replace)
	case errors.Is(err, solver.ErrCheckpoint):
		return damagedCheckpoint(name, "%v (%v begins anew)", err, replace)
	}
	return nil
}
