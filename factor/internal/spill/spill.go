// Package spill holds vectors in files, mapped into memory: a solver.Space.
package spill

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Dir is a directory with a file for every block of vectors. The disk space of a
// block is taken when it is made. Where the system permits it the files have no
// names: nothing is left behind by a process that is killed.
//
// A Dir is safe for concurrent use.
type Dir struct {
	fsys vfs.FS
	dir  string

	mu    sync.Mutex
	made  int
	bytes int64
	most  int64
	err   error // errors of Free
	rooms atomic.Pointer[[]room]
}

// room is the file of a block. The list of rooms is replaced, never
// changed: Evict reads it without a lock.
type room struct {
	begin, size uintptr
	file        vfs.Scratch
}

// New returns a Dir that makes its files in an existing directory.
func New(fsys vfs.FS, dir string) *Dir {
	d := &Dir{fsys: fsys, dir: dir}
	d.rooms.Store(&[]room{})
	return d
}

// Make returns a slice of the given number of float64s, all 0, in a new file.
func (d *Dir) Make(numbers int) ([]float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := 8 * int64(numbers)
	name := filepath.Join(d.dir, prefix+strconv.Itoa(d.made))
	file, err := d.fsys.Scratch(name, size)
	if err != nil {
		return nil, fmt.Errorf("%.1f MiB for vectors, with %.1f MiB in such files already: %w", mib(size), mib(d.bytes), err)
	}
	d.made++
	d.bytes += size
	d.most = max(d.most, d.bytes)
	// A mapping begins with a page: it is aligned for anything.
	p := unsafe.Pointer(unsafe.SliceData(file.Bytes()))
	rooms := append(slices.Clone(*d.rooms.Load()), room{uintptr(p), uintptr(size), file})
	d.rooms.Store(&rooms)
	return unsafe.Slice((*float64)(p), numbers), nil
}

const prefix = "vectors-"

// Made reports whether a file may have been made by a Dir.
func Made(name string) bool {
	digits, found := strings.CutPrefix(name, prefix)
	_, err := strconv.ParseUint(digits, 10, 64)
	return found && err == nil
}

// find returns the index of the room that x begins in, −1 if no room does, and
// the offset of x in it in bytes.
func find(rooms []room, x []float64) (i int, off uintptr) {
	p := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	for i, r := range rooms {
		if p-r.begin < r.size { // p < begin wraps around to a large number
			return i, p - r.begin
		}
	}
	return -1, 0
}

// Evict takes the whole pages of x out of memory. Other memory is left alone.
func (d *Dir) Evict(x []float64) { d.advise(x, vfs.Scratch.Evict) }

// Fetch begins to bring x into memory. Other memory is left alone.
func (d *Dir) Fetch(x []float64) { d.advise(x, vfs.Scratch.Fetch) }

func (d *Dir) advise(x []float64, advice func(file vfs.Scratch, off, n int64) error) {
	rooms := *d.rooms.Load()
	if i, off := find(rooms, x); i >= 0 {
		_ = advice(rooms[i].file, int64(off), 8*int64(len(x)))
	}
}

// Free closes the file of a slice that Make has returned.
func (d *Dir) Free(x []float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rooms := *d.rooms.Load()
	i, off := find(rooms, x)
	if i < 0 || off != 0 {
		panic("spill: what is given back was not made here")
	}
	file := rooms[i].file
	d.bytes -= int64(rooms[i].size)
	rooms = slices.Delete(slices.Clone(rooms), i, i+1)
	d.rooms.Store(&rooms)
	d.err = errors.Join(d.err, file.Failed(), file.Close())
}

// Err returns the errors of writing to the disk, by which contents may be lost.
func (d *Dir) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.err
	for _, r := range *d.rooms.Load() {
		err = errors.Join(err, r.file.Failed())
	}
	return err
}

// Most returns the largest number of bytes that all files have taken together.
func (d *Dir) Most() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.most
}

// Close closes all files. The Dir can be used again.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.err
	for _, r := range *d.rooms.Load() {
		err = errors.Join(err, r.file.Close())
	}
	d.err, d.bytes = nil, 0
	d.rooms.Store(&[]room{})
	return err
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
