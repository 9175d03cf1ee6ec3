package csr

import (
	"errors"
	"slices"
	"sync"

	"github.com/gdsvd/gdsvd/internal/vfs"
)

const (
	// SpanMemory is what blocks of SpanBytes or less take in memory between Prefetch
	// and Release.
	SpanMemory = vfs.BufferSize
	SpanBytes  = vfs.BufferSize - 2*vfs.DirectAlign // both ends may be shared with other blocks

	// ReleaseLag is how many bytes of blocks that were released may stay mapped.
	ReleaseLag = 1 << 20
)

// prefetches is what a store knows of the blocks that it reads ahead.
type prefetches struct {
	mu    sync.Mutex
	spans []*span       // whose reading has begun, and that are not released or still in use
	idle  []*vfs.Buffer // of spans before

	refused bool // the system refuses to read past the cache
	cacheWatch
}

// span is blocks from … to−1 of a shard.
type span struct {
	from, to   int
	begin, end int64 // in the file: of the blocks
	base       int64 // and of the buffer
	buffer     *vfs.Buffer
	mapped     chan struct{} // without a buffer: closed when the blocks are in the page cache
	users      int
	released   bool
}

// Prefetch begins to bring blocks from … to−1, of one shard, into memory, where
// DecodeBlock will wait for them instead of the disk. They take [SpanMemory] if
// they are not larger than [SpanBytes]. Each call must be followed by one of
// Release for the same blocks. Safe for concurrent use. What cannot be read is left
// for DecodeBlock to report.
func (s *Store) Prefetch(from, to int) {
	if s.closed.Load() {
		return
	}
	first, last, shard := &s.blocks[from], &s.blocks[to-1], s.shards[s.shardOf[from]]
	sp := &span{from: from, to: to, begin: first.offset, end: last.offset + int64(last.size)}
	p := &s.ahead
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notice(from)
	cached, err := shard.cached(sp.begin, sp.end)
	direct := !cached && err == nil && !p.refused && s.cacheFull() && p.readDirect(shard.m, sp)
	// Where the cache is full, what the kernel reads ahead takes the place of what is there.
	shard.readAhead(!cached && !direct)
	if !direct {
		p.trim()
	}
	if cached {
		return
	}
	if !direct {
		sp.mapped = make(chan struct{})
		go s.populate(shard, sp)
	}
	p.spans = append(p.spans, sp)
}

// populate reads a span through the page cache.
func (s *Store) populate(shard *shard, sp *span) {
	defer close(sp.mapped)
	// Only a hint.
	_ = shard.m.Advise(vfs.Populate, sp.begin, sp.end-sp.begin)
	p := &s.ahead
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(sp)
}

// readDirect begins to read a span into a buffer, past the page cache. It reports
// false if the span is too large or the system refuses.
func (p *prefetches) readDirect(m vfs.Mapping, sp *span) bool {
	const align = vfs.DirectAlign
	sp.base = sp.begin / align * align
	size := (sp.end - sp.base + align - 1) / align * align
	if size > vfs.BufferSize {
		return false
	}
	b, err := p.buffer()
	if err == nil {
		if err = m.ReadDirect(b, int(size), sp.base); err == nil {
			sp.buffer = b
			return true
		}
		p.idle = append(p.idle, b)
	}
	p.refused = true
	return false
}

func (p *prefetches) buffer() (*vfs.Buffer, error) {
	n := len(p.idle)
	if n == 0 {
		return vfs.NewBuffer()
	}
	b := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return b, nil
}

// trim gives an idle buffer back: blocks that are mapped take the memory instead.
func (p *prefetches) trim() {
	if n := len(p.idle); n > 0 {
		_ = p.idle[n-1].Close() // nothing can be done about it
		p.idle = p.idle[:n-1]
	}
}

// bytes returns the bytes of the shard of block i, beginning with the block, when
// they have been read ahead, if they are. Nil where the map has them.
// letGo must be called when they are not used any more.
func (p *prefetches) bytes(i int, offset int64) (b []byte, letGo func()) {
	sp := p.use(i)
	if sp == nil {
		return nil, func() {}
	}
	if sp.buffer == nil {
		<-sp.mapped
	} else if n, err := sp.buffer.Wait(); err == nil && sp.base+int64(n) >= sp.end {
		b = sp.buffer.Bytes()[offset-sp.base : sp.end-sp.base]
	}
	return b, func() { p.letGo(sp, sp.buffer != nil && b == nil) }
}

// use finds the span that has block i, which stays until letGo.
func (p *prefetches) use(i int) *span {
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

// letGo ends the use of a span. After a failure nothing more is read past the
// cache: the map is there for it, and has the errors to be reported.
func (p *prefetches) letGo(sp *span, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sp.users--
	p.refused = p.refused || failed
	p.recycle(sp)
}

// release finds a span of exactly these blocks, and ends it; nil if there is none.
func (p *prefetches) release(from, to int) *span {
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

// recycle forgets a span that nobody needs any more, and keeps its buffer.
func (p *prefetches) recycle(sp *span) {
	if sp.users > 0 || !sp.released {
		return
	}
	p.spans = slices.DeleteFunc(p.spans, func(o *span) bool { return o == sp })
	if sp.buffer != nil {
		p.idle = append(p.idle, sp.buffer)
	}
}

// close waits for what is being read, and gives the buffers back.
func (p *prefetches) close() (err error) {
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

// Release says that blocks from … to−1, of one Prefetch or without one, are not
// needed again soon. Their buffer is free for others. If they are mapped the
// kernel is told, of those shortly before them too: at once or, of a shard that is read in
// order, with one of the next calls (ReleaseLag). Whoever needs one of them
// again gets it from the page cache or the disk.
func (s *Store) Release(from, to int) {
	if s.closed.Load() {
		return
	}
	if sp := s.ahead.release(from, to); sp != nil {
		if sp.buffer != nil {
			return
		}
		<-sp.mapped // pages that come later would stay
	}
	s.shards[s.shardOf[from]].release(&s.blocks[from], &s.blocks[to-1])
}
