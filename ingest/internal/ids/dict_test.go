package ids

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// TestDictionary numbers batches of integer and text ids and
// compares with a map and a sort.
func TestDictionary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(
			rapid.Map(rapid.IntRange(-40, 3000), strconv.Itoa),
			rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) }),
		)
		if rapid.Bool().Draw(t, "text") {
			id = rapid.OneOf(id, rapid.StringN(1, 8, -1), rapid.Just("007"), rapid.Just(strings.Repeat("long", 1+arenaBlock/2)))
		}
		d := NewDictionary()
		want := map[string]uint32{}
		allInts := true
		for _, part := range rapid.SliceOfN(rapid.SliceOfN(id, 0, 1200), 0, 5).Draw(t, "batches") {
			var c format.Keys
			for _, s := range part {
				c.Add([]byte(s))
				if _, ok := format.ParseID([]byte(s)); !ok {
					allInts = false
				}
			}
			for i, got := range d.Encode(&c, nil) {
				n, seen := want[part[i]]
				if !seen {
					n = uint32(len(want))
					want[part[i]] = n
				}
				if got != n {
					t.Fatalf("%q is %d, want %d", part[i], got, n)
				}
			}
		}
		var names []string
		for s := range want {
			names = append(names, s)
		}
		slices.SortFunc(names, func(a, b string) int {
			if allInts {
				x, _ := strconv.ParseInt(a, 10, 64)
				y, _ := strconv.ParseInt(b, 10, 64)
				if x < y {
					return -1
				}
				return 1
			}
			return strings.Compare(a, b)
		})
		order := d.order(false)
		for i, n := range order {
			if got := d.name(n); got != names[i] {
				t.Fatalf("id of rank %d is %q, want %q", i, got, names[i])
			}
		}
		for n, rank := range ranks(order) {
			if order[rank] != uint32(n) {
				t.Fatalf("rank of %d is %d", n, rank)
			}
		}
	})
}

// BenchmarkDictionary measures Encode of integer ids.
func BenchmarkDictionary(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var c format.Keys
	for range 1 << 16 {
		c.Ints = append(c.Ints, int64(r.IntN(10677)*6))
	}
	d := NewDictionary()
	var dst []uint32
	for b.Loop() {
		dst = d.Encode(&c, dst[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.Ints)), "ns/id")
}

// TestHashesAreOfTheDictionary: hashes have a random seed per Dictionary, so that no input can make all its ids collide.
func TestHashesAreOfTheDictionary(t *testing.T) {
	hashes := [2]map[uint64]bool{{}, {}}
	const n = 1000
	for i, d := range []*Dictionary{NewDictionary(), NewDictionary()} {
		for id := range int64(n) {
			hashes[i][d.hashInt(id)] = true
		}
	}
	for h := range hashes[0] {
		if hashes[1][h] {
			t.Fatal("two dictionaries have hashes in common")
		}
	}
}
