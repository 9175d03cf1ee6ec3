package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/vfs"
)

// randomEntries have keys of the given bits, many of them equal, and values
// that number them in order of arrival (or small ones, with ties, by value).
func randomEntries(r *rand.Rand, n, keyBits int, byValue bool) []entry {
	e := make([]entry, n)
	for i := range e {
		e[i] = entry{r.Uint64() >> (64 - keyBits), float64(i)}
		if r.IntN(3) == 0 && i > 0 {
			e[i].key = e[r.IntN(i)].key
		}
		if byValue {
			e[i].val = float64(r.IntN(5))
		}
	}
	return e
}

func sorted(e []entry, byValue bool) []entry {
	e = slices.Clone(e)
	slices.SortStableFunc(e, func(a, b entry) int {
		if c := cmp.Compare(a.key, b.key); c != 0 || !byValue {
			return c
		}
		return cmp.Compare(a.val, b.val)
	})
	return e
}

func TestSorterIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, fewEntries - 1, fewEntries, 5000} {
		for _, keyBits := range []int{1, 9, 11, 12, 31, 40, 63} {
			for _, byValue := range []bool{false, true} {
				e := randomEntries(r, n, keyBits, byValue)
				want := sorted(e, byValue)
				s := sorter{by: sortOrder{keyBits, byValue}, largest: n}
				if s.sort(e); !slices.Equal(e, want) {
					t.Errorf("n=%d bits=%d byValue=%v: wrong order", n, keyBits, byValue)
				}
			}
		}
	}
}

// TestSpoolSortsAnything drives spool, sort, reduce and merge with any plan
// and compares with a stable sort of everything.
func TestSpoolSortsAnything(t *testing.T) {
	base, number := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		p := plan{
			run: rapid.IntRange(40, 400).Draw(t, "run"), readBuf: rapid.IntRange(1, 50).Draw(t, "readBuf"),
			fanIn: rapid.IntRange(2, 5).Draw(t, "fanIn"), space: 1 << 30, keep: rapid.SampledFrom([]int64{0, 20 << 10, 1 << 30}).Draw(t, "keep"),
		}
		p.first = rapid.IntRange(1, p.run).Draw(t, "first")
		byValue := rapid.Bool().Draw(t, "byValue")
		by := sortOrder{rapid.IntRange(1, 63).Draw(t, "bits"), byValue}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		e := randomEntries(r, rapid.IntRange(0, 2500).Draw(t, "n"), by.keyBits, byValue)
		if rapid.Bool().Draw(t, "sorted") {
			e = sorted(e, byValue)
		}

		dir := filepath.Join(base, strconv.Itoa(number))
		number++
		s := newSpool(p, &scratch{fs: lazyFS{vfs.OS}, dir: dir}, false, func() int64 { return 0 })
		got, err := throughSpool(s, slices.Clone(e), by, 1+r.IntN(3))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, sorted(e, byValue)) {
			t.Fatalf("wrong order")
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}

func addAll(s *spool, e []entry) error {
	var keys []uint64
	var vals []float64
	for _, x := range e {
		keys, vals = append(keys, x.key), append(vals, x.val)
	}
	return s.add(keys, vals)
}

func throughSpool(s *spool, e []entry, by sortOrder, workers int) (got []entry, err error) {
	if err := addAll(s, e); err != nil {
		return nil, err
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	total := 0
	if err := s.sort(context.Background(), 0, len(s.runs), workers, nil, by, func(n int) { total += n }); err != nil {
		return nil, err
	}
	if total != len(e) {
		return nil, fmt.Errorf("progress of %d entries, want %d", total, len(e))
	}
	work, done := s.reduceWork(), int64(0)
	if err := s.reduce(context.Background(), by, func() error { return nil }, func(n int) { done += int64(n) }); err != nil {
		return nil, err
	}
	if done > work { // less if runs come to follow upon each other
		return nil, fmt.Errorf("%d entries merged, of %d", done, work)
	}
	return merged(s, by)
}

// merged is all that a sorted spool holds.
func merged(s *spool, by sortOrder) (got []entry, err error) {
	m, err := s.merge(s.runs, by)
	if err != nil {
		return nil, err
	}
	part := make([]entry, 7)
	for n := len(part); n == len(part); {
		if n, err = m.read(part); err != nil {
			return nil, err
		}
		got = append(got, part[:n]...)
	}
	return got, errors.Join(m.close(), s.drop())
}

// TestDamagedTemporaryFileIsNoticed changes one byte behind the spool's back.
func TestDamagedTemporaryFileIsNoticed(t *testing.T) {
	for _, when := range []string{"before sort", "before merge"} {
		p := plan{run: 64, first: 64, readBuf: 16, fanIn: 8, space: 1 << 20}
		s := newSpool(p, &scratch{fs: vfs.OS, dir: filepath.Join(t.TempDir(), "x")}, false, func() int64 { return 0 })
		by := sortOrder{keyBits: 20}
		if err := addAll(s, randomEntries(rand.New(rand.NewPCG(1, 1)), 500, by.keyBits, false)); err != nil {
			t.Fatal(err)
		}
		if err := s.finish(); err != nil {
			t.Fatal(err)
		}
		damage := func() {
			name := s.scratch.path(s.runs[2].name)
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)-40] ^= 4
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if when == "before sort" {
			damage()
			err = s.sort(context.Background(), 0, len(s.runs), 1, nil, by, func(int) {})
		} else {
			if err := s.sort(context.Background(), 0, len(s.runs), 1, nil, by, func(int) {}); err != nil {
				t.Fatal(err)
			}
			damage()
			var m *merger
			if m, err = s.merge(s.runs, by); err == nil {
				_, err = m.read(make([]entry, 501))
				if err := m.close(); err != nil {
					t.Error(err)
				}
			}
		}
		if !errors.Is(err, errTempDamaged) {
			t.Errorf("%s: %v, want %v", when, err, errTempDamaged)
		}
	}
}
