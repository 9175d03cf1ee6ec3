package remote_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/internal/remotetest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

const part = 8 << 20

// files returns a file system over a bucket with one object, and the directory for its cached parts.
func files(t *testing.T, under vfs.FS, data []byte) (*remotetest.Server, *remote.FS, string) {
	t.Helper()
	s := bucket(t)
	signIn(t)
	s.Put("/some-bucket/m.csr/x", data, 1)
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	return s, remote.NewFS(t.Context(), under, client(t, s, nil)), dir
}

// name is the name of the object as a store opens it.
var name = filepath.Join("s3://some-bucket/m.csr", "x")

func ranges(s *remotetest.Server) (all []string) {
	for _, r := range s.Requests() {
		all = append(all, strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
	}
	slices.Sort(all)
	return all
}

// TestMapping checks that a mapping has the bytes of the object for several concurrent readers. Each part that is read
// is requested once, other parts never, and a range without its surroundings as that range. The file that caches the
// parts has no name in TMPDIR, before and after Close.
func TestMapping(t *testing.T) {
	data := noise(3*part + 1234)
	s, f, dir := files(t, vfs.OS(), data)
	m := must.Get(f.Map(name))(t)
	if m.Size() != int64(len(data)) {
		t.Fatalf("%d bytes", m.Size())
	}
	same := func(off, n int64, around bool) {
		got, err := m.Bytes(off, n, around)
		if err != nil || !bytes.Equal(got, data[off:off+n]) {
			t.Errorf("bytes from %d to %d differ: %v", off, off+n, err)
		}
	}
	same(0, 100, false)
	same(m.Size()-500, 500, false)
	if _, err := m.Cached(5, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a byte that is not here is cached: %v", err)
	}
	if left := must.Get(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("%v is there before anything is kept", left)
	}
	must.Do(t, m.Advise(vfs.Populate, part+5, 10))
	var all sync.WaitGroup
	for i := range int64(64) {
		all.Go(func() {
			off := i * 7919 * 131 % (2*part - 1<<16)
			same(off, 1<<16, true)
		})
	}
	all.Wait()
	want := []string{"0-0", "0-99", fmt.Sprintf("%d-%d", len(data)-500, len(data)-1), fmt.Sprintf("0-%d", part-1), fmt.Sprintf("%d-%d", part, 2*part-1)}
	slices.Sort(want)
	if got := ranges(s); !slices.Equal(got, want) {
		t.Errorf("asked for %v", got)
	}
	if left := must.Get(os.ReadDir(dir))(t); runtime.GOOS != "windows" && len(left) > 0 {
		t.Errorf("%v has a name", left)
	}
	same(2*part-10, m.Size()-2*part+10, true) // across part boundaries, up to the last byte
	if err := m.ReadDirect(nil, 0, 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	must.Do(t, m.Close())
	if left := must.Get(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestMappingFaults checks that temporary refusals and truncated answers change no byte; that a changed or
// missing object gives an error; and that a full disk does, after which a part is tried again.
func TestMappingFaults(t *testing.T) {
	data := noise(2*part + 99)
	read := func(f vfs.FS) error {
		m, err := f.Map(name)
		if err != nil {
			return err
		}
		_, err = m.Bytes(0, 10, false)
		got, bad := m.Bytes(5, m.Size()-5, true)
		if err = errors.Join(err, bad); err == nil && !bytes.Equal(got, data[5:]) {
			err = errors.New("other bytes")
		}
		return errors.Join(err, m.Close())
	}
	for what, c := range map[string]struct {
		before func(s *remotetest.Server, n int, w http.ResponseWriter, r *http.Request) bool
		want   error
	}{
		"503 and 500": {func(_ *remotetest.Server, n int, w http.ResponseWriter, _ *http.Request) bool {
			if n%3 == 2 {
				return false
			}
			w.WriteHeader([]int{http.StatusServiceUnavailable, http.StatusInternalServerError}[n%2])
			return true
		}, nil},
		"cut": {func(s *remotetest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
			o, _ := s.Object(r.URL.Path)
			s.Give(&remotetest.Cut{ResponseWriter: w, Left: 1<<20 + n}, r, o)
			return true
		}, nil},
		"changed": {func(s *remotetest.Server, n int, _ http.ResponseWriter, r *http.Request) bool {
			if n == 2 {
				s.Put(r.URL.Path, noise(len(data)), 2)
			}
			return false
		}, remote.ErrChanged},
		"gone": {func(_ *remotetest.Server, n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > 1 {
				w.WriteHeader(http.StatusNotFound)
			}
			return n > 1
		}, fs.ErrNotExist},
		"down": {func(_ *remotetest.Server, n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return n > 1
		}, remote.ErrUnavailable},
	} {
		t.Run(what, func(t *testing.T) {
			s, f, dir := files(t, vfs.OS(), data)
			s.Before = func(n int, w http.ResponseWriter, r *http.Request) bool {
				return c.before(s, n, w, r)
			}
			if err := read(f); !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), "s3://some-bucket/m.csr/x") {
				t.Errorf("got %v", err)
			}
			if left := must.Get(os.ReadDir(dir))(t); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
			for _, r := range ranges(s) {
				var from, to int
				if _, err := fmt.Sscanf(r, "%d-%d", &from, &to); err != nil || from/part != to/part {
					t.Errorf("a request goes beyond its part: %s (%v)", r, err)
				}
			}
		})
	}
	t.Run("full", func(t *testing.T) {
		disk := &vfstest.FaultFS{Inject: vfstest.DiskFull(part + part/2)}
		_, f, dir := files(t, disk, data)
		m := must.Get(f.Map(name))(t)
		if _, err := m.Bytes(0, m.Size(), true); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		disk.Inject = nil
		if got, err := m.Bytes(0, m.Size(), true); err != nil || !bytes.Equal(got, data) {
			t.Errorf("with room again: %v", err)
		}
		must.Do(t, m.Close())
		for n := range 2 { // the two operations: begin, end
			disk.Inject = vfstest.FailAt(disk.Count() + n)
			if err := read(f); !errors.Is(err, vfstest.ErrInjected) {
				t.Errorf("operation %d: %v", n, err)
			}
		}
		disk.Inject = nil
		if left := must.Get(os.ReadDir(dir))(t); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// TestFS checks that objects are read, described and listed like files, and not written; other names are those of the
// file system below.
func TestFS(t *testing.T) {
	s, f, dir := files(t, vfs.OS(), []byte("hello"))
	s.Put("/some-bucket/m.csr/deep/y", nil, 1)
	o := must.Get(f.Open(name))(t)
	if got, err := io.ReadAll(o); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if fi, err := o.Stat(); err != nil || fi.Size() != 5 || fi.Name() != "x" || !fi.Mode().IsRegular() || fi.ModTime().IsZero() {
		t.Errorf("%+v, %v", fi, err)
	}
	must.Do(t, o.Close())
	s.Put("/some-bucket/m.csr/x", []byte("goodbye"), 2) // a new version, which Stat must see
	if fi, err := f.Stat(name); err != nil || fi.Size() != 7 {
		t.Errorf("%+v, %v", fi, err)
	}
	if _, err := f.Stat("s3://some-bucket/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := f.ReadDir("s3://some-bucket/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if all, err := f.ReadDir("s3://some-bucket/m.csr/"); err != nil || len(all) != 1 || all[0].Name() != "x" || must.Get(all[0].Info())(t).Size() != 7 {
		t.Errorf("%v, %v", all, err)
	}
	_, err := f.Create(name)
	for _, err := range []error{err, f.Mkdir(name), f.Remove(name), f.Rename(name, name+"2")} {
		if err == nil {
			t.Error("an object is written to")
		}
	}
	if o, ok := s.Object("/some-bucket/m.csr/x"); !ok || string(o.Data) != "goodbye" {
		t.Errorf("an object has become %q", o.Data)
	}
	local := filepath.Join(dir, "x")
	w := must.Get(f.Create(local))(t)
	_, err = w.Write([]byte("here"))
	must.Do(t, errors.Join(err, w.Close(), f.Mkdir(local+"s")))
	l := must.Get(f.Lock(local + ".lock"))(t)
	m := must.Get(f.Map(local))(t)
	if got, err := m.Bytes(1, 2, true); err != nil || string(got) != "er" {
		t.Errorf("%q, %v", got, err)
	}
	must.Do(t, errors.Join(l.Close(), m.Close()))
	if got := string(must.Get(vfs.ReadFile(f, local, 10))(t)); got != "here" {
		t.Error(got)
	}
	if all := must.Get(f.ReadDir(dir))(t); len(all) != 2 {
		t.Error(all)
	}
	if fi := must.Get(f.Stat(local))(t); fi.Size() != 4 {
		t.Error(fi)
	}
}
