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
	// mostIdle is how many answers of an object are kept open where they have been read up to.
	mostIdle = 8
	// firstRange is what is asked for at least where a read begins; what goes on there asks for
	// four times as much each time. So few requests are made for what is read from end to end, and little is asked
	// for in vain where a few bytes are read here and there.
	firstRange = 1 << 17
	// smallGap is read over rather than asked for anew.
	smallGap = 1 << 16
	// someProgress of an answer makes up for a failure before.
	someProgress = 1 << 16
)

// An Object is one that is open. Read is for one goroutine, ReadAt for several.
type Object struct {
	c    *Client
	ctx  context.Context
	name string
	t    target
	info Info

	mu     sync.Mutex
	idle   []*stream // the longest unused first
	closed bool

	pos int64 // of Read
}

// Open opens an object. All reads end with ctx.
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

// Info is what the object was when it was first looked at, by this Client.
func (o *Object) Info() Info { return o.info }

// Size is that of the object; −1: not known.
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

// ReadAt fills p from a place, if all of the object can be read.
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

// some reads at least one byte, or fails.
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
	if err != nil {
		s.drop()
		return n, err
	}
	o.put(s)
	return n, nil
}

// take is an answer that has been read up to a place, or nearly so; nil: there is none.
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

// A stream reads an object from a place on, one answer after the other.
type stream struct {
	o        *Object
	at       int64 // the next byte
	end      int64 // behind the last one of the answer; −1: not known
	wanted   int64 // bytes of the next answer
	until    int64 // nothing from here on is asked for
	body     io.ReadCloser
	limit    *limit
	failed   error // met by the next read
	failures int   // one after the other
	since    int64 // at of the last
}

// span reads n bytes from off on, of an object of which parts are given, and asks for no others. It is dropped at the end.
func (o *Object) span(off, n int64) *stream {
	return &stream{o: o, at: off, wanted: n, until: off + n}
}

func (s *stream) Read(p []byte) (int, error) {
	if s.at == s.until {
		return 0, io.EOF
	}
	return s.read(p, s.at)
}

// read reads at least one byte from off on, which is a little behind at, or fails.
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

// once is one try. It may read nothing but a part of what is before off.
func (s *stream) once(p []byte, off int64) (int, error) {
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
		err = nil // comes again
	case err != nil && err != io.EOF:
		err = &passing{err: scrub(err)}
	}
	if before {
		n = 0
	}
	return n, err
}

// open asks for what comes at off, or for all of an object of which no parts are given.
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

// last makes sure that nothing is behind the last byte; that sets the connection free, too.
func (s *stream) last(err error) error {
	if err == nil {
		var more [1]byte
		n, _ := s.limit.wait(func() (int, error) { return s.body.Read(more[:]) })
		if n > 0 {
			return fmt.Errorf("the server sends more than it has announced, behind byte %d", s.end)
		}
	}
	s.drop()
	return nil
}

func (s *stream) drop() {
	if s.body != nil {
		s.body.Close() // all bytes that count have been read, or it has failed
		s.body = nil
	}
	if s.limit != nil {
		s.limit.cancel()
	}
}

// A limit ends a request of which nothing comes for too long.
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

// wait waits for something that ends with l.ctx.
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
