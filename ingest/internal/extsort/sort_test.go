package extsort

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

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/must"
)

// randomEntries returns entries with keys of the given bits, many of them equal. The values number
// them in order of arrival; if byValue is set, they are 0 to 4.
func randomEntries(r *rand.Rand, n, keyBits int, byValue bool) []Entry {
	e := make([]Entry, n)
	for i := range e {
		e[i] = Entry{r.Uint64() >> (64 - keyBits), float64(i)}
		if r.IntN(3) == 0 && i > 0 {
			e[i].Key = e[r.IntN(i)].Key
		}
		if byValue {
			e[i].Val = float64(r.IntN(5))
		}
	}
	return e
}

func sorted(e []Entry, byValue bool) []Entry {
	e = slices.Clone(e)
	slices.SortStableFunc(e, func(a, b Entry) int {
		if c := cmp.Compare(a.Key, b.Key); c != 0 || !byValue {
			return c
		}
		return cmp.Compare(a.Val, b.Val)
	})
	return e
}

func TestSorterIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 1023, 1024, 5000} {
		for _, keyBits := range []int{1, 9, 11, 12, 31, 40, 63} {
			for _, byValue := range []bool{false, true} {
				e := randomEntries(r, n, keyBits, byValue)
				want := sorted(e, byValue)
				s := sorter{by: Order{keyBits, byValue}, largest: n}
				if s.sort(e); !slices.Equal(e, want) {
					t.Errorf("n=%d bits=%d byValue=%v: wrong order", n, keyBits, byValue)
				}
			}
		}
	}
}

