package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// appendPlan calls Append with the given plan.
func appendPlan(t testing.TB, store string, inputs []string, out string, o Options, p plan) (*Report, error) {
	t.Helper()
	r, out, err := appending(store, out, o)
	if err != nil {
		return nil, err
	}
	return ingest(t.Context(), append([]string{store}, inputs...), out, r, p)
}

// TestAppendIsIngestingAll compares a store made by Append, in any number of parts, with one Ingest of all inputs: the
// bytes are equal, also with new rows and columns, other kinds of ids and another orientation.
func TestAppendIsIngestingAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		at := func(what string) string { return fmt.Sprintf("%s/%s%d", dir, what, count) }
		name := func(kind, i int) string {
			switch kind {
			case 0:
				return fmt.Sprint(i)
			case 1:
				return fmt.Sprint(3*i - 20)
			}
			return either(i + 5)
		}
		kindRow, kindCol := rapid.IntRange(0, 2).Draw(rt, "rows"), rapid.IntRange(0, 2).Draw(rt, "cols")
		policy := rapid.SampledFrom([]Duplicates{DuplicatesError, Sum, First, Last, Max}).Draw(rt, "policy")
		graph := rapid.SampledFrom([]Graph{NoGraph, NoGraph, Directed, Undirected}).Draw(rt, "graph")
		parts := rapid.IntRange(2, 4).Draw(rt, "parts")
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(rt, "seed")))
		seen := map[string]bool{}
		var files []string
		for k := range parts {
			var b strings.Builder
			b.WriteString("user,item,rating\n")
			users, items := 2+r.IntN(12)*(k+1), 2+r.IntN(12)
			if r.IntN(2) == 0 {
				users, items = items, users
			}
			for n := 0; n < 1+r.IntN(40); n++ {
				i, j := r.IntN(users), r.IntN(items)
				place := fmt.Sprint(i, " ", j)
				if graph == Undirected {
					place = fmt.Sprint(min(i, j), " ", max(i, j))
				}
				if policy == DuplicatesError && seen[place] && n > 0 {
					continue
				}
				seen[place] = true
				kind := kindCol
				if graph != NoGraph {
					kind = kindRow
				}
				fmt.Fprintf(&b, "%s,%s,%d\n", name(kindRow, i), name(kind, j), 1+r.IntN(5))
			}
			files = append(files, at(fmt.Sprint("part", k, "-")))
			must.Do(rt, os.WriteFile(files[k], []byte(b.String()), 0o666))
		}
		o := Options{Duplicates: policy, Graph: graph, FS: lazyFS{vfs.OS()}, ShardSize: 300, Orient: rapid.SampledFrom([]Orientation{OrientAuto, OrientAuto, OrientCols}).Draw(rt, "orientation")}.withDefaults()
		p := rapid.SampledFrom([]plan{mustPlan(t), tiny(), crowded()}).Draw(rt, "plan")
		all := at("all")
		want, err := ingest(t.Context(), files, all, o, mustPlan(t))
		if err != nil {
			if policy == DuplicatesError {
				rt.Skip("the same place twice")
			}
			rt.Fatal(err)
		}
		store := at("store")
		must.Get(ingest(t.Context(), files[:1], store, o, mustPlan(t)))(rt)
		more := Options{FS: o.FS, ShardSize: o.ShardSize, Duplicates: rapid.SampledFrom([]Duplicates{DuplicatesError, policy}).Draw(rt, "said")}
		last := Progress{}
		more.Observer = func(p Progress) { last = p }
		for k := 1; k < parts; k++ {
			next := 1 + r.IntN(parts-k)
			out := ""
			if rapid.Bool().Draw(rt, "beside") {
				out = at(fmt.Sprint("store", k, "-"))
			}
			rep, err := appendPlan(t, store, files[k:k+next], out, more, p)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			if last.Stage != stageWrite || last.Done != last.Total {
				rt.Fatalf("at the end: %+v", last)
			}
			k += next - 1
			if store = rep.Store; k == parts-1 && (rep.NNZ != want.NNZ || rep.Transposed != want.Transposed || rep.Fingerprint != want.Fingerprint) {
				rt.Fatalf("got %+v, want %+v", rep, want)
			}
		}
		if diff := cmp.Diff(vfstest.Contents(rt, all), vfstest.Contents(rt, store)); diff != "" {
			rt.Fatalf("another store (-at once, +appended):\n%s", diff)
		}
	})
}

