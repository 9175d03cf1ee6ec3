package ingest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// An event is one line of a log.
type event struct {
	row, col string
	val      float64
	time     int64
}

// naiveSift applies the Filter and Holdout of o to a log in memory, step by step.
// It returns the remaining rows and columns and the entries of both stores.
func naiveSift(log []event, o Options) (rows, cols []string, train, test []triple) {
	type place struct{ row, col string }
	inside := slices.DeleteFunc(slices.Clone(log), func(e event) bool {
		t := time.Unix(e.time, 0)
		return !o.Filter.Since.IsZero() && t.Before(o.Filter.Since) || !o.Filter.Until.IsZero() && !t.Before(o.Filter.Until)
	})
	matrix := map[place]event{}
	count := map[place]float64{}
	for _, e := range inside {
		p := place{e.row, e.col}
		had, ok := matrix[p]
		count[p]++
		if ok {
			switch o.Duplicates {
			case Sum, Mean:
				e.val += had.val
			case First:
				e.val = had.val
			case Max:
				e.val = max(e.val, had.val)
			}
			e.time = max(e.time, had.time)
		}
		matrix[p] = e
	}
	for p, e := range matrix {
		if o.Duplicates == Mean {
			e.val /= count[p]
			matrix[p] = e
		}
		if o.Filter.MinValue != nil && e.val < *o.Filter.MinValue {
			delete(matrix, p)
		}
	}
	for again := true; again; {
		again = false
		perRow, perCol := map[string]int64{}, map[string]int64{}
		for p := range matrix {
			perRow[p.row]++
			perCol[p.col]++
		}
		for p := range matrix {
			if perRow[p.row] < o.Filter.MinPerRow || perCol[p.col] < o.Filter.MinPerCol {
				delete(matrix, p)
				again = true
			}
		}
	}
	var left []event
	for _, e := range matrix {
		left = append(left, e)
		rows, cols = append(rows, e.row), append(cols, e.col)
	}
	slices.Sort(rows)
	slices.Sort(cols)
	newer := func(a, b event) int { // newest first
		return -cmp.Or(cmp.Compare(a.time, b.time), compareIDs(a.col, b.col))
	}
	slices.SortFunc(left, newer)
	ofRow := map[string]int64{}
	for i, e := range left {
		held := false
		switch h := o.Holdout; h.kind() {
		case heldout.Random:
			held = naiveDraw(e.row, e.col, h.Seed) < h.Random
		case heldout.Last:
			held = ofRow[e.row] < h.Last
			ofRow[e.row]++
		case heldout.Time:
			same := i
			for same < len(left) && left[same].time == e.time {
				same++
			}
			held = same <= int(h.Time*float64(len(left)))
		case heldout.After:
			held = !time.Unix(e.time, 0).Before(h.After)
		}
		if held {
			test = append(test, triple{e.row, e.col, e.val})
		} else {
			train = append(train, triple{e.row, e.col, e.val})
		}
	}
	slices.SortFunc(train, compareTriples)
	slices.SortFunc(test, compareTriples)
	return slices.Compact(rows), slices.Compact(cols), train, test
}

func compareIDs(a, b string) int {
	m, err := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if err == nil && err2 == nil {
		return cmp.Compare(m, n)
	}
	return cmp.Compare(a, b)
}

// naiveDraw returns the number in [0, 1) that the documentation of Holdout defines for an entry.
func naiveDraw(row, col string, seed uint64) float64 {
	finalise := func(x uint64) uint64 {
		x ^= x >> 30
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 27
		x *= 0x94d049bb133111eb
		return x ^ x>>31
	}
	hash := func(id string) uint64 {
		h := fnv.New64a()
		h.Write([]byte(id))
		return finalise(binary.BigEndian.Uint64(h.Sum(nil)))
	}
	x := finalise(finalise(finalise(seed+0x9e3779b97f4a7c15)^hash(row)) + hash(col))
	return float64(x>>11) / (1 << 53)
}

func drawOptions(t *rapid.T) Options {
	o := Options{
		Duplicates: rapid.SampledFrom([]Duplicates{Sum, Mean, First, Last, Max}).Draw(t, "duplicates"),
		Orient:     rapid.SampledFrom([]Orientation{OrientAuto, OrientRows, OrientCols}).Draw(t, "orientation"),
		Workers:    rapid.IntRange(1, 3).Draw(t, "workers"),
		Columns:    []string{"1", "2", "3", "4"},
		Filter: Filter{
			MinPerRow: rapid.Int64Range(0, 4).Draw(t, "per row"),
			MinPerCol: rapid.Int64Range(0, 4).Draw(t, "per column"),
		},
	}
	if rapid.Bool().Draw(t, "least") {
		v := float64(rapid.IntRange(-2, 3).Draw(t, "value")) / 2
		o.Filter.MinValue = &v
	}
	moment := func(name string) time.Time { return time.Unix(rapid.Int64Range(-2, 12).Draw(t, name), 0) }
	if rapid.IntRange(0, 3).Draw(t, "since?") == 0 {
		o.Filter.Since = moment("since")
	}
	if rapid.IntRange(0, 3).Draw(t, "until?") == 0 {
		o.Filter.Until = moment("until")
	}
	h := &o.Holdout
	fraction := func() float64 { return float64(rapid.IntRange(1, 9).Draw(t, "tenths")) / 10 }
	switch heldout.Kind(rapid.IntRange(0, 4).Draw(t, "hold out")) {
	case heldout.Random:
		h.Random, h.Seed = fraction(), rapid.Uint64().Draw(t, "seed")
	case heldout.Time:
		h.Time = fraction()
	case heldout.Last:
		h.Last = rapid.Int64Range(1, 3).Draw(t, "n")
	case heldout.After:
		h.After = moment("after")
	}
	return o
}

