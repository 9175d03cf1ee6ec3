// Package scratch keeps the temporary files of an ingest in a directory beside the store.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Journal is the name of the file that names and describes the other files.
const Journal = "journal"

// A Dir is the directory of the temporary files. It is created with the first file. Numbers of files are never used twice, so
// that a journal names its files unambiguously.
type Dir struct {
	FS      vfs.FS
	Name    string
	Made    bool
	Serial  int  // number of the next file
	Durable bool // files must outlive the process
	Most    int  // largest number of files in Unsynced that Complete keeps open

	Unsynced []vfs.File // complete files that are not durable yet; a save takes, syncs and closes them
}

// Make creates the directory, and makes its name durable, unless it exists.
func (d *Dir) Make() error {
	if d.Made {
		return nil
	}
	if err := d.FS.Mkdir(d.Name); err != nil {
		return fmt.Errorf("spill entries: %w", err)
	}
	d.Made = true
	return d.FS.SyncDir(filepath.Dir(d.Name))
}

// Create creates a new file; kind is the extension of its name.
func (d *Dir) Create(kind string) (vfs.File, error) {
	if err := d.Make(); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%06d.%s", d.Serial, kind)
	d.Serial++
	f, err := d.FS.Create(d.Path(name))
	if err != nil {
		return nil, fmt.Errorf("spill entries: %w", err)
	}
	return f, nil
}

// Complete takes over a complete file. If Unsynced is full, it syncs and closes the file instead of keeping it for the next
// save.
func (d *Dir) Complete(f vfs.File) error {
	if !d.Durable {
		return f.Close()
	}
	if len(d.Unsynced) >= d.Most {
		return errors.Join(f.Sync(), f.Close())
	}
	d.Unsynced = append(d.Unsynced, f)
	return nil
}

func (d *Dir) Close() error {
	var err error
	for _, f := range d.Unsynced {
		err = errors.Join(err, f.Close())
	}
	d.Unsynced = nil
	return err
}

func (d *Dir) Path(name string) string      { return filepath.Join(d.Name, name) }
func (d *Dir) RemoveFile(name string) error { return d.FS.Remove(d.Path(name)) }

// Remove removes the directory, and the journal last: as long as any file is left, the journal says to which ingest it
// belongs.
func (d *Dir) Remove() error {
	err := d.Close()
	if d.Made {
		d.Made = false
		err = errors.Join(err, d.Sweep(map[string]bool{Journal: true}), d.FS.RemoveAll(d.Name))
	}
	return err
}

// Look reports whether the directory has a journal, and sets Made if the directory exists. A file that no ingest has made is
// an error: the directory must be left alone.
func (d *Dir) Look() (journal bool, err error) {
	entries, err := d.FS.ReadDir(d.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d.Made = true
	ours := regexp.MustCompile(`^(\d{6,}\.(run|half|ids|log|names|part)|journal(\.half)?)$`) // the files of an ingest
	for _, e := range entries {
		if !e.Type().IsRegular() || !ours.MatchString(e.Name()) {
			return false, fmt.Errorf("%s: %s in it is not of an ingest; it is left alone", d.Name, e.Name())
		}
		journal = journal || e.Name() == Journal
	}
	return journal, nil
}

func (d *Dir) Sweep(keep map[string]bool) error {
	entries, err := d.FS.ReadDir(d.Name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !keep[e.Name()] {
			if err := d.RemoveFile(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// ErrDamaged says that the files of an unfinished ingest cannot be used: the ingest has to begin anew.
var ErrDamaged = errors.New("a temporary file does not hold what was written to it")

// HasSize returns an error that wraps ErrDamaged unless a temporary file has the given size.
func HasSize(f vfs.File, size int64) error {
	fi, err := f.Stat()
	if err == nil && fi.Size() != size {
		err = fmt.Errorf("%w: %s has %d bytes instead of %d", ErrDamaged, filepath.Base(f.Name()), fi.Size(), size)
	}
	return err
}

// Damaged wraps an error of a temporary file that does not exist in ErrDamaged, and returns other errors unchanged.
func Damaged(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
