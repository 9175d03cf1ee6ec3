// Package vfs is the seam between gdsvd and the file system.
//
// Everything that writes or reads a store, a result directory or a temporary
// file goes through an [FS], so that a program can bring its own and tests can inject
// a fault at any single operation (see vfstest). [OS] is the real one.
package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// ErrLocked is what Lock gives while another process (or another holder in
// this one) has the lock.
var ErrLocked = errors.New("locked by another process")

// File is an open file. A file made by Create may be read and written at any
// offset; one made by Open may only be read.
type File interface {
	io.Reader
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Name is the name the file was opened with.
	Name() string
	// Sync makes the written bytes durable.
	Sync() error
	Stat() (fs.FileInfo, error)
}

// Advice tells the kernel how a range of a mapping is going to be used.
type Advice uint8

const (
	// Sequential: the range will be read once, in order.
	Sequential Advice = iota
	// Random: what is read says nothing about what will be: nothing is read ahead.
	Random
	// Populate: the range will be read soon. Where the system can (Linux 5.14)
	// Advise returns when it is in memory.
	Populate
	// DontNeed: the range is not needed any more; its pages may be taken away,
	// but for the last one if it goes on behind the range.
	DontNeed
	// Ahead: the range will be read soon. Reading begins, of no more than the range,
	// and is not waited for.
	Ahead
)

// DirectAlign is what offsets and sizes of direct reads are multiples of: no disk
// in use has larger sectors.
const DirectAlign = 4096

// BufferSize is the size of a Buffer: that of a huge page of most processors.
// The disk then writes to one place in memory where it would write to 512, which
// can double the speed of a fast one.
const BufferSize = 2 << 20

// Mapping is a file mapped read-only into memory. Reading bytes of a file that
// was truncated after it was mapped faults: readers of Bytes must run under
// fault.Guard.
type Mapping interface {
	Size() int64
	// Bytes are those from off to off+n, which lie in the file. Where they have to be fetched from afar, around tells that those
	// beside them will be wanted, too, and all are kept near.
	Bytes(off, n int64, around bool) ([]byte, error)
	// Advise is a hint about the bytes from off to off+n; a no-op where the system has no such call.
	Advise(a Advice, off, n int64) error
	// Cached tells whether all bytes from off to off+n are in the page cache.
	// errors.ErrUnsupported where the system does not tell, or not about this file.
	Cached(off, n int64) (bool, error)
	// ReadDirect begins to read size bytes from byte off of the file on into b, past the
	// page cache; see Buffer.Wait. Both are multiples of DirectAlign, size ≤
	// BufferSize. It fails where system, file system or file do not permit it, or if
	// the name is another file's by now.
	ReadDirect(b *Buffer, size int, off int64) error
	io.Closer
}

// FS is a file system. Names are operating-system paths. Errors are those of
// package os: they name the path and can be asked with errors.Is for
// fs.ErrExist, fs.ErrNotExist and the like.
type FS interface {
	// Open opens a regular file, or a symbolic link to one, for reading. It is
	// ErrNotRegular for all else, without waiting: a pipe is not opened.
	Open(name string) (File, error)
	// Create makes a new file; it is an error if the name exists.
	Create(name string) (File, error)
	// Update opens a file that Create has made for reading and writing.
	Update(name string) (File, error)
	// Map maps a whole file, as Open would open, read-only. An empty file gives an empty mapping.
	Map(name string) (Mapping, error)
	// Scratch makes a new file of size bytes, above 0, all of them taken from
	// the disk now, and maps it. The file ends with Close, and where the system
	// permits it with the process: then it has no name when Scratch returns.
	Scratch(name string, size int64) (Scratch, error)
	Mkdir(name string) error
	Rename(oldname, newname string) error
	// Exchange swaps two existing directories: in one step where the system
	// can (Linux, macOS), else by renames.
	Exchange(a, b string) error
	Remove(name string) error
	RemoveAll(name string) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// Lstat is Stat of a symbolic link itself.
	Lstat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// FreeSpace is the bytes that can still be written to the file system of an
	// existing file or directory; errors.ErrUnsupported where the system does not tell, or there is no limit.
	FreeSpace(name string) (int64, error)
	// Lock takes an exclusive lock that dies with the process, creating the
	// file if need be. It fails with ErrLocked, without waiting, and the number and command of the holder, if another
	// holder has it. Closing the lock removes the file and lets go.
	Lock(name string) (io.Closer, error)
}
