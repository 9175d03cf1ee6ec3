package csr_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/readahead"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// cacheFS simulates a page cache of room pages that evicts the page read first. It sees only the
// reads of Prefetch.
type cacheFS struct {
	vfs.FS
	mu     sync.Mutex
	room   int
	pages  map[page]int // time of the last read
	clock  int
	direct int // number of direct reads
}

type page struct {
	file   string
	number int64
}

const cachePage = 4096

func (c *cacheFS) Map(name string) (vfs.Mapping, error) {
	m, err := c.FS.Map(name)
	return &cachedMapping{m, c, name}, err
}

type cachedMapping struct {
	vfs.Mapping
	c    *cacheFS
	name string
}

func (m *cachedMapping) Cached(off, n int64) (bool, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	for p := off / cachePage; p <= (off+n-1)/cachePage; p++ {
		if _, cached := m.c.pages[page{m.name, p}]; !cached {
			return false, nil
		}
	}
	return true, nil
}

func (m *cachedMapping) Advise(a vfs.Advice, off, n int64) error {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if a == vfs.Populate {
		m.c.read(m.name, off/cachePage, (off+n-1)/cachePage)
	}
	return m.Mapping.Advise(a, off, n)
}

// read reads the pages from … to; the oldest pages are evicted.
func (c *cacheFS) read(file string, from, to int64) {
	if c.pages == nil {
		c.pages = map[page]int{}
	}
	for n := from; n <= to; n++ {
		c.clock++
		c.pages[page{file, n}] = c.clock
	}
	ages := slices.Sorted(maps.Values(c.pages))
	if first := len(ages) - c.room; first > 0 {
		maps.DeleteFunc(c.pages, func(_ page, age int) bool { return age <= ages[first-1] })
	}
}

func (m *cachedMapping) ReadDirect(b *vfs.Buffer, size int, off int64) error {
	err := m.Mapping.ReadDirect(b, size, off)
	if err == nil {
		m.c.mu.Lock()
		m.c.direct++
		m.c.mu.Unlock()
	}
	return err
}

// writeSpans makes a store of 16 blocks of about half a span each, in shards of about 4 MiB.
func writeSpans(t *testing.T) (path string, m *matrix) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	m = &matrix{cols: 3000}
	for range 16 {
		r := row{}
		for c := range uint32(3000) {
			if c%3 == uint32(len(m.rows))%3 {
				r.cols, r.vals = append(r.cols, c), append(r.vals, rng.NormFloat64())
			}
		}
		for range csr.BlockNNZ / len(r.cols) {
			m.rows = append(m.rows, r)
		}
	}
	path = filepath.Join(t.TempDir(), "x.csr")
	again(t, "spans", path, func() { write(t, path, m, csr.CreateOptions{ShardSize: 4 << 20}) })
	return path, m
}

// requireDirect skips the test if files cannot be read past the page cache.
func requireDirect(t *testing.T, path string) {
	t.Helper()
	b, err := vfs.NewBuffer()
	if err != nil {
		t.Skip(err)
	}
	defer b.Close()
	m := must.Get(vfs.OS().Map(filepath.Join(path, shard0)))(t)
	defer m.Close()
	if err := m.ReadDirect(b, vfs.DirectAlign, 0); err != nil {
		t.Skip(err)
	}
	if _, err := b.Wait(); err != nil {
		t.Skip(err)
	}
}

// spans returns the ranges [from, to) of blocks that a pass reads together.
func spans(s *csr.Store) (all [][2]int) {
	for from := 0; from < s.NumBlocks(); {
		to, size := from, int64(0)
		for ; to < s.NumBlocks() && s.Block(to).Shard == s.Block(from).Shard; to++ {
			if size += s.Block(to).Size; to > from && size > readahead.SpanBytes {
				break
			}
		}
		all = append(all, [2]int{from, to})
		from = to
	}
	return all
}

