package watch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// runs is a Source with a fixed list of states.
type runs struct {
	all    []*live.State
	single bool
	reads  atomic.Int64
}

func (r *runs) States(context.Context) ([]*live.State, error) { r.reads.Add(1); return r.all, nil }
func (r *runs) Single() bool                                  { return r.single }

func some() *runs {
	return &runs{all: []*live.State{
		{Format: live.Format, Name: "a.svd", Status: live.Running, About: live.About{Command: "svd", Rank: 5, Tol: 1e-8}, Last: &factor.Event{Pass: 3, Worst: 0.5},
			Passes: live.Thinned{Events: []factor.Event{{Phase: "iterate", Pass: 1, Residual: 0.9, Open: 2, Worst: 0.9}, {Phase: "iterate", Pass: 3, Residual: 0.5, Open: 2, Worst: 0.5}}}},
		{Format: live.Format, Name: `<b>"&` + "'x", Status: live.Died, Message: "<script>alert(1)</script>", About: live.About{Command: "ingest"}},
	}}
}

// begin starts a server that ends with the test.
func begin(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Source == nil {
		o.Source = some()
	}
	o.rate = 1000
	s := must.Get(Listen(t.Context(), o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client follows no redirects and keeps no connections open.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// get requests a path; change, if not nil, modifies the request.
func get(t *testing.T, s *Server, path string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil))(t)
	if change != nil {
		change(req)
	}
	resp := must.Get(client.Do(req))(t)
	body, err := io.ReadAll(resp.Body)
	must.Do(t, errors.Join(err, resp.Body.Close()))
	return resp, string(body)
}

// TestPages: each address has its content, with headers that keep other pages from using it.
func TestPages(t *testing.T) {
	s := begin(t, Options{Name: "folder"})
	for path, want := range map[string][]string{
		"/":                             {"text/html", `id="runs-table"`, `href="/?run=a.svd"`, "&lt;b&gt;", `src="/watch.js"`, `http-equiv="refresh"`},
		"/?run=a.svd":                   {"text/html", `id="status"`, `id="curves"`, "<svg", `id="list"`},
		"/?run=%3Cb%3E%22%26'x":         {"text/html", "died", "&lt;script&gt;alert(1)"},
		"/healthz":                      {"text/plain", "ok\n"},
		"/watch.js":                     {"text/javascript", "EventSource"},
		"/api/runs":                     {"application/json", `"name":"a.svd"`},
		"/api/runs?run=a.svd":           {"application/json", `"passes":[{`},
		"/api/runs?run=%3Cb%3E%22%26'x": {"application/json", `"passes":[]`},
		"/metrics":                      {"text/plain; version=0.0.4", `gdsvd_up{run="a.svd"} 1`},
	} {
		resp, body := get(t, s, path, nil)
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), want[0]) {
			t.Errorf("%s: %s, %v", path, resp.Status, resp.Header)
		}
		for _, part := range want[1:] {
			if !strings.Contains(body, part) {
				t.Errorf("%s has no %s:\n%s", path, part, body)
			}
		}
		if strings.Contains(body, "<script>") || strings.Contains(body, "<b>\"") {
			t.Errorf("%s has a name that is not escaped", path)
		}
		csp := resp.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: Content-Security-Policy %q", path, csp)
			}
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
	_, text := get(t, s, "/metrics", nil)
	if strings.Count(text, "\ngdsvd_up{") != 2 { // package live tests the format
		t.Errorf("%s", text)
	}
	var all []live.State
	if _, body := get(t, s, "/api/runs", nil); json.Unmarshal([]byte(body), &all) != nil || len(all) != 2 || all[0].Last.Pass != 3 {
		t.Errorf("%s", body)
	}
}

// TestNoFileIsServed: no address leads to a file, whatever its name.
func TestNoFileIsServed(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "runs")
	must.Do(t, os.Mkdir(folder, 0o777))
	const secret = "the secret"
	for _, name := range []string{filepath.Join(dir, "secret"), filepath.Join(folder, "secret"), filepath.Join(dir, "out.live")} {
		must.Do(t, os.WriteFile(name, []byte(secret), 0o666))
	}
	source := must.Get(live.Open(t.Context(), vfs.OS(), folder))(t)
	s := begin(t, Options{Source: source})
	for _, name := range []string{"../secret", "../out", "secret", "..%2fsecret", "%2e%2e/secret", "..", ".", "/etc/passwd", "....//secret", "secret%00", dir + "/out"} {
		for _, path := range []string{"/" + name, "/?run=" + name, "/api/runs?run=" + name, "/api/events?run=" + name, "/metrics?run=" + name, "/watch.js/../" + name} {
			conn := must.Get(net.Dial("tcp", s.Addr()))(t)
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path) // not by a client, which would clean the path
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			answer, err := io.ReadAll(conn)
			_ = conn.Close()
			if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 404 ")) && !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")) || bytes.Contains(answer, []byte(secret)) || bytes.Contains(answer, []byte("root:")) {
				t.Errorf("%s: %v\n%s", path, err, answer)
			}
		}
	}
}

