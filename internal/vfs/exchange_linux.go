package vfs

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step; errors.ErrUnsupported where the file
// system (or an old kernel) cannot.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return errors.ErrUnsupported
	}
	return &fs.PathError{Op: "exchange", Path: b, Err: err}
}
