package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// timed returns n lines of a log whose times are often equal.
func timed(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("u%d,%d,%g,%d", r.IntN(n/6+1)*3, r.IntN(30)*5, float64(r.IntN(9))/4+0.1, 1_000_000_000+r.IntN(60)*1000)
	}
	return lines
}

// pairFiles returns the files of both stores, without the parts of the manifests that depend on the order of the inputs.
func pairFiles(t testing.TB, out string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{out, out + TestSuffix} {
		for name, b := range vfstest.Contents(t, dir) {
			if name == "MANIFEST.json" {
				b = sumsInManifest.ReplaceAllString(b, "")
			}
			all[strings.TrimPrefix(dir, out)+"/"+name] = b
		}
	}
	return all
}

// TestPairDependsOnEntriesAlone: the bytes of both stores do not depend on order, workers, memory or temporary files.
func TestPairDependsOnEntriesAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	lines := timed(r, 350)
	for _, which := range []string{"random:0.3", "last:2", "time:0.25", "after:1000030000"} {
		if !longtest.On() && which[0] != 'l' && which[0] != 'r' {
			continue // these do as last:2 does
		}
		h := must.Get(ParseHoldout(which))(t)
		for _, orient := range []Orientation{OrientRows, OrientCols} {
			var want map[string]string
			for try, p := range []plan{mustPlan(t), tiny(), crowded()} {
				r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
				in, out := write(t, "log", strings.Join(lines, "\n")), target(t)
				o := Options{Workers: 1 + try, Duplicates: Sum, Holdout: h, Orient: orient, Filter: Filter{MinPerRow: 3, MinPerCol: 2}, FS: lazyFS{vfs.OS()}, Columns: []string{"1", "2", "3", "4"}}
				rep, err := ingest(t.Context(), []string{in}, out, o.withDefaults(), p)
				if err != nil {
					t.Fatalf("%s: %v", which, err)
				}
				if spilled := rep.SpilledBytes > 0; spilled != (try > 0) {
					t.Errorf("spilled: %v", spilled)
				}
				got := pairFiles(t, out)
				if want == nil {
					want = got
				}
				if !maps.Equal(got, want) {
					t.Errorf("%s, %v, try %d: another pair", which, orient, try)
				}
			}
		}
	}
}

// TestPairAfterDeath kills an ingest at many operations, and at each of the last 40. If one of the two stores is left,
// an ingest without Resume is refused; with Resume it makes both stores with the bytes of an uninterrupted one.
func TestPairAfterDeath(t *testing.T) {
	t.Parallel()
	in := write(t, "log", strings.Join(timed(rand.New(rand.NewPCG(4, 4)), 120), "\n"))
	for name, p := range map[string]plan{"memory": mustPlan(t), "disk": tiny()} {
		p.Run, p.First = 64, 64
		run := func(out string, fsys vfs.FS, resume, force bool) (*Report, error) {
			o := Options{
				FS: fsys, Duplicates: Sum, Resume: resume, Force: force, CheckpointEvery: time.Nanosecond, Workers: 1,
				Holdout: Holdout{Last: 1}, Columns: []string{"1", "2", "3", "4"},
			}
			return ingest(t.Context(), []string{in}, out, o.withDefaults(), p)
		}
		whole := target(t)
		must.Get(run(whole, lazyFS{vfs.OS()}, false, false))(t)
		want := pairFiles(t, whole)
		alive := dyingAt(-1)
		must.Get(run(target(t), alive, false, false))(t)
		ops := alive.Count() - 1
		halves, died := 0, true
		for n := 0; died; n += longtest.Pick(1, 2) {
			if n < ops-40 {
				n = min(n+ops/longtest.Pick(8, 2), ops-40)
			}
			out := target(t)
			fsys := dyingAt(n)
			_, _ = run(out, fsys, false, false)
			died = fsys.died
			if died {
				fsys.Die()
			}
			_, noTrain := os.Stat(out)
			_, noTest := os.Stat(out + TestSuffix)
			if noTrain == nil && noTest != nil {
				t.Fatalf("%s, death at operation %d: a store without what is held out of it", name, n)
			}
			if noTest == nil && noTrain != nil {
				halves++
				if _, err := run(out, lazyFS{vfs.OS()}, false, false); !errors.As(err, new(*csr.UnfinishedError)) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("%s, half a pair after operation %d: %v", name, n, err)
				}
			}
			if _, err := run(out, lazyFS{vfs.OS()}, true, false); err != nil {
				t.Fatalf("%s, death at operation %d: %v", name, n, err)
			}
			if diff := gocmp.Diff(want, pairFiles(t, out)); diff != "" {
				t.Fatalf("%s, death at operation %d: another pair:\n%s", name, n, diff)
			}
			only(t, filepath.Dir(out), filepath.Base(out), filepath.Base(out)+TestSuffix)
		}
		if halves == 0 {
			t.Errorf("%s: no death left half a pair: the test misses what it is for", name)
		}
	}
}

