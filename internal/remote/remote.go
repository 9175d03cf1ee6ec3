// Package remote reads objects over https and from buckets of S3 by ranges, and writes and removes objects of buckets.
//
// The first response about an object sets its size, and its ETag or the time of its last change. If a later response differs
// the read fails with ErrChanged; it never returns a mixture of both. A connection that ends early or stalls is made again
// from where it ended, after pauses that double; after the last try the error is ErrUnavailable.
//
// Requests are signed (AWS Signature Version 4) with the credentials that the usual chain of AWS finds: the environment, the
// shared files, the role of the machine. Names, errors and logs never show a password, a query or a key; see Display.
package remote

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

var (
	// ErrChanged is the error for an object that differs from the first response about it.
	ErrChanged = errors.New("it has changed since it was first looked at")
	// ErrUnavailable is wrapped by the error after the last of several tries.
	ErrUnavailable = errors.New("given up")
)

// Options of a Client. The zero value is usable.
type Options struct {
	// Transport makes the requests, one at a time, without following redirects; nil: see transport.
	Transport http.RoundTripper
	// Log receives connections that are lost; nil means none.
	Log *slog.Logger
	// Pause is the pause before the second try; it doubles with each further try. 0: a quarter of a second.
	Pause time.Duration
	// Patience is the longest time without data from the server; 0: a minute.
	Patience time.Duration
}

// A Client reads, writes and removes objects. It is safe for concurrent use.
type Client struct {
	o    Options
	own  *http.Transport // nil: Options.Transport was given
	s3   s3
	mu   sync.Mutex
	seen map[string]Info
}

// New makes a client. It looks nothing up and makes no connection before the first request.
func New(o Options) *Client {
	c := &Client{o: o, seen: map[string]Info{}}
	c.o.Pause = cmp.Or(o.Pause, time.Second/4)
	c.o.Patience = cmp.Or(o.Patience, time.Minute)
	c.o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Transport == nil {
		c.own = transport()
		c.o.Transport = c.own
	}
	return c
}

// Close closes idle connections. Close of a nil Client does nothing.
func (c *Client) Close() {
	if c != nil && c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// transport returns a transport for large objects: HTTP/1.1, because HTTP/2 buffers megabytes of every stream that is read
// slowly, and because parallel ranges need their own connections. Proxies are those of the environment.
func transport() *http.Transport {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConnsPerHost:    4 * mostIdle,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 1 << 18,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// Info identifies a version of an object.
type Info struct {
	Size     int64 // bytes; −1: unknown
	ETag     string
	Modified time.Time
	Ranges   bool // the server gives ranges
}

// Identified reports whether a change of the object can be detected.
func (i Info) Identified() bool { return i.ETag != "" || !i.Modified.IsZero() }

func (i Info) same(now Info) bool {
	switch {
	case i.Size >= 0 && now.Size >= 0 && i.Size != now.Size:
		return false
	case i.ETag != "" && now.ETag != "":
		return weak(i.ETag) == weak(now.ETag)
	case !i.Modified.IsZero() && !now.Modified.IsZero():
		return i.Modified.Equal(now.Modified)
	}
	return !i.Identified()
}

// Stat returns the Info of an object. A Client requests it once, unless Forget is called.
func (c *Client) Stat(ctx context.Context, name string) (Info, error) {
	c.mu.Lock()
	info, ok := c.seen[name]
	c.mu.Unlock()
	if ok {
		return info, nil
	}
	t, err := parse(name)
	if err != nil {
		return Info{}, failed(name, err)
	}
	err = c.try(ctx, name, firstTries, func(l *limit) error {
		a, err := c.get(l.ctx, t, 0, 1, nil)
		if errors.Is(err, errNoSuchRange) { // an empty object has no first byte
			a, err = c.get(l.ctx, t, 0, -1, &Info{Size: -1})
		}
		if err != nil {
			return err
		}
		info = a.info
		return a.body.Close()
	})
	if err != nil {
		return Info{}, err
	}
	c.know(name, info)
	return info, nil
}

func (c *Client) know(name string, info Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.seen[name]; !ok {
		c.seen[name] = info
	}
}

const (
	// firstTries is the number of tries for the first request of an object.
	firstTries = 3
	// mostTries is the number of tries for further requests of an object: about half a minute.
	mostTries = 8
	// longestPause is the longest pause between two tries, unless the server asks for more.
	longestPause = 10 * time.Second
)

// A passing error may not occur again.
type passing struct {
	err   error
	after time.Duration // shortest pause that the server asks for
}

func (p *passing) Error() string { return p.err.Error() }
func (p *passing) Unwrap() error { return p.err }

// try calls do until it succeeds or fails with an error that is not passing, at most times times, each with a limit of the
// client's patience. Its errors contain the name of the object.
func (c *Client) try(ctx context.Context, name string, times int, do func(*limit) error) error {
	for n := 0; ; n++ {
		l := newLimit(ctx, c.o.Patience)
		_, err := l.wait(func() (int, error) { return 0, do(l) })
		if l.cancel(); err == nil {
			return nil
		}
		if err = c.pause(ctx, name, n, times, err); err != nil {
			return err
		}
	}
}

// pause waits before the next try, after n+1 tries have failed, the last with err. It returns an error if there must not be
// another try.
func (c *Client) pause(ctx context.Context, name string, n, times int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p, ok := errors.AsType[*passing](err)
	if !ok {
		return failed(name, err)
	}
	if n+1 >= times {
		return failed(name, &told{p.err.Error() + "; given up after several tries", errors.Join(ErrUnavailable, p.err)})
	}
	wait := min(c.o.Pause<<n, longestPause)
	wait = max(wait/2+rand.N(wait/2+1), min(p.after, 3*longestPause)) // clients that were refused together do not return together
	c.o.Log.Info("a request for an input has failed: it is made again", "input", Display(name), "why", p.err, "after", wait)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// told is an error with another text.
type told struct {
	text string
	err  error // may be nil
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.err }

// kinds maps status codes to errors of package fs.
var kinds = map[int]error{http.StatusNotFound: fs.ErrNotExist, http.StatusGone: fs.ErrNotExist, http.StatusUnauthorized: fs.ErrPermission, http.StatusForbidden: fs.ErrPermission}
