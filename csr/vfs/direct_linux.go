package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// Buffer is memory outside of the heap that direct reads go to: see
// [Mapping.ReadDirect].
//
// Reads are asynchronous (io_submit(2)). A goroutine that waits in read(2) keeps
// its processor until the scheduler takes it away, which may be after the read
// has ended; with all processors computing, each read would cost one of them.
type Buffer struct {
	region mmap.MMap
	bytes  []byte
	queue  uintptr // queue of the kernel, for one read

	mu      sync.Mutex
	pending bool // a read is in the queue
	n       int
	err     error
}

// NewBuffer makes a buffer. It fails where there are no direct reads, or the kernel has no queue to give.
func NewBuffer() (*Buffer, error) {
	// Private: shared memory has no huge pages. Pages that are never touched take addresses only.
	region, err := mmap.MapRegion(nil, 2*BufferSize, mmap.COPY, mmap.ANON, 0)
	if err != nil {
		return nil, err
	}
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(region))) % BufferSize
	b := &Buffer{region: region, bytes: region[skip:][:BufferSize:BufferSize]}
	// Only a hint.
	_ = unix.Madvise(b.bytes, unix.MADV_HUGEPAGE)
	if _, _, err := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&b.queue)), 0); err != 0 {
		return nil, errors.Join(err, region.Unmap()) // not permitted, or too many in use
	}
	return b, nil
}

// Bytes returns the contents, BufferSize bytes. They must not be used until Wait has returned.
func (b *Buffer) Bytes() []byte { return b.bytes }

// Wait waits for the read that was begun last, and returns the number of bytes read:
// fewer than asked for only at the end of the file.
func (b *Buffer) Wait() (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait()
	return b.n, b.err
}

// ioEvent is struct io_event of the kernel.
type ioEvent struct {
	data, iocb uint64
	res, res2  int64
}

func (b *Buffer) wait() {
	if !b.pending {
		return
	}
	b.pending = false
	var e ioEvent
	for {
		n, _, err := unix.Syscall6(unix.SYS_IO_GETEVENTS, b.queue, 1, 1, uintptr(unsafe.Pointer(&e)), 0, 0)
		switch {
		case err == unix.EINTR || err == 0 && n == 0:
			continue
		case err != 0:
			b.err = err
		case e.res < 0:
			b.err = syscall.Errno(-e.res)
		default:
			b.n = int(e.res)
		}
		return
	}
}

// ioControl is struct iocb of the kernel.
type ioControl struct {
	_         [20]byte // zeros: opcode 0 is a read
	fd        uint32
	buf, size uint64
	offset    int64
	_         [16]byte
}

func (b *Buffer) begin(fd int, size int, off int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait()
	b.n, b.err = 0, nil
	c := &ioControl{fd: uint32(fd), buf: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b.bytes)))), size: uint64(size), offset: off}
	if _, _, err := unix.Syscall(unix.SYS_IO_SUBMIT, b.queue, 1, uintptr(unsafe.Pointer(&c))); err != 0 {
		b.err = err
		return err
	}
	b.pending = true
	return nil
}

// Empty gives the memory back to the system until the next read. Close would wait for the kernel to end the queue, longer
// than a read from a disk takes.
func (b *Buffer) Empty() { _ = unix.Madvise(b.bytes, unix.MADV_DONTNEED) } // only a hint

// Close releases the memory.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait()
	unix.Syscall(unix.SYS_IO_DESTROY, b.queue, 0, 0)
	b.bytes = nil
	return b.region.Unmap()
}

// readDirect begins to read from the named file, if it is still the file that was mapped.
func readDirect(name string, file fs.FileInfo, b *Buffer, size int, off int64) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // a read in progress keeps the file open
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return err
	}
	if old, ok := file.Sys().(*syscall.Stat_t); !ok || old.Dev != now.Dev || old.Ino != now.Ino {
		return unix.ESTALE
	}
	if size > len(b.bytes) || off >= now.Size {
		return io.ErrUnexpectedEOF
	}
	return b.begin(fd, size, off)
}

// tellsCached reports whether the kernel tells this process which pages of a file are in the cache. For a file of another
// user that the process cannot write, the kernel reports every page as cached (mincore(2), "Since Linux 5.2").
func tellsCached(fi fs.FileInfo, name string) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	own := ok && int(st.Uid) == os.Geteuid()
	return own || unix.Faccessat(unix.AT_FDCWD, name, unix.W_OK, unix.AT_EACCESS) == nil
}

// cached reports whether all pages of b, which begins at a page of a mapping, are in the page cache.
func cached(b []byte) (bool, error) {
	page := os.Getpagesize()
	var there [BufferSize >> 12]byte
	for len(b) > 0 {
		some := b[:min(len(b), len(there)*page)]
		b = b[len(some):]
		_, _, err := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(some))), uintptr(len(some)), uintptr(unsafe.Pointer(&there)))
		if err != 0 {
			return false, err
		}
		for _, p := range there[:(len(some)+page-1)/page] {
			if p&1 == 0 {
				return false, nil
			}
		}
	}
	return true, nil
}
