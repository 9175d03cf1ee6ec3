// Package vfs has the names that package vfs at the top had here, until nothing imports them from here.
package vfs

import "github.com/gdsvd/gdsvd/vfs"

type (
	FS   = vfs.FS
	File = vfs.File
)

const PartialSuffix = vfs.PartialSuffix

var ErrLocked = vfs.ErrLocked

func OS() FS { return vfs.OS() }

func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	return vfs.ReadFile(fsys, name, limit)
}

func Sweep(fsys FS, target string, useless func(dir string) bool) error {
	return vfs.Sweep(fsys, target, useless)
}