// TestAppendKeepsTitles: Append keeps the titles of the store, although indices change, and adds titles.
func TestAppendKeepsTitles(t *testing.T) {
	store, _ := ingested(t, []string{write(t, "in", "1,20,1\n1,30,1\n")}, Options{ColTitles: write(t, "titles", "20,Heat\n30,Big\n")})
	for _, c := range []struct {
		more, titles, rows string
		want               map[string]string
	}{
		{"2,10,1\n5,25,1\n", "", "", map[string]string{"20": "Heat", "30": "Big"}},
		{"7,x,1\n", "x,Alien\n30,Bigger\n", "7,Ann\n", map[string]string{"20": "Heat", "30": "Bigger", "x": "Alien"}},
	} {
		o := Options{}
		if c.titles != "" {
			o.ColTitles, o.RowTitles = write(t, "titles", c.titles), write(t, "rows", c.rows)
		}
		must.Get(Append(t.Context(), store, []string{write(t, "more", c.more)}, "", o))(t)
		if got := titledOf(t, store, format.ColSide); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
	if got := titledOf(t, store, format.RowSide); fmt.Sprint(got) != "map[7:Ann]" {
		t.Errorf("got %v", got)
	}
	must.Get(Append(t.Context(), store, []string{write(t, "more", "8,y,1\n")}, "", Options{Titles: write(t, "titles", "y,Brazil\n20,Cold\n")}))(t)
	if got := titledOf(t, store, format.ColSide); fmt.Sprint(got) != "map[20:Cold 30:Bigger x:Alien y:Brazil]" {
		t.Errorf("titles of either side: got %v", got)
	}
}

// TestAppendTitlesOfNewIDs: titles of ids that had none are not reported as further titles of these ids.
func TestAppendTitlesOfNewIDs(t *testing.T) {
	store := target(t)
	mustIngest(t, []string{write(t, "in", "1,20,1\n1,30,1\n")}, store, Options{ColTitles: write(t, "titles", "20,Heat\n")})
	var log bytes.Buffer
	o := Options{ColTitles: write(t, "titles", "30,Big\n40,Alien\n"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	must.Get(Append(t.Context(), store, []string{write(t, "more", "2,40,1\n")}, "", o))(t)
	if got := titledOf(t, store, format.ColSide); fmt.Sprint(got) != "map[20:Heat 30:Big 40:Alien]" || strings.Contains(log.String(), "several titles") {
		t.Errorf("got %v, log %s", got, log.String())
	}
}

// TestAppendRefuses: Append refuses inputs that the store cannot be combined with and options that contradict it.
func TestAppendRefuses(t *testing.T) {
	const twice = "1,1,1\n1,1,2\n2,2,3\n"
	more := "3,3,3\n"
	for _, c := range []struct {
		name, in string
		made, o  Options
		more     string
		says     string // part of the error; "": accepted
	}{
		{"means", twice, Options{Duplicates: Mean}, Options{}, more, "it has means, but not of how many values; ingest all inputs anew"},
		{"means of one value each", "1,1,1\n2,2,3\n", Options{Duplicates: Mean}, Options{}, "1,1,2\n", ""},
		{"exact sums", twice, Options{Duplicates: Sum}, Options{Duplicates: Sum}, "1,1,0.5\n", ""},
		{"rounded sums", "1,1,0.1\n1,1,0.2\n", Options{Duplicates: Sum}, Options{}, more, "sums that were rounded"},
		{"another policy", twice, Options{Duplicates: Last}, Options{Duplicates: Sum}, more, `it was made with duplicates "last": "sum" cannot be chosen now`},
		{"a policy where there was nothing to decide", "1,1,1\n", Options{}, Options{Duplicates: Last}, "1,1,7\n", ""},
		{"twice", "1,1,1\n", Options{}, Options{}, "5,5,5\n1,1,7\n", ":2: row 1, column 1: more than one entry (the first is at "},
		{"a separator", "1,1,1\n", Options{Separator: ","}, Options{Separator: ";"}, more, `it was made with separator ",": ";" cannot be chosen now`},
		{"an orientation", "1,1,1\n", Options{}, Options{Orient: OrientCols}, more, `it was made with orientation "auto"`},
		{"declared shape", mmReal + "2 2 1\n1 1 1\n", Options{}, Options{}, more, "of one input of a declared shape (mtx)"},
		{"a declared shape", "1,1,1\n", Options{}, Options{}, mmReal + "2 2 1\n1 1 1\n", "declared shape beside others"},
		{"other columns", "movie,user,rating\n1,2,3\n", Options{}, Options{}, "3,4,5\n", "its columns would be read in another order"},
		{"other words", "movie,user,rating\n1,2,3\n", Options{}, Options{}, "song,user,rating\n1,4,5\n", `the column is "song" here and was "movie"`},
		{"no value", "movie,user,rating\n1,2,3\n", Options{}, Options{}, "movie,user\n1,4\n", "it has a value or not"},
		{"the same columns, in order", "movie,user,rating\n1,2,3\n", Options{}, Options{}, "user,rating,movie\n3,4,5\n", ""},
		{"keys in another order", "{\"user\":1,\"item\":2,\"rating\":3}\n", Options{}, Options{}, "{\"rating\":3,\"item\":4,\"user\":5}\n", ""},
	} {
		store, _ := ingested(t, []string{write(t, "in", c.in)}, c.made)
		before := vfstest.Contents(t, store)
		_, err := Append(t.Context(), store, []string{write(t, "more", c.more)}, "", c.o)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.says)
		}
		if c.says != "" && !cmp.Equal(vfstest.Contents(t, store), before) {
			t.Errorf("%s: the store has changed", c.name)
		}
		leftovers(t, store, true)
	}
	if _, err := Append(t.Context(), filepath.Join(t.TempDir(), "nothing"), nil, "", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no store: %v", err)
	}
	foreign := filepath.Join(t.TempDir(), "a.csr")
	w, err := csr.Create(foreign, csr.CreateOptions{Cols: 1, Values: csr.Values{Coding: csr.Constant, Table: []float64{1}}})
	if err != nil || w.Commit() != nil {
		t.Fatal(err)
	}
	if _, err := Append(t.Context(), foreign, []string{write(t, "in", more)}, "", Options{}); err == nil || !strings.Contains(err.Error(), "it was not made by an ingest") {
		t.Errorf("a store that was generated: %v", err)
	}
}

// TestAppendAfterDeath kills Append at random operations: the store is always the complete old or the complete new
// one, and a resumed Append produces the bytes of an uninterrupted one.
func TestAppendAfterDeath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		texts, titles bool
		p             plan
	}{{"merged", false, false, tiny()}, {"sorted anew", true, false, crowded()}, {"with titles", false, true, tiny()}} {
		t.Run(c.name, func(t *testing.T) { appendsAfterDeath(t, c.texts, c.titles, c.p) })
	}
}

