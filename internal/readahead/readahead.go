// Package readahead reads blocks of mapped files before they are decoded: through the page cache
// as long as that keeps what it gets, else past it, into buffers (see package csr).
package readahead

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

const (
	// SpanMemory is what blocks of SpanBytes or less take in memory between Prefetch
	// and Release.
	SpanMemory = vfs.BufferSize
	SpanBytes  = vfs.BufferSize - 2*vfs.DirectAlign // both ends may be shared with other blocks

	// Lag is how many bytes of blocks that were released may stay mapped.
	Lag = 1 << 20
)

// Reader reads blocks of the files of a store ahead. The zero value is ready; it is safe for
// concurrent use.
type Reader struct {
	mu    sync.Mutex
	spans []*span       // whose reading has begun, and that are not released or still in use
	idle  []*vfs.Buffer // of spans before

	refused bool // the system refuses to read past the cache
	cacheWatch
}

// span is blocks from … to−1 of a store, of one file.
type span struct {
	file       *File
	from, to   int
	begin, end int64 // in the file: of the blocks
	base       int64 // and of the buffer
	buffer     *vfs.Buffer
	mapped     chan struct{} // without a buffer: closed when the blocks are in the page cache
	users      int
	released   bool
}

// Prefetch begins to bring blocks from … to−1, which lie in f from begin to end, into memory, where
// Bytes will wait for them instead of the disk. They take [SpanMemory] if they are not larger than
// [SpanBytes]. Each call must be followed by one of Release for the same blocks. What cannot be
// read is left to the reader of the map.
func (p *Reader) Prefetch(f *File, from, to int, begin, end int64) {
	sp := &span{file: f, from: from, to: to, begin: begin, end: end}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notice(from)
	cached, err := f.m.Cached(begin, end-begin) // of what is read together some pages may go before others
	direct := !cached && err == nil && !p.refused && p.cacheFull() && p.readDirect(sp)
	// Where the cache is full, what the kernel reads ahead takes the place of what is there.
	f.readAhead(!cached && !direct)
	if !direct {
		for _, b := range p.idle { // blocks that are mapped take the memory instead
			b.Empty()
		}
	}
	if cached {
		return
	}
	if !direct {
		sp.mapped = make(chan struct{})
		go p.populate(sp)
	}
	p.spans = append(p.spans, sp)
}

func (p *Reader) populate(sp *span) {
	defer close(sp.mapped)
	// Only a hint.
	_ = sp.file.m.Advise(vfs.Populate, sp.begin, sp.end-sp.begin)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.witnesses) < maxWitnesses {
		p.witnesses = append(p.witnesses, sp)
	}
}

// readDirect begins to read a span into a buffer, past the page cache. It reports
// false if the span is too large or the system refuses.
func (p *Reader) readDirect(sp *span) bool {
	const align = vfs.DirectAlign
	sp.base = sp.begin / align * align
	size := (sp.end - sp.base + align - 1) / align * align
	if size > vfs.BufferSize {
		return false
	}
	b, err := p.buffer()
	if err == nil {
		if err = sp.file.m.ReadDirect(b, int(size), sp.base); err == nil {
			sp.buffer = b
			return true
		}
		p.idle = append(p.idle, b)
	}
	p.refused = true
	return false
}

func (p *Reader) buffer() (*vfs.Buffer, error) {
	n := len(p.idle)
	if n == 0 {
		return vfs.NewBuffer()
	}
	b := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return b, nil
}

// Bytes returns the bytes of the file of block i from offset on, where the block begins, when
// they have been read ahead, if they are. Nil where the map has them.
// letGo must be called when they are not used any more.
func (p *Reader) Bytes(i int, offset int64) (b []byte, letGo func()) {
	sp := p.use(i)
	if sp == nil {
		return nil, func() {}
	}
	if sp.buffer == nil {
		<-sp.mapped
	} else if n, err := sp.buffer.Wait(); err == nil && sp.base+int64(n) >= sp.end {
		b = sp.buffer.Bytes()[offset-sp.base : sp.end-sp.base]
	}
	return b, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		sp.users--
		// After a failure nothing more is read past the cache: the map is there for it, and has the errors to be reported.
		p.refused = p.refused || sp.buffer != nil && b == nil
		p.recycle(sp)
	}
}

