package remote_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/internal/remotetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noise returns n random bytes.
func noise(n int) []byte {
	r, b := rand.NewChaCha8([32]byte{1}), make([]byte, n)
	_, _ = r.Read(b) // cannot fail
	return b
}

// client returns a Client with short pauses.
func client(t *testing.T, s *remotetest.Server, log io.Writer) *remote.Client {
	t.Helper()
	o := remote.Options{Transport: s.Transport(t), Pause: time.Millisecond, Patience: 2 * time.Second}
	if log != nil {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return remote.New(o)
}

// readAll reads a whole object.
func readAll(t *testing.T, c *remote.Client, name string) ([]byte, error) {
	t.Helper()
	o, err := c.Open(t.Context(), name)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	return io.ReadAll(o)
}

const big = 3<<20 + 12345

// TestRead checks that an object is read as a whole, in a few requests, and at any offset, by several readers at once.
func TestRead(t *testing.T) {
	s := remotetest.New(t)
	for name, size := range map[string]int{"empty": 0, "one": 1, "small": 1000, "big": big} {
		data := noise(size)
		s.Put("/"+name, data, 1)
		c := client(t, s, nil)
		before := len(s.Requests())
		if got, err := readAll(t, c, s.URL+"/"+name); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		if n := len(s.Requests()) - before; n > 5 {
			t.Errorf("%s: %d requests", name, n)
		}
		o := must.Get(c.Open(t.Context(), s.URL+"/"+name))(t)
		if info := o.Info(); info.Size != int64(size) || info.ETag != `"tag-1"` || info.Ranges != (size > 0) || !info.Identified() {
			t.Errorf("%s: %+v", name, info)
		}
		if size == 0 {
			continue
		}
		var wg sync.WaitGroup
		for seed := range 4 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				for range 30 {
					at := r.IntN(size)
					p := make([]byte, 1+r.IntN(1<<18))
					n, err := o.ReadAt(p, int64(at))
					want := data[at:min(at+len(p), size)]
					if !bytes.Equal(p[:n], want) || (err == io.EOF) != (n < len(p)) || err != nil && err != io.EOF {
						t.Errorf("%s: %d bytes from %d: %d, %v", name, len(p), at, n, err)
					}
				}
			})
		}
		wg.Wait()
		if n, err := o.ReadAt(make([]byte, 1), int64(size)); n != 0 || err != io.EOF {
			t.Errorf("%s: behind the end: %d, %v", name, n, err)
		}
		if _, err := o.ReadAt(make([]byte, 1), -1); err == nil {
			t.Errorf("%s: read before the beginning", name)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWithoutRanges checks that an object of a server without ranges is read as a whole, whether its size is known or not.
func TestWithoutRanges(t *testing.T) {
	data := noise(big)
	for _, length := range []bool{true, false} {
		s := remotetest.New(t)
		s.Before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			s.GiveWhole(w, remotetest.Object{Data: data}, length)
			return true
		}
		c := client(t, s, nil)
		if got, err := readAll(t, c, s.URL+"/x"); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		o := must.Get(c.Open(t.Context(), s.URL+"/x"))(t)
		if info := o.Info(); info.Ranges || info.Identified() || (info.Size == big) != length || (info.Size == -1) == length {
			t.Errorf("%+v", info)
		}
		if _, err := o.ReadAt(make([]byte, 1), 0); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("read at a place: %v", err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWholeForRange checks that a server which answers a range of all bytes with the whole object, as RFC 9110 permits and
// Werkzeug does, is read at once, and that such an answer to any other range, or of unknown size, is not taken for the part.
func TestWholeForRange(t *testing.T) {
	for _, size := range []int{1, 1000, firstRange, big} {
		for _, length := range []bool{true, false} {
			s, data := remotetest.New(t), noise(size)
			object := remotetest.Object{Data: data, ETag: `"a"`}
			s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") == fmt.Sprintf("bytes=0-%d", size-1) {
					s.GiveWhole(w, object, length)
				} else {
					s.Give(w, r, object)
				}
				return true
			}
			got, err := readAll(t, client(t, s, nil), s.URL+"/x")
			refused := !length && size > 1 && size <= firstRange
			if refused && !errors.Is(err, remote.ErrUnavailable) || !refused && (err != nil || !bytes.Equal(got, data)) {
				t.Errorf("%d of %d bytes, with a length %t: %v", len(got), size, length, err)
			}
			if n := len(s.Requests()); n > 5 && !refused {
				t.Errorf("%d bytes: %d requests", size, n)
			}
		}
	}
}

// firstRange is the number of bytes that a read requests first.
const firstRange = 1 << 17

// TestDrops checks that dropped connections are continued, with ranges and without; no byte is lost or duplicated.
func TestDrops(t *testing.T) {
	data := noise(big)
	for name, give := range map[string]func(s *remotetest.Server, w http.ResponseWriter, r *http.Request, o remotetest.Object){
		"ranges": func(s *remotetest.Server, w http.ResponseWriter, r *http.Request, o remotetest.Object) {
			s.Give(w, r, o)
		},
		"no ranges": func(s *remotetest.Server, w http.ResponseWriter, _ *http.Request, o remotetest.Object) {
			s.GiveWhole(w, o, true)
		},
		"chunked": func(s *remotetest.Server, w http.ResponseWriter, _ *http.Request, o remotetest.Object) {
			s.GiveWhole(w, o, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t)
			o := remotetest.Object{Data: data, ETag: `"a"`}
			var log bytes.Buffer
			s.Before = func(n int, w http.ResponseWriter, r *http.Request) bool {
				switch n % 6 {
				case 1:
					w.WriteHeader(http.StatusServiceUnavailable)
					return true
				case 2, 4:
					w = &remotetest.Cut{ResponseWriter: w, Left: 300_000 * n}
				case 3:
					panic(http.ErrAbortHandler)
				}
				give(s, w, r, o)
				return true
			}
			got, err := readAll(t, client(t, s, &log), s.URL+"/x")
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if !strings.Contains(log.String(), "503 Service Unavailable") || !strings.Contains(log.String(), "unexpected EOF") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// TestGivenUp checks that a server that sends a few bytes per answer, none, or stalls is given up
// after several tries, and that a dropped object without an ETag is not continued.
func TestGivenUp(t *testing.T) {
	data := noise(1 << 20)
	for name, c := range map[string]struct {
		before func(s *remotetest.Server, n int, w http.ResponseWriter, r *http.Request) bool
		want   string
		passes bool
	}{
		"drips": {func(s *remotetest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
			s.Give(&remotetest.Cut{ResponseWriter: w, Left: 1}, r, remotetest.Object{Data: data, ETag: `"a"`})
			return true
		}, "unexpected EOF; given up after several tries", true},
		"unavailable": {func(_ *remotetest.Server, _ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}, "502 Bad Gateway; given up after several tries", true},
		"stands still": {func(s *remotetest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
			if n > 0 {
				<-r.Context().Done()
				return true
			}
			return false
		}, "nothing has come for 20ms; given up after several tries", true},
		"no ETag": {func(s *remotetest.Server, n int, w http.ResponseWriter, _ *http.Request) bool {
			s.GiveWhole(&remotetest.Cut{ResponseWriter: w, Left: 1 << 18}, remotetest.Object{Data: data}, true)
			return true
		}, "neither parts nor an ETag to go on by", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t)
			s.Put("/x", data, 1)
			s.Before = func(n int, w http.ResponseWriter, r *http.Request) bool { return c.before(s, n, w, r) }
			o := remote.Options{Transport: s.Transport(t), Pause: time.Microsecond, Patience: 2 * time.Second}
			if name == "stands still" {
				o.Patience = 20 * time.Millisecond
			}
			_, err := readAll(t, remote.New(o), s.URL+"/x")
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, remote.ErrUnavailable) != c.passes {
				t.Errorf("got %v", err)
			}
			if n := len(s.Requests()); n > 12 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestChanged checks that an object whose content, size or time changes gives an error, at the next
// answer and when it is opened again, never a mixture.
func TestChanged(t *testing.T) {
	a, b := noise(2<<20), bytes.Repeat([]byte("b"), 2<<20)
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string][2]remotetest.Object{
		"ETag":      {{Data: a, ETag: `"a"`}, {Data: b, ETag: `"b"`}},
		"weak ETag": {{Data: a, ETag: `W/"a"`}, {Data: b, ETag: `W/"b"`}},
		"shorter":   {{Data: a, ETag: `"a"`}, {Data: b[:1000], ETag: `"b"`}},
		"longer":    {{Data: a}, {Data: append(bytes.Clone(b), b...)}},
		"time":      {{Data: a, Modified: at}, {Data: b, Modified: at.Add(time.Second)}},
		"no ETag":   {{Data: a, ETag: `"a"`}, {Data: b}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, again := range []bool{false, true} {
				s := remotetest.New(t)
				s.PutObject("/x", c[0])
				client := client(t, s, nil)
				o := must.Get(client.Open(t.Context(), s.URL+"/x"))(t)
				got := make([]byte, 1000)
				must.Get(io.ReadFull(o, got))(t)
				s.PutObject("/x", c[1])
				if again {
					must.Do(t, o.Close())
					o = must.Get(client.Open(t.Context(), s.URL+"/x"))(t)
					got = nil
				}
				rest, err := io.ReadAll(o)
				if got = append(got, rest...); !errors.Is(err, remote.ErrChanged) || !bytes.HasPrefix(a, got) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if err := o.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestHostile checks that answers that contradict the request, or themselves, are refused.
func TestHostile(t *testing.T) {
	data := noise(1 << 20)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"another range":   {ranged("bytes 5-9/1048576", 5, data), "with Content-Range"},
		"range too long":  {ranged("bytes 0-1048576/1048576", 1<<20, data), "with Content-Range"},
		"no range":        {ranged("", 100, data), "with Content-Range"},
		"negative":        {ranged("bytes -5-9/1048576", 100, data), "with Content-Range"},
		"huge":            {ranged("bytes 0-9/99999999999999999999999", 10, data), "with Content-Range"},
		"wrong length":    {ranged("bytes 0-131071/1048576", 1000, data), "the server announces 1000 bytes"},
		"another size":    {ranged("bytes 0-131071/1048575", 131072, data), "changed"},
		"more than said":  {chunked("bytes 0-131071/1048576", 131073, data), "more than it has announced"},
		"no page":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, "418 I'm a teapot"},
		"nothing":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "204 No Content"},
		"redirect to ftp": {redirect("ftp://example.org/x"), "not encrypted"},
		"to nowhere":      {redirect("https://%zz/?secret"), "302 Found to nowhere"},
		"downgrade":       {redirect("http://127.0.0.1:1/x?secret"), "http://127.0.0.1:1/x?…, which is not encrypted"},
		"in circles":      {redirect("/x?secret"), "more than 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t)
			s.Put("/x", data, 1)
			s.Before = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 0 {
					return false
				}
				w.Header().Set("ETag", `"tag-1"`)
				c.answer(w, r)
				return true
			}
			got, err := readAll(t, client(t, s, nil), s.URL+"/x")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") || !bytes.HasPrefix(data, got) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func ranged(header string, length int, data []byte) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", header)
		w.Header().Set("Content-Length", fmt.Sprint(length))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(data[:min(length, len(data))]) // the client may have gone
	}
}

func chunked(header string, length int, data []byte) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", header)
		w.WriteHeader(http.StatusPartialContent)
		for range 1 << 12 { // nearly endless
			if _, err := w.Write(data[:length]); err != nil {
				return
			}
		}
	}
}

func redirect(to string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}