func appendsAfterDeath(t *testing.T, texts, titles bool, p plan) {
	r := rand.New(rand.NewPCG(3, 9))
	first, more := ratings(r, 200, false), ratings(r, 300, texts)
	made := Options{Duplicates: Last, FS: lazyFS{vfs.OS()}}
	in, inMore := write(t, "in", strings.Join(first, "\n")), write(t, "more", strings.Join(more, "\n"))
	before := made
	if titles {
		every := func(step int, text string) string {
			var b strings.Builder
			for i := -1000; i < 1000; i += step {
				fmt.Fprintf(&b, "%d,%s %d\n", i, text, i)
			}
			return write(t, "titles", b.String())
		}
		before.RowTitles, made.RowTitles = every(2, "old"), every(5, "new")
	}
	begin := func() string {
		store, _ := ingested(t, []string{in}, before)
		return store
	}
	whole := begin()
	old := fingerprint(t, whole)
	must.Get(appendPlan(t, whole, []string{inMore}, "", made, p))(t)
	if named := fmt.Sprint(titledOf(t, whole, format.RowSide)); titles != (strings.Contains(named, "old") && strings.Contains(named, "new")) {
		t.Fatalf("titles %s", named)
	}
	want, resumes := vfstest.Contents(t, whole), 0
	for round := range longtest.Pick(3, 1) {
		store := begin()
		for step := 40 + r.IntN(300); ; step = step*3/2 + 1 {
			fsys := dyingAt(r.IntN(step))
			o := made
			o.FS, o.Resume, o.CheckpointEvery = fsys, true, 1
			rep, err := appendPlan(t, store, []string{inMore}, "", o, p)
			if fsys.died {
				fsys.Die()
			}
			if now := fingerprint(t, store); now != old && !titles && (err != nil || rep == nil) {
				if diff := cmp.Diff(want, vfstest.Contents(t, store)); diff != "" {
					t.Fatalf("round %d: neither the old nor the new store:\n%s", round, diff)
				}
			}
			if err == nil {
				resumes += rep.Resumes
				break
			}
			if !fsys.died {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, vfstest.Contents(t, store)); diff != "" {
			t.Fatalf("round %d: another store:\n%s", round, diff)
		}
		leftovers(t, store, true)
		o := made
		o.Resume = true
		if rep, err := appendPlan(t, store, []string{inMore}, "", o, p); err != nil || !rep.Finished {
			t.Errorf("resumed once more: %+v, %v", rep, err)
		}
	}
	if resumes == 0 {
		t.Error("never resumed: the test misses what it is for")
	}
}

// TestAppendToWhatWasReplaced: Append refuses a store that another process replaced after Append had read it and
// before Append locked it.
func TestAppendToWhatWasReplaced(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.csr")
	must.Get(Ingest(t.Context(), []string{write(t, "in", "1,1,1\n2,2,2\n")}, store, Options{}))(t)
	more := write(t, "more", "3,1,5\n")
	o, out, err := appending(store, "", Options{})
	must.Do(t, err)
	must.Get(Append(t.Context(), store, []string{write(t, "other", "1,2,4\n")}, "", Options{}))(t)
	if _, err := o.ingest(t.Context(), []string{store, more}, out); err == nil || !strings.Contains(err.Error(), "another process has replaced it meanwhile") {
		t.Fatalf("got %v", err)
	}
	r, err := Append(t.Context(), store, []string{more}, "", Options{})
	if err != nil || r.NNZ != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}
