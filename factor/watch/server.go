// Package watch serves pages, metrics and events of runs over HTTP.
//
//	/             a page of the run, or a list of runs; /?run=NAME is the page of one of them
//	/api/runs     the states of the runs as JSON: an array of live.State; ?run=NAME is one of them, with its passes
//	/api/events   the same, one run an event, whenever it has changed (server-sent events); ?run=NAME is one of them
//	/metrics      the same in the text format of Prometheus
//	/healthz      "ok"
//	/watch.js     the script of the pages
//
// No other address exists, and no address names a file: a run is looked up in the list of existing runs.
//
// Clients cost the process little, which may be the one that computes: states are read once a second at most and a page is
// made once for each state, however many clients ask. At most [MaxConns] connections are open and [MaxRate] begin in a
// second, each for one request; slow ones are closed. Only its own goroutine waits for a client.
//
// A request needs the Host of the address that the server listens to, or the token, and may not have another Origin
// (https://en.wikipedia.org/wiki/DNS_rebinding).
package watch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"

	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/factor/report"
)

// DefaultListen is the address that is listened to when none is given.
const DefaultListen = "127.0.0.1:8710"

// Limits for clients.
const (
	MaxConns   = 64
	MaxStreams = 24 // connections to /api/events, among MaxConns
	MaxRate    = 10 // new connections a second, after a burst of two seconds' worth

	patience = 10 * time.Second // time that a client has to read or to write
)

// Source provides the states of runs. Its methods are called by one goroutine at a time.
type Source interface {
	States(ctx context.Context) ([]*live.State, error)
	Single() bool // whether the Source is one run, not a list
}

// Options of Listen.
type Options struct {
	Listen string // address and port; "": DefaultListen
	Token  string // token that requests need; "": none, on loopback only
	Name   string // name of the list of runs
	Source Source

	rate int // instead of MaxRate, for tests; 0: MaxRate
}

// Server serves runs.
type Server struct {
	o      Options
	board  *board
	http   http.Server
	listen net.Listener
	host   string // host to listen to
	slots  chan struct{}
	ended  chan error
	stop   context.CancelFunc
}

// ErrNoToken is the error for an address that other machines reach, without a token.
var ErrNoToken = errors.New("others reach this address: it needs a token")

// MinToken is the least length of a token, in bytes.
const MinToken = 8

// Listen begins to serve. Close ends it.
func Listen(ctx context.Context, o Options) (*Server, error) {
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: want HOST:PORT, such as %s: %w", o.Listen, DefaultListen, err)
	}
	if !loopback(host) && o.Token == "" {
		return nil, fmt.Errorf("listen on %s: %w", o.Listen, ErrNoToken)
	}
	if o.Token != "" && len(o.Token) < MinToken {
		return nil, fmt.Errorf("a token of %d bytes can be guessed: give %d or more", len(o.Token), MinToken)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err
		}
		return nil, fmt.Errorf("listen on %s: %w", o.Listen, err)
	}
	if addr, ok := l.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() && o.Token == "" { // localhost may be any address
		return nil, errors.Join(fmt.Errorf("listen on %s, which is %s: %w", o.Listen, addr, ErrNoToken), l.Close())
	}
	s := &Server{o: o, board: &board{source: o.Source}, listen: newGate(l, cmp.Or(o.rate, MaxRate)), slots: make(chan struct{}, MaxStreams), ended: make(chan error, 1)}
	s.host = strings.ToLower(host)
	ctx, s.stop = context.WithCancel(ctx)
	s.http = http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: patience / 2, ReadTimeout: patience / 2, WriteTimeout: patience, IdleTimeout: patience / 2,
		MaxHeaderBytes: 8 << 10, ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.http.SetKeepAlivesEnabled(false) // so that connections are requests, and MaxRate bounds both
	go func() { s.ended <- s.http.Serve(s.listen) }()
	return s, nil
}

// loopback tells whether only this machine reaches an address.
func loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) Addr() string { return s.listen.Addr().String() }

// URL returns the address of the first page, without the token.
func (s *Server) URL() string {
	host, port, _ := net.SplitHostPort(s.Addr())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// Close ends all requests, and waits for them.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close() // a client does not read
	}
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

//go:embed watch.js
var script string