// TestOtherSitesAreRefused: requests that pages of other sites can make are refused.
func TestOtherSitesAreRefused(t *testing.T) {
	s := begin(t, Options{})
	for name, c := range map[string]struct {
		change func(*http.Request)
		code   int
	}{
		"as it is":         {func(*http.Request) {}, 200},
		"localhost":        {func(r *http.Request) { r.Host = "localhost:" + "8710" }, 200}, // through a tunnel
		"IPv6":             {func(r *http.Request) { r.Host = "[::1]:8710" }, 200},
		"other name":       {func(r *http.Request) { r.Host = "evil.example" }, 421},
		"with port":        {func(r *http.Request) { r.Host = "evil.example:" + strings.Split(s.Addr(), ":")[1] }, 421},
		"looks like":       {func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }, 421},
		"other address":    {func(r *http.Request) { r.Host = "192.0.2.1:8710" }, 421},
		"same origin":      {func(r *http.Request) { r.Header.Set("Origin", "http://"+s.Addr()) }, 200},
		"other origin":     {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"other port":       {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		"no origin's page": {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"bad origin":       {func(r *http.Request) { r.Header.Set("Origin", "http://%zz") }, 403},
		"other site":       {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"POST":             {func(r *http.Request) { r.Method = "POST" }, 405},
		"OPTIONS":          {func(r *http.Request) { r.Method = "OPTIONS" }, 405},
	} {
		for _, path := range []string{"/api/runs", "/metrics"} {
			if resp, body := get(t, s, path, c.change); resp.StatusCode != c.code || c.code != 200 && strings.Contains(body, "a.svd") {
				t.Errorf("%s: %s: %s, want %d: %s", name, path, resp.Status, c.code, body)
			}
		}
	}
}

// TestToken: with a token only /healthz is answered without it.
func TestToken(t *testing.T) {
	const token = "correct horse"
	s := begin(t, Options{Token: token})
	for name, c := range map[string]struct {
		path   string
		change func(*http.Request)
		code   int
	}{
		"none":          {"/", nil, 401},
		"wrong":         {"/?token=correct+horsf", nil, 401},
		"short":         {"/?token=c", nil, 401},
		"empty":         {"/?token=", nil, 401},
		"wrong bearer":  {"/metrics", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401},
		"basic":         {"/metrics", func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) }, 401},
		"wrong cookie":  {"/metrics", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie, Value: token}) }, 401},
		"bearer":        {"/metrics", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }, 200},
		"in address":    {"/metrics?token=correct+horse", nil, 200},
		"health":        {"/healthz", nil, 200},
		"events":        {"/api/events", nil, 401},
		"script":        {"/watch.js", nil, 401},
		"other origin":  {"/metrics?token=correct+horse", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"any host name": {"/metrics?token=correct+horse", func(r *http.Request) { r.Host = "gdsvd.cluster.local" }, 200},
	} {
		if resp, body := get(t, s, c.path, c.change); resp.StatusCode != c.code || strings.Contains(body, token) || c.code == 401 && strings.Contains(body, "a.svd") {
			t.Errorf("%s: %s, want %d", name, resp.Status, c.code)
		}
	}
	resp, _ := get(t, s, "/?run=a.svd&token=correct+horse", nil)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/?run=a.svd" || len(resp.Cookies()) != 1 {
		t.Fatalf("%s, %v", resp.Status, resp.Header)
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, "horse") {
		t.Errorf("%v", c)
	}
	if resp, body := get(t, s, "/?run=a.svd", func(r *http.Request) { r.AddCookie(c) }); resp.StatusCode != 200 || !strings.Contains(body, "a.svd") {
		t.Errorf("%s", resp.Status)
	}
}

