// Package vfstest wraps a file system so that any single operation can be made to fail.
package vfstest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Kind is the kind of a file operation.
type Kind string

// The operations of vfs.FS, of vfs.File (their names begin with "file"), the release of locks and mappings, direct reads,
// and the check of a scratch file.
const (
	OpOpen      Kind = "open"
	OpCreate    Kind = "create"
	OpMap       Kind = "map"
	OpScratch   Kind = "scratch"
	OpMkdir     Kind = "mkdir"
	OpRename    Kind = "rename"
	OpExchange  Kind = "exchange"
	OpRemove    Kind = "remove"
	OpRemoveAll Kind = "remove all"
	OpReadDir   Kind = "read dir"
	OpStat      Kind = "stat"
	OpLstat     Kind = "lstat"
	OpSyncDir   Kind = "sync dir"
	OpFreeSpace Kind = "free space"
	OpLock      Kind = "lock"
	OpUnlock    Kind = "unlock"
	OpUnmap     Kind = "unmap"
	OpDirect    Kind = "read direct"
	OpFailed    Kind = "scratch failed"
	OpRead      Kind = "file read"
	OpReadAt    Kind = "file read at"
	OpWrite     Kind = "file write"
	OpWriteAt   Kind = "file write at"
	OpSync      Kind = "file sync"
	OpFileStat  Kind = "file stat"
	OpClose     Kind = "file close"
)

// Op is one file operation about to be done.
type Op struct {
	Index int    // counted from 0 over the life of the FaultFS
	Kind  Kind   // one of the constants above
	Name  string // of the file; "from -> to" for renames
	Bytes int    // bytes of a read, a write or a scratch file
}

func (o Op) String() string { return fmt.Sprintf("%s %s", o.Kind, o.Name) }

// ErrInjected is wrapped by the errors of FailAt.
var ErrInjected = errors.New("injected fault")

// ErrShort as the result of Inject makes a read return half of its bytes, ReadAt with io.EOF, and a write stop after half of
// its bytes with io.ErrShortWrite. Other operations succeed.
var ErrShort = errors.New("half of the bytes")

// ErrDead is the error of every operation after Die.
var ErrDead = errors.New("the process is dead")

// FaultFS is a vfs.FS that calls Inject before every operation; an error of Inject is the error of the operation. A failing
// write first writes half of its bytes, as on a full disk; failing closes, unlocks and unmaps still release the resource;
// other failing operations are not done. Advice is not counted.
type FaultFS struct {
	FS     vfs.FS         // nil: vfs.OS()
	Inject func(Op) error // nil: nothing fails

	mu   sync.Mutex
	n    int
	dead bool
	held map[io.Closer]struct{} // resources that Die closes
}

var _ vfs.FS = (*FaultFS)(nil)

// FailAt returns a function for Inject that fails operation n, counted from 0, and no other.
func FailAt(n int) func(Op) error {
	return func(o Op) error {
		if o.Index == n {
			return fmt.Errorf("%w: operation %d, %v", ErrInjected, n, o)
		}
		return nil
	}
}

// EachFault calls run with file systems that fail operation 0, step, 2·step and so on, until run returns no error. Every other
// error must be the injected one, and at least least operations must fail.
func EachFault(t testing.TB, least, step int, run func(at int, fsys *FaultFS) error) {
	t.Helper()
	for at := 0; ; at += step {
		err := run(at, &FaultFS{Inject: FailAt(at)})
		if err == nil {
			if at < least {
				t.Errorf("%d operations", at)
			}
			return
		}
		if !errors.Is(err, ErrInjected) {
			t.Fatalf("operation %d fails: %v", at, err)
		}
	}
}

// FailKind returns a function for Inject that fails the n-th operation of a kind, counted from 0, with err.
func FailKind(kind Kind, n int, err error) func(Op) error {
	return func(o Op) error {
		if o.Kind != kind {
			return nil
		}
		n--
		if n == -1 {
			return err
		}
		return nil
	}
}

// DiskFull returns a function for Inject that fails writes with ENOSPC after limit bytes have been written.
func DiskFull(limit int64) func(Op) error {
	return func(o Op) error {
		if o.Kind != OpWrite && o.Kind != OpWriteAt && o.Kind != OpScratch {
			return nil
		}
		limit -= int64(o.Bytes)
		if limit < 0 {
			return &fs.PathError{Op: "write", Path: o.Name, Err: syscall.ENOSPC}
		}
		return nil
	}
}

// Count returns the number of operations so far.
func (f *FaultFS) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// Die simulates the end of the process: files, locks and mappings are closed, and every later operation fails without
// effect. (Unlike a dead process it leaves no lock file, which has no meaning without its lock.)
func (f *FaultFS) Die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
	for c := range f.held {
		_ = c.Close()
	}
	f.held = nil
}

