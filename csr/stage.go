package csr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gdsvd/gdsvd/vfs"
)

// Stage begins to write a store at path before its shape is known: hand the
// result to Create in CreateOptions.Staging. Temporary files may lie in its
// Dir until Commit. Under force an existing store is replaced; anything else
// that exists at path is refused and left alone. Errors are those of Create.
func Stage(fsys vfs.FS, path string, force bool) (*vfs.Staging, error) {
	if fsys == nil {
		fsys = vfs.OS()
	}
	return vfs.Stage(fsys, path, force, func(path string) error { return replaceable(fsys, path) }, nil)
}

// replaceable returns nil if the directory is a store (whole or damaged) or
// empty, and holds nothing else, so that deleting it deletes no user's work.
func replaceable(fsys vfs.FS, path string) error {
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return err
	}
	isStore := len(entries) == 0
	for _, e := range entries {
		name, regular := e.Name(), e.Type().IsRegular()
		whole := strings.TrimSuffix(name, ".tmp") // of titles
		switch {
		case regular && name == manifestName:
			ours, err := mentionsFormat(fsys, filepath.Join(path, name))
			if err != nil {
				return err
			}
			isStore = isStore || ours
		case regular && strings.HasPrefix(name, "shard-") && strings.HasSuffix(name, ".csr"):
			isStore = true
		case regular && (name == RowAxis.file() || name == ColAxis.file() || name == truthName || whole == RowAxis.titles() || whole == ColAxis.titles()):
		default:
			return fmt.Errorf("%w: %s in it is not of a store; it is left alone", ErrNotStore, name)
		}
	}
	if !isStore {
		return fmt.Errorf("%w; it is left alone", ErrNotStore)
	}
	return nil
}

// mentionsFormat: the beginning of the file names our format, of any version.
func mentionsFormat(fsys vfs.FS, name string) (bool, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return bytes.Contains(b, []byte(`"`+formatName+`"`)), errors.Join(err, f.Close())
}
