package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// mostIdle is the largest number of partly read responses of an object that stay open.
	mostIdle = 8
	// firstRange is the least number of bytes requested where a read begins. A read that continues there requests four times
	// as many each time, so that reading from end to end takes few requests, and reading a few bytes here and there requests
	// few bytes in vain.
	firstRange = 1 << 17
	// smallGap is the number of bytes that are read and dropped rather than skipped with a new request.
	smallGap = 1 << 16
	// someProgress is the number of bytes read after which earlier failures no longer count.
	someProgress = 1 << 16
)

// An Object is an open object. One goroutine may call Read, several may call ReadAt.
type Object struct {
	c    *Client
	ctx  context.Context
	name string
	t    target
	info Info

	mu     sync.Mutex
	idle   []*stream // open responses, the longest unused first
	closed bool

	pos int64 // offset of the next Read
}

// Open opens an object. The end of ctx ends all reads.
func (c *Client) Open(ctx context.Context, name string) (*Object, error) {
	info, err := c.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := parse(name)
	if err != nil {
		return nil, failed(name, err)
	}
	return &Object{c: c, ctx: ctx, name: name, t: t, info: info}, nil
}

// Info returns the Info of the object from the first request of this Client.
func (o *Object) Info() Info { return o.info }

// Size returns the size of the object in bytes; −1: unknown.
func (o *Object) Size() (int64, error) { return o.info.Size, nil }

func (o *Object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, s := range o.idle {
		s.drop()
	}
	o.idle = nil
	return nil
}

func (o *Object) Read(p []byte) (int, error) {
	n, err := o.some(p, o.pos)
	o.pos += int64(n)
	return n, err
}

// ReadAt reads len(p) bytes from offset off on. It is an error if the server gives no ranges of the object.
func (o *Object) ReadAt(p []byte, off int64) (n int, err error) {
	if !o.info.Ranges {
		return 0, failed(o.name, errors.ErrUnsupported)
	}
	if off < 0 {
		return 0, failed(o.name, errors.New("a place before the first byte"))
	}
	for n < len(p) && err == nil {
		var k int
		k, err = o.some(p[n:], off+int64(n))
		n += k
	}
	if n == len(p) {
		err = nil
	}
	return n, err
}

// some reads at least one byte, or returns an error.
func (o *Object) some(p []byte, off int64) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	if o.info.Size >= 0 && off >= o.info.Size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	s := o.take(off)
	if s == nil {
		s = &stream{o: o, at: off, wanted: max(firstRange, int64(len(p))), until: o.info.Size}
	}
	n, err := s.read(p, off)
	if err != nil && err != io.EOF {
		s.drop()
		return n, err
	}
	o.put(s) // also at the end of an object of unknown size: a later read there must not request it again
	return n, err
}

// take removes a stream that is at off, or less than smallGap bytes before, from idle and returns it; nil: there is none.
func (o *Object) take(off int64) *stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.idle, func(s *stream) bool {
		return s.at == off || s.at < off && off < min(s.end, s.at+smallGap)
	})
	if i < 0 {
		return nil
	}
	s := o.idle[i]
	o.idle = slices.Delete(o.idle, i, i+1)
	return s
}

func (o *Object) put(s *stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		s.drop()
		return
	}
	if len(o.idle) == mostIdle {
		o.idle[0].drop()
		o.idle = slices.Delete(o.idle, 0, 1)
	}
	o.idle = append(o.idle, s)
}

// A stream reads an object from an offset on, one response after the other.
type stream struct {
	o        *Object
	at       int64 // offset of the next byte
	end      int64 // end of the response; −1: unknown
	wanted   int64 // bytes to request next
	until    int64 // end of the bytes to request
	body     io.ReadCloser
	limit    *limit
	ended    bool  // an object without ranges has been read to its end
	failed   error // error of the last try, handled by the next read
	failures int   // failures without someProgress between them
	since    int64 // value of at at the last failure
}

// span returns a stream of exactly n bytes from off on, of an object with ranges. The caller drops it.
func (o *Object) span(off, n int64) *stream {
	return &stream{o: o, at: off, wanted: n, until: off + n}
}

func (s *stream) Read(p []byte) (int, error) {
	if s.at == s.until {
		return 0, io.EOF
	}
	return s.read(p, s.at)
}