// TestPairAndWhatIsThere: no store is replaced without Force, a name that ends in a slash is that of the same pair, and a
// finished pair is recognised, unless one of its stores is missing or belongs to another pair.
func TestPairAndWhatIsThere(t *testing.T) {
	in := write(t, "log", "1,1,1,5\n1,2,1,6\n2,1,1,7\n2,2,1,8\n")
	o := Options{Holdout: Holdout{Last: 1}, Columns: []string{"1", "2", "3", "4"}}
	out := target(t)
	mustIngest(t, []string{in}, out+TestSuffix, Options{Columns: []string{"1", "2", "3"}})
	if _, err := Ingest(t.Context(), []string{in}, out, o); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), TestSuffix) {
		t.Errorf("with a store for tests: %v", err)
	}
	leftovers(t, out+TestSuffix, true)
	o.Force = true
	first := mustIngest(t, []string{in}, out+"/", o)
	mustIngest(t, []string{in}, out+"/", o)
	o.Force, o.Resume = false, true
	again := mustIngest(t, []string{in}, out, o)
	if !again.Finished || again.Heldout == nil || again.Heldout.Fingerprint != first.Heldout.Fingerprint || again.Heldout.NNZ != 2 {
		t.Errorf("finished: %+v", again)
	}
	other := target(t)
	o2 := o
	o2.Holdout = Holdout{After: time.Unix(8, 0)}
	mustIngest(t, []string{in}, other, o2)
	must.Do(t, os.RemoveAll(out+TestSuffix))
	if _, err := Ingest(t.Context(), []string{in}, out, o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("without the store for tests: %v", err)
	}
	must.Do(t, os.Rename(other+TestSuffix, out+TestSuffix))
	if _, err := Ingest(t.Context(), []string{in}, out, o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("with the store for tests of another: %v", err)
	}
}

// TestEveryFaultOfAPairSurfaces fails each operation in turn: if one store of the pair is left alone, the error is a
// *csr.UnfinishedError, and if no error is returned, the store is there.
func TestEveryFaultOfAPairSurfaces(t *testing.T) {
	in := write(t, "log", strings.Join(timed(rand.New(rand.NewPCG(4, 9)), 60), "\n"))
	broken := errors.New("input/output error")
	for n, failed := 0, true; failed; n++ {
		out := target(t)
		fsys := &vfstest.FaultFS{FS: lazyFS{vfs.OS()}}
		failed = false
		fsys.Inject = oneByOne(func(op vfstest.Op) error {
			if op.Index == n {
				failed = true
				return broken
			}
			return nil
		})
		o := Options{FS: fsys, Duplicates: Sum, Workers: 1, Holdout: Holdout{Random: 0.5}, Columns: []string{"1", "2", "3", "4"}}
		_, err := ingest(t.Context(), []string{in}, out, o.withDefaults(), mustPlan(t))
		_, noTrain := os.Stat(out)
		_, noTest := os.Stat(out + TestSuffix)
		if (noTrain == nil) != (noTest == nil) && !errors.As(err, new(*csr.UnfinishedError)) {
			t.Errorf("operation %d: half a pair and %v", n, err)
		}
		if err == nil && noTrain != nil {
			t.Errorf("operation %d: nothing is there", n)
		}
	}
}

