package csrtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"

	"github.com/gdsvd/gdsvd/internal/vfs"
)

// Kind is the kind of a file operation.
type Kind string

// The operations of vfs.FS, of vfs.File (those that begin with "file"), and
// the release of a lock, and direct reads and the release of a mapping.
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
	Kind  Kind   //
	Name  string // of the file; "from -> to" for renames
	Bytes int    // of a read or write, or of scratch
}

func (o Op) String() string { return fmt.Sprintf("%s %s", o.Kind, o.Name) }

// ErrInjected is what FailAt makes operations fail with.
var ErrInjected = errors.New("injected fault")

// ErrDead is what every operation fails with after Die.
var ErrDead = errors.New("the process is dead")

// FaultFS is a vfs.FS that asks Inject before every operation and fails it
// with the answer, if that is not nil. A failing write first writes half of
// its bytes, as a full disk does; failing closes, unlocks and unmaps let go
// all the same; other failing operations are not done. Advice is not counted.
type FaultFS struct {
	FS     vfs.FS         // nil: vfs.OS
	Inject func(Op) error // nil: nothing fails

	mu   sync.Mutex
	n    int
	dead bool
	held map[io.Closer]struct{} // what Die must let go
}

var _ vfs.FS = (*FaultFS)(nil)

// FailAt fails the n-th operation, from 0, and only that.
func FailAt(n int) func(Op) error {
	return func(o Op) error {
		if o.Index == n {
			return fmt.Errorf("%w: operation %d, %v", ErrInjected, n, o)
		}
		return nil
	}
}

// FailKind fails the n-th operation of a kind, from 0, with err.
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

// DiskFull fails writes with ENOSPC once limit bytes have been written.
func DiskFull(limit int64) func(Op) error {
	return func(o Op) error {
		if o.Kind != OpWrite && o.Kind != OpWriteAt && o.Kind != OpScratch {
			return nil
		}
		if limit -= int64(o.Bytes); limit < 0 {
			return &fs.PathError{Op: "write", Path: o.Name, Err: syscall.ENOSPC}
		}
		return nil
	}
}

// Count is the number of operations asked for so far.
func (f *FaultFS) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// Die plays the end of the process: files, locks and mappings are let go, and
// every later operation fails without effect. (Unlike a dead process it leaves
// no lock file, which means nothing without its lock.)
func (f *FaultFS) Die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
	for c := range f.held {
		_ = c.Close()
	}
	f.held = nil
}

func (f *FaultFS) base() vfs.FS {
	if f.FS == nil {
		return vfs.OS
	}
	return f.FS
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
	return inject(op)
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

// letGo closes what was held, also when that is made to fail; not if Die did.
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

// Open implements vfs.FS.
func (f *FaultFS) Open(name string) (vfs.File, error) {
	if err := f.ask(OpOpen, name, 0); err != nil {
		return nil, err
	}
	file, err := f.base().Open(name)
	if file, err = hold(f, file, err); err != nil {
		return nil, err
	}
	return &faultFile{file, f}, nil
}

// Create implements vfs.FS.
func (f *FaultFS) Create(name string) (vfs.File, error) {
	if err := f.ask(OpCreate, name, 0); err != nil {
		return nil, err
	}
	file, err := f.base().Create(name)
	if file, err = hold(f, file, err); err != nil {
		return nil, err
	}
	return &faultFile{file, f}, nil
}

// Map implements vfs.FS.
func (f *FaultFS) Map(name string) (vfs.Mapping, error) {
	if err := f.ask(OpMap, name, 0); err != nil {
		return nil, err
	}
	m, err := f.base().Map(name)
	if m, err = hold(f, m, err); err != nil {
		return nil, err
	}
	return &faultMapping{m, f, name}, nil
}

// Scratch implements vfs.FS.
func (f *FaultFS) Scratch(name string, size int64) (vfs.Scratch, error) {
	if err := f.ask(OpScratch, name, int(size)); err != nil {
		return nil, err
	}
	s, err := f.base().Scratch(name, size)
	if s, err = hold(f, s, err); err != nil {
		return nil, err
	}
	return &faultScratch{s, f, name}, nil
}

// Mkdir implements vfs.FS.
func (f *FaultFS) Mkdir(name string) error {
	if err := f.ask(OpMkdir, name, 0); err != nil {
		return err
	}
	return f.base().Mkdir(name)
}

// Rename implements vfs.FS.
func (f *FaultFS) Rename(oldname, newname string) error {
	if err := f.ask(OpRename, oldname+" -> "+newname, 0); err != nil {
		return err
	}
	return f.base().Rename(oldname, newname)
}

// Exchange implements vfs.FS.
func (f *FaultFS) Exchange(a, b string) error {
	if err := f.ask(OpExchange, a+" -> "+b, 0); err != nil {
		return err
	}
	return f.base().Exchange(a, b)
}

// Remove implements vfs.FS.
func (f *FaultFS) Remove(name string) error {
	if err := f.ask(OpRemove, name, 0); err != nil {
		return err
	}
	return f.base().Remove(name)
}

// RemoveAll implements vfs.FS.
func (f *FaultFS) RemoveAll(name string) error {
	if err := f.ask(OpRemoveAll, name, 0); err != nil {
		return err
	}
	return f.base().RemoveAll(name)
}

// ReadDir implements vfs.FS.
func (f *FaultFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.ask(OpReadDir, name, 0); err != nil {
		return nil, err
	}
	return f.base().ReadDir(name)
}

// Stat implements vfs.FS.
func (f *FaultFS) Stat(name string) (fs.FileInfo, error) {
	if err := f.ask(OpStat, name, 0); err != nil {
		return nil, err
	}
	return f.base().Stat(name)
}

// Lstat implements vfs.FS.
func (f *FaultFS) Lstat(name string) (fs.FileInfo, error) {
	if err := f.ask(OpLstat, name, 0); err != nil {
		return nil, err
	}
	return f.base().Lstat(name)
}

// SyncDir implements vfs.FS.
func (f *FaultFS) SyncDir(name string) error {
	if err := f.ask(OpSyncDir, name, 0); err != nil {
		return err
	}
	return f.base().SyncDir(name)
}

// FreeSpace implements vfs.FS.
func (f *FaultFS) FreeSpace(name string) (int64, error) {
	if err := f.ask(OpFreeSpace, name, 0); err != nil {
		return 0, err
	}
	return f.base().FreeSpace(name)
}

// Lock implements vfs.FS.
func (f *FaultFS) Lock(name string) (io.Closer, error) {
	if err := f.ask(OpLock, name, 0); err != nil {
		return nil, err
	}
	l, err := f.base().Lock(name)
	if l, err = hold(f, l, err); err != nil {
		return nil, err
	}
	return &faultLock{l, f, name}, nil
}