// read reads at least one byte from off on, or fails. off may be a little after s.at.
func (s *stream) read(p []byte, off int64) (int, error) {
	for {
		if err := s.failed; err != nil {
			s.drop()
			if s.at-s.since >= someProgress {
				s.failures = 0
			}
			if err := s.o.c.pause(s.o.ctx, s.o.name, s.failures, mostTries, err); err != nil {
				return 0, err
			}
			s.failed, s.since = nil, s.at
			s.failures++
		}
		n, err := s.once(p, off)
		if err == io.EOF && n == 0 {
			return 0, err
		}
		s.failed = err
		if n > 0 {
			return n, nil
		}
	}
}

// once tries one read. It returns 0 bytes if it has only read bytes before off.
func (s *stream) once(p []byte, off int64) (int, error) {
	if s.ended {
		return 0, io.EOF
	}
	if s.body == nil {
		if err := s.open(off); err != nil {
			return 0, err
		}
	}
	before := s.at < off
	if before {
		p = make([]byte, min(1<<14, off-s.at))
	}
	if s.end >= 0 {
		p = p[:min(int64(len(p)), s.end-s.at)]
	}
	n, err := s.limit.wait(func() (int, error) { return s.body.Read(p) })
	s.at += int64(n)
	switch {
	case s.at == s.end:
		err = s.last(err)
	case err == io.EOF && s.end >= 0:
		err = &passing{err: io.ErrUnexpectedEOF}
	case err == io.EOF && n > 0:
		err = nil // the next read returns EOF again
	case err != nil && err != io.EOF:
		err = &passing{err: scrub(err)}
	}
	if before {
		n = 0
	}
	return n, err
}

// open requests the bytes from off on, or the whole object if the server gives no ranges.
func (s *stream) open(off int64) error {
	o := s.o
	if o.info.Ranges {
		s.at, s.end = off, min(s.until, off+s.wanted)
		s.wanted = min(4*s.wanted, o.info.Size)
	} else if s.at > 0 && !o.info.Identified() {
		return errors.New("the connection has ended early, and the server gives neither parts nor an ETag to go on by; fetch it first, as by curl -L -O URL")
	} else {
		s.at, s.end = 0, -1
	}
	s.limit = newLimit(o.ctx, o.c.o.Patience)
	var a *answer
	_, err := s.limit.wait(func() (n int, err error) {
		a, err = o.c.get(s.limit.ctx, o.t, s.at, s.end, &o.info)
		return 0, err
	})
	if err != nil {
		return err
	}
	s.body, s.end = a.body, a.end
	return nil
}

// last checks that no byte follows the last one. Reading to the end also makes the connection free for reuse.
func (s *stream) last(err error) error {
	if err == nil {
		var more [1]byte
		n, _ := s.limit.wait(func() (int, error) { return s.body.Read(more[:]) })
		if n > 0 {
			return fmt.Errorf("the server sends more than it has announced, behind byte %d", s.end)
		}
	}
	s.ended = !s.o.info.Ranges
	s.drop()
	return nil
}

func (s *stream) drop() {
	if s.body != nil {
		s.body.Close() // all bytes that were requested have been read, or the read has failed
		s.body = nil
	}
	if s.limit != nil {
		s.limit.cancel()
	}
}

// A limit cancels a request if nothing arrives for the duration patience.
type limit struct {
	parent, ctx context.Context
	cancel      context.CancelFunc
	timer       *time.Timer
	patience    time.Duration
}

func newLimit(parent context.Context, patience time.Duration) *limit {
	l := &limit{parent: parent, patience: patience}
	l.ctx, l.cancel = context.WithCancel(parent)
	l.timer = time.AfterFunc(patience, l.cancel)
	l.timer.Stop()
	return l
}

// wait runs do, which must end with l.ctx, and cancels l.ctx if do takes longer than patience.
func (l *limit) wait(do func() (int, error)) (int, error) {
	l.timer.Reset(l.patience)
	n, err := do()
	l.timer.Stop()
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case l.parent.Err() != nil:
		return n, l.parent.Err()
	case l.ctx.Err() != nil:
		return n, &passing{err: fmt.Errorf("nothing has come for %v", l.patience)}
	}
	return n, err
}
