package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
)

// ErrNoRun is the error for a path without a run, a result or a store.
var ErrNoRun = errors.New("no run, result or store")

// Reader reads the state of a run from its files. It is not safe for concurrent use.
type Reader struct {
	fs  vfs.FS
	out string

	state *State // state by the live file; nil: none
	head  []byte // first line of the live file
	at    int64  // offset up to which the live file is read
	lines int

	kept  *State // state by a result, a checkpoint or a store
	stamp string // name, size and time of the file that kept is from
}

// NewReader returns a reader of the run that makes the directory out.
func NewReader(fsys vfs.FS, out string) *Reader { return &Reader{fs: fsys, out: filepath.Clean(out)} }

// State returns the current state of the run. The error wraps ErrNoRun if there is no run, and csr.ErrCorrupt for damaged files.
func (r *Reader) State(ctx context.Context) (*State, error) {
	name := r.out + Suffix
	recorded, err := r.follow(name)
	if err != nil {
		return nil, err
	}
	if recorded && r.state.Status == Running {
		held, err := vfs.Held(name + lockSuffix)
		if err != nil {
			return nil, err
		}
		if held {
			return r.state.copied(), nil
		}
		// The run may have ended since the file was read.
		if recorded, err = r.follow(name); err != nil {
			return nil, err
		}
	}
	s, err := r.left(ctx)
	switch {
	case err != nil && !errors.Is(err, ErrNoRun):
		return nil, err
	case !recorded:
		return s, err
	case err == nil && s.Status == Finished && r.newer():
		return s, nil // the process died after the run had finished
	}
	now := r.state.copied()
	now.Checkpoint = err == nil && s.Checkpoint
	if now.Status == Running {
		now.Status, now.Message = Died, "Its process ended without a word: it was killed, or the machine went down."
	}
	return now, nil
}

// follow reads the new lines of the live file, and reports whether the file exists and has its first line.
func (r *Reader) follow(name string) (bool, error) {
	f, err := r.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		r.state = nil
		return false, nil
	} else if err != nil {
		return false, err
	}
	text, err := r.unread(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return r.state != nil, nil // an incomplete line is read later
		}
		r.lines++
		if err := r.take(text[:end]); err != nil {
			err = fmt.Errorf("%w: %s: line %d: %w: the file is damaged, or of another version; remove it", csr.ErrCorrupt, name, r.lines, err)
			r.state = nil
			return false, err
		}
		r.at += int64(end) + 1
		text = text[end+1:]
	}
}

// unread returns the bytes of a file that have not been read, or all bytes if the file was written anew.
func (r *Reader) unread(f vfs.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if size > 2*MaxFile {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than gdsvd writes: remove it", csr.ErrCorrupt, f.Name(), size)
	}
	if r.state != nil {
		head := make([]byte, len(r.head))
		if n, _ := f.ReadAt(head, 0); size < r.at || !bytes.Equal(head[:n], r.head) {
			r.state = nil
		}
	}
	if r.state == nil {
		r.at, r.lines, r.head = 0, 0, nil
	}
	return io.ReadAll(io.NewSectionReader(f, r.at, size-r.at))
}

func (r *Reader) take(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	if l.End != "" && !slices.Contains(Statuses(), l.End) {
		return fmt.Errorf("end %.40q", l.End)
	}
	if r.state == nil {
		switch {
		case l.Format != Format:
			return fmt.Errorf("format %d, want %d", l.Format, Format)
		case l.About == nil:
			return errors.New("it does not describe the run")
		}
		r.state = &State{Format: Format, Name: filepath.Base(r.out), Status: Running}
		r.head = append(bytes.Clone(text), '\n')
	}
	r.state.apply(&l)
	return nil
}

// newer reports whether the result or store was made since the run began.
func (r *Reader) newer() bool {
	made, err := r.fs.Stat(filepath.Join(r.out, factor.ResultFile))
	if err != nil {
		made, err = r.fs.Stat(filepath.Join(r.out, csr.ManifestName))
	}
	return err == nil && made.ModTime().After(r.state.Began)
}

// left returns the state of the run by the result, checkpoint or store that it has left.
func (r *Reader) left(ctx context.Context) (*State, error) {
	_, missing := r.fs.Stat(filepath.Join(r.out, layout.Checkpoint)) // a checkpoint may lie beside the result of a run that a limit has ended
	for _, of := range []struct {
		file string
		read func(context.Context, *State) error
	}{
		{factor.ResultFile, r.result}, {layout.Checkpoint, r.checkpoint}, {csr.ManifestName, r.store},
	} {
		info, err := r.fs.Stat(filepath.Join(r.out, of.file))
		if err != nil {
			continue
		}
		stamp := fmt.Sprint(of.file, info.Size(), info.ModTime(), missing)
		if r.stamp == stamp {
			return r.kept.copied(), nil
		}
		s := &State{Format: Format, Name: filepath.Base(r.out), About: About{Out: r.out}, Checkpoint: missing == nil}
		if err := of.read(ctx, s); err != nil {
			return nil, err
		}
		r.kept, r.stamp = s, stamp
		return s.copied(), nil
	}
	return nil, fmt.Errorf("%s: %w", r.out, ErrNoRun)
}