// TestSiftMatchesNaiveSifting compares entries, rows and columns of both stores with naiveSift, for several plans.
func TestSiftMatchesNaiveSifting(t *testing.T) {
	dir := t.TempDir()
	n := 0
	plans := []plan{mustPlan(t), tiny(), crowded()}
	rapid.Check(t, func(rt *rapid.T) {
		o := drawOptions(rt)
		if o.validate() != nil {
			rt.Skip("no options")
		}
		prefix := rapid.SampledFrom([]string{"", "x"}).Draw(rt, "prefix")
		log := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
			return event{
				fmt.Sprint(prefix, rapid.IntRange(0, 11).Draw(t, "row")), fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "column")),
				float64(rapid.IntRange(-2, 6).Draw(t, "value")) / 2, rapid.Int64Range(-2, 11).Draw(t, "time"),
			}
		}), 1, 120).Draw(rt, "log")
		var text strings.Builder
		for _, e := range log {
			fmt.Fprintf(&text, "%s,%s,%v,%s\n", e.row, e.col, e.val, rapid.SampledFrom([]string{
				strconv.FormatInt(e.time, 10), time.Unix(e.time, 0).UTC().Format(time.RFC3339),
			}).Draw(rt, "form"))
		}
		rows, cols, train, test := naiveSift(log, o)
		n++
		out := filepath.Join(dir, strconv.Itoa(n))
		o.FS = lazyFS{vfs.OS()}
		rep, err := ingest(t.Context(), []string{write(t, "in", text.String())}, out, o.withDefaults(), rapid.SampledFrom(plans).Draw(rt, "plan"))
		if o.Holdout.kind() != heldout.None && (len(train) == 0 || len(test) == 0) || len(train) == 0 {
			if !errors.Is(err, format.ErrEmpty) {
				rt.Fatalf("%d and %d entries, error %v", len(train), len(test), err)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		stores := map[string][]triple{out: train}
		if o.Holdout.kind() != heldout.None {
			stores[out+TestSuffix] = test
			if rep.Heldout.NNZ != int64(len(test)) || rep.Heldout.Rows != missing(rows, train, func(e triple) string { return e.Row }) ||
				rep.Heldout.Cols != missing(cols, train, func(e triple) string { return e.Col }) {
				rt.Fatalf("report %+v of %v", rep.Heldout, train)
			}
		}
		for path, want := range stores {
			if got := contents(t, path); !slices.Equal(got, want) {
				rt.Fatalf("%s has %v, want %v", filepath.Base(path), got, want)
			}
			gotRows, gotCols := labels(t, path)
			if !slices.Equal(gotRows, rows) || !slices.Equal(gotCols, cols) {
				rt.Fatalf("%s has the rows %v and columns %v, want %v and %v", filepath.Base(path), gotRows, gotCols, rows, cols)
			}
		}
		inside := int64(len(log)) - rep.Filtered.Outside
		if rep.Duplicates+rep.Filtered.Small+rep.Filtered.Entries+int64(len(train)+len(test)) != inside {
			rt.Fatalf("report %+v does not add up to %d", rep, inside)
		}
	})
}

// missing returns the number of ids without entries.
func missing(ids []string, entries []triple, id func(triple) string) (n int64) {
	for _, s := range ids {
		if !slices.ContainsFunc(entries, func(e triple) bool { return id(e) == s }) {
			n++
		}
	}
	return n
}

// labels returns the sorted ids of the user's rows and columns of a store.
func labels(t testing.TB, path string) (rows, cols []string) {
	t.Helper()
	s := csrtest.Open(t, path, csr.OpenOptions{})
	rows, cols = idsOf(t, s, csr.RowAxis, s.Rows()), idsOf(t, s, csr.ColAxis, s.Cols())
	if s.Transposed() {
		rows, cols = cols, rows
	}
	slices.Sort(rows)
	slices.Sort(cols)
	return rows, cols
}

// TestCoreOfAChain: a path of rows and columns with a ring at its end is peeled from its
// other end, in many passes, until the ring is left.
func TestCoreOfAChain(t *testing.T) {
	var text strings.Builder
	for i := range 60 { // row i has entries in the columns i and i+1
		fmt.Fprintf(&text, "%d,%d\n%d,%d\n", i, i, i, i+1)
	}
	text.WriteString("60,60\n60,61\n61,61\n61,60\n")
	for _, orient := range []Orientation{OrientRows, OrientCols} {
		rep, got, err := ingestText(t, text.String(), Options{Orient: orient, Filter: Filter{MinPerRow: 2, MinPerCol: 2}})
		want := []triple{{"60", "60", 1}, {"60", "61", 1}, {"61", "60", 1}, {"61", "61", 1}}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: %v, %v", orient, got, err)
		}
		if f := rep.Filtered; f.Rows != 60 || f.Cols != 60 || f.Entries != 120 {
			t.Errorf("%v: %+v", orient, f)
		}
	}
}

