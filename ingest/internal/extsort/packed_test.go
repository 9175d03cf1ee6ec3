package extsort

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestPackedIsSame: a packed spool gives the entries of an unpacked one, with few and with too many distinct values.
func TestPackedIsSame(t *testing.T) {
	base, number := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		const users, items = 300, 70
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		distinct := rapid.SampledFrom([]int{1, 10, 256, 257, 1000}).Draw(t, "distinct")
		m := &Remap{Users: make([]uint32, users), Items: make([]uint32, items)}
		for i := range m.Users {
			m.Users[i] = uint32(i)
		}
		for i := range m.Items {
			m.Items[i] = uint32(i)
		}
		transposed := rapid.Bool().Draw(t, "transposed")
		m.Pack = NewPacker(users, items, transposed)
		var keys, places []uint64
		var vals []float64
		for range n {
			user, item := r.IntN(users), r.IntN(items)
			keys = append(keys, uint64(user)<<32|uint64(item))
			places = append(places, m.Pack.Key(int64(user), int64(item)))
			vals = append(vals, float64(r.IntN(distinct))/4)
		}
		if rapid.Bool().Draw(t, "sorted") && !transposed {
			slices.Sort(keys)
			slices.Sort(places)
		}
		by := Order{m.Pack.Bits, rapid.Bool().Draw(t, "byValue")}
		want := make([]Entry, n)
		for i := range want {
			want[i] = Entry{places[i], vals[i]}
		}
		want = sorted(want, by.ByValue)
		p := Budget{
			First: rapid.IntRange(1, 500).Draw(t, "first"), Run: rapid.IntRange(500, 3000).Draw(t, "run"),
			ReadBuf: 64, FanIn: 5, Space: 1 << 30, Keep: rapid.SampledFrom([]int64{0, 10 << 10, 1 << 30}).Draw(t, "keep"),
		}
		number++
		s := New(p, &scratch.Dir{FS: vfs.OS(), Name: filepath.Join(base, fmt.Sprint(number))}, true, func() int64 { return 0 })
		for len(keys) > 0 {
			k := min(len(keys), 1+r.IntN(700))
			must.Do(t, s.Add(keys[:k], vals[:k]))
			keys, vals = keys[k:], vals[k:]
		}
		must.Do(t, s.Finish())
		for _, run := range s.runs {
			if run.packed != nil && !s.tight || run.mem != nil && s.tight {
				t.Fatal("packed and loose runs beside each other")
			}
		}
		must.Do(t, s.sort(context.Background(), 0, len(s.runs), 2, m, by, func(int) {}))
		got := must.Get(merged(s, by))(t)
		if !slices.Equal(got, want) {
			t.Fatal("wrong order")
		}
	})
}

// TestPackedKeysAreTooLong: packed entries of small indices are unpacked before they are sorted if keys of the matrix take more
// than 56 bits, in memory and in files.
func TestPackedKeysAreTooLong(t *testing.T) {
	for _, keep := range []int64{1 << 30, 200} {
		m := &Remap{Pack: NewPacker(1<<26, 1<<32-1, false)}
		b := Budget{First: 8, Run: 8, ReadBuf: 64, FanIn: 5, Space: 1 << 30, Keep: keep}
		s := New(b, &scratch.Dir{FS: vfs.OS(), Name: filepath.Join(t.TempDir(), "spool")}, true, func() int64 { return 0 })
		var want []Entry
		for i := range int64(20) {
			row, col := i%5*(1<<24)-i%5/4, 1<<28-1-i
			must.Do(t, s.Add([]uint64{uint64(row)<<32 | uint64(col)}, []float64{float64(i)}))
			want = append(want, Entry{m.Pack.Key(row, col), float64(i)})
		}
		if s.InFiles {
			t.Fatal("the entries are in files before they are unpacked")
		}
		must.Do(t, s.Finish())
		by := Order{KeyBits: m.Pack.Bits}
		must.Do(t, s.Sort(t.Context(), 1, func(int, int) (*Remap, error) { return m, nil }, by, func(int) {}))
		if got := must.Get(merged(s, by))(t); !slices.Equal(got, sorted(want, false)) || s.InFiles != (keep == 200) {
			t.Errorf("keep %d: %v, in files %v", keep, got, s.InFiles)
		}
	}
}

// TestPackStops: pack stops before the first id or value that does not fit.
func TestPackStops(t *testing.T) {
	var many []float64
	for i := range 300 {
		many = append(many, float64(i))
	}
	for _, c := range []struct {
		keys []uint64
		vals []float64
		want int
	}{
		{[]uint64{packedID<<32 | packedID, 1 << packedIDBits}, []float64{1, 1}, 1},
		{[]uint64{1, 1 << (32 + packedIDBits)}, []float64{1, 1}, 1},
		{make([]uint64, 300), many, 256},
	} {
		var v valueTable
		packed, e := make([]uint64, len(c.keys)), make([]Entry, c.want)
		if n := v.pack(packed, c.keys, c.vals); n != c.want {
			t.Errorf("packed %d, not %d", n, c.want)
		}
		v.unpack(e, packed[:c.want], false)
		for i := range e {
			if e[i] != (Entry{c.keys[i], c.vals[i]}) {
				t.Errorf("%v became %v", Entry{c.keys[i], c.vals[i]}, e[i])
			}
		}
	}
}