// TestListenRefuses: addresses that cannot be used are refused in one line that says why.
func TestListenRefuses(t *testing.T) {
	used := begin(t, Options{})
	for listen, c := range map[string]struct{ token, want string }{
		"0.0.0.0:0":     {"", "others reach this address"},
		":0":            {"", "others reach this address"},
		"[::]:0":        {"", "others reach this address"},
		"example.com:0": {"", "others reach this address"},
		"0.0.0.0:00":    {"short", "a token of 5 bytes"},
		"127.0.0.1":     {"", "want HOST:PORT"},
		"nonsense:x:y":  {"", "want HOST:PORT"},
		used.Addr():     {"", "address already in use"},
	} {
		_, err := Listen(t.Context(), Options{Listen: listen, Token: c.token, Source: some()})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", listen, err)
		}
		if asks := errors.Is(err, ErrNoToken); asks != strings.HasPrefix(c.want, "others") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	if _, err := Listen(t.Context(), Options{Listen: used.Addr(), Source: some()}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v", err)
	}
}

// event reads one event of a stream.
func event(t *testing.T, r *bufio.Reader) (s live.State) {
	t.Helper()
	for {
		line := must.Get(r.ReadString('\n'))(t)
		if text, is := strings.CutPrefix(line, "data: "); is {
			must.Do(t, json.Unmarshal([]byte(text), &s))
			return s
		}
	}
}

// TestEventsBesideHostileClients: clients that never read or never send a request neither delay a run nor other clients,
// which receive the latest state.
func TestEventsBesideHostileClients(t *testing.T) {
	rec := live.Record(vfs.OS(), live.About{Command: "svd", Out: filepath.Join(t.TempDir(), "a.svd"), Rank: 3})
	defer rec.End(live.Finished, "")
	s := begin(t, Options{Source: Of(rec)})
	for i := range MaxConns / 2 {
		conn := must.Get(net.Dial("tcp", s.Addr()))(t)
		defer conn.Close()
		switch i % 3 { // some do not read events, some do not read the page, some send no request
		case 0:
			fmt.Fprint(conn, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		case 1:
			fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	resp := must.Get(client.Get("http://" + s.Addr() + "/api/events"))(t)
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(resp.Header)
	}
	events := bufio.NewReader(resp.Body)
	if first := event(t, events); first.Name != "a.svd" || first.Last != nil {
		t.Errorf("%+v", first)
	}
	const passes = 20_000
	for i := range passes { // a pass must not wait for a client
		rec.Pass(factor.Event{Phase: "iterate", Pass: i + 1, Worst: 0.5}, live.Stage{Name: "passes"})
	}
	for got := 0; got < passes; {
		if now := event(t, events); now.Last != nil {
			got = now.Last.Pass
		}
	}
}

// TestStreamsAreBounded: more than MaxStreams event streams are refused.
func TestStreamsAreBounded(t *testing.T) {
	s := begin(t, Options{})
	var busy int
	for range MaxStreams + 3 {
		resp := must.Get(client.Get("http://" + s.Addr() + "/api/events"))(t)
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable {
			busy++
		}
	}
	if busy != 3 {
		t.Errorf("%d are refused, want 3", busy)
	}
	if resp, _ := get(t, s, "/metrics", nil); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// TestStatesAreReadOnce: states are read once a second, however many requests there are.
func TestStatesAreReadOnce(t *testing.T) {
	source := some()
	s := begin(t, Options{Source: source})
	began := time.Now()
	for i := range 30 {
		get(t, s, []string{"/", "/metrics", "/api/runs", "/?run=a.svd"}[i%4], nil)
	}
	if n, most := source.reads.Load(), 1+int64(time.Since(began)/freshFor); n > most {
		t.Errorf("%d reads, want %d at most", n, most)
	}
}

// TestGate: a gate limits the number of open connections and the rate of new ones.
func TestGate(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	const rate = 25
	g := newGate(l, rate)
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	accepted := make(chan net.Conn)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := g.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	began := time.Now()
	for range MaxConns + 1 {
		c := must.Get(net.Dial("tcp", g.Addr().String()))(t)
		open = append(open, c)
	}
	var served []net.Conn
	for range MaxConns {
		served = append(served, <-accepted)
	}
	if took, least := time.Since(began), time.Second*(MaxConns-2*rate)/rate/2; took < least {
		t.Errorf("%d connections began in %v", MaxConns, took)
	}
	select {
	case <-accepted:
		t.Error("there are too many connections")
	case <-time.After(50 * time.Millisecond):
	}
	if err := errors.Join(served[0].Close()); err != nil {
		t.Error(err)
	}
	_ = served[0].Close() // a second Close does not count
	served = append(served, <-accepted)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	for _, c := range slices.Compact(served) {
		_ = c.Close()
	}
}
