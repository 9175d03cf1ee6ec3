package csr

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

var (
	// ErrCorrupt is found by errors.Is in every error about a damaged store.
	ErrCorrupt = errors.New("corrupt store")
	// ErrVersion is found by errors.Is in every error about a store of another format version.
	ErrVersion = errors.New("unsupported store version")
	// ErrMissing is the error for a store with missing entries that is opened by a reader that takes them for numbers.
	ErrMissing = errors.New("the store has missing entries")
	// errNorm is the error for values so large that ‖A‖_F is not a float64.
	errNorm = errors.New("values so large that ‖A‖, the root of the sum of their squares, is more than the largest number (1.8e308): scale the matrix")
	// ErrNotStore is the error for a path that exists but is not a store.
	ErrNotStore = errors.New("not a gdsvd store")
)

// corruptError says which bytes of a store are wrong. errors.Is(err, ErrCorrupt).
type corruptError struct {
	Store   string // path of the store
	File    string // name of the file in the store
	Section string // "manifest", "header", "block 17", "footer", "trailer", "ids", "file"
	Offset  int64  // of the damage in the file; −1: unknown
	Err     error  // what is wrong
}

// Error returns one line: what is wrong, where, and what to do.
func (e *corruptError) Error() string {
	at := ""
	if e.Offset >= 0 {
		at = fmt.Sprintf(" at byte %d", e.Offset)
	}
	return fmt.Sprintf("store %s: %s: %s: %v%s: the store is damaged; ingest it again", e.Store, e.File, e.Section, e.Err, at)
}

func (e *corruptError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// wrongVersion says that a file of a store was written in a format version this program does
// not read, and what to do.
func wrongVersion(store, file string, found int64) error {
	do := "ingest it again"
	if found > Version {
		do = "it needs a newer gdsvd, or ingest it again with this one"
	}
	return fmt.Errorf("store %s: %s: %w %d, this program reads version %d: %s", store, file, ErrVersion, found, Version, do)
}

func writing(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write store: %w", err)
}

// UnfinishedError reports that an ingest was interrupted, now or before, and that its finished part is kept: an ingest
// with the option Resume continues from there.
type UnfinishedError struct {
	What string // "ingest"
	Dir  string // the directory with the finished part
	Err  error  // the error that interrupted it; nil: it was interrupted before
}

func (e *UnfinishedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s holds an unfinished %s: resume it, or force a new one", e.Dir, e.What)
	}
	return fmt.Sprintf("%v; %s holds what is done: it can be resumed", e.Err, e.Dir)
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// ResumeError reports why an unfinished ingest cannot be resumed.
type ResumeError struct {
	What, Dir string // see [UnfinishedError]
	Err       error
}

func (e *ResumeError) Error() string {
	return fmt.Sprintf("%s cannot be resumed: %v; force a new %s", e.Dir, e.Err, e.What)
}

func (e *ResumeError) Unwrap() error { return e.Err }

// replaced reports whether an error from opening or reading a file means that something else has its name.
func replaced(err error) bool {
	return errors.Is(err, vfs.ErrNotRegular) || errors.Is(err, vfs.ErrTooLarge)
}

// orReplaced returns err or, if another process has replaced the store since m, which may be nil, was read, an error that says so.
func (m *Manifest) orReplaced(fsys vfs.FS, path string, err error) error {
	if m != nil && errors.Is(err, ErrCorrupt) {
		if now, _, bad := readManifest(fsys, path); bad == nil && now.CRC != m.CRC {
			return fmt.Errorf("store %s was replaced by another process while it was being read; run the command again", path)
		}
	}
	return err
}

// missing returns the *corruptError for a file of the store that does not exist or whose name something else has; it
// wraps other errors.
func missing(err error, store, file string) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &corruptError{Store: store, File: file, Section: "file", Offset: -1, Err: errors.New("missing")}
	case replaced(err) && errors.As(err, &path):
		return &corruptError{Store: store, File: file, Section: "file", Offset: -1, Err: path.Err}
	}
	return fmt.Errorf("open store: %w", err)
}

// explainMissing turns the failure to open a manifest into an error that tells the user what is at path.
func explainMissing(fsys vfs.FS, path string, err error) error {
	fi, statErr := fsys.Stat(path)
	clean := filepath.Clean(path) // without a final separator
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		if _, err := fsys.Stat(clean + vfs.PartialSuffix); err == nil {
			return fmt.Errorf("open store: %w; %s is there: its making has not finished or was interrupted: wait for it, resume it or begin anew",
				statErr, clean+vfs.PartialSuffix)
		}
		return fmt.Errorf("open store: %w", statErr)
	case statErr != nil:
		return fmt.Errorf("open store: %w", statErr)
	case !fi.IsDir():
		return fmt.Errorf("open store: %s: %w: it is a file; a store is a directory made by \"gdsvd ingest\"", path, ErrNotStore)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open store: %w", err)
	case filepath.Ext(clean) == vfs.PartialSuffix:
		return fmt.Errorf("open store: %s: %w: half-written: its making has not finished or was interrupted: wait for it, resume it or begin anew", path, ErrNotStore)
	}
	if _, err := fsys.Stat(filepath.Join(path, shardName(0))); err == nil {
		return missing(fs.ErrNotExist, path, manifestName)
	}
	return fmt.Errorf("open store: %s: %w: no %s in it; make a store with \"gdsvd ingest\"", path, ErrNotStore, manifestName)
}
