// Package durable writes files that a crash leaves whole or not at all, and texts that carry their own checksum.
//
// What it has written is on the disk when it returns; the name of a file is when
// the directory has been synced too (vfs.FS.SyncDir), which is the caller's to do.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gdsvd/gdsvd/vfs"
)

// WriteFile makes a new file, has write fill it, and syncs it. After an error the file may be there.
func WriteFile(fsys vfs.FS, name string, write func(vfs.File) error) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Replace is WriteFile for a file that takes the place of the one with its name, if any, in one
// step. Until then it is called tmp, in the same directory; what a dead process has left there goes.
func Replace(fsys vfs.FS, name, tmp string, write func(vfs.File) error) error {
	err := WriteFile(fsys, tmp, write)
	if errors.Is(err, fs.ErrExist) {
		if err = fsys.Remove(tmp); err == nil {
			err = WriteFile(fsys, tmp, write)
		}
	}
	if err == nil {
		err = fsys.Rename(tmp, name)
	}
	if err != nil {
		if gone := fsys.Remove(tmp); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Publish is Replace for a file that another process may be told to write too: one of them is refused. What a dead one has left goes.
func Publish(fsys vfs.FS, name string, write func(vfs.File) error) (err error) {
	lock, err := fsys.Lock(name + ".lock")
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return fmt.Errorf("create %s: %w that is writing it", name, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create %s: make the directory %s first: %w", name, filepath.Dir(name), fs.ErrNotExist)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return Replace(fsys, name, name+vfs.PartialSuffix, write)
}

// Bytes returns a function for WriteFile and Replace that writes b.
func Bytes(b []byte) func(vfs.File) error {
	return func(f vfs.File) error {
		_, err := f.Write(b)
		return err
	}
}
