package csr_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// mapped returns the resident bytes of the mappings of files below dir in this process.
func mapped(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	ours := false
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		switch {
		case strings.Contains(f[0], "-"): // a mapping: range, permissions, offset, device, inode, path
			ours = strings.HasPrefix(f[len(f)-1], dir)
		case f[0] == "Rss:" && ours:
			n := must.Get(strconv.ParseInt(f[1], 10, 64))(t)
			bytes += n << 10
		}
	}
	return bytes
}

// TestReleasedBlocksAreUnmapped checks that the mapped bytes left by released blocks do not grow
// with the store, also with several readers and with a store already in the page cache, where one
// fault maps many pages.
func TestReleasedBlocksAreUnmapped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.csr")
	writeWide(t, path, 256<<10)
	s := csrtest.Open(t, path, csr.OpenOptions{})
	if got, most := mapped(t, dir), int64(2<<20); got > most {
		t.Errorf("%d bytes of %d are mapped after Open, want at most %d", got, s.Size(), most)
	}
	for range 3 { // passes
		var next atomic.Int64
		var g sync.WaitGroup
		for range 3 {
			g.Go(func() {
				var b csr.Block
				for i := int(next.Add(1)) - 1; i < s.NumBlocks(); i = int(next.Add(1)) - 1 {
					if ahead := i + 8; ahead < s.NumBlocks() {
						s.Prefetch(ahead, ahead+1)
					}
					if err := s.DecodeBlock(i, &b); err != nil {
						t.Error(err)
					}
					s.Release(i, i+1)
				}
			})
		}
		g.Wait()
	}
	// A block that is released late may have mapped pages of the next block, at the ends of shards.
	if got, most := mapped(t, dir), int64(2<<20); got > most {
		t.Errorf("%d bytes of %d are mapped after the last block was released, want at most %d", got, s.Size(), most)
	}
}

// TestLateReleaseUnmapsItsNeighbours checks that a block released long after the blocks behind it,
// as by a worker that was not scheduled, leaves none of their pages mapped.
func TestLateReleaseUnmapsItsNeighbours(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.csr")
	writeWide(t, path, 1<<30)
	s := csrtest.Open(t, path, csr.OpenOptions{})
	var b csr.Block
	read := func(i int) {
		must.Do(t, s.DecodeBlock(i, &b))
		s.Release(i, i+1)
	}
	for late := 1; late < s.NumBlocks(); late++ { // not 0: block 0 released last is the start of the next pass
		for i := range s.NumBlocks() {
			if i != late {
				read(i)
			}
		}
		read(late)
		if got := mapped(t, dir); got > 0 {
			t.Errorf("%d bytes are mapped after block %d of %d was released last", got, late, s.NumBlocks())
		}
	}
}

// writeWide makes a store of 3,000 rows of about 1,000 entries.
func writeWide(t *testing.T, path string, shard int64) {
	t.Helper()
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: 5000, Values: csr.Values{Coding: csr.Dict8, Table: someValues(256)}, ShardSize: shard}))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	cols, vals := make([]uint32, 0, 5000), make([]float64, 0, 5000)
	for range 3000 {
		cols, vals = cols[:0], vals[:0]
		for c := rng.Uint32N(9); c < 5000; c += 1 + rng.Uint32N(9) {
			cols, vals = append(cols, c), append(vals, float64(1+rng.IntN(256)))
		}
		must.Do(t, w.AppendRow(cols, vals))
	}
	must.Do(t, w.Commit())
}

// someValues returns the integers from 1 to n.
func someValues(n int) (values []float64) {
	for i := range n {
		values = append(values, float64(i+1))
	}
	return values
}
