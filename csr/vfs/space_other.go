//go:build !linux && !darwin && !freebsd && !windows

package vfs

import (
	"errors"
	"os"
)

func freeSpace(name string) (int64, error) {
	return 0, &os.PathError{Op: "free space", Path: name, Err: errors.ErrUnsupported}
}