func sameColumn(narrow uint16, wide uint32) bool { return uint32(narrow) == wide }

// pass reads all blocks in spans, one span ahead, and compares them with m.
func pass(t *testing.T, s *csr.Store, m *matrix) {
	t.Helper()
	var b csr.Block
	all := spans(s)
	s.Prefetch(all[0][0], all[0][1])
	for k, sp := range all {
		if k+1 < len(all) {
			s.Prefetch(all[k+1][0], all[k+1][1])
		}
		for i := sp[0]; i < sp[1]; i++ {
			must.Do(t, s.DecodeBlock(i, &b))
			for r, want := range m.rows[b.FirstRow:][:b.Rows()] {
				from, to := b.RowPtr[r], b.RowPtr[r+1]
				if !slices.EqualFunc(b.Col16[from:to], want.cols, sameColumn) || !slices.Equal(b.Val[from:to], want.vals) {
					t.Fatalf("row %d of block %d differs", r, i)
				}
			}
		}
		s.Release(sp[0], sp[1])
	}
}

// TestPassesOverCaches checks that pages that do not fit in the page cache are read past it once
// that is known, that cached pages stay and are used, and that all pages are read through the cache
// again some time after they fit.
func TestPassesOverCaches(t *testing.T) {
	path, m := writeSpans(t)
	requireDirect(t, path)
	c := &cacheFS{FS: vfs.OS()}
	s := openWith(t, path, c)
	all := len(spans(s))
	most := int(s.Size()/cachePage) + 100
	directly := func() int {
		before := c.direct
		pass(t, s, m)
		return c.direct - before
	}
	c.room = most * 3 / 4
	if n := directly(); n == 0 || n > all/2 {
		t.Errorf("the first pass reads %d of %d spans past a cache that holds most of them", n, all)
	}
	held := maps.Clone(c.pages)
	for range 5 {
		if n := directly(); n == 0 || n > all/2 || !maps.Equal(c.pages, held) {
			t.Errorf("a later pass reads %d of %d spans past it", n, all)
		}
	}
	c.room = most
	n := 0
	for n = directly(); n > 0 && !t.Failed(); n = directly() {
		if c.direct > 16*all {
			t.Fatal("what fits into the cache is never read into it")
		}
	}
	c.room = 0
	c.pages = nil
	directly()
	if n := directly(); n < all-3 {
		t.Errorf("%d of %d spans are read past a cache that holds nothing", n, all)
	}
}

// TestCacheIsUsed checks that a store that fits in the page cache is never read past it.
func TestCacheIsUsed(t *testing.T) {
	path, m := writeSpans(t)
	c := &cacheFS{FS: vfs.OS(), room: 1 << 30}
	s := openWith(t, path, c)
	for range longtest.Pick(20, 3) {
		pass(t, s, m)
	}
	if c.direct > 0 {
		t.Errorf("%d direct reads", c.direct)
	}
}

// TestDirectReadsRefused checks that after a failed direct read the blocks are read from the map,
// and no further direct read is tried.
func TestDirectReadsRefused(t *testing.T) {
	path, m := writeSpans(t)
	requireDirect(t, path)
	for n := range 4 {
		var asked atomic.Int64
		fail := vfstest.FailKind(vfstest.OpDirect, n, syscall.EINVAL)
		s := openWith(t, path, &vfstest.FaultFS{FS: &cacheFS{FS: vfs.OS()}, Inject: func(o vfstest.Op) error {
			if o.Kind == vfstest.OpDirect {
				asked.Add(1)
			}
			return fail(o)
		}})
		pass(t, s, m)
		pass(t, s, m)
		if asked.Load() != int64(n)+1 {
			t.Errorf("the %d. direct read fails, and %d are tried", n+1, asked.Load())
		}
	}
}

