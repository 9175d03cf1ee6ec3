package csrtest

import (
	"errors"
	"io"
	"io/fs"

	"github.com/gdsvd/gdsvd/internal/vfs"
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
	if err := x.f.ask(OpRead, x.Name(), len(b)); err != nil {
		return 0, err
	}
	return x.File.Read(b)
}

func (x *faultFile) ReadAt(b []byte, off int64) (int, error) {
	if err := x.f.ask(OpReadAt, x.Name(), len(b)); err != nil {
		return 0, err
	}
	return x.File.ReadAt(b, off)
}

func (x *faultFile) Write(b []byte) (int, error) {
	if err := x.f.ask(OpWrite, x.Name(), len(b)); err != nil {
		n, writeErr := 0, error(nil)
		if !errors.Is(err, ErrDead) {
			n, writeErr = x.File.Write(b[:len(b)/2])
		}
		return n, errors.Join(err, writeErr)
	}
	return x.File.Write(b)
}

func (x *faultFile) WriteAt(b []byte, off int64) (int, error) {
	if err := x.f.ask(OpWriteAt, x.Name(), len(b)); err != nil {
		n, writeErr := 0, error(nil)
		if !errors.Is(err, ErrDead) {
			n, writeErr = x.File.WriteAt(b[:len(b)/2], off)
		}
		return n, errors.Join(err, writeErr)
	}
	return x.File.WriteAt(b, off)
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
