package vfs

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/internal/must"
)

// The structures shared with the kernel have the sizes that the kernel expects.
var (
	_ [64]byte = [unsafe.Sizeof(ioControl{})]byte{}
	_ [32]byte = [unsafe.Sizeof(ioEvent{})]byte{}
)

// direct maps a file of random bytes, and skips the test if the file cannot be read past the cache.
func direct(t *testing.T, size int) (content []byte, m Mapping, b *Buffer) {
	t.Helper()
	content = make([]byte, size)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	name := filepath.Join(t.TempDir(), "x")
	must.Do(t, os.WriteFile(name, content, 0o666))
	m, err := OS().Map(name)
	must.Do(t, err)
	t.Cleanup(func() { _ = m.Close() })
	b, err = NewBuffer()
	must.Do(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := m.ReadDirect(b, DirectAlign, 0); errors.Is(err, unix.EINVAL) {
		t.Skip(err)
	}
	if _, err := b.Wait(); errors.Is(err, unix.EINVAL) {
		t.Skip(err)
	}
	return content, m, b
}

// TestReadDirect compares direct reads with the content of the file, up to its end, with several
// goroutines that wait.
func TestReadDirect(t *testing.T) {
	content, m, b := direct(t, 3<<20+777)
	for _, r := range []struct{ size, off, want int }{
		{BufferSize, 0, BufferSize}, {DirectAlign, 1 << 20, DirectAlign}, {BufferSize, 2 << 20, 1<<20 + 777}, {DirectAlign, 3 << 20, 777},
	} {
		must.Do(t, m.ReadDirect(b, r.size, int64(r.off)))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				n, err := b.Wait()
				if err != nil || n != r.want || !bytes.Equal(b.Bytes()[:n], content[r.off:r.off+n]) {
					t.Errorf("%+v: %d bytes, %v", r, n, err)
				}
			})
		}
		wg.Wait()
	}
	// A read that is not waited for does not disturb the next one.
	must.Do(t, errors.Join(m.ReadDirect(b, BufferSize, 0), m.ReadDirect(b, DirectAlign, DirectAlign)))
	if n, err := b.Wait(); err != nil || !bytes.Equal(b.Bytes()[:n], content[DirectAlign:2*DirectAlign]) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := m.ReadDirect(b, DirectAlign, 4<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("behind the end: %v", err)
	}
	if err := m.ReadDirect(b, DirectAlign, 123); err == nil {
		if _, err := b.Wait(); err == nil {
			t.Log("this file system reads from anywhere")
		}
	}
}

// TestReadDirectPastTheCache checks that a page read directly is not in the cache afterwards, and a
// touched page is.
func TestReadDirectPastTheCache(t *testing.T) {
	_, m, b := direct(t, 1<<20)
	f := must.Get(os.Open(m.(*osMapping).name))(t)
	defer f.Close()
	must.Do(t, errors.Join(m.Advise(Random, 0, 1<<20), f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)))
	cached := func(off int64) bool {
		return must.Get(m.Cached(off, 1))(t)
	}
	if cached(5) {
		t.Skip("the page cache does not let go here")
	}
	must.Do(t, m.ReadDirect(b, 1<<20, 0))
	if _, err := b.Wait(); err != nil || cached(5) {
		t.Errorf("cached: %v, %v", cached(5), err)
	}
	if sum := must.Get(m.Bytes(5, 1, true))(t)[0] + b.Bytes()[5]; !cached(5) || cached(1<<20-1) {
		t.Errorf("a page that was touched is cached: %v, one that was not: %v (%d)", cached(5), cached(1<<20-1), sum)
	}
}

// TestBufferEmpty checks that an emptied buffer holds no memory and can be read into again.
func TestBufferEmpty(t *testing.T) {
	content, m, b := direct(t, BufferSize)
	for range 2 {
		must.Do(t, m.ReadDirect(b, BufferSize, 0))
		if n, err := b.Wait(); err != nil || !bytes.Equal(b.Bytes()[:n], content) {
			t.Fatalf("%d bytes, %v", n, err)
		}
		page := b.bytes[BufferSize/2:][:1]
		if !must.Get(cached(page))(t) {
			t.Error("a page that has been read into is not in memory")
		}
		if b.Empty(); must.Get(cached(page))(t) {
			t.Error("a page of an empty buffer is in memory")
		}
	}
}

// TestCached checks that Cached reports a range as cached if and only if all its pages are.
func TestCached(t *testing.T) {
	const size = 5<<20 + 5
	page := int64(os.Getpagesize())
	_, m, _ := direct(t, size)
	f := must.Get(os.Open(m.(*osMapping).name))(t)
	defer f.Close()
	for _, missing := range []int64{0, size / 2 / page, size / page} {
		must.Do(t, errors.Join(m.Advise(Random, 0, size), m.Advise(DontNeed, 0, size), f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)))
		if must.Get(m.Cached(missing*page, 1))(t) {
			t.Skip("the page cache does not let go here")
		}
		b := must.Get(m.Bytes(0, size, true))(t)
		sum := byte(0)
		for p := range size/page + 1 {
			if p != missing {
				sum += b[p*page]
			}
		}
		cached := func(from, to int64) bool { return must.Get(m.Cached(from, to-from))(t) }
		at := missing * page
		if cached(0, size) || cached(at, min(size, at+page)) || cached(max(0, at-1), at+1) {
			t.Errorf("page %d is not in the cache, and said to be", missing)
		}
		if !cached(0, at) || at+page < size && !cached(at+page, size) {
			t.Errorf("all but page %d are in the cache, and not said to be", missing)
		}
		if sum += b[at]; !cached(0, size) {
			t.Errorf("all is in the cache, and not said to be (%d)", sum)
		}
	}
}

// TestReadDirectOfAnother checks that a file that has taken the name of the mapped file is not
// read.
func TestReadDirectOfAnother(t *testing.T) {
	content, m, b := direct(t, 1<<20)
	name := m.(*osMapping).name
	must.Do(t, errors.Join(os.WriteFile(name+"2", content, 0o666), os.Rename(name+"2", name)))
	if err := m.ReadDirect(b, DirectAlign, 0); !errors.Is(err, unix.ESTALE) {
		t.Errorf("got %v", err)
	}
}

// TestTellsCached checks that the kernel reports cached pages for files that the user owns or may write.
func TestTellsCached(t *testing.T) {
	fi, err := os.Stat(os.Args[0])
	if err != nil || !tellsCached(fi, os.Args[0]) {
		t.Errorf("not of this program: %v", err)
	}
	if fi, err = os.Stat("/proc/version"); err == nil && os.Geteuid() != 0 && tellsCached(fi, "/proc/version") {
		t.Error("of a file of root's")
	}
}
