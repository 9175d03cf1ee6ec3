package remote

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remotetest"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
)

// s3 returns a server with a bucket for pieces that requires signatures.
func s3(t *testing.T, before func(n int, w http.ResponseWriter, r *http.Request, s *remotetest.Server) bool) *remotetest.Server {
	t.Helper()
	s := remotetest.NewPlain(t)
	s.Secrets = map[string]string{"AKID": "secret"}
	if before != nil {
		s.Before = func(n int, w http.ResponseWriter, r *http.Request) bool { return before(n, w, r, s) }
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("TMPDIR", t.TempDir())
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s
}

// TestBucket checks that a run with its pieces in a bucket has the same bits and leaves no objects, also if the
// server refuses some requests for a time, ends answers early, or returns a changed object.
func TestBucket(t *testing.T) {
	store, _ := manyBlocks(t)
	ref := want(t, store)
	var mu sync.Mutex
	failed := map[string]int{}
	once := func(what string, r *http.Request) bool { // once for every object and fault
		mu.Lock()
		defer mu.Unlock()
		failed[what+r.Method+r.URL.Path]++
		return failed[what+r.Method+r.URL.Path] == 1
	}
	for what, before := range map[string]func(n int, w http.ResponseWriter, r *http.Request, s *remotetest.Server) bool{
		"quiet": nil,
		"503 and 500": func(n int, w http.ResponseWriter, r *http.Request, s *remotetest.Server) bool {
			if n%31 != 30 {
				return false
			}
			w.WriteHeader([]int{http.StatusServiceUnavailable, http.StatusInternalServerError}[n%2])
			return true
		},
		"cut": func(_ int, w http.ResponseWriter, r *http.Request, s *remotetest.Server) bool {
			if r.Method != http.MethodGet || r.URL.Query().Has("list-type") || r.Header.Get("Range") == "bytes=0-0" || !once("cut", r) {
				return false
			}
			o, ok := s.Object(r.URL.Path)
			if ok {
				s.Give(&remotetest.Cut{ResponseWriter: w, Left: 100}, r, o)
			}
			return ok
		},
		"changed": func(_ int, w http.ResponseWriter, r *http.Request, s *remotetest.Server) bool {
			if strings.Contains(r.URL.Path, "-part-00001") && r.Method == http.MethodGet && r.Header.Get("Range") != "bytes=0-0" && once("changed", r) {
				o, _ := s.Object(r.URL.Path)
				data := bytes.Clone(o.Data)
				data[0] ^= 1
				s.Put(r.URL.Path, data, 9)
				o, _ = s.Object(r.URL.Path)
				s.Give(w, r, o)
				return true
			}
			return false
		},
	} {
		if !longtest.On() && what != "quiet" {
			continue
		}
		t.Run(what, func(t *testing.T) {
			s := s3(t, before)
			e := processes(t, "")
			m := must.Get(New(Subject{Store: store, Info: single(t, store).Info()}, Options{Engine: e, Shared: "s3://bucket/some/prefix", Groups: 4, Wait: time.Millisecond}))(t)
			got, err := outcome(m)
			if err = errors.Join(err, m.Close(), e.Close()); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, ref) {
				t.Error("other bits")
			}
			if left := s.Paths(); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
			if retried := m.Stats().Retries > 0; retried != (what == "changed") {
				t.Errorf("%+v", m.Stats())
			}
		})
	}
}

// TestBucketLeft checks left vectors rotated in a bucket, and that a server that stays down ends the run.
func TestBucketLeft(t *testing.T) {
	store, _, k := oneLess(t)
	ref, _, _ := factors(t, store, k, false, Options{})
	down := false
	s3(t, func(_ int, w http.ResponseWriter, r *http.Request, _ *remotetest.Server) bool {
		if down {
			w.WriteHeader(http.StatusForbidden)
		}
		return down
	})
	got, _, _ := factors(t, store, k, false, Options{Shared: "s3://bucket/left", Engine: &Local{Worker: &Worker{Workers: 1}}})
	if !bytes.Equal(got, ref) {
		t.Error("other bits")
	}
	e := &Local{Worker: &Worker{Workers: 1}}
	m := must.Get(New(Subject{Store: store, Info: single(t, store).Info()}, Options{Engine: e, Shared: "s3://bucket/left", Groups: 2, Wait: time.Millisecond}))(t)
	down = true
	_, err := solver.SVD(t.Context(), m, solver.Settings{Rank: 1, Seed: 1, Workers: 1})
	if err == nil || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Error(err)
	}
	down = false
	if err := errors.Join(m.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestTraffic compares the traffic of a pass as TrafficOf states it with that of a bucket, within a factor of 1.5.
func TestTraffic(t *testing.T) {
	store, _ := manyBlocks(t)
	info := single(t, store).Info()
	for _, l := range []int{4, 300} {
		s := s3(t, nil)
		e := &Local{Worker: &Worker{Workers: 1}}
		m := must.Get(New(Subject{Store: store, Info: info}, Options{Engine: e, Shared: "s3://bucket/x", Groups: 3}))(t)
		_, err := m.Run(t.Context(), solver.Pass{X: solvertest.Random(info.Cols, l, 1), Sum: solvertest.Random(info.Cols, l, 2)})
		gets, puts := 0.0, 0.0
		for _, r := range s.Requests() {
			if r.Method == http.MethodGet {
				gets++
			} else {
				puts++
			}
		}
		read := float64(s.Sent())
		must.Do(t, errors.Join(err, m.Close(), e.Close()))
		said := TrafficOf(store.Rows(), store.Cols(), l, 3, 1, 0)
		for what, both := range map[string][2]float64{"GET": {gets, float64(said.Gets)}, "PUT": {puts, float64(said.Puts)}, "read": {read, float64(said.Read)}} {
			if ratio := both[0] / both[1]; !(ratio > 1/1.5 && ratio < 1.5) {
				t.Errorf("%d columns: %s is %.0f, said was %.0f", l, what, both[0], both[1])
			}
		}
	}
}