func TestParseHoldout(t *testing.T) {
	for _, s := range []string{"random:0.2", "last:1", "time:0.1", "after:2019-07-28T00:00:00Z", ""} {
		h, err := ParseHoldout(s)
		if err != nil || h.String() != s {
			t.Errorf("%q is %q, %v", s, h, err)
		}
	}
	for _, s := range []string{
		"random", "random:", "random:0", "random:1", "random:1.5", "random:-1", "random:nan", "random:inf", "last:0", "last:-1", "last:0.5", "last:9999999999", "time:0", "time:2",
		"after:", "after:soon", "before:1", ":", ":1", "none",
	} {
		if h, err := ParseHoldout(s); err == nil || h != (Holdout{}) {
			t.Errorf("%q is %+v, %v", s, h, err)
		}
	}
	for _, h := range []Holdout{{Random: 0.1, Last: 1}, {Time: 0.1, After: time.Unix(8, 0)}, {Random: 1}, {Last: -1}, {Time: math.NaN()}} {
		if err := (Options{Holdout: h}).ValidateSifting(); err == nil {
			t.Errorf("%+v is taken", h)
		}
	}
}

// TestTimesOfColumns: the column of times is found, and the error says why if there is none.
func TestTimesOfColumns(t *testing.T) {
	const cut = "2001-09-09T01:46:45Z" // 1000000005 seconds
	for _, c := range []struct {
		text string
		cols string
		want string // entries left by Since: cut, or part of the error
	}{
		{"user,item,rating,timestamp\n1,10,3,1000000004\n1,20,4,1000000005\n2,10,5,1000000006.5\n", "", "1/20/4 2/10/5"},
		{"user,item,rating,date\n1,10,3,2001-09-09\n1,20,4,2001-09-09T01:46:45\n2,10,5,2001-09-09 03:46:45+02:00\n", "", "1/20/4 2/10/5"},
		{"user,item,rating,timestamp\n1,10,3,1000000004999\n1,20,4,1000000005000\n", "", "1/20/4"},
		{"timestamp,user,item\n1000000004,1,10\n1000000005,1,20\n", "", "1/20/1"},
		{"1::10::3::1000000004\n1::20::4::1000000005\n", "", "1/20/4"},
		{"1\t10\t3\t4\n1\t20\t4\t1000000005\n", "", "ambiguous"},
		{"1\t10\t3\t4\n1\t20\t4\t1000000005\n", "1,2,3,4", "1/20/4"},
		{"1\t10\t4\n1\t20\t1000000005\n", "1,2,,3", "1/20/1"},
		{"user,item,rating\n1,10,3\n", "", "no times can be read"},
		{"user,item,rating,created_at,updated_at\n1,10,3,1,1000000009\n", "", "--columns user,item,rating,created_at"},
		{"user,item,created_at,updated_at\n1,10,1,1000000009\n", "", "--columns user,item,,created_at"},
		{"user,item,rating,created_at,updated_at\n1,10,3,1,1000000009\n", "user,item,rating,updated_at", "1/10/3"},
		{"user,item,created_at,updated_at\n1,10,1,1000000009\n", "user,item,,updated_at", "1/10/1"},
		{"user,item,rating,timestamp\n1,10,3,1000000005\n1,20,4,12/1/2010 8:26\n", "", `in:3:8: time "12/1/2010 8:26": not a time`},
		{"user,item,rating,timestamp\n1,10,3,1000000005\n1,20,4,\n", "", `in:3:8: time: not a time`},
		{"user,item,rating,timestamp\n1,10,3,1000000005\nuser,item,rating,timestamp\n1,20,4,1000000006\n", "", "1/10/3 1/20/4"},
		{"user,item,timestamp\n1,10,1000000005\nuser,item,timestamp\n1,20,1000000006\n", "", "1/10/1 1/20/1"},
		{"1,10,3,1000000005\n", "1,2,3,3", "named twice"},
		{"1,10,3,1000000005\n", "1,2,3,5", "no column 5"},
		{"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", "", "in: input of format mtx: no times can be read; those of text, JSON lines and Parquet can"},
		{"user,item,rating,timestamp\n1,10,3,1000000004\n", "", "no entries since 2001-09-09T01:46:45Z: the times of all 1 go from 2001-09-09T01:46:44Z to"},
	} {
		since := must.Get(ParseTime(cut))(t)
		o := Options{Filter: Filter{Since: since}}
		if c.cols != "" {
			o.Columns = strings.Split(c.cols, ",")
		}
		rep, entries, err := ingestText(t, c.text, o)
		var got []string
		for _, e := range entries {
			got = append(got, fmt.Sprintf("%s/%s/%g", e.Row, e.Col, e.Val))
		}
		switch {
		case err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q, %s: %v, want %s", c.text, c.cols, err, c.want)
		case err == nil && strings.Join(got, " ") != c.want:
			t.Errorf("%q, %s: %v, want %s", c.text, c.cols, got, c.want)
		case err == nil && rep.Filtered.Outside+rep.NNZ == 0:
			t.Errorf("%q: %+v", c.text, rep)
		}
		if _, _, err := ingestText(t, c.text, Options{Columns: o.Columns[:min(3, len(o.Columns))]}); errors.Is(err, format.ErrTime) || errors.Is(err, format.ErrNoTimes) {
			t.Errorf("%q without a filter: %v", c.text, err) // without a filter, times are not parsed
		}
	}
}

