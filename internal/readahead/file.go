package readahead

import (
	"sync/atomic"

	"github.com/gdsvd/gdsvd/vfs"
)

type File struct {
	m          vfs.Mapping
	begin, end int64 // of all blocks
	// sequential is whether the kernel reads ahead in the map. Guarded by the Reader.
	sequential bool
	// released is where the blocks end that were released since the first one was.
	released atomic.Int64
}

// NewFile returns a file whose blocks lie from begin to end. The kernel reads ahead in it.
func NewFile(m vfs.Mapping, begin, end int64) *File {
	f := &File{m: m, begin: begin, end: end}
	f.readAhead(true)
	return f
}

func (f *File) readAhead(on bool) {
	if on == f.sequential {
		return
	}
	f.sequential = on
	advice := vfs.Random
	if on {
		advice = vfs.Sequential
	}
	// Only a hint.
	_ = f.m.Advise(advice, 0, int64(len(f.m.Bytes())))
}

// releaseBehind is how many bytes before a block are released along with it. A
// fault in one page of a file maps its neighbours as well, on Linux those of the
// same 64 KiB; at the beginning of a block these belong to one that has been
// released before, and would stay mapped for good. It is long enough to catch
// up also with blocks that were released out of order.
const releaseBehind = 1<<20 + Lag

// lateBy is how far behind others a block may be released: a pass adds blocks to
// each of a few sums in order, so that none is left behind by more.
const lateBy = 16 << 20

// Release gives back the pages of blocks from begin to end and of what stands
// before them, and after the last one of all those to the end of the file. Each call interrupts the other
// processors, so that there is one in Lag bytes, and one for blocks that are
// released later than some after them; that one gives back also what their reader may
// have mapped, meanwhile, of those after them.
func (f *File) Release(begin, end int64) {
	size := int64(len(f.m.Bytes()))
	from, to := max(0, begin-releaseBehind), end
	done := f.released.Load()
	if begin+lateBy < done || begin == f.begin && done == size { // the next pass
		done = min(done, begin)
		f.released.Store(done)
	}
	switch {
	case end == f.end:
		to = size
	case begin < done:
		to = max(to, min(done, to+releaseBehind))
	case to-done < Lag:
		return
	}
	f.released.Store(max(f.released.Load(), to))
	// Only a hint.
	_ = f.m.Advise(vfs.DontNeed, from, to-from)
}
