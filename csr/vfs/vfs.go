// Package vfs is the interface between gdsvd and the file system.
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

// ErrLocked is the error of Lock while another process (or another holder in
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
	// Random: the reads follow no order; nothing is read ahead.
	Random
	// Populate: the range will be read soon. Where the system can (Linux 5.14)
	// Advise returns when it is in memory.
	Populate
	// DontNeed: the range is not needed any more; its pages may be dropped, except a last page that extends beyond the
	// range.
	DontNeed
	// Ahead: the range will be read soon. Advise begins to read it, and no more than that, and does not wait.
	Ahead
)

// DirectAlign divides the offsets and sizes of direct reads: no disk in use has larger sectors.
const DirectAlign = 4096

// BufferSize is the size of a Buffer: a huge page of most processors. The disk then writes to one place in memory
// instead of 512, which can double the speed of a fast disk.
const BufferSize = 2 << 20

// Mapping is a file mapped read-only into memory. Reading bytes of a file that
// was truncated after it was mapped faults: readers of Bytes must run under
// fault.Guard.
type Mapping interface {
	Size() int64
	// Bytes returns the bytes from off to off+n, which lie in the file. Where they are fetched from a server, around
	// says that the bytes beside them will be needed too; all of these are then kept locally.
	Bytes(off, n int64, around bool) ([]byte, error)
	// Advise is a hint about the bytes from off to off+n; a no-op where the system has no such call.
	Advise(a Advice, off, n int64) error
	// Cached reports whether all bytes from off to off+n are in the page cache.
	// errors.ErrUnsupported where the system does not tell, or not about this file.
	Cached(off, n int64) (bool, error)
	// ReadDirect begins to read size bytes at offset off of the file into b, past the page cache; see Buffer.Wait. Both
	// are multiples of DirectAlign, size ≤ BufferSize. It fails if system, file system or file do not permit it, or if
	// the name now belongs to another file.
	ReadDirect(b *Buffer, size int, off int64) error
	io.Closer
}

// FS is a file system. Names are operating-system paths. Errors are those of
// package os: they name the path and can be asked with errors.Is for
// fs.ErrExist, fs.ErrNotExist and the like.
type FS interface {
	// Open opens a regular file, or a symbolic link to one, for reading. For anything else it fails with ErrNotRegular,
	// without waiting: a pipe is not opened.
	Open(name string) (File, error)
	// Create makes a new file; it is an error if the name exists.
	Create(name string) (File, error)
	// Update opens, for reading and writing, a file that Create has made.
	Update(name string) (File, error)
	// Map maps a whole file that Open would open, read-only. An empty file gives an empty mapping.
	Map(name string) (Mapping, error)
	// Scratch makes a new file of size bytes, size > 0, takes all of them from the disk now, and maps it. The file ends
	// with Close and, where the system permits it, with the process: it then has no name when Scratch returns.
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
	// Lstat is Stat, but describes a symbolic link itself.
	Lstat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// FreeSpace returns the bytes that can still be written to the file system of an existing file or directory;
	// errors.ErrUnsupported if the system does not tell, or there is no limit.
	FreeSpace(name string) (int64, error)
	// Lock takes an exclusive lock that dies with the process, creating the file if need be. If another holder has it,
	// Lock fails without waiting, with ErrLocked and the number and command of the holder. Closing the lock removes the
	// file and releases the lock.
	Lock(name string) (io.Closer, error)
}
