package remote

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	objects "github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/internal/remotetest"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
)

const stored = "s3://bucket/m.csr"

// inS3 copies a store to a bucket and opens the copy.
func inS3(t *testing.T, store *csr.Store) (*remotetest.Server, vfs.FS, *csr.Store) {
	t.Helper()
	s := s3(t, nil)
	files, err := filepath.Glob(filepath.Join(store.Path(), "*"))
	for _, name := range files {
		var b []byte
		if b, err = os.ReadFile(name); err != nil {
			break
		}
		s.Put("/bucket/m.csr/"+filepath.Base(name), b, 1)
	}
	must.Do(t, err)
	c := objects.New(objects.Options{Pause: time.Millisecond})
	t.Cleanup(c.Close)
	f := objects.NewFS(t.Context(), vfs.OS(), c)
	return s, f, csrtest.Open(t, stored, csr.OpenOptions{FS: f})
}

// parts counts the requests for each part of a shard. Requests for its frame are shorter and not counted.
func parts(s *remotetest.Server) map[string]int {
	asked := map[string]int{}
	for _, r := range s.Requests() {
		if from, to := asks(r.Header); strings.Contains(r.Path, "/shard-") && to-from > frame {
			asked[fmt.Sprint(r.Path, " ", from)]++
		}
	}
	return asked
}

// frame is larger than any request for the header or the footer of a shard here.
const frame = 4096

// asks returns the first and the last byte of a request's range.
func asks(h http.Header) (from, to int) {
	_, _ = fmt.Sscanf(h.Get("Range"), "bytes=%d-%d", &from, &to)
	return from, to
}

// TestStoreInBucket checks that a run over a store in a bucket has the bits of one over a local
// copy, and that its workers request no part twice, over all passes and views.
func TestStoreInBucket(t *testing.T) {
	store, _ := manyBlocks(t)
	ref := want(t, store)
	s, f, far := inS3(t, store)
	m := begin(t, far, Options{Engine: &Local{Worker: &Worker{FS: f, Workers: 1}}, Shared: "s3://bucket/run"})
	got, err := outcome(m)
	if err != nil || !bytes.Equal(got, ref) {
		t.Errorf("other bits, or %v", err)
	}
	all := parts(s)
	if len(all) < len(far.Manifest().Shards) {
		t.Errorf("%d parts of %d shards", len(all), len(far.Manifest().Shards))
	}
	for asked, n := range all {
		if n > 1 {
			t.Errorf("%s: %d times", asked, n)
		}
	}
}

// TestWorkerKeepsStore checks that a worker requests parts of its groups only, and opens the store again only if it changes.
func TestWorkerKeepsStore(t *testing.T) {
	store, _ := manyBlocks(t)
	s, f, far := inS3(t, store)
	w := &Worker{FS: f, Workers: 1}
	info := single(t, store).Info()
	pass := func(m *Matrix) error {
		_, err := m.Run(t.Context(), solver.Pass{X: solvertest.Random(info.Cols, 2, 1), Sum: solvertest.Random(info.Cols, 2, 2)})
		return err
	}
	if err := pass(begin(t, far, Options{Engine: &only{Local{Worker: w}}, Tries: 1})); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Fatalf("a pass of one task: %v", err)
	}
	first := "/bucket/m.csr/" + far.Manifest().Shards[0].Name
	for asked := range parts(s) {
		if !strings.HasPrefix(asked, first) {
			t.Errorf("a worker of the first group asks for %s", asked)
		}
	}
	if parts(s)[first+" 0"] != 1 {
		t.Errorf("it has asked for %v", parts(s))
	}
	m := begin(t, far, Options{Engine: &Local{Worker: w}})
	must.Do(t, pass(m))
	before := len(s.Requests())
	w.mu.Lock()
	w.key = "another view" // the slot of the view is taken, that of the store is not
	w.mu.Unlock()
	if err := pass(m); err != nil || len(s.Requests()) != before {
		t.Errorf("%d requests after %d, %v", len(s.Requests()), before, err)
	}
	o, _ := s.Object(first)
	s.Put(first, o.Data, 7) // the same bytes, copied again
	w.mu.Lock()
	err := w.close()
	w.mu.Unlock()
	must.Do(t, err)
	changed := false
	s.Before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if from, to := asks(r.Header); r.URL.Path == first && from > 0 && to-from < frame && !changed { // the footer; later requests get another copy
			changed = true
			s.Put(first, o.Data, 8)
		}
		return false
	}
	if err := pass(m); err != nil || m.Stats().Retries == 0 || !changed {
		t.Errorf("a store that is copied again while it is read: %v, %+v", err, m.Stats())
	}
}

// only runs the first task and drops the others.
type only struct{ Local }

func (o *only) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	return o.Local.Run(ctx, tasks[:1], answer)
}
