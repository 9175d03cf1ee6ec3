package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/edsrzf/mmap-go"
)

// Scratch is space for working data larger than memory: a file mapped read-write. Fetch, Evict and the system decide
// which parts are in memory; only what Fetch asks for is read ahead. What the system would read ahead for twenty
// sequential readers, 8 MiB for each on some machines, may not fit into memory, and is then read again and again.
type Scratch interface {
	// Bytes are the contents, zeros at first.
	Bytes() []byte
	// Evict takes the whole pages of Bytes()[off:off+n] out of the memory of the
	// process. Their contents stay, in the page cache and then on the disk, and
	// come back when they are touched; writing them begins now, so that the page cache
	// can let them go. A no-op where the system has no such call.
	Evict(off, n int64) error
	// Fetch begins to read Bytes()[off:off+n] from the disk, and no more than that, and
	// does not wait for it. A no-op where the system has no such call.
	Fetch(off, n int64) error
	// Failed returns the error of a write to the disk that has failed since the
	// beginning, as far as the system tells: contents may be lost then.
	Failed() error
	// Close releases memory and disk space.
	io.Closer
}

type osScratch struct {
	f    *os.File
	name string
	m    mmap.MMap
	gone bool // the file has no name any more
}

func (osFS) Scratch(name string, size int64) (_ Scratch, err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	s := &osScratch{f: f, name: name}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := allocate(f, size); err != nil {
		return nil, &fs.PathError{Op: "allocate", Path: name, Err: err}
	}
	if s.m, err = mmap.MapRegion(f, int(size), mmap.RDWR, 0, 0); err != nil {
		return nil, &fs.PathError{Op: "map", Path: name, Err: err}
	}
	// Where the system permits this, a killed process leaves nothing behind.
	s.gone = os.Remove(name) == nil
	return s, madvise(s.m, Random)
}

func (s *osScratch) Bytes() []byte { return s.m }

func (s *osScratch) Evict(off, n int64) error {
	b, err := pages(s.m, off, n, true)
	if err != nil || len(b) == 0 {
		return err
	}
	err = madvise(b, DontNeed)
	writeBack(s.f, off-off%int64(os.Getpagesize()), int64(len(b)))
	return err
}

func (s *osScratch) Fetch(off, n int64) error {
	b, err := pages(s.m, off, n, false)
	if err != nil {
		return err
	}
	return madvise(b, Ahead)
}

func (s *osScratch) Failed() error {
	if err := writeError(s.f); err != nil {
		return &fs.PathError{Op: "write", Path: s.name, Err: err}
	}
	return nil
}

func (s *osScratch) Close() error {
	var errs []error
	if s.m != nil {
		errs = append(errs, s.m.Unmap())
	}
	errs = append(errs, s.f.Close())
	if !s.gone {
		errs = append(errs, os.Remove(s.name))
	}
	return errors.Join(errs...)
}

// fill writes size zeros, so that the disk has room for all of the file.
func fill(f *os.File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return bare(err)
		}
	}
	return nil
}

// bare removes the file name from an error, because the caller adds one.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
