package csr_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/internal/remotetest"
)

// copied copies a store to a bucket, and returns its server and a file system that reads it.
func copied(t *testing.T, path string) (*remotetest.Server, vfs.FS) {
	t.Helper()
	s := remotetest.NewPlain(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("TMPDIR", t.TempDir())
	for _, e := range must.Get(os.ReadDir(path))(t) {
		s.Put("/bucket/m.csr/"+e.Name(), must.Get(os.ReadFile(filepath.Join(path, e.Name())))(t), 1)
	}
	c := remote.New(remote.Options{Pause: time.Millisecond})
	t.Cleanup(c.Close)
	return s, remote.NewFS(t.Context(), vfs.OS(), c)
}

const inBucket = "s3://bucket/m.csr"

// TestBucket checks that a store in a bucket is opened by reading its frame only, and has the rows
// and ids of the original; decoding its blocks a second time makes no request.
func TestBucket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.csr")
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]csrtest.Entry, 3000)
	for i := range rows {
		for j := range uint32(100) {
			rows[i] = append(rows[i], csrtest.Entry{Col: 3 * j, Val: rng.NormFloat64()})
		}
	}
	csrtest.Write(t, path, 300, rows, csr.CreateOptions{ShardSize: 1 << 20})
	s, f := copied(t, path)
	store := csrtest.Open(t, inBucket, csr.OpenOptions{FS: f})
	shards := len(store.Manifest().Shards)
	if n := len(s.Requests()); shards < 2 || n > 3*shards+3 {
		t.Errorf("%d requests to open %d shards", n, shards)
	}
	if store.Path() != inBucket || store.Size() != csrtest.Open(t, path, csr.OpenOptions{}).Size() {
		t.Errorf("%s has %d bytes", store.Path(), store.Size())
	}
	if !reflect.DeepEqual(csrtest.Rows(t, store), rows) {
		t.Error("other rows")
	}
	before := len(s.Requests())
	store.Prefetch(0, 1)
	store.Release(0, 1)
	csrtest.Rows(t, store)
	if n := len(s.Requests()); n != before {
		t.Errorf("%d more requests", n-before)
	}
	report := must.Get(csr.Check(t.Context(), inBucket, csr.CheckOptions{FS: f}))(t)
	if len(report.Problems)+len(report.Warnings) > 0 || report.Blocks != store.NumBlocks() {
		t.Errorf("%+v", report)
	}
}

// TestBucketFaults checks that a damaged or missing object gives ErrCorrupt with its position, and
// that a changed object and an unavailable server do not.
func TestBucketFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.csr")
	writeVictim(t, path, 1)
	s, f := copied(t, path)
	at := "/bucket/m.csr/" + shard0
	good, _ := s.Object(at)
	store := csrtest.Open(t, inBucket, csr.OpenOptions{FS: f})
	block := func() error { return store.DecodeBlock(0, new(csr.Block)) }

	down := true
	s.Before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return down
	}
	if err := block(); !errors.Is(err, remote.ErrUnavailable) || errors.Is(err, csr.ErrCorrupt) {
		t.Errorf("a server that is down: %v", err)
	}
	down = false
	bad := append([]byte{}, good.Data...)
	bad[200] ^= 1
	s.Put(at, bad, 2)
	if err := block(); !errors.Is(err, remote.ErrChanged) || errors.Is(err, csr.ErrCorrupt) {
		t.Errorf("an object that has changed: %v", err)
	}
	s.PutObject(at, good)
	must.Do(t, block())

	s.Put(at, bad, 3)
	damaged := csrtest.Open(t, inBucket, csr.OpenOptions{FS: f})
	before := len(s.Requests())
	err := damaged.DecodeBlock(0, new(csr.Block))
	var where *csr.CorruptError
	if !errors.As(err, &where) || where.File != shard0 || where.Section != "block 0" || !strings.Contains(err.Error(), "store "+inBucket+": "+shard0) {
		t.Errorf("a damaged object: %v", err)
	}
	if n := len(s.Requests()) - before; n != 1 {
		t.Errorf("a damaged object is asked for %d times", n)
	}
	s.Put(at, good.Data[:len(good.Data)-1], 4)
	if _, err := csr.Open(inBucket, csr.OpenOptions{FS: f}); !errors.As(err, &where) || where.Section != "file" {
		t.Errorf("a short object: %v", err)
	}
	if _, err := csr.Open("s3://bucket/none", csr.OpenOptions{FS: f}); !errors.Is(err, os.ErrNotExist) || errors.Is(err, csr.ErrCorrupt) {
		t.Errorf("nothing: %v", err)
	}
}
