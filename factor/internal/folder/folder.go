// Package folder writes directories of a few files of known names, one of which says what the directory is.
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

// Kind of a directory.
type Kind struct {
	What   string   // "a projection"
	File   string   // the JSON object that describes it
	Format string   // its field format
	Files  []string // the others that there may be
}

// Files of directories: the vectors that they are about, and of an alignment the rotation, k × k.
const (
	Vectors  = "X.npy"
	Rotation = "R.npy"
)

// Projection is what package foldin writes.
func Projection() Kind {
	return Kind{"a projection", "projection.json", "gdsvd-projection/2", []string{Vectors, "rows.ids", "rows.titles", "cols.ids", "cols.titles"}}
}

// Alignment is what package align writes.
func Alignment() Kind {
	return Kind{"an alignment", "alignment.json", "gdsvd-alignment/2", []string{Vectors, Rotation, "rows.ids", "rows.titles", "cols.ids", "cols.titles"}}
}

// maxText is the size up to which a description is read.
const maxText = 64 << 20

// Read decodes the description of a directory, which is sealed, into v.
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

// OrReplaced is an error of reading the files of a directory whose description had the checksum, unless another process has
// put another directory into its place since.
func OrReplaced(fsys vfs.FS, dir string, was crc.Sum, err error) error {
	var now struct {
		CRC crc.Sum `json:"crc"`
	}
	if bad := Read(fsys, dir, &now); bad != nil || now.CRC == was {
		return err
	}
	return fmt.Errorf("%s was replaced by another process while it was being read; run the command again", dir)
}

// Folder is a directory that is being written, beside its place.
type Folder struct {
	Kind
	fsys  vfs.FS
	stage *vfs.Staging
}

// New begins a directory. One of its kind that is there is replaced at the end, in one step, if replace is true; anything
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

// is tells whether a directory is of the kind: only such a one is ever replaced.
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

// only makes sure that a directory, if there is one, has no files but those of the kind.
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

// Dir is where files are written.
func (f *Folder) Dir() string             { return f.stage.Dir() }
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir(), name) }

// Commit writes the description, of which sum is the last field, or which has none if that is nil, and publishes the directory.
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
