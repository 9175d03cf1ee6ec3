package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"github.com/gdsvd/gdsvd/internal/vfs"
)

// SpoolSuffix is added to the name of a store for the directory of what does
// not fit in memory while it is made: runs of entries, lists of ids and, if the
// ingest can be resumed, the journal that says how far it has come.
const SpoolSuffix = ".spool"

// A scratch is that directory. It is made with the first file. Its files have
// numbers that are never used twice, so that a journal can name what it means.
type scratch struct {
	fs     vfs.FS
	dir    string
	made   bool
	serial int
	// durable: files are to outlive the process. unsynced are those that are
	// complete but not yet safe.
	durable  bool
	unsynced []vfs.File
	most     int // unsynced
}

// create makes a new file; kind ends its name.
func (s *scratch) create(kind string) (vfs.File, error) {
	if !s.made {
		if err := s.fs.Mkdir(s.dir); err != nil {
			return nil, fmt.Errorf("spill entries: %w", err)
		}
		s.made = true
	}
	name := fmt.Sprintf("%06d.%s", s.serial, kind)
	s.serial++
	f, err := s.fs.Create(s.path(name))
	if err != nil {
		return nil, fmt.Errorf("spill entries: %w", err)
	}
	return f, nil
}

// complete takes over a file that has all its contents. One too many is made
// durable now rather than kept open until the next save.
func (s *scratch) complete(f vfs.File) error {
	if !s.durable {
		return f.Close()
	}
	if len(s.unsynced) >= s.most {
		return errors.Join(f.Sync(), f.Close())
	}
	s.unsynced = append(s.unsynced, f)
	return nil
}

// close lets go what is open.
func (s *scratch) close() error {
	var err error
	for _, f := range s.unsynced {
		err = errors.Join(err, f.Close())
	}
	s.unsynced = nil
	return err
}

func baseName(f vfs.File) string { return filepath.Base(f.Name()) }

func (s *scratch) path(name string) string { return filepath.Join(s.dir, name) }

func (s *scratch) removeFile(name string) error { return s.fs.Remove(s.path(name)) }

// remove removes the directory, the journal last: as long as anything is left, it
// says what of.
func (s *scratch) remove() error {
	err := s.close()
	if s.made {
		s.made = false
		err = errors.Join(err, s.sweep(map[string]bool{journalName: true}), s.fs.RemoveAll(s.dir))
	}
	return err
}

// ours matches the names of all files an ingest makes in its directory.
var ours = regexp.MustCompile(`^(\d{6,}\.(run|half|ids|log|names)|journal(\.half)?)$`)

// look tells whether the directory is there and whether a journal is in it.
// What was not made by an ingest is an error: it must be left alone.
func (s *scratch) look() (journal bool, err error) {
	entries, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.made = true
	for _, e := range entries {
		if !e.Type().IsRegular() || !ours.MatchString(e.Name()) {
			return false, fmt.Errorf("%s: %s in it is not of an ingest; it is left alone", s.dir, e.Name())
		}
		journal = journal || e.Name() == journalName
	}
	return journal, nil
}

// sweep removes all files but those to keep.
func (s *scratch) sweep(keep map[string]bool) error {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !keep[e.Name()] {
			if err := s.removeFile(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// errTempDamaged: what is left of an ingest is of no use; it has to begin anew.
var errTempDamaged = errors.New("a temporary file does not hold what was written to it")

// hasSize tells of a temporary file that was cut or has grown.
func hasSize(f vfs.File, size int64) error {
	fi, err := f.Stat()
	if err == nil && fi.Size() != size {
		err = fmt.Errorf("%w: %s has %d bytes instead of %d", errTempDamaged, baseName(f), fi.Size(), size)
	}
	return err
}

// damaged tells by an error of a temporary file whether it is there and whole.
func damaged(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errTempDamaged, err)
	}
	return err
}
