package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular is what errors.Is finds in the error of FS.Open and FS.Map for a
// directory, a pipe, a socket or a device.
var ErrNotRegular = errors.New("a regular file is wanted")

// ErrTooLarge is what errors.Is finds in the error of ReadFile for a file over its limit.
var ErrTooLarge = errors.New("it is not the file that is meant")

// Regular is nil for what FS.Open would open, else the error it would give.
func Regular(name string, fi fs.FileInfo) error {
	if fi.Mode().IsRegular() {
		return nil
	}
	kind := "something else"
	switch m := fi.Mode(); {
	case m.IsDir():
		kind = "a directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case m&fs.ModeSocket != 0:
		kind = "a socket"
	case m&fs.ModeDevice != 0:
		kind = "a device"
	}
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is %s, %w", kind, ErrNotRegular)}
}

// openRegular opens a regular file for reading. What is of another kind is not
// opened at all: that of a pipe would wait for a writer, that of some devices
// does something. If it takes the place of the file meanwhile, the opening does
// not wait either.
func openRegular(name string) (*os.File, fs.FileInfo, error) {
	if fi, err := os.Stat(name); err == nil {
		if err := Regular(name, fi); err != nil {
			return nil, nil, err
		}
	}
	f, err := os.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil {
		err = Regular(name, fi)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, fi, nil
}

// ReadFile reads a whole file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) (_ []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	size := fi.Size()
	if size <= limit { // it may grow, or be of a system that tells no sizes
		b.Grow(int(size) + bytes.MinRead) // to see the end without growing
		if size, err = b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
			return nil, err
		}
	}
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %d bytes or more, at most %d are read: %w", size, limit, ErrTooLarge)}
	}
	return b.Bytes(), nil
}

// SameFile tells whether what Stat says of two openings of a name is of one file that has not been written to between them. It may
// be false where it is.
func SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }
