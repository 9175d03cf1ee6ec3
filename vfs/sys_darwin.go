package vfs

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step; errors.ErrUnsupported where the file
// system cannot.
func exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return errors.ErrUnsupported
	}
	return &fs.PathError{Op: "exchange", Path: b, Err: err}
}
