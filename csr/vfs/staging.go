package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// PartialSuffix is added to a target's name while it is being written.
const PartialSuffix = ".partial"

// lockSuffix is added to a target's name for the lock of its writer.
const lockSuffix = ".lock"

// ErrStays is found by errors.Is besides fs.ErrExist if force would not replace the target either.
var ErrStays = errors.New("not to be replaced")

// Staging is a directory being written beside the place it is meant for. At
// every moment the target is absent, the complete old directory or the
// complete new one, whatever happens to the process.
//
// A Staging is used by one goroutine at a time.
type Staging struct {
	fs          FS
	target      string
	force       bool
	replaceable func(path string) error
	lock        io.Closer
	keep        bool // Abort leaves the directory
	hold        bool // Commit leaves the lock to Abort
	done        bool
}

// Stage begins to write the directory target: it takes the lock target.lock,
// removes what a dead writer left, and makes the empty directory
// target.partial, to be filled (each file synced by its writer) and
// then published by Commit or removed by Abort.
//
// The error is fs.ErrExist if target exists and !force (and ErrStays, if force would not replace it either), ErrLocked
// if another process is writing it. Under force an existing target is replaced on Commit if replaceable(target) returns
// nil; a nil replaceable lets only an empty directory be replaced. Whatever is not recognised is never deleted.
//
// Once Stage has the lock it calls goOn, unless nil, with target.partial, which need not exist. If goOn returns true,
// Stage goes on with the contents, as if Keep had been called; if false, it removes target.partial and makes an empty
// directory. If goOn returns an error, target.partial is left alone.
func Stage(fsys FS, target string, force bool, replaceable func(path string) error, goOn func(dir string) (bool, error)) (_ *Staging, err error) {
	target = filepath.Clean(target)
	switch filepath.Base(target) {
	case ".", "..", string(filepath.Separator):
		return nil, &fs.PathError{Op: "create", Path: target, Err: errors.New("needs a name of its own, not a directory's relative name")}
	}
	if replaceable == nil {
		replaceable = func(path string) error { return onlyEmpty(fsys, path) }
	}
	s := &Staging{fs: fsys, target: target, force: force, replaceable: replaceable}
	s.lock, err = fsys.Lock(target + lockSuffix)
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("create %s: %w that is writing it", target, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create %s: make the directory %s first: %w", target, filepath.Dir(target), fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", target, err)
	}
	if err := s.prepare(goOn); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// Sweep removes what a writer of target has left if it died after publishing: its lock, and target.partial if
// useless(target.partial). It does nothing if neither exists, or if another process is writing target.
func Sweep(fsys FS, target string, useless func(dir string) bool) (err error) {
	s := &Staging{fs: fsys, target: filepath.Clean(target)}
	_, noLock := fsys.Lstat(s.target + lockSuffix)
	_, noDir := fsys.Lstat(s.Dir())
	if noLock != nil && noDir != nil {
		return nil
	}
	return Locked(fsys, target, func() error {
		if noDir == nil && useless(s.Dir()) {
			return fsys.RemoveAll(s.Dir())
		}
		return nil
	})
}

// Locked calls f while it holds the lock of target's writer. If another process is writing target, it does nothing.
func Locked(fsys FS, target string, f func() error) error {
	lock, err := fsys.Lock(filepath.Clean(target) + lockSuffix)
	if errors.Is(err, ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f(), lock.Close())
}

func (s *Staging) prepare(goOn func(dir string) (bool, error)) (err error) {
	if err := s.recover(); err != nil {
		return fmt.Errorf("remove leftovers of %s: %w", s.target, err)
	}
	if goOn != nil {
		if s.keep, err = goOn(s.Dir()); err != nil {
			return err
		}
	}
	if !s.keep {
		if err := s.fs.RemoveAll(s.Dir()); err != nil {
			return fmt.Errorf("remove leftovers of %s: %w", s.target, err)
		}
	}
	if _, err := s.targetExists(); err != nil || s.keep {
		return err
	}
	if err := s.fs.Mkdir(s.Dir()); err != nil {
		return fmt.Errorf("create %s: %w", s.target, err)
	}
	return nil
}