// TestSpoolSortsAnything runs spool, sort, reduce and merge with random budgets and
// compares with a stable sort of all entries.
func TestSpoolSortsAnything(t *testing.T) {
	base, number := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		p := Budget{
			Run: rapid.IntRange(40, 400).Draw(t, "run"), ReadBuf: rapid.IntRange(1, 50).Draw(t, "readBuf"),
			FanIn: rapid.IntRange(2, 5).Draw(t, "fanIn"), Space: 1 << 30, Keep: rapid.SampledFrom([]int64{0, 20 << 10, 1 << 30}).Draw(t, "keep"),
		}
		p.First = rapid.IntRange(1, p.Run).Draw(t, "first")
		byValue := rapid.Bool().Draw(t, "byValue")
		by := Order{rapid.IntRange(1, 63).Draw(t, "bits"), byValue}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		e := randomEntries(r, rapid.IntRange(0, 2500).Draw(t, "n"), by.KeyBits, byValue)
		if rapid.Bool().Draw(t, "sorted") {
			e = sorted(e, byValue)
		}

		dir := filepath.Join(base, strconv.Itoa(number))
		number++
		s := New(p, &scratch.Dir{FS: vfs.OS(), Name: dir}, false, func() int64 { return 0 })
		s.Final = rapid.Bool().Draw(t, "final")
		got := must.Get(throughSpool(s, slices.Clone(e), by, 1+r.IntN(3)))(t)
		if !slices.Equal(got, sorted(e, byValue)) {
			t.Fatalf("wrong order")
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}

// TestRunsInOrderAreWrittenOnce: runs that are in order are written once; others are sorted and written again.
func TestRunsInOrderAreWrittenOnce(t *testing.T) {
	var e []Entry
	for i := range 1000 {
		e = append(e, Entry{uint64(3 * i), float64(i)})
	}
	for _, c := range []struct {
		swapped bool
		times   int64
	}{{false, 1}, {true, 2}} {
		s := New(Budget{Run: 100, First: 100, ReadBuf: 64, FanIn: 99, Space: 1 << 20}, &scratch.Dir{FS: vfs.OS(), Name: filepath.Join(t.TempDir(), "spool")}, false, func() int64 { return 0 })
		s.Final = true
		in := slices.Clone(e)
		for i := 50; c.swapped && i < len(in); i += 100 {
			in[i], in[i+1] = in[i+1], in[i]
		}
		must.Do(t, addAll(s, in))
		must.Do(t, s.Finish())
		by := Order{KeyBits: 12}
		must.Do(t, s.sort(t.Context(), 0, len(s.runs), 2, nil, by, func(int) {}))
		if n := s.Spilled(); n < c.times*s.FileBytes() || c.times == 1 && n != s.FileBytes() {
			t.Errorf("swapped %v: %d bytes written for %d", c.swapped, n, s.FileBytes())
		}
		if got, err := merged(s, by); err != nil || !slices.Equal(got, e) {
			t.Errorf("swapped %v: %v, or another order", c.swapped, err)
		}
	}
}

func addAll(s *Spool, e []Entry) error {
	var keys []uint64
	var vals []float64
	for _, x := range e {
		keys, vals = append(keys, x.Key), append(vals, x.Val)
	}
	return s.Add(keys, vals)
}

func throughSpool(s *Spool, e []Entry, by Order, workers int) (got []Entry, err error) {
	if err := addAll(s, e); err != nil {
		return nil, err
	}
	if err := s.Finish(); err != nil {
		return nil, err
	}
	total := 0
	if err := s.sort(context.Background(), 0, len(s.runs), workers, nil, by, func(n int) { total += n }); err != nil {
		return nil, err
	}
	if total != len(e) {
		return nil, fmt.Errorf("progress of %d entries, want %d", total, len(e))
	}
	work, done := s.ReduceWork(), int64(0)
	if err := s.Reduce(context.Background(), by, func() error { return nil }, func(n int) { done += int64(n) }); err != nil {
		return nil, err
	}
	if done > work { // less if runs turn out to be in order and need no merge
		return nil, fmt.Errorf("%d entries merged, of %d", done, work)
	}
	return merged(s, by)
}

// merged returns the entries of a sorted spool and drops it.
func merged(s *Spool, by Order) (got []Entry, err error) {
	m, err := s.merge(s.runs, by)
	if err != nil {
		return nil, err
	}
	part := make([]Entry, 7)
	for n := len(part); n == len(part); {
		if n, err = m.Read(part); err != nil {
			return nil, err
		}
		got = append(got, part[:n]...)
	}
	return got, errors.Join(m.Close(), s.Drop())
}

// TestDamagedTemporaryFileIsNoticed changes one byte of a temporary file: sort and merge return scratch.ErrDamaged.
func TestDamagedTemporaryFileIsNoticed(t *testing.T) {
	for _, when := range []string{"before sort", "before merge"} {
		p := Budget{Run: 64, First: 64, ReadBuf: 16, FanIn: 8, Space: 1 << 20}
		s := New(p, &scratch.Dir{FS: vfs.OS(), Name: filepath.Join(t.TempDir(), "x")}, false, func() int64 { return 0 })
		by := Order{KeyBits: 20}
		must.Do(t, addAll(s, randomEntries(rand.New(rand.NewPCG(1, 1)), 500, by.KeyBits, false)))
		must.Do(t, s.Finish())
		damage := func() {
			name := s.dir.Path(s.runs[2].name)
			b := must.Get(os.ReadFile(name))(t)
			b[len(b)-40] ^= 4
			must.Do(t, os.WriteFile(name, b, 0o666))
		}
		var err error
		if when == "before sort" {
			damage()
			err = s.sort(context.Background(), 0, len(s.runs), 1, nil, by, func(int) {})
		} else {
			must.Do(t, s.sort(context.Background(), 0, len(s.runs), 1, nil, by, func(int) {}))
			damage()
			var m *Merger
			if m, err = s.merge(s.runs, by); err == nil {
				_, err = m.Read(make([]Entry, 501))
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if !errors.Is(err, scratch.ErrDamaged) {
			t.Errorf("%s: %v, want %v", when, err, scratch.ErrDamaged)
		}
	}
}

func BenchmarkSort(b *testing.B) {
	e := randomEntries(rand.New(rand.NewPCG(1, 2)), 1<<20, 31, false)
	work := make([]Entry, len(e))
	s := sorter{by: Order{KeyBits: 31}, largest: len(e)}
	for b.Loop() {
		copy(work, e)
		s.sort(work)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(e)), "ns/entry")
}