const cookie = "gdsvd-token"

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if code, why := s.refused(r); code != 0 {
		http.Error(w, why, code)
		return
	}
	if r.URL.Path == "/healthz" {
		answer(w, "text/plain; charset=utf-8", []byte("ok\n"))
		return
	}
	if s.o.Token != "" && !s.knows(w, r) {
		return
	}
	switch run := r.URL.Query().Get("run"); r.URL.Path {
	case "/watch.js":
		answer(w, "text/javascript; charset=utf-8", []byte(report.Sorts+script))
	case "/api/events":
		s.events(w, r, run)
	case "/", "/metrics", "/api/runs":
		body, err := s.board.page(r.Context(), r.URL.Path, run, s.o.Name)
		switch {
		case errors.Is(err, live.ErrNoRun):
			http.Error(w, "there is no such run", http.StatusNotFound)
		case err != nil:
			http.Error(w, "the runs cannot be read", http.StatusInternalServerError)
		default:
			answer(w, types[r.URL.Path], body)
		}
	default:
		http.Error(w, "there is nothing here: / is the page", http.StatusNotFound)
	}
}

// refused returns the HTTP status and the reason with which a request is refused; the status is 0 if the request is allowed.
func (s *Server) refused(r *http.Request) (code int, why string) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "only GET and HEAD are answered"
	case !s.named(r.Host):
		return http.StatusMisdirectedRequest, "the Host of the request is not that of this server"
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return http.StatusForbidden, "the Origin of the request is not this server"
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.URL.Path != "/" {
		return http.StatusForbidden, "the request is from another site"
	}
	return 0, ""
}

// named reports whether host is allowed as the Host of a request: this machine, or the host to listen to, at any port, since
// a tunnel may have another one. A page of another site cannot send such a Host. With a token, which no other site has, any
// host is allowed.
func (s *Server) named(host string) bool {
	if s.o.Token != "" {
		return true
	}
	u := url.URL{Host: host}
	name := strings.ToLower(u.Hostname())
	return loopback(name) || name != "" && name == s.host
}

// knows reports whether a request has the token: in its address, from which knows moves it to a cookie, in the cookie, or as
// a bearer token. If it returns false, it has answered the request.
func (s *Server) knows(w http.ResponseWriter, r *http.Request) bool {
	if given := r.URL.Query().Get("token"); given != "" && same(given, s.o.Token) {
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.pass(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		if r.URL.Path == "/" {
			q := r.URL.Query()
			q.Del("token")
			http.Redirect(w, r, (&url.URL{Path: "/", RawQuery: q.Encode()}).String(), http.StatusSeeOther)
			return false
		}
		return true
	}
	if c, err := r.Cookie(cookie); err == nil && same(c.Value, s.pass()) {
		return true
	}
	if given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is && same(given, s.o.Token) {
		return true
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "the token is missing or wrong: open /?token=TOKEN, or send Authorization: Bearer TOKEN", http.StatusUnauthorized)
	return false
}

// pass returns the value of the cookie: a hash of the token.
func (s *Server) pass() string {
	sum := sha256.Sum256([]byte("gdsvd watch\n" + s.o.Token))
	return hex.EncodeToString(sum[:])
}

// same compares in a time that does not depend on where the two differ.
func same(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// types holds the content types of the pages.
var types = map[string]string{"/": "text/html; charset=utf-8", "/metrics": live.ContentType, "/api/runs": "application/json"}

func answer(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body) // fails if the client went away
}

// gate is a listener with at most MaxConns open connections, and a bounded number of new ones in a second; others wait in the
// queue of the system.
type gate struct {
	net.Listener
	pace *rate.Limiter
	open context.Context // done after Close
	shut context.CancelFunc
}

func newGate(l net.Listener, perSecond int) *gate {
	const burst = 2 // seconds
	g := &gate{Listener: netutil.LimitListener(l, MaxConns), pace: rate.NewLimiter(rate.Limit(perSecond), burst*perSecond)}
	g.open, g.shut = context.WithCancel(context.Background())
	return g
}

// Accept is called by one goroutine.
func (g *gate) Accept() (net.Conn, error) {
	if g.pace.Wait(g.open) != nil {
		return nil, net.ErrClosed
	}
	return g.Listener.Accept()
}

func (g *gate) Close() error {
	g.shut()
	return g.Listener.Close()
}