// recover puts back the target of a writer that died while it replaced it.
func (s *Staging) recover() error {
	parked := s.Dir() + oldSuffix
	_, err := s.fs.Lstat(parked)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// Killed inside exchangeByRenames: before the second rename the target is missing, and parked is the old target.
	_, err = s.fs.Lstat(s.target)
	if errors.Is(err, fs.ErrNotExist) {
		return s.fs.Rename(parked, s.target)
	}
	if err != nil {
		return err
	}
	return s.fs.RemoveAll(parked)
}

// targetExists reports whether the target exists; it returns an error if the target must not be replaced.
func (s *Staging) targetExists() (bool, error) {
	fi, err := s.fs.Lstat(s.target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create %s: %w", s.target, err)
	}
	exists := &fs.PathError{Op: "create", Path: s.target, Err: fs.ErrExist}
	switch why := s.stays(fi); {
	case why == nil && s.force:
		return true, nil
	case why == nil:
		return true, exists
	case s.force:
		return true, fmt.Errorf("replace %s: %w", s.target, why)
	default:
		return true, fmt.Errorf("%w, %w: %w", exists, ErrStays, why)
	}
}

// stays returns the reason why force does not replace the target either, nil if force does.
func (s *Staging) stays(fi fs.FileInfo) error {
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link; name the place it leads to")
	case !fi.IsDir():
		return errors.New("it is not a directory; it is left alone")
	}
	return s.replaceable(s.target)
}

func onlyEmpty(fsys FS, path string) error {
	entries, err := fsys.ReadDir(path)
	if err == nil && len(entries) > 0 {
		err = errors.New("the directory is not empty; it is left alone")
	}
	return err
}

// Dir is the directory to write in. Everything in it is published by Commit.
func (s *Staging) Dir() string { return s.target + PartialSuffix }

func (s *Staging) Target() string { return s.target }

// Keep keeps the directory for a later Stage: from now on Abort and a failing Commit only release the lock.
func (s *Staging) Keep() { s.keep = true }

// Hold makes Commit keep the lock, for other files of the writer beside the target; Abort then releases it.
func (s *Staging) Hold() { s.hold = true }

// Commit publishes the directory under its final name and removes the directory that it replaces. If it fails,
// everything written is removed, unless Keep was called; a directory already published (only durability or the removal
// of the old one failed) stays. The error is fs.ErrExist if the target has appeared since Stage and !force.
func (s *Staging) Commit() error {
	if s.done {
		return errors.New("commit: already committed or aborted")
	}
	if err := s.publish(); err != nil {
		return errors.Join(err, s.Abort())
	}
	s.done = true
	if s.hold {
		return nil
	}
	return s.lock.Close()
}

func (s *Staging) publish() error {
	if err := s.fs.SyncDir(s.Dir()); err != nil {
		return fmt.Errorf("create %s: %w", s.target, err)
	}
	old, err := s.targetExists()
	if err != nil {
		return err
	}
	if old {
		err = s.fs.Exchange(s.Dir(), s.target)
	} else {
		err = s.fs.Rename(s.Dir(), s.target)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", s.target, err)
	}
	if err := s.fs.SyncDir(filepath.Dir(s.target)); err != nil {
		return fmt.Errorf("create %s: %w", s.target, err)
	}
	if !old {
		return nil
	}
	if err := s.fs.RemoveAll(s.Dir()); err != nil {
		return fmt.Errorf("remove the replaced %s: %w", s.target, err)
	}
	return nil
}

// Abort removes everything written, unless Keep was called, and releases the lock. After Abort, or a Commit without Hold,
// it does nothing.
func (s *Staging) Abort() error {
	if s.done && !s.hold {
		return nil
	}
	published := s.done
	s.done, s.hold = true, false
	if s.keep || published {
		return s.lock.Close()
	}
	err := s.fs.RemoveAll(s.Dir())
	if err != nil {
		err = fmt.Errorf("%s is left for the next run to remove: %w", s.Dir(), err)
	}
	return errors.Join(err, s.lock.Close())
}
