// Package folder writes directories of a few files of known names, one of which describes the directory.
package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// Kind describes a kind of directory.
type Kind struct {
	What   string   // "a projection"
	File   string   // name of the JSON file that describes the directory
	Format string   // value of its field format
	Files  []string // names of the other files that the directory may have
}

// Files of directories: Vectors holds X, and Rotation the k × k rotation of an alignment.
const (
	Vectors  = "X.npy"
	Rotation = "R.npy"
)

// Projection returns the kind of directory that package foldin writes.
func Projection() Kind {
	return Kind{"a projection", "projection.json", "gdsvd-projection/2", []string{Vectors, "rows.ids", "rows.titles", "cols.ids", "cols.titles"}}
}

// Alignment returns the kind of directory that package align writes.
func Alignment() Kind {
	return Kind{"an alignment", "alignment.json", "gdsvd-alignment/2", []string{Vectors, Rotation, "rows.ids", "rows.titles", "cols.ids", "cols.titles"}}
}

// maxText is the largest size in bytes of a description that is read.
const maxText = 64 << 20

// Read verifies the description of a directory and decodes it into v. It returns an error unless the directory is of the kind.
func (k Kind) Read(fsys vfs.FS, dir string, v any) error {
	name := filepath.Join(dir, k.File)
	text, err := vfs.ReadFile(fsys, name, maxText)
	if err != nil {
		return err
	}
	at, err := durable.CheckSeal(text)
	if err == nil {
		at, err = 0, json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s: byte %d: %w: the file is damaged; make it again", name, at, err)
	}
	return k.is(fsys, dir)
}

// Read decodes the description of a projection or an alignment into v.
func Read(fsys vfs.FS, dir string, v any) error {
	err := Projection().Read(fsys, dir, v)
	if errors.Is(err, fs.ErrNotExist) {
		err = Alignment().Read(fsys, dir, v)
	}
	return err
}

// OrReplaced returns err, an error of reading the files of a directory whose description had the checksum was. If another
// process has replaced the directory since, it returns an error that says so instead.
func OrReplaced(fsys vfs.FS, dir string, was crc.Sum, err error) error {
	var now struct {
		CRC crc.Sum `json:"crc"`
	}
	if bad := Read(fsys, dir, &now); bad != nil || now.CRC == was {
		return err
	}
	return fmt.Errorf("%s was replaced by another process while it was being read; run the command again", dir)
}

// Folder is a directory that is being written, in a staging directory beside its final place.
type Folder struct {
	Kind
	fsys  vfs.FS
	stage *vfs.Staging
}

// New begins a directory. If replace is true, Commit replaces an existing directory of the same kind in one step; anything
// else is left alone.
func (k Kind) New(fsys vfs.FS, dir string, replace bool) (*Folder, error) {
	if dir == "" {
		return nil, fmt.Errorf("%s needs a directory", k.What)
	}
	stage, err := vfs.Stage(fsys, dir, replace,
		func(path string) error { return k.is(fsys, path) },
		func(stage string) (bool, error) { return false, k.only(fsys, stage) })
	return &Folder{k, fsys, stage}, err
}

// is returns an error unless a directory is of the kind: only such a directory is ever replaced.
func (k Kind) is(fsys vfs.FS, dir string) error {
	text, err := vfs.ReadFile(fsys, filepath.Join(dir, k.File), maxText)
	var head struct {
		Format string `json:"format"`
	}
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	if err == nil && head.Format != k.Format {
		err = fmt.Errorf("%s: format %.60q, want %q", k.File, head.Format, k.Format)
	}
	if err != nil {
		return fmt.Errorf("it is not %s and is left alone: %w", k.What, err)
	}
	return k.only(fsys, dir)
}

// only returns an error if a directory exists and has files other than those of the kind.
func (k Kind) only(fsys vfs.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name := e.Name(); name != k.File && !slices.Contains(k.Files, name) {
			return fmt.Errorf("%s holds %s, which is not of %s: remove it, or write to another directory", dir, name, k.What)
		}
	}
	return err
}

// Dir returns the directory into which files are written.
func (f *Folder) Dir() string             { return f.stage.Dir() }
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir(), name) }

// Commit writes the description and publishes the directory. sum is the last field of the description, or nil if it has no checksum.
func (f *Folder) Commit(description any, sum *crc.Sum) error {
	text, err := json.MarshalIndent(description, "", "  ")
	text = append(text, '\n')
	if sum != nil {
		text, err = durable.Seal(description, sum)
	}
	if err != nil {
		return err
	}
	if err := durable.WriteFile(f.fsys, f.Path(f.File), durable.Bytes(text)); err != nil {
		return err
	}
	return f.stage.Commit()
}

// Abort removes what was written. After Commit it does nothing.
func (f *Folder) Abort() error { return f.stage.Abort() }
