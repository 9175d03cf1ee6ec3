package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/vfs"
)

// MostRuns of a folder are read: the first ones by name.
const MostRuns = 300

// Folder reads how the runs of a folder stand, or one run. It is not safe for concurrent use.
type Folder struct {
	fs      vfs.FS
	path    string
	single  bool
	readers map[string]*Reader
}

// Open opens a run by the directory that it makes, or a folder that has some. It is ErrNoRun if path is neither.
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

// Single tells whether it is one run.
func (f *Folder) Single() bool { return f.single }

// States are those of all runs, in the order of their names. What cannot be read of one is the Message of its State.
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
			continue // it has ended
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

// names are those of the runs of a folder.
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

// holds tells whether a directory has something of a run.
func (f *Folder) holds(path string) bool {
	if strings.HasSuffix(path, vfs.PartialSuffix) {
		return false
	}
	for _, file := range []string{factor.ResultFile, csr.ManifestName, layout.Checkpoint} {
		if _, err := f.fs.Stat(filepath.Join(path, file)); err == nil {
			return true
		}
	}
	return false
}
