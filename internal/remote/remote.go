// Package remote reads objects over https and from buckets of S3 by ranges, and writes and removes those of buckets.
//
// An object is what the first answer about it says: its size, its ETag or the time of its last
// change. Every later answer is held to that: another one is ErrChanged, and never a mixture of both.
// A connection that ends early, or stands still, is made again where it has ended, after pauses
// that double; what stays away is ErrUnavailable.
//
// Requests are signed (AWS Signature Version 4) with what the usual chain of AWS finds: the environment, the
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
	// ErrChanged is an object that is another one than before.
	ErrChanged = errors.New("it has changed since it was first looked at")
	// ErrUnavailable is an object that a server does not give any more, for now.
	ErrUnavailable = errors.New("given up")
)

// Options of a Client. The zero value is usable.
type Options struct {
	// Transport makes the requests, one at a time, without following redirects; nil: see transport.
	Transport http.RoundTripper
	// Log receives connections that are lost; nil means none.
	Log *slog.Logger
	// Pause is that before the second try; the next ones double it. 0 means a quarter of a second.
	Pause time.Duration
	// Patience is how long nothing may come; 0 means a minute.
	Patience time.Duration
}

// A Client reads objects. It may be used by several goroutines.
type Client struct {
	o    Options
	own  *http.Transport // nil: given
	s3   s3
	mu   sync.Mutex
	seen map[string]Info
}

// New makes a client. Nothing is looked up or connected before it is needed.
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

// Close ends connections that nothing is asked for on. A nil Client has none.
func (c *Client) Close() {
	if c != nil && c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// transport is one for large objects: HTTP/1.1, because HTTP/2 holds megabytes of every stream that is read slowly, and
// because parallel ranges are to have connections of their own. Proxies are those of the environment.
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

// Info is what tells an object from others.
type Info struct {
	Size     int64 // bytes; −1: the server does not tell
	ETag     string
	Modified time.Time
	Ranges   bool // any part of it can be read
}

// Identified tells whether a change would show.
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

// Stat looks at an object, once for a Client.
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
		if errors.Is(err, errNoSuchRange) { // there is no first byte of nothing
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
	// firstTries is how often an object is asked for that nothing is known of.
	firstTries = 3
	// mostTries is how often one is asked for of which a part has come: for some half a minute.
	mostTries = 8
	// longestPause between two tries.
	longestPause = 10 * time.Second
)

// A passing failure may be none the next time.
type passing struct {
	err   error
	after time.Duration // the server asks to wait so long
}

func (p *passing) Error() string { return p.err.Error() }
func (p *passing) Unwrap() error { return p.err }

// try does something until it succeeds or fails for good, a number of times at most, and each time within
// the patience there is. Its errors name the object.
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

// pause waits before the next of some tries, after n others have failed, the last one with err. It
// returns an error if there is to be none.
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
	wait = max(wait/2+rand.N(wait/2+1), min(p.after, 3*longestPause)) // many who were refused at a time do not come at a time again
	c.o.Log.Info("a request for an input has failed: it is made again", "input", Display(name), "why", p.err, "after", wait)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// told is an error in other words.
type told struct {
	text string
	err  error // may be nil
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.err }

// kinds are the errors of package fs that answers with a status are.
var kinds = map[int]error{http.StatusNotFound: fs.ErrNotExist, http.StatusGone: fs.ErrNotExist, http.StatusUnauthorized: fs.ErrPermission, http.StatusForbidden: fs.ErrPermission}