func (f *FaultFS) ask(kind Kind, name string, bytes int) error {
	f.mu.Lock()
	if f.dead {
		f.mu.Unlock()
		return ErrDead
	}
	op := Op{Index: f.n, Kind: kind, Name: name, Bytes: bytes}
	f.n++
	inject := f.Inject
	f.mu.Unlock()
	if inject == nil {
		return nil
	}
	err := inject(op)
	if err == ErrShort && kind != OpRead && kind != OpReadAt && kind != OpWrite && kind != OpWriteAt {
		return nil
	}
	return err
}

func hold[T io.Closer](f *FaultFS, c T, err error) (T, error) {
	if err != nil {
		return c, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = map[io.Closer]struct{}{}
	}
	f.held[c] = struct{}{}
	return c, nil
}

// letGo closes c, even if the operation is made to fail, unless Die has closed it.
func (f *FaultFS) letGo(kind Kind, name string, c io.Closer) error {
	fault := f.ask(kind, name, 0)
	f.mu.Lock()
	_, held := f.held[c]
	delete(f.held, c)
	f.mu.Unlock()
	if !held {
		return fault
	}
	return errors.Join(fault, c.Close())
}

// asked calls do on the file system, unless the operation is made to fail.
func asked[T any](f *FaultFS, kind Kind, name string, bytes int, do func(fsys vfs.FS, name string) (T, error)) (v T, err error) {
	if err := f.ask(kind, name, bytes); err != nil {
		return v, err
	}
	if f.FS == nil {
		return do(vfs.OS(), name)
	}
	return do(f.FS, name)
}

// done calls asked for an operation without a result.
func (f *FaultFS) done(kind Kind, name string, do func(fsys vfs.FS, name string) error) error {
	_, err := asked(f, kind, name, 0, func(fsys vfs.FS, name string) (struct{}, error) { return struct{}{}, do(fsys, name) })
	return err
}

// opened calls asked for an operation whose result has to be closed. wrap adds the fault injection to the result.
func opened[T io.Closer, W any](f *FaultFS, kind Kind, name string, bytes int, do func(fsys vfs.FS, name string) (T, error), wrap func(T) W) (w W, err error) {
	v, err := asked(f, kind, name, bytes, do)
	if v, err = hold(f, v, err); err != nil {
		return w, err
	}
	return wrap(v), nil
}

func (f *FaultFS) file(file vfs.File) vfs.File { return &faultFile{file, f} }

func (f *FaultFS) Open(name string) (vfs.File, error) {
	return opened(f, OpOpen, name, 0, vfs.FS.Open, f.file)
}

func (f *FaultFS) Create(name string) (vfs.File, error) {
	return opened(f, OpCreate, name, 0, vfs.FS.Create, f.file)
}

func (f *FaultFS) Update(name string) (vfs.File, error) {
	return opened(f, OpOpen, name, 0, vfs.FS.Update, f.file)
}

func (f *FaultFS) Map(name string) (vfs.Mapping, error) {
	return opened(f, OpMap, name, 0, vfs.FS.Map, func(m vfs.Mapping) vfs.Mapping { return &faultMapping{m, f, name} })
}

func (f *FaultFS) Scratch(name string, size int64) (vfs.Scratch, error) {
	return opened(f, OpScratch, name, int(size), func(fsys vfs.FS, name string) (vfs.Scratch, error) { return fsys.Scratch(name, size) },
		func(s vfs.Scratch) vfs.Scratch { return &faultScratch{s, f, name} })
}

func (f *FaultFS) Lock(name string) (io.Closer, error) {
	return opened(f, OpLock, name, 0, vfs.FS.Lock, func(l io.Closer) io.Closer { return &faultLock{l, f, name} })
}

func (f *FaultFS) Rename(from, to string) error {
	return f.done(OpRename, from+" -> "+to, func(fsys vfs.FS, _ string) error { return fsys.Rename(from, to) })
}

func (f *FaultFS) Exchange(a, b string) error {
	return f.done(OpExchange, a+" -> "+b, func(fsys vfs.FS, _ string) error { return fsys.Exchange(a, b) })
}

func (f *FaultFS) Mkdir(name string) error     { return f.done(OpMkdir, name, vfs.FS.Mkdir) }
func (f *FaultFS) Remove(name string) error    { return f.done(OpRemove, name, vfs.FS.Remove) }
func (f *FaultFS) RemoveAll(name string) error { return f.done(OpRemoveAll, name, vfs.FS.RemoveAll) }
func (f *FaultFS) SyncDir(name string) error   { return f.done(OpSyncDir, name, vfs.FS.SyncDir) }

func (f *FaultFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return asked(f, OpReadDir, name, 0, vfs.FS.ReadDir)
}

func (f *FaultFS) Stat(name string) (fs.FileInfo, error) {
	return asked(f, OpStat, name, 0, vfs.FS.Stat)
}

func (f *FaultFS) Lstat(name string) (fs.FileInfo, error) {
	return asked(f, OpLstat, name, 0, vfs.FS.Lstat)
}

func (f *FaultFS) FreeSpace(name string) (int64, error) {
	return asked(f, OpFreeSpace, name, 0, vfs.FS.FreeSpace)
}

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

// write writes b; if it is made to fail it writes half of b, and nothing after Die.
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
