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

// Journal is the name of the file that says what the others are.
const Journal = "journal"

// A Dir is that directory. It is made with the first file. Its files have
// numbers that are never used twice, so that a journal can name what it means.
type Dir struct {
	FS      vfs.FS
	Name    string
	Made    bool
	Serial  int  // of the next file
	Durable bool // files are to outlive the process
	Most    int  // files that are complete but not yet durable, at most

	Unsynced []vfs.File // complete but not yet durable: what makes them so takes and closes them
}

func (d *Dir) Make() error {
	if d.Made {
		return nil
	}
	if err := d.FS.Mkdir(d.Name); err != nil {
		return fmt.Errorf("spill entries: %w", err)
	}
	d.Made = true
	return nil
}

// Create makes a new file; kind ends its name.
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

// Complete takes over a file that has all its contents. One too many is made
// durable now rather than kept open until the next save.
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

// Remove removes the directory, the journal last: as long as anything is left, it
// says what of.
func (d *Dir) Remove() error {
	err := d.Close()
	if d.Made {
		d.Made = false
		err = errors.Join(err, d.Sweep(map[string]bool{Journal: true}), d.FS.RemoveAll(d.Name))
	}
	return err
}

// Look tells whether the directory is there and whether a journal is in it.
// What was not made by an ingest is an error: it must be left alone.
func (d *Dir) Look() (journal bool, err error) {
	entries, err := d.FS.ReadDir(d.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d.Made = true
	ours := regexp.MustCompile(`^(\d{6,}\.(run|half|ids|log|names|part)|journal(\.half)?)$`) // all that an ingest makes there
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

// ErrDamaged: what is left of an ingest is of no use; it has to begin anew.
var ErrDamaged = errors.New("a temporary file does not hold what was written to it")

// HasSize tells of a temporary file that was cut or has grown.
func HasSize(f vfs.File, size int64) error {
	fi, err := f.Stat()
	if err == nil && fi.Size() != size {
		err = fmt.Errorf("%w: %s has %d bytes instead of %d", ErrDamaged, filepath.Base(f.Name()), fi.Size(), size)
	}
	return err
}

// Damaged tells by an error of a temporary file whether it is there and whole.
func Damaged(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
