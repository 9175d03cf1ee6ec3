package vfstest

import (
	"cmp"
	"errors"
	"io"
	"io/fs"

	"github.com/gdsvd/gdsvd/vfs"
)

type faultLock struct {
	l    io.Closer
	f    *FaultFS
	name string
}

func (l *faultLock) Close() error { return l.f.letGo(OpUnlock, l.name, l.l) }

type faultMapping struct {
	vfs.Mapping
	f    *FaultFS
	name string
}

func (m *faultMapping) ReadDirect(b *vfs.Buffer, size int, off int64) error {
	if err := m.f.ask(OpDirect, m.name, size); err != nil {
		return err
	}
	return m.Mapping.ReadDirect(b, size, off)
}

func (m *faultMapping) Close() error { return m.f.letGo(OpUnmap, m.name, m.Mapping) }

type faultScratch struct {
	vfs.Scratch
	f    *FaultFS
	name string
}

func (s *faultScratch) Failed() error {
	if err := s.f.ask(OpFailed, s.name, 0); err != nil {
		return err
	}
	return s.Scratch.Failed()
}

func (s *faultScratch) Close() error { return s.f.letGo(OpUnmap, s.name, s.Scratch) }

type faultFile struct {
	vfs.File
	f *FaultFS
}

func (x *faultFile) Read(b []byte) (int, error) {
	err := x.f.ask(OpRead, x.Name(), len(b))
	if err == ErrShort {
		b = b[:(len(b)+1)/2]
	} else if err != nil {
		return 0, err
	}
	return x.File.Read(b)
}

func (x *faultFile) ReadAt(b []byte, off int64) (int, error) {
	err := x.f.ask(OpReadAt, x.Name(), len(b))
	if err == ErrShort {
		n, err := x.File.ReadAt(b[:len(b)/2], off)
		return n, cmp.Or(err, io.EOF)
	}
	if err != nil {
		return 0, err
	}
	return x.File.ReadAt(b, off)
}

func (x *faultFile) Write(b []byte) (int, error) { return x.write(OpWrite, b, x.File.Write) }

func (x *faultFile) WriteAt(b []byte, off int64) (int, error) {
	return x.write(OpWriteAt, b, func(b []byte) (int, error) { return x.File.WriteAt(b, off) })
}

// write writes half of b if it is made to fail, unless the process is dead.
func (x *faultFile) write(kind Kind, b []byte, write func([]byte) (int, error)) (int, error) {
	err := x.f.ask(kind, x.Name(), len(b))
	switch {
	case err == nil:
		return write(b)
	case errors.Is(err, ErrDead):
		return 0, err
	}
	if err == ErrShort {
		err = &fs.PathError{Op: "write", Path: x.Name(), Err: io.ErrShortWrite}
	}
	n, writeErr := write(b[:len(b)/2])
	return n, errors.Join(err, writeErr)
}

func (x *faultFile) Sync() error {
	if err := x.f.ask(OpSync, x.Name(), 0); err != nil {
		return err
	}
	return x.File.Sync()
}

func (x *faultFile) Stat() (fs.FileInfo, error) {
	if err := x.f.ask(OpFileStat, x.Name(), 0); err != nil {
		return nil, err
	}
	return x.File.Stat()
}

func (x *faultFile) Close() error { return x.f.letGo(OpClose, x.Name(), x.File) }
