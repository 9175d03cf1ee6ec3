package ingest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestListsOfIDsGiveTheSameStore: the bytes of a store do not depend on whether the ids are held in memory or written
// to lists on disk, nor on the number of lists.
func TestListsOfIDsGiveTheSameStore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	integer := func(i int) string { return fmt.Sprint(r.IntN(900)*37 - 5000) }
	text := func(i int) string { return fmt.Sprintf("%x", r.IntN(900)*0x9e37) }
	late := func(i int) string { // integers, except the last id
		if i == 1199 {
			return "so not"
		}
		return integer(i)
	}
	natural := func(i int) string { return fmt.Sprint(i % 500) }
	for name, c := range map[string]struct{ user, item func(int) string }{
		"integers":                {integer, integer},
		"texts":                   {text, text},
		"integers that turn text": {late, late},
		"users only":              {integer, func(i int) string { return fmt.Sprint(r.IntN(9)) }},
		"0 to n-1":                {natural, natural},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i := range 1200 {
				fmt.Fprintf(&b, "%s,%s,%d\n", c.user(i), c.item(i), i%9)
			}
			in := []string{write(t, "in", b.String())}
			o := Options{Duplicates: Sum, FS: lazyFS{Options{}.withDefaults().FS}}.withDefaults()
			whole := target(t)
			rep, err := ingest(t.Context(), in, whole, o, mustPlan(t))
			if err != nil || rep.IDLists != 0 {
				t.Fatalf("%d lists, %v", rep.IDLists, err)
			}
			want := vfstest.Contents(t, whole)
			lists := []int{}
			for _, space := range []int64{40 << 10, 110 << 10} {
				p := crowded()
				p.Space = space
				out := target(t)
				rep := must.Get(ingest(t.Context(), in, out, o, p))(t)
				if diff := cmp.Diff(want, vfstest.Contents(t, out)); diff != "" {
					t.Errorf("space %d: another store:\n%s", space, diff)
				}
				leftovers(t, out, true)
				lists = append(lists, rep.IDLists)
			}
			if lists[0] <= ids.ListWidth(crowded().Budget) || !slices.IsSortedFunc(lists, func(a, b int) int { return b - a }) {
				t.Errorf("lists of ids: %v: the test misses what it is for", lists)
			}
		})
	}
}

// TestDuplicateInListsIsNamed: the error about a duplicate names its ids even if they are in lists on disk.
func TestDuplicateInListsIsNamed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "u%d,%d,1\n", i*7%2000, i)
	}
	b.WriteString("u7,1,1\n")
	in := write(t, "in", b.String())
	_, err := ingest(t.Context(), []string{in}, target(t), Options{FS: lazyFS{Options{}.withDefaults().FS}}.withDefaults(), crowded())
	var de *duplicateError
	if !errors.As(err, &de) || de.Row != "u7" || de.Col != "1" || de.First.Line != 2 || de.Second.Line != 2001 {
		t.Errorf("got %v", err)
	}
}