// TestDuplicateOutsideOfTheTimes: entries outside of the times of the filter are no duplicates of others.
func TestDuplicateOutsideOfTheTimes(t *testing.T) {
	const text = "user,item,rating,timestamp\n1,1,1,1\n1,1,2,20\n1,2,3,21\n"
	since := time.Unix(10, 0)
	if _, got, err := ingestText(t, text, Options{Filter: Filter{Since: since}}); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for _, h := range []Holdout{{}, {Last: 1}} {
		_, err := Ingest(t.Context(), []string{write(t, "in", text+"1,1,4,30\n")}, target(t), Options{Filter: Filter{Since: since}, Holdout: h})
		var de *duplicateError
		if !errors.As(err, &de) || de.First.Line != 3 || de.Second.Line != 5 || de.Count != 1 || de.Entries != 3 || de.Row != "1" || de.Col != "1" {
			t.Errorf("%v: %v", h, err)
		}
	}
}

// FuzzParseHoldout: parsing the String of a parsed Holdout gives the same Holdout.
func FuzzParseHoldout(f *testing.F) {
	for _, s := range []string{"random:0.2", "last:1", "time:1e-3", "after:2019-07-28", "after:978300760.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHoldout(s)
		if err != nil || h.kind() == heldout.After && (h.After.Year() < 0 || h.After.Year() > 9999) {
			return
		}
		if again, err := ParseHoldout(h.String()); err != nil || again != h {
			t.Fatalf("%q is %v, that is %v, %v", s, h, again, err)
		}
	})
}

// TestAppendToWhatHasBeenSifted: Append refuses a store that was filtered or held out from, as entries are missing in it.
func TestAppendToWhatHasBeenSifted(t *testing.T) {
	in := write(t, "log", "1,1,1,5\n1,2,1,6\n2,1,1,7\n2,2,1,8\n3,1,1,9\n")
	for _, o := range []Options{
		{Filter: Filter{MinPerRow: 2}}, {Filter: Filter{Until: time.Unix(9, 0)}}, {Holdout: Holdout{Last: 1}},
	} {
		o.Columns = []string{"1", "2", "3", "4"}
		out, _ := ingested(t, []string{in}, o)
		if _, err := Append(t.Context(), out, []string{in}, out+".more", Options{}); !errors.As(err, new(*AppendError)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", o.Filter, err)
		}
	}
}