// use finds the span that has block i, which stays until letGo.
func (p *Reader) use(i int) *span {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sp := range p.spans {
		if sp.from <= i && i < sp.to && !sp.released {
			sp.users++
			return sp
		}
	}
	return nil
}

// end finds the span of exactly these blocks, and ends it; nil if there is none.
func (p *Reader) end(from, to int) *span {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sp := range p.spans {
		if sp.from == from && sp.to == to && !sp.released {
			sp.released = true
			p.recycle(sp)
			return sp
		}
	}
	return nil
}

// recycle forgets a span that is not needed any more, and keeps its buffer.
func (p *Reader) recycle(sp *span) {
	if sp.users > 0 || !sp.released {
		return
	}
	p.spans = slices.DeleteFunc(p.spans, func(o *span) bool { return o == sp })
	if sp.buffer != nil {
		p.idle = append(p.idle, sp.buffer)
	}
}

// Close waits for what is being read, and gives the buffers back.
func (p *Reader) Close() (err error) {
	for _, sp := range p.spans {
		if sp.buffer != nil {
			p.idle = append(p.idle, sp.buffer)
		} else {
			<-sp.mapped
		}
	}
	for _, b := range p.idle {
		err = errors.Join(err, b.Close())
	}
	p.spans, p.idle = nil, nil
	return err
}

// Release says that blocks from … to−1, which lie in f from begin to end, of one Prefetch or
// without one, are not needed again soon. Their buffer is free for others. If they are mapped the
// kernel is told, of those shortly before them too: at once or, of a file that is read in
// order, with one of the next calls ([Lag]).
func (p *Reader) Release(f *File, from, to int, begin, end int64) {
	if sp := p.end(from, to); sp != nil {
		if sp.buffer != nil {
			return
		}
		<-sp.mapped // pages that come later would stay
	}
	f.Release(begin, end)
}

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
	_ = f.m.Advise(advice, 0, f.m.Size())
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
	size := f.m.Size()
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

const (
	// retryPasses is after how many passes what the page cache could not hold is
	// read through it once more: what needed the memory may be gone.
	retryPasses = 8

	// maxWitnesses is how many spans are remembered; someWitnesses of them are looked
	// at before another one is read. The kernel does not always take the first page first.
	maxWitnesses, someWitnesses = 64, 8
)

// cacheWatch finds out whether the page cache can hold what is read through it.
//
// A pass that is larger than the page cache finds nothing in it of what it has
// read through it: each page makes way for one that comes after it, before the next
// pass needs it. So from the moment in which one of the first blocks that were read
// through the cache (the witnesses) is found missing, what is missing is read past
// it, into buffers. That costs a fraction, and leaves in the cache what is there.
type cacheWatch struct {
	full      bool
	witnesses []*span // in the order in which they were read
	asked     int     // how many of them, again and again
	last      int     // the block that Prefetch was last called with
	passes    int
}

// notice sees when a pass begins. Witnesses say nothing about the blocks of one
// that does not read them any more.
func (w *cacheWatch) notice(from int) {
	if from < w.last {
		w.passes++
		if w.passes%retryPasses == 0 || len(w.witnesses) > 0 && w.witnesses[0].from < from {
			w.full, w.witnesses = false, nil
		}
	}
	w.last = from
}

// cacheFull tells whether what is missing in the page cache is to be read past it.
func (w *cacheWatch) cacheFull() bool {
	for k := 0; k < min(someWitnesses, len(w.witnesses)) && !w.full; k++ {
		sp := w.witnesses[0] // the likeliest, then others in turn
		if k > 0 {
			w.asked++
			sp = w.witnesses[w.asked%len(w.witnesses)]
		}
		cached, err := sp.file.m.Cached((sp.begin+sp.end)/2, 1)
		w.full = !cached && err == nil
	}
	return w.full
}