// TestFilterOfADeclaredShape: empty rows and columns stay unless MinPerRow or MinPerCol removes them; the indices
// of the input become the ids.
func TestFilterOfADeclaredShape(t *testing.T) {
	const text = "%%MatrixMarket matrix coordinate real general\n4 3 4\n1 1 5\n3 1 1\n3 3 2\n4 3 7\n"
	two := 2.0
	for _, c := range []struct {
		f          Filter
		rows, cols string
		want       []triple
	}{
		{Filter{MinValue: &two}, "0 1 2 3", "0 1 2", []triple{{"0", "0", 5}, {"2", "2", 2}, {"3", "2", 7}}},
		{Filter{MinValue: &two, MinPerCol: 1}, "0 1 2 3", "0 2", []triple{{"0", "0", 5}, {"2", "2", 2}, {"3", "2", 7}}},
		{Filter{MinPerRow: 2}, "2", "0 1 2", []triple{{"2", "0", 1}, {"2", "2", 2}}},
	} {
		for _, orient := range []Orientation{OrientRows, OrientCols} {
			out, _ := ingested(t, []string{write(t, "in.mtx", text)}, Options{Filter: c.f, Orient: orient})
			rows, cols := labels(t, out)
			if got := contents(t, out); !slices.Equal(got, c.want) || strings.Join(rows, " ") != c.rows || strings.Join(cols, " ") != c.cols {
				t.Errorf("%+v: %v of rows %v and columns %v", c.f, got, rows, cols)
			}
		}
	}
}

// TestSiftedStoreIsThatOfTheRest: a filtered store has the fingerprint of a store of the remaining lines.
func TestSiftedStoreIsThatOfTheRest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	log := append(ratings(r, 900, false), "800::0::3::7", "801::5::3::7")
	perRow := map[string]int{}
	for _, l := range log {
		perRow[l[:strings.Index(l, ":")]]++
	}
	least := int64(5)
	rest := slices.DeleteFunc(slices.Clone(log), func(l string) bool { return perRow[l[:strings.Index(l, ":")]] < int(least) })
	want, _, err := ingestText(t, strings.Join(rest, "\n"), Options{Orient: OrientRows})
	must.Do(t, err)
	got, _, err := ingestText(t, strings.Join(log, "\n"), Options{Orient: OrientRows, Filter: Filter{MinPerRow: least}})
	if err != nil || got.Fingerprint != want.Fingerprint || got.Bytes <= 0 {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// TestSiftedGraphs: filters of undirected graphs remove nodes on both sides; a self-loop outside of
// the times is ignored, and the error about one inside names its line.
func TestSiftedGraphs(t *testing.T) {
	const edges = "node,other,weight,timestamp\na,b,1,10\nb,c,1,11\nc,a,1,12\nc,d,1,13\nd,e,1,14\nx,x,1,2\n"
	rep, got, err := ingestText(t, edges, Options{Columns: []string{"1", "2", "3", "4"}, Header: format.HeaderYes, Graph: Undirected, Filter: Filter{MinPerRow: 2, MinPerCol: 2}, SelfLoops: LoopsDropped})
	if err != nil || len(got) != 6 || rep.Rows != 3 || rep.Cols != 3 {
		t.Errorf("core: %v, %+v, %v", got, rep, err)
	}
	least := 2.0
	rep, got, err = ingestText(t, strings.Replace(edges, "a,b,1", "a,b,2", 1), Options{Columns: []string{"1", "2", "3"}, Header: format.HeaderYes, Graph: Directed, Filter: Filter{MinValue: &least}, SelfLoops: LoopsDropped})
	if err != nil || len(got) != 1 || rep.Rows != 5 || rep.Cols != 5 {
		t.Errorf("least value: %v, %+v, %v", got, rep, err)
	}
	o := Options{Columns: []string{"1", "2", "3", "4"}, Header: format.HeaderYes, Graph: Directed, SelfLoops: LoopsError, Filter: Filter{Since: time.Unix(5, 0)}}
	if _, _, err = ingestText(t, edges, o); err != nil {
		t.Errorf("a loop before the time: %v", err)
	}
	_, _, err = ingestText(t, strings.Replace(edges, "a,b,1,10", "q,q,1,1", 1)+"y,y,1,20\n", o)
	parseError(t, err, errLoop, 8, 0)
	for _, o := range []Options{
		{Graph: Undirected, Filter: Filter{MinPerRow: 2}}, {Graph: Directed, Filter: Filter{MinPerRow: 2, MinPerCol: 2}},
		{Graph: Undirected, Holdout: Holdout{Random: 0.5}},
	} {
		if o.validate() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
