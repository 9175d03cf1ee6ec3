package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/edsrzf/mmap-go"
)

// OS is the file system of the operating system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Open(name string) (File, error) {
	f, _, err := openRegular(name)
	return asFile(f, err)
}

func (osFS) Create(name string) (File, error) {
	return asFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666))
}

func (osFS) Update(name string) (File, error) { return asFile(os.OpenFile(name, os.O_RDWR, 0)) }

// asFile keeps a nil *os.File from becoming a non-nil File.
func asFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFS) Mkdir(name string) error                    { return os.Mkdir(name, 0o777) }
func (osFS) Rename(oldname, newname string) error       { return os.Rename(oldname, newname) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                { return os.RemoveAll(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osFS) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (osFS) SyncDir(name string) error                  { return syncDir(name) }
func (osFS) FreeSpace(name string) (int64, error)       { return freeSpace(name) }
func (osFS) Lock(name string) (io.Closer, error)        { return lock(name) }

func (osFS) Exchange(a, b string) error {
	switch err := exchange(a, b); {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.EINVAL): // from a file system that cannot
		return exchangeByRenames(a, b)
	case err != nil:
		return &fs.PathError{Op: "exchange", Path: b, Err: err}
	}
	return nil
}

// oldSuffix is added to the first name of an exchange by renames to park the
// second one for a moment. Stage looks for it.
const oldSuffix = ".old"

// exchangeByRenames swaps two directories where the system has no call for it.
// A process that dies in the middle leaves b parked as a.old.
func exchangeByRenames(a, b string) error {
	parked := a + oldSuffix
	if err := os.Rename(b, parked); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(parked, b))
	}
	return os.Rename(parked, a)
}

func (osFS) Map(name string) (Mapping, error) {
	f, fi, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the descriptor
	if fi.Size() == 0 {
		return &osMapping{}, nil // no system maps an empty file
	}
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: name, Err: err}
	}
	return &osMapping{m: m, name: name, file: fi, telling: tellsCached(fi, name)}, nil
}

type osMapping struct {
	m       mmap.MMap
	name    string
	file    fs.FileInfo
	telling bool // the system tells which pages are cached
}

func (m *osMapping) Size() int64 { return int64(len(m.m)) }

func (m *osMapping) Bytes(off, n int64, _ bool) ([]byte, error) { return m.m[off : off+n], nil }

func (m *osMapping) Advise(a Advice, off, n int64) error {
	b, err := pages(m.m, off, n, a == DontNeed)
	if err != nil || len(b) == 0 {
		return err
	}
	return madvise(b, a)
}

// pages returns b[off:off+n] extended down to the start of a page. If goes, the pages are about to be dropped, and a
// last page that extends beyond the range is left out: a reader of the bytes that follow has it in memory already, or
// is about to.
func pages(b []byte, off, n int64, goes bool) ([]byte, error) {
	if off < 0 || n < 0 || off > int64(len(b)) || n > int64(len(b))-off {
		return nil, fs.ErrInvalid
	}
	page := int64(os.Getpagesize())
	start, end := off/page*page, off+n
	if goes && end < int64(len(b)) {
		end = end / page * page
	}
	return b[start:max(start, end)], nil
}

func (m *osMapping) Cached(off, n int64) (bool, error) {
	b, err := pages(m.m, off, n, false)
	if err != nil {
		return false, err
	}
	if !m.telling {
		return false, errors.ErrUnsupported
	}
	return cached(b)
}

func (m *osMapping) ReadDirect(b *Buffer, size int, off int64) error {
	return readDirect(m.name, m.file, b, size, off)
}

func (m *osMapping) Close() error {
	if m.m == nil {
		return nil
	}
	return m.m.Unmap()
}

// ErrNotRegular is found by errors.Is in the error of FS.Open and FS.Map for a
// directory, a pipe, a socket or a device.
var ErrNotRegular = errors.New("a regular file is wanted")

// ErrTooLarge is found by errors.Is in the error of ReadFile for a file over its limit.
var ErrTooLarge = errors.New("it is not the file that is meant")

// Regular returns nil if FS.Open would open a file with this fi, else the error of FS.Open.
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

// openRegular opens a regular file for reading. It does not open other kinds of files: opening a pipe would wait for a
// writer, and opening some devices has effects. If such a file takes the name after the check, the opening does not wait
// either.
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
	if size <= limit { // the file may grow, or be on a system that tells no sizes
		b.Grow(int(size) + bytes.MinRead) // room to see the end without growing
		if size, err = b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
			return nil, err
		}
	}
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %d bytes or more, at most %d are read: %w", size, limit, ErrTooLarge)}
	}
	return b.Bytes(), nil
}

// SameFile reports whether the results of Stat for two openings of a name are of one file that was not written in
// between. It may report false for such a file.
func SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }
