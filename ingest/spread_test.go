package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remotetest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// tasksOf returns Tasks that run in this process, in random order and some of them twice, with the plan p.
func tasksOf(groups int, p plan, r *rand.Rand) *Tasks {
	return &Tasks{Groups: groups, Run: func(ctx context.Context, of any, n int, ended func(), take func(float64)) error {
		text, err := json.Marshal(of)
		if err != nil {
			return err
		}
		made := make([]float64, n)
		for _, i := range append(r.Perm(n), r.IntN(n)) {
			var w work
			if err = json.Unmarshal(text, &w); err == nil {
				o := w.Options
				o.FS = lazyFS{vfs.OS()}
				made[i], err = w.do(ctx, o.withDefaults(), p, i)
			}
			if err != nil {
				return err
			}
			ended()
		}
		for _, x := range made {
			take(x)
		}
		return nil
	}}
}

// byTasks ingests once without and once with tasks and checks that stores, reports and errors are equal.
func byTasks(t testing.TB, in []string, o Options, groups int, p plan) (err error) {
	t.Helper()
	o.FS = lazyFS{vfs.OS()}
	var all [2]map[string]string
	var says [2]string
	var reports [2]*Report
	for i := range all {
		out := filepath.Join(t.TempDir(), "out.csr")
		if i == 1 {
			o.Tasks = tasksOf(groups, p, rand.New(rand.NewPCG(uint64(groups), 7)))
		}
		reports[i], err = ingest(t.Context(), in, out, o.withDefaults(), mustPlan(t))
		says[i], all[i] = fmt.Sprint(err), map[string]string{}
		for _, dir := range must.Get(os.ReadDir(filepath.Dir(out)))(t) {
			if !strings.HasPrefix(dir.Name(), "out.csr") || strings.HasSuffix(dir.Name(), SpoolSuffix) {
				t.Errorf("%s is left", dir.Name())
			}
			for name, b := range vfstest.Contents(t, filepath.Join(filepath.Dir(out), dir.Name())) {
				all[i][dir.Name()+"/"+name] = b
			}
		}
	}
	if says[0] != says[1] {
		t.Errorf("by tasks: %s\non one machine: %s", says[1], says[0])
	}
	for name, b := range all[0] {
		if all[1][name] != b || len(all[0]) != len(all[1]) {
			t.Errorf("%s differs, or there is another file", name)
		}
	}
	if a, b := reports[0], reports[1]; a != nil && b != nil {
		for _, r := range reports {
			r.Store, r.Runs, r.IDLists, r.Spool, r.SpilledBytes, r.Seconds = "", 0, 0, 0, 0, Seconds{}
			if r.Heldout != nil {
				r.Heldout.Store = ""
			}
		}
		if x, y := string(must.Get(json.Marshal(a))(t)), string(must.Get(json.Marshal(b))(t)); x != y || fmt.Sprint(a.FirstBad) != fmt.Sprint(b.FirstBad) {
			t.Errorf("reports differ:\n%s %v\n%s %v", x, a.FirstBad, y, b.FirstBad)
		}
	}
	return err
}

// TestTasksAreTheSame compares ingests with and without tasks, for random inputs, options and numbers of tasks.
func TestTasksAreTheSame(t *testing.T) {
	t.Parallel()
	whole, failed := 0, 0
	check := func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		dir := t.TempDir()
		texts, bad := rapid.IntRange(0, 3).Draw(rt, "kinds of ids"), rapid.SampledFrom([]int{0, 0, 1, 3, 6}).Draw(rt, "bad lines")
		var in []string
		for f := range rapid.IntRange(1, 6).Draw(rt, "files") {
			var b strings.Builder
			b.WriteString("user,item,rating,timestamp\n")
			for range r.IntN(120) {
				user := fmt.Sprint(r.IntN(40))
				if texts == 1 || texts == 2 && f == 2 {
					user = "u" + user
				}
				fmt.Fprintf(&b, "%s,%d,%d,%d\n", user, r.IntN(30), 1+r.IntN(5), r.IntN(100))
			}
			if r.IntN(6) < bad {
				b.WriteString("1,2,x,4\n")
			}
			name := filepath.Join(dir, fmt.Sprintf("%d.csv", f))
			must.Do(t, os.WriteFile(name, []byte(b.String()), 0o666))
			in = append(in, name)
		}
		o := Options{Duplicates: Duplicates(r.IntN(int(Max) + 1)), Orient: Orientation(r.IntN(3)), MaxBadLines: int64(r.IntN(3))}
		switch rapid.IntRange(0, 8).Draw(rt, "option") {
		case 0:
			o.Graph = Undirected
		case 1:
			o.Graph, o.SelfLoops = Directed, SelfLoops(r.IntN(3))
		case 2:
			o.Filter = Filter{MinPerRow: 2, MinPerCol: 3}
		case 3:
			o.Filter = Filter{Since: time.Unix(20, 0), Until: time.Unix(80, 0)}
		case 4:
			o.Holdout = Holdout{Random: 0.2, Seed: 5}
		case 5:
			o.Holdout = Holdout{Time: 0.3}
		case 6:
			o.Events, o.Duplicates, o.Columns = true, Sum, []string{"user", "item"}
		}
		p := mustPlan(t)
		if rapid.Bool().Draw(rt, "tiny") {
			p = crowded()
		}
		if byTasks(t, in, o, 1+r.IntN(5), p) == nil {
			whole++
		} else {
			failed++
		}
	}
	for range 20 { // one check may have only good, or only bad inputs
		if rapid.Check(t, check); t.Failed() || whole > 0 && failed > 0 {
			return
		}
	}
	t.Errorf("%d stores and %d errors: the test misses what it is for", whole, failed)
}

// TestTasksOfFormats: compressed, Parquet, empty and damaged inputs are read by tasks as without tasks.
func TestTasksOfFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		must.Do(t, os.WriteFile(name, []byte(text), 0o666))
		return name
	}
	lines := func(from int) string {
		return lines(200, func(i int) string { return fmt.Sprintf("%d,b%d,%d.5", from+i, i%7, i%3) })
	}
	a, b, c := file("a.csv", lines(0)), file("b.csv", lines(200)), file("c.csv", lines(400))
	zip := string(gzipped(t, []byte(lines(600))))
	whole, cut := file("d.gz", zip), file("cut.gz", zip[:len(zip)-9])
	columns := string(must.Get(os.ReadFile(filepath.Join("testdata", "parquet", "dictionary.parquet")))(t))
	for name, c := range map[string]struct {
		in   []string
		o    Options
		says string
	}{
		"text":       {[]string{a, whole, b, c}, Options{}, "<nil>"},
		"parquet":    {[]string{file("a.parquet", columns), file("b.parquet", columns)}, Options{Duplicates: Sum}, "<nil>"},
		"duplicates": {[]string{a, b, file("again.csv", lines(400)+lines(0))}, Options{}, "(the first is at " + a + ":1)"},
		"empty":      {[]string{a, file("empty.csv", ""), b, c}, Options{}, "empty"},
		"cut":        {[]string{a, b, cut, file("bad.csv", "1,2\n")}, Options{}, "cut.gz"},
		"roles":      {[]string{file("h1.csv", "user,item,rating\n1,2,3\n"), file("h2.csv", "item,user,rating\n1,2,3\n"), file("h3.csv", "user,item\n1,2\n")}, Options{}, "h3.csv"},
		"titles":     {[]string{a, b}, Options{ColTitles: file("titles.csv", "id,title\nb1,One\n")}, "<nil>"},
		"ids":        {[]string{a, b}, Options{RowIDs: a}, "ids of rows beside"},
	} {
		for _, groups := range []int{1, 2, 16} {
			if err := byTasks(t, c.in, c.o, groups, mustPlan(t)); !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%s: %v, want %s", name, err, c.says)
			}
		}
	}
}

// TestTasksAreRefused: inputs and options that tasks do not support are refused before a task begins.
func TestTasksAreRefused(t *testing.T) {
	lines, market := write(t, "lines", "1,2,3\n"), write(t, "market", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n")
	none := &Tasks{Groups: 2, Run: func(context.Context, any, int, func(), func(float64)) error { return errors.New("a task has begun") }}
	store, _ := ingested(t, []string{lines}, Options{})
	for _, c := range []struct {
		in   string
		o    Options
		says string
	}{
		{"-", Options{Stdin: strings.NewReader("1,2,3\n")}, "tasks cannot read standard input; "},
		{"https://u:secret@example.org/x.csv", Options{}, "tasks do not read https://example.org/x.csv, whose password"},
		{market, Options{}, "market declares the shape of a matrix"},
		{lines, Options{Resume: true}, "tasks do not go on with what was interrupted (--resume); ingest it without tasks (no --engine)"},
		{lines, Options{Formats: []format.Format{{Name: "own"}}}, "formats that the program has added"},
	} {
		c.o.Tasks = none
		_, err := Ingest(t.Context(), []string{c.in}, target(t), c.o)
		if refused := (*TasksError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
	_, err := Append(t.Context(), store, []string{lines}, "", Options{Tasks: none})
	if refused := (*TasksError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "append to a store") {
		t.Error(err)
	}
}

// TestTasksKeepSecrets: the description of tasks, which an engine sees, has no URL of titles, which the ingest itself reads; a
// URL of ids is refused.
func TestTasksKeepSecrets(t *testing.T) {
	s := remotetest.New(t)
	s.Put("/titles", []byte("2\tTwo\n"), 1)
	url := strings.Replace(s.URL, "https://", "https://me:hunter2@", 1) + "/titles?X-Amz-Signature=hunter2"
	in, p := []string{write(t, "a", "1,2,3\n"), write(t, "b", "4,5,6\n")}, mustPlan(t)
	seen := &Tasks{Groups: 2, Run: func(ctx context.Context, of any, n int, ended func(), take func(float64)) error {
		if text := must.Get(json.Marshal(of))(t); strings.Contains(string(text), "hunter2") {
			t.Errorf("tasks are told %s", text)
		}
		return tasksOf(2, p, rand.New(rand.NewPCG(1, 7))).Run(ctx, of, n, ended, take)
	}}
	for _, o := range []Options{{ColTitles: url}, {Titles: url}} {
		o.Tasks, o.Transport = seen, s.Transport(t)
		if rep := mustIngest(t, in, target(t), o); rep.ColTitles != 1 {
			t.Errorf("%+v", rep)
		}
	}
	_, err := Ingest(t.Context(), in, target(t), Options{Tasks: seen, Transport: s.Transport(t), ColIDs: url})
	if refused := (*TasksError)(nil); !errors.As(err, &refused) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("ids: %v", err)
	}
}

// TestTasksFail: a changed input is an error, and damaged files of tasks are noticed and made anew.
func TestTasksFail(t *testing.T) {
	in := []string{write(t, "a", "1,2,3\n"), write(t, "b", "4,5,6\n")}
	p := mustPlan(t)
	spoil := func(before, after func(w *work)) *Tasks {
		return &Tasks{Groups: 2, Run: func(ctx context.Context, of any, n int, ended func(), take func(float64)) error {
			w := *of.(*work)
			before(&w)
			for i := range n {
				made, err := w.do(ctx, w.Options.withDefaults(), p, i)
				if err != nil {
					return err
				}
				take(made)
			}
			after(&w)
			return nil
		}}
	}
	nothing := func(*work) {}
	out := target(t)
	by := func(tasks *Tasks) Options { return Options{Tasks: tasks, Memory: p.total} }
	_, err := Ingest(t.Context(), in, out, by(spoil(func(w *work) { w.IDs = slices.Clone(w.IDs); w.IDs[1].Size++ }, nothing)))
	if err == nil || !strings.Contains(err.Error(), "b is another file here") {
		t.Error(err)
	}
	leftovers(t, out, false)
	stops := spoil(nothing, nothing)
	run, failed := stops.Run, errors.New("the engine is gone")
	stops.Run = func(ctx context.Context, of any, n int, ended func(), take func(float64)) error {
		if of.(*work).Step == stepMerge {
			return failed
		}
		return run(ctx, of, n, ended, take)
	}
	if _, err := Ingest(t.Context(), in, out, by(stops)); !errors.Is(err, failed) {
		t.Error(err)
	}
	leftovers(t, out, false) // the files of tasks are not synced, so they are not kept for a resume
	for _, kind := range []string{"run", "ids", "names", "part"} {
		for name, spoilt := range map[string]func(file string){
			"gone": func(file string) { must.Do(t, os.Remove(file)) },
			"cut":  func(file string) { must.Do(t, os.Truncate(file, must.Get(os.Stat(file))(t).Size()-1)) },
			"bit": func(file string) {
				b := must.Get(os.ReadFile(file))(t)
				b[len(b)-1] ^= 1
				must.Do(t, os.WriteFile(file, b, 0o666))
			},
		} {
			for at := range 4 { // the stage after which the file is damaged
				stages := 0
				damage := func(w *work) {
					if stages++; stages == 1+at {
						for _, file := range must.Get(filepath.Glob(filepath.Join(w.Scratch, "*."+kind)))(t) {
							if must.Get(os.Stat(file))(t).Size() > 0 {
								spoilt(file)
							}
						}
					}
				}
				out := target(t)
				_, err := Ingest(t.Context(), in, out, by(spoil(nothing, damage)))
				if anew := stages > 4; err != nil || anew == (kind == "ids" && at > 1 || kind == "names" && at == 0) {
					t.Errorf("%s %s after stage %d: %v after %d stages", kind, name, at, err, stages)
				}
				leftovers(t, out, true)
			}
		}
	}
}
