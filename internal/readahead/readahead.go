// Package readahead reads blocks of mapped files before they are decoded: through the page cache while the cache keeps the
// pages, otherwise past the cache into buffers (see package csr).
package readahead

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

const (
	// SpanMemory is the memory in bytes that blocks of SpanBytes or less take between Prefetch and Release.
	SpanMemory = vfs.BufferSize
	SpanBytes  = vfs.BufferSize - 2*vfs.DirectAlign // the aligned read may include other blocks at both ends

	// Lag is the number of bytes of released blocks that may stay mapped.
	Lag = 1 << 20
)

// Reader reads blocks of the files of a store ahead. The zero value is ready; it is safe for
// concurrent use.
type Reader struct {
	mu    sync.Mutex
	spans []*span       // spans whose read has started, until they are released and not in use
	idle  []*vfs.Buffer // buffers of earlier spans

	refused bool // the system refuses to read past the cache
	cacheWatch
}

// span is the blocks from … to−1 of a store, all in one file.
type span struct {
	file       *File
	from, to   int
	begin, end int64 // byte range of the blocks in the file
	base       int64 // byte offset of the buffer in the file
	buffer     *vfs.Buffer
	mapped     chan struct{} // closed when the blocks are in the page cache; not used with a buffer
	users      int
	released   bool
}

// Prefetch starts to read blocks from … to−1, which are bytes begin to end of f, into memory. Bytes waits for the read. The
// blocks take [SpanMemory] if they are not larger than [SpanBytes]. Each call must be followed by one call of Release for
// the same blocks. Prefetch reports no errors: a block that cannot be read fails in the mapping.
func (p *Reader) Prefetch(f *File, from, to int, begin, end int64) {
	sp := &span{file: f, from: from, to: to, begin: begin, end: end}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notice(from)
	cached, err := f.m.Cached(begin, end-begin) // all pages are checked: the cache may drop some pages of a span before others
	direct := !cached && err == nil && !p.refused && p.cacheFull() && p.readDirect(sp)
	// If the cache is full, pages that the kernel reads ahead evict cached pages.
	f.readAhead(!cached && !direct)
	if !direct {
		for _, b := range p.idle { // the mapped blocks take this memory instead
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

// readDirect starts to read a span into a buffer, past the page cache. It returns false if the span is too large or the
// system refuses.
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

// Bytes waits until block i has been read ahead and returns its bytes and those after them in the span; offset is the start
// of the block in the file. nil: the block has to be read from the mapping. letGo must be called when the bytes are no
// longer used.
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
		// After a failure all reads go through the cache: the mapping reports the error.
		p.refused = p.refused || sp.buffer != nil && b == nil
		p.recycle(sp)
	}
}

// use returns the span that contains block i, or nil. The span stays until letGo.
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

// end marks the span of exactly these blocks as released and returns it; nil: there is no such span.
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

// recycle removes a span that is released and not in use, and keeps its buffer.
func (p *Reader) recycle(sp *span) {
	if sp.users > 0 || !sp.released {
		return
	}
	p.spans = slices.DeleteFunc(p.spans, func(o *span) bool { return o == sp })
	if sp.buffer != nil {
		p.idle = append(p.idle, sp.buffer)
	}
}

// Close waits for the reads under way, and frees the buffers.
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

// Release declares that blocks from … to−1, bytes begin to end of f, are not needed again soon. Their Prefetch, if there was
// one, was for exactly these blocks. A buffer becomes free for other blocks. Mapped pages of the blocks, and of bytes
// shortly before them, are given back to the kernel: at once or, in a file that is read in order, in one of the next calls
// ([Lag]).
func (p *Reader) Release(f *File, from, to int, begin, end int64) {
	if sp := p.end(from, to); sp != nil {
		if sp.buffer != nil {
			return
		}
		<-sp.mapped // pages mapped after the release would stay
	}
	f.Release(begin, end)
}

type File struct {
	m          vfs.Mapping
	begin, end int64 // byte range of all blocks
	// sequential is set if the kernel reads ahead in the mapping. Guarded by the Reader.
	sequential bool
	// released is the offset up to which blocks have been released in this pass.
	released atomic.Int64
}

// NewFile returns a file whose blocks are bytes begin to end. The kernel reads ahead in the mapping.
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

// releaseBehind is the number of bytes before a block that are released with it. A page fault also maps neighbouring pages,
// on Linux those of the same 64 KiB. At the start of a block these pages belong to the block before, which may have been
// released already, and they would stay mapped. releaseBehind is large enough for blocks that were released out of order,
// too.
const releaseBehind = 1<<20 + Lag

// lateBy is the largest number of bytes by which the release of a block may lag behind other blocks: a pass adds blocks to
// each of a few sums in order, so that no block lags more.
const lateBy = 16 << 20

// Release gives back the pages of bytes begin to end and of releaseBehind bytes before, and with the last block all pages to
// the end of the file. Each system call interrupts the other processors, so there is one call in Lag bytes, and one for
// blocks that are released after later blocks; the latter also covers pages behind them that their reader may have mapped
// meanwhile.
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
	// retryPasses is the number of passes after which missing blocks are read through the page cache again: other users of
	// the memory may be gone.
	retryPasses = 8

	// maxWitnesses is the number of spans that are remembered; someWitnesses of them are checked before the next read. The
	// kernel does not always evict the oldest page first.
	maxWitnesses, someWitnesses = 64, 8
)

// cacheWatch detects whether the page cache can hold the blocks that are read through it.
//
// A pass over more bytes than the page cache holds finds none of the pages of the pass before: later pages have evicted each
// of them. So once one of the first blocks that were read through the cache (the witnesses) is missing, missing blocks are
// read past the cache into buffers. Such reads take a fraction of the processor time, and leave the pages in the cache where
// they are.
type cacheWatch struct {
	full      bool
	witnesses []*span // in the order of reading
	asked     int     // witnesses checked in turn so far
	last      int     // first block of the last Prefetch
	passes    int
}

// notice detects the start of a pass, and forgets the witnesses if the pass begins after them or is the retryPasses-th.
func (w *cacheWatch) notice(from int) {
	if from < w.last {
		w.passes++
		if w.passes%retryPasses == 0 || len(w.witnesses) > 0 && w.witnesses[0].from < from {
			w.full, w.witnesses = false, nil
		}
	}
	w.last = from
}

// cacheFull reports whether blocks that are missing in the page cache are to be read past it.
func (w *cacheWatch) cacheFull() bool {
	for k := 0; k < min(someWitnesses, len(w.witnesses)) && !w.full; k++ {
		sp := w.witnesses[0] // the likeliest to be missing, then others in turn
		if k > 0 {
			w.asked++
			sp = w.witnesses[w.asked%len(w.witnesses)]
		}
		cached, err := sp.file.m.Cached((sp.begin+sp.end)/2, 1)
		w.full = !cached && err == nil
	}
	return w.full
}
