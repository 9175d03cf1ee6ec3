package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/internal/remotetest"
)

// TestRefused checks that a missing or forbidden object gives an error of one line, at once, without secrets.
func TestRefused(t *testing.T) {
	s := remotetest.New(t)
	s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/forbidden" {
			http.Error(w, "the password hunter2 is wrong", http.StatusForbidden)
			return true
		}
		return false
	}
	host := strings.TrimPrefix(s.URL, "https://")
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, c := range map[string]struct {
		want string
		kind error
	}{
		s.URL + "/missing":                             {"read https://" + host + "/missing: 404 Not Found (NoSuchKey)", fs.ErrNotExist},
		"https://me:hunter2@" + host + "/forbidden":    {"read https://" + host + "/forbidden: 403 Forbidden: the server asks for credentials that may read it", fs.ErrPermission},
		s.URL + "/forbidden?X-Amz-Signature=hunter2#a": {"read https://" + host + "/forbidden?…: 403 Forbidden: the signature in the URL may be wrong or have expired", fs.ErrPermission},
		plain.URL + "/missing":                         {"404 Not Found", fs.ErrNotExist},
		"http://example.org/a.csv?hunter2":             {"read http://example.org/a.csv?…: http is not encrypted", nil},
		"https:///a.csv?hunter2":                       {"this is no URL", nil},
		"https://hunter2:%zz@h/":                       {"read https://h/: this is no URL", nil},
		"https://127.0.0.1:1/?hunter2":                 {"connection refused; given up", remote.ErrUnavailable},
	} {
		_, err := client(t, s, nil).Stat(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.Requests()) != 3 {
		t.Errorf("%d requests", len(s.Requests()))
	}
}

// TestRedirect checks that an object on another host is read without sending it the password or the referring URL.
func TestRedirect(t *testing.T) {
	a, b := remotetest.New(t), remotetest.New(t)
	data := noise(big)
	b.Put("/elsewhere/x", data, 1)
	a.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		to := "here"
		if r.URL.Path == "/here" {
			to = b.URL + "/elsewhere/x?token=theirs"
		}
		redirect(to)(w, r)
		return true
	}
	url := strings.Replace(a.URL, "https://", "https://me:hunter2@", 1)
	got, err := readAll(t, client(t, a, nil), url+"/x?signature=ours")
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for _, r := range a.Requests() {
		if r.User != "me:hunter2" {
			t.Errorf("%s is asked for by %q", r.Path, r.User)
		}
	}
	for _, r := range b.Requests() {
		if all := fmt.Sprint(r); r.Query != "token=theirs" || r.User != "" || strings.Contains(all, "ours") || strings.Contains(all, "Referer") || strings.Contains(all, "Authorization") || strings.Contains(all, "Cookie") {
			t.Errorf("another host is told %s", all)
		}
	}
}

// TestCancelled checks that a read from a stalled server and a pause between two tries end with their context.
func TestCancelled(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"stands still": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"within": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"tag-1"`)
			w.Header().Set("Content-Range", "bytes 0-999/1000")
			w.WriteHeader(http.StatusPartialContent)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"pauses": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1000")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t)
			s.Put("/x", noise(1000), 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.Before = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n > 0 {
					time.AfterFunc(10*time.Millisecond, cancel)
					answer(w, r)
				}
				return n > 0
			}
			c := remote.New(remote.Options{Transport: s.Transport(t), Patience: time.Hour, Pause: time.Hour})
			o := must.Get(c.Open(ctx, s.URL+"/x"))(t)
			if _, err := io.ReadAll(o); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
