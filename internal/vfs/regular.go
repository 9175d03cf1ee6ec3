package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular is what errors.Is finds in the error of FS.Open and FS.Map for a
// directory, a pipe, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is what errors.Is finds in the error of ReadFile for a file over its limit.
var ErrTooLarge = errors.New("file too large")

// kindError says what is in the place of a regular file.
type kindError struct{ mode fs.FileMode }

func (e *kindError) Error() string {
	kind := "something else"
	switch {
	case e.mode.IsDir():
		kind = "a directory"
	case e.mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case e.mode&fs.ModeSocket != 0:
		kind = "a socket"
	case e.mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return "it is " + kind + ", a regular file is wanted"
}

// Is tells errors.Is that every kindError is ErrNotRegular.
func (e *kindError) Is(target error) bool { return target == ErrNotRegular }

// Regular is nil for what FS.Open would open, else the error it would give.
func Regular(name string, fi fs.FileInfo) error {
	if fi.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: &kindError{fi.Mode()}}
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
	tooLarge := func(size int64) error {
		return &fs.PathError{Op: "read", Path: name, Err: &sizeError{size, limit}}
	}
	if fi.Size() > limit {
		return nil, tooLarge(fi.Size())
	}
	// One byte more, to see the end without growing.
	b := make([]byte, 0, fi.Size()+1)
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		case int64(len(b)) > limit: // it has grown, or is of a system that tells no sizes
			return nil, tooLarge(int64(len(b)))
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}

// sizeError says by how much a file is over its limit.
type sizeError struct{ size, limit int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("it has %d bytes or more, at most %d are read: it is not the file that is meant", e.size, e.limit)
}

// Is tells errors.Is that every sizeError is ErrTooLarge.
func (e *sizeError) Is(target error) bool { return target == ErrTooLarge }