// TestDirectReadsOfAnotherFile checks that after the files of a store are replaced, the old ones,
// which are still mapped, are read.
func TestDirectReadsOfAnotherFile(t *testing.T) {
	path, m := writeSpans(t)
	requireDirect(t, path)
	c := &cacheFS{FS: vfs.OS()}
	s := openWith(t, path, c)
	pass(t, s, m)
	if c.direct == 0 {
		t.Fatal("no direct reads")
	}
	for i, info := range s.Manifest().Shards {
		name := filepath.Join(path, info.Name)
		must.Do(t, errors.Join(os.Rename(name, name+".old"), os.WriteFile(name, make([]byte, 1<<20+i), 0o666)))
	}
	before := c.direct
	pass(t, s, m)
	if c.direct != before {
		t.Error("another file has been read")
	}
}

// TestDamageReadDirectly checks that damage gives the same errors by direct reads as by the map,
// whether a file is cut or bytes are changed while it is open.
func TestDamageReadDirectly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on Windows")
	}
	for name, harm := range map[string]func(file string) error{
		"cut": func(file string) error { return os.Truncate(file, 3<<20+123) },
		"flipped": func(file string) error {
			b, err := os.ReadFile(file)
			if err == nil {
				b[3<<20+123] ^= 1
				err = os.WriteFile(file, b, 0o666)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := writeSpans(t)
			requireDirect(t, path)
			c := &cacheFS{FS: vfs.OS()}
			direct, mapped := openWith(t, path, c), open(t, path)
			must.Do(t, harm(filepath.Join(path, shard0)))
			for _, sp := range spans(direct) {
				direct.Prefetch(sp[0], sp[1])
				for i := sp[0]; i < sp[1]; i++ {
					var b csr.Block
					got, want := direct.DecodeBlock(i, &b), mapped.DecodeBlock(i, &b)
					if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" || got != nil && !errors.Is(got, csr.ErrCorrupt) {
						t.Errorf("block %d, read directly: %s", i, diff)
					}
				}
				direct.Release(sp[0], sp[1])
			}
			if c.direct == 0 {
				t.Error("no direct reads")
			}
		})
	}
}

// TestPrefetchConcurrently runs several passes over one store at a time, with prefetches that are
// given up and a reader in another order.
func TestPrefetchConcurrently(t *testing.T) {
	path, m := writeSpans(t)
	c := &cacheFS{FS: vfs.OS(), room: 500}
	s := openWith(t, path, c)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 3 {
				pass(t, s, m)
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			for _, sp := range spans(s)[:3] {
				s.Prefetch(sp[0], sp[1])
				s.Release(sp[0], sp[1])
			}
		}
	})
	wg.Go(func() {
		var b csr.Block
		for i := range s.NumBlocks() {
			i = (5*i + 3) % s.NumBlocks()
			s.Prefetch(i, i+1)
			if err := s.DecodeBlock(i, &b); err != nil || !slices.Equal(b.Val[:b.RowPtr[1]], m.rows[b.FirstRow].vals) {
				t.Errorf("block %d in another order: %v, or another row", i, err)
			}
			s.Release(i, i+1)
		}
	})
	wg.Wait()
	s.Prefetch(0, 1) // not released: Close ends the prefetch
}

// TestDirectReadsOnTmpfs checks passes on a file system that lies in the page cache and has no
// direct reads.
func TestDirectReadsOnTmpfs(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "gdsvd-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	path, m := writeSpans(t)
	must.Do(t, os.CopyFS(filepath.Join(dir, "x.csr"), os.DirFS(path)))
	for _, fsys := range []vfs.FS{vfs.OS(), &cacheFS{FS: vfs.OS()}} {
		s := openWith(t, filepath.Join(dir, "x.csr"), fsys)
		pass(t, s, m)
		pass(t, s, m)
	}
}

func openWith(t *testing.T, path string, fsys vfs.FS) *csr.Store {
	t.Helper()
	return csrtest.Open(t, path, csr.OpenOptions{FS: fsys})
}