func (r *Reader) checkpoint(ctx context.Context, s *State) error {
	s.Status, s.Command = Unfinished, "svd"
	f, err := r.fs.Open(filepath.Join(r.out, layout.CheckpointEvents))
	if err != nil {
		return nil // a run can be resumed without events
	}
	events, _, _ := ReadEvents(ctx, f) // the resumed run reports damage
	for _, e := range events {
		s.pass(e)
		s.Seconds = e.Seconds.Total
		if e.Objective != 0 {
			s.Command = "complete"
		}
	}
	return errors.Join(ctx.Err(), f.Close())
}

func (r *Reader) result(_ context.Context, s *State) error {
	res, err := factor.OpenFS(r.fs, r.out)
	if err != nil {
		return err
	}
	s.Result, s.Status, s.Seconds, s.BytesRead, s.PeakRSS = res, Finished, res.Seconds.Total, res.BytesRead, res.PeakRSS
	if res.Status == "cancelled" {
		s.Status = Interrupted
	}
	s.About = About{
		Command: "svd", Out: r.out, Store: res.Store.Path, Rows: res.Rows, Cols: res.Cols, NNZ: res.NNZ, Method: res.Method, Which: res.Settings.Which,
		Rank: res.K, Tol: res.Settings.Tol, Workers: res.Settings.Workers, Budget: res.Settings.Memory, Parts: res.Memory,
	}
	s.Last = &factor.Event{Pass: res.Passes, Locked: res.Converged, BytesRead: res.BytesRead, Seconds: res.Seconds, Goal: factor.Number(res.Settings.Tol)}
	for _, x := range res.Residual {
		s.Last.Worst = max(s.Last.Worst, x)
	}
	switch c := res.Completion; {
	case c != nil:
		s.Command = "complete"
		s.Last.Objective, s.Last.RMSE, s.Last.HeldOut, s.Last.Lambda, s.Last.Goal = c.Objective, c.RMSE, c.HeldOut, c.Lambda, 0
	case res.Settings.Which != "":
		s.Command = "eigs"
	}
	return nil
}

func (r *Reader) store(_ context.Context, s *State) error {
	store, err := csr.Open(r.out, csr.OpenOptions{FS: r.fs, Missing: true})
	if err != nil {
		return err
	}
	s.Status, s.Command = Finished, "ingest"
	s.Rows, s.Cols = factor.Dims(store)
	s.NNZ = store.NNZ()
	return store.Close()
}

// MostRuns is the largest number of runs of a folder that are read: the first ones by name.
const MostRuns = 300

// Folder reads the states of the runs of a folder, or of one run. It is not safe for concurrent use.
type Folder struct {
	fs      vfs.FS
	path    string
	single  bool
	readers map[string]*Reader
}

// Open opens a run by the directory that it makes, or a folder of runs. The error wraps ErrNoRun if path is neither.
func Open(ctx context.Context, fsys vfs.FS, path string) (*Folder, error) {
	f := &Folder{fs: fsys, path: filepath.Clean(path), readers: map[string]*Reader{}}
	_, err := NewReader(fsys, path).State(ctx)
	if err == nil {
		f.single = true
		return f, nil
	}
	if info, bad := fsys.Stat(path); !errors.Is(err, ErrNoRun) || bad != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s: %w: it is a file", path, ErrNoRun)
	}
	_, err = fsys.ReadDir(path)
	return f, err
}

// Single reports whether the Folder is one run.
func (f *Folder) Single() bool { return f.single }

// States returns the states of all runs, in the order of their names. An error of reading a run is the Message of its State.
func (f *Folder) States(ctx context.Context) ([]*State, error) {
	names := []string{f.path}
	if !f.single {
		var err error
		if names, err = f.names(); err != nil {
			return nil, err
		}
	}
	readers := map[string]*Reader{}
	var all []*State
	for _, name := range names {
		r := f.readers[name]
		if r == nil {
			r = NewReader(f.fs, name)
		}
		s, err := r.State(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, ErrNoRun) && !f.single:
			continue // the run has ended
		case errors.Is(err, ErrNoRun):
			s = &State{Format: Format, Name: filepath.Base(name), About: About{Out: name}, Status: Interrupted, Message: "It has ended, and nothing is left of it."}
		case err != nil:
			s = &State{Format: Format, Name: filepath.Base(name), About: About{Out: name}, Status: Failed, Message: err.Error()}
		}
		readers[name] = r
		all = append(all, s)
	}
	f.readers = readers
	return all, nil
}

// names returns the paths of the runs of a folder.
func (f *Folder) names() (all []string, err error) {
	entries, err := f.fs.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			continue // it may lead out of the folder
		}
		name, recorded := strings.CutSuffix(e.Name(), Suffix)
		path := filepath.Join(f.path, name)
		if name == "" || seen[name] || len(all) >= MostRuns {
			continue
		}
		seen[name] = recorded || f.holds(path)
		if seen[name] {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all, nil
}

// holds reports whether a directory has a result, a store or a checkpoint.
func (f *Folder) holds(path string) bool {
	if strings.HasSuffix(path, vfs.PartialSuffix) {
		return false
	}
	return slices.ContainsFunc([]string{factor.ResultFile, csr.ManifestName, layout.Checkpoint}, func(file string) bool {
		_, err := f.fs.Stat(filepath.Join(path, file))
		return err == nil
	})
}
