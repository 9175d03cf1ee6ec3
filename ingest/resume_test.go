package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// crowded returns a plan under which ids do not fit in memory either: a list holds some dozens of ids.
func crowded() plan {
	p := tiny()
	p.Space = 48 << 10
	p.Run, p.First = 64, 16
	return p
}

// An unlucky is an ingest that a test interrupts.
type unlucky struct {
	name   string
	inputs []string
	o      Options
	plan   plan
}

func unluckyCases(t *testing.T) []unlucky {
	r := rand.New(rand.NewPCG(5, 5))
	text := strings.Join(ratings(r, 300, true), "\n")
	numbers := strings.Join(ratings(r, 300, false), "\n") + "\n"
	half := strings.LastIndex(numbers[:len(numbers)/2], "\n") + 1
	var symmetric, many strings.Builder
	symmetric.WriteString("%%MatrixMarket matrix coordinate real symmetric\n300 300 299\n")
	for i := range 299 {
		fmt.Fprintf(&symmetric, "%d %d %d.25\n", 300-i, 1+(299-i)/2, i)
	}
	for i := range 700 {
		fmt.Fprintf(&many, "%d,x%d,%d\n", i*7919%1009*13, i*31%503, i%7)
		if i == 500 { // until here all ids of rows are integers
			many.WriteString("zoe,x3,1\n")
		}
	}
	return []unlucky{
		{"text", []string{write(t, "in", text)}, Options{}, tiny()},
		{"duplicates", []string{write(t, "a", numbers[:half]), write(t, "b", text[:len(text)/2])}, Options{Duplicates: Sum, MaxBadLines: 3}, tiny()},
		{"compressed", []string{write(t, "a.gz", string(gzipped(t, []byte(numbers[:half])))), write(t, "b", numbers[half:])}, Options{Duplicates: Last}, tiny()},
		{"matrix market", []string{write(t, "in.mtx", symmetric.String())}, Options{}, tiny()},
		{"bad lines", []string{write(t, "in", strings.Replace(numbers, "\n", "\nno line of its kind\n", 3))}, Options{MaxBadLines: 5, Duplicates: Mean}, tiny()},
		{"lists of ids", []string{write(t, "in", many.String())}, Options{Duplicates: Max}, crowded()},
	}
}

// run ingests with Resume and fails all operations from number n on; with n = -1, none.
func (u *unlucky) run(t *testing.T, out string, n int) (rep *Report, died bool, err error) {
	t.Helper()
	fsys := dyingAt(n)
	o := u.o
	o.FS, o.Resume, o.CheckpointEvery, o.Workers = fsys, true, time.Nanosecond, 1+n&1
	rep, err = ingest(t.Context(), u.inputs, out, o.withDefaults(), u.plan)
	if fsys.died {
		fsys.Die()
	}
	return rep, fsys.died, err
}

// TestResumeAfterDeath kills an ingest at many operations and resumes it until it
// succeeds: the store has the bytes of an uninterrupted ingest.
func TestResumeAfterDeath(t *testing.T) {
	t.Parallel()
	for i, u := range unluckyCases(t) {
		if !longtest.On() && i%2 == 1 {
			continue
		}
		t.Run(u.name, func(t *testing.T) { u.resumes(t, nil) })
	}
}

// resumes ingests u without interruption, compares the entries of the store with entries, unless these are nil, and does as
// resumesAfterDeath.
func (u *unlucky) resumes(t *testing.T, entries []triple) *Report {
	t.Helper()
	whole := target(t)
	rep, _, err := u.run(t, whole, -1)
	if err != nil || rep.Runs < 3 || rep.SpilledBytes == 0 {
		t.Fatalf("%+v, %v: the test misses what it is for", rep, err)
	}
	if entries != nil && !slices.Equal(contents(t, whole), slices.SortedFunc(slices.Values(entries), compareTriples)) {
		t.Errorf("%s: other entries", u.name)
	}
	resumesAfterDeath(t, u, whole, rep)
	return rep
}

// resumesAfterDeath kills and resumes u and compares with its store whole and its report want.
func resumesAfterDeath(t *testing.T, u *unlucky, whole string, want *Report) {
	t.Helper()
	store := vfstest.Contents(t, whole)
	r := rand.New(rand.NewPCG(1, 1))
	resumes := 0
	rounds := longtest.Pick(5, 2)
	for range rounds {
		out := target(t)
		for step := 40 + r.IntN(400); ; step = step*3/2 + 1 { // later operations each time
			rep, died, err := u.run(t, out, r.IntN(step))
			if died && err != nil {
				continue
			}
			if err != nil {
				t.Fatalf("at step %d: %v", step, err)
			}
			if rep.Finished { // the last death came after the store was published
				rep = want
			}
			if diff := cmp.Diff(store, vfstest.Contents(t, out)); diff != "" {
				t.Fatalf("another store:\n%s", diff)
			}
			leftovers(t, out, true)
			if rep.Lines != want.Lines || rep.BadLines != want.BadLines || rep.NNZ != want.NNZ || rep.Duplicates != want.Duplicates ||
				fmt.Sprint(rep.FirstBad) != fmt.Sprint(want.FirstBad) {
				t.Errorf("report %+v, want %+v", rep, want)
			}
			resumes += rep.Resumes
			break
		}
	}
	if resumes < longtest.Pick(rounds, 1) {
		t.Errorf("resumed only %d times: the test misses what it is for", resumes)
	}
}

// interrupted ingests u and cancels it when the sort begins.
func interrupted(t *testing.T, u *unlucky, out string) *csr.UnfinishedError {
	t.Helper()
	return interruptedAt(t, u, out, stageSort)
}

// interruptedAt ingests u and cancels it when a stage begins.
func interruptedAt(t *testing.T, u *unlucky, out, stage string) *csr.UnfinishedError {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := u.o
	o.CheckpointEvery = time.Nanosecond
	o.Observer = func(p Progress) {
		if p.Stage == stage {
			cancel()
		}
	}
	_, err := ingest(ctx, u.inputs, out, o.withDefaults(), u.plan)
	var ue *csr.UnfinishedError
	if !errors.As(err, &ue) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	return ue
}

// TestResumeAfterTwoDeaths interrupts an ingest before it writes the store, resumes it, kills it at each of the last 40
// operations, and resumes it again: the store has the bytes of an uninterrupted ingest.
func TestResumeAfterTwoDeaths(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	u := unluckyCases(t)[0]
	whole := target(t)
	if _, _, err := u.run(t, whole, -1); err != nil {
		t.Fatal(err)
	}
	store := vfstest.Contents(t, whole)
	killed := func(n int) (died bool) {
		out := target(t)
		interruptedAt(t, &u, out, stageWrite)
		_, died, _ = u.run(t, out, n)
		if _, _, err := u.run(t, out, -1); err != nil {
			t.Fatalf("killed before operation %d: %v", n, err)
		}
		if diff := cmp.Diff(store, vfstest.Contents(t, out)); diff != "" {
			t.Fatalf("killed before operation %d: another store:\n%s", n, diff)
		}
		return died
	}
	end := sort.Search(1<<12, func(n int) bool { return !killed(n) })
	for n := max(0, end-40); n < end; n++ {
		killed(n)
	}
}

// TestResumeIsRefused: an ingest with other inputs or options, or with a damaged journal, is not resumed.
func TestResumeIsRefused(t *testing.T) {
	in := write(t, "in", strings.Join(ratings(rand.New(rand.NewPCG(1, 1)), 300, false), "\n"))
	u := &unlucky{inputs: []string{in}, plan: tiny(), o: Options{Memory: 200<<20 + 1}}
	out := target(t)
	ue := interrupted(t, u, out)
	resume := func(name string, inputs []string, o Options, want string) {
		t.Helper()
		o.Resume = true
		_, err := ingest(t.Context(), inputs, out, o.withDefaults(), u.plan)
		var re *csr.ResumeError
		if !errors.As(err, &re) || re.Dir != ue.Dir || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	resume("other options", u.inputs, Options{Duplicates: Sum}, `duplicates "error"`)
	resume("less memory", u.inputs, Options{Memory: 200 << 20}, "it had 200 MiB of memory, this one has 200 MiB: give it --memory 201MiB")
	resume("other inputs", []string{write(t, "in", "1,1,1\n")}, Options{}, "other inputs")
	if _, err := ingest(t.Context(), u.inputs, out, Options{}.withDefaults(), u.plan); !errors.As(err, &ue) || ue.Err != nil {
		t.Errorf("without a word: %v", err)
	}
	now := time.Now().Add(time.Hour)
	must.Do(t, os.Chtimes(in, now, now))
	resume("input changed", u.inputs, Options{}, "has changed")

	journal := filepath.Join(ue.Dir, scratch.Journal)
	b := must.Get(os.ReadFile(journal))(t)
	b[len(b)/2] ^= 1
	must.Do(t, os.WriteFile(journal, b, 0o666))
	resume("damaged journal", u.inputs, Options{}, "damaged")
	if _, err := ingest(t.Context(), u.inputs, out, Options{Force: true}.withDefaults(), u.plan); err != nil {
		t.Errorf("by force: %v", err)
	}
	leftovers(t, out, true)
}

// TestStrangersAreLeftAlone: a directory of the user with the name of a scratch directory is not changed.
func TestStrangersAreLeftAlone(t *testing.T) {
	in, out := write(t, "in", "1,1,1\n"), target(t)
	must.Do(t, os.Mkdir(out+SpoolSuffix, 0o777))
	mine := filepath.Join(out+SpoolSuffix, "mine")
	must.Do(t, os.WriteFile(mine, nil, 0o666))
	for _, o := range []Options{{}, {Force: true}, {Resume: true}} {
		if _, err := Ingest(t.Context(), []string{in}, out, o); err == nil || !strings.Contains(err.Error(), "left alone") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

// TestResumeOfAFinishedIngest kills an ingest after it published the store, while it removes the scratch directory.
func TestResumeOfAFinishedIngest(t *testing.T) {
	u := unluckyCases(t)[0]
	for _, force := range []bool{false, true} {
		out := target(t)
		u.o.Force = force
		fsys := dyingWhen(func(op vfstest.Op) bool {
			return op.Kind == vfstest.OpRemoveAll && strings.HasSuffix(op.Name, SpoolSuffix)
		})
		o := u.o
		o.FS = fsys
		if _, err := ingest(t.Context(), u.inputs, out, o.withDefaults(), u.plan); !errors.Is(err, vfstest.ErrDead) {
			t.Fatal(err)
		}
		fsys.Die()
		before := fingerprint(t, out)
		o = u.o
		o.Resume, o.Duplicates = true, Max
		if _, err := ingest(t.Context(), u.inputs, out, o.withDefaults(), u.plan); !errors.As(err, new(*csr.ResumeError)) || !strings.Contains(err.Error(), `duplicates "error"`) {
			t.Errorf("other options: %v", err)
		}
		o = u.o
		o.Resume = true
		rep, err := ingest(t.Context(), u.inputs, out, o.withDefaults(), u.plan)
		if err != nil || rep.Fingerprint != before || rep.NNZ != 300 || rep.Resumes != 1 {
			t.Errorf("%+v, %v", rep, err)
		}
		leftovers(t, out, true)

		// A scratch directory that was emptied but not removed does not matter.
		must.Do(t, os.Mkdir(out+SpoolSuffix, 0o777))
		if rep, err := ingest(t.Context(), u.inputs, out, o.withDefaults(), u.plan); err != nil || rep.Finished == force {
			t.Errorf("%+v, %v", rep, err)
		}
		leftovers(t, out, true)
	}
}

// TestResumeOfAFinishedStore: with Resume, a finished store of the same inputs and options is
// reported as finished; for others Ingest refuses to replace it.
func TestResumeOfAFinishedStore(t *testing.T) {
	at := func(o Options, out string, inputs ...string) (*Report, error) {
		o.Resume, o.ShardSize = true, 512
		return ingest(t.Context(), inputs, out, o.withDefaults(), tiny())
	}
	lines := ratings(rand.New(rand.NewPCG(6, 6)), 300, false)
	u := unlucky{
		inputs: []string{write(t, "a", strings.Join(lines, "\n")), write(t, "b", strings.Join(lines[:50], "\n")+"\nno rating\n")},
		o:      Options{Duplicates: Sum, MaxBadLines: 3},
	}
	out := target(t)
	made, err := at(u.o, out, u.inputs...)
	if err != nil || made.Finished || made.Duplicates != 50 || made.BadLines != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	o := u.o
	o.Memory, o.Workers, o.CheckpointEvery = 3<<30, 1, -1
	rep, err := at(o, out, u.inputs...)
	want := Report{
		Store: out, Finished: true, Rows: made.Rows, Cols: made.Cols, NNZ: made.NNZ, Transposed: made.Transposed, BadLines: made.BadLines,
		Duplicates: made.Duplicates, Bytes: made.Bytes, Fingerprint: made.Fingerprint,
	}
	if err != nil || !cmp.Equal(*rep, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, rep))
	}

	refused := func(because string, o Options, inputs ...string) {
		t.Helper()
		before := fingerprint(t, out)
		if _, err := at(o, out, inputs...); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), because) {
			t.Errorf("got %v, want %s", err, because)
		}
		if fingerprint(t, out) != before {
			t.Error("the store is another one")
		}
	}
	for _, change := range []func(*Options){
		func(o *Options) { o.Duplicates = Max }, func(o *Options) { o.MaxBadLines++ }, func(o *Options) { o.Orient = OrientCols },
		func(o *Options) { o.Columns = []string{"1", "2"} }, func(o *Options) { o.Format = "delimited" }, func(o *Options) { o.Header = format.HeaderNo },
		func(o *Options) { o.Separator = "," },
	} {
		o := u.o
		change(&o)
		refused("a finished store, but another one: it had options map[", o, u.inputs...)
	}
	refused("another one: it had input_bytes [", u.o, u.inputs[0])
	refused("another one: it had input", u.o, u.inputs[1], u.inputs[0])
	later := time.Now().Add(time.Hour)
	must.Do(t, os.Chtimes(u.inputs[1], later, later))
	refused("b has changed since", u.o, u.inputs...)
	must.Do(t, os.WriteFile(u.inputs[1], []byte(lines[50]), 0o666))
	refused("another one: it had input_bytes [", u.o, u.inputs...)

	o = u.o
	o.Force = true
	if rep, err := at(o, out, u.inputs...); err != nil || rep.Finished || rep.NNZ == 0 {
		t.Errorf("forced: %+v, %v", rep, err)
	}
	leftovers(t, out, true)
}

// TestStandardInputIsNotSaved: an interrupted ingest from standard input leaves no journal, as it cannot be resumed.
func TestStandardInputIsNotSaved(t *testing.T) {
	out := target(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := Options{Stdin: &endless{cancel: cancel}, CheckpointEvery: time.Nanosecond}
	_, err := ingest(ctx, []string{"-"}, out, o.withDefaults(), tiny())
	if !errors.Is(err, context.Canceled) || keeps(t, err, out) {
		t.Errorf("got %v", err)
	}
	leftovers(t, out, false)
}

// TestInterruptedSaveIsKept: an ingest that is cancelled while its first journal is being saved can be resumed.
func TestInterruptedSaveIsKept(t *testing.T) {
	u, out := unluckyCases(t)[0], target(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := u.o
	o.CheckpointEvery, u.plan.unsynced = time.Hour, 5 // one save before all entries are read
	var named atomic.Bool                             // the name of the scratch directory is on the disk
	o.FS = &vfstest.FaultFS{Inject: func(op vfstest.Op) error {
		if op.Kind == vfstest.OpSyncDir && op.Name == filepath.Dir(out) {
			named.Store(true)
		}
		if op.Kind == vfstest.OpSync && strings.HasSuffix(op.Name, ".run") {
			cancel()
			time.Sleep(50 * time.Millisecond) // a slow disk
		}
		return nil
	}}
	if _, err := ingest(ctx, u.inputs, out, o.withDefaults(), u.plan); !errors.Is(err, context.Canceled) || !keeps(t, err, out) || !named.Load() {
		t.Fatalf("got %v, the directory was synced: %t", err, named.Load())
	}
	if rep, _, err := u.run(t, out, -1); err != nil || rep.Resumes != 1 {
		t.Errorf("resumed: %+v, %v", rep, err)
	}
}

func TestJournalRoundTrip(t *testing.T) {
	j := &journal{Version: journalVersion, Step: stepRead, Options: Options{}.shaping(), record: record{Lines: 7, Format: "text", Place: place{Line: 8},
		FirstBad: badLines{&format.ParseError{File: "f", Line: 3, Column: 2, Field: "user", Text: "x", Err: fmt.Errorf("%w: more", text.ErrFields), Want: "w"}}}}
	dir := t.TempDir()
	s := &scratch.Dir{FS: vfs.OS(), Name: dir}
	must.Do(t, j.write(s))
	got := must.Get(readJournal(s, scratch.Journal))(t)
	one := must.Get(durable.Seal(j, &j.CRC))(t)
	if two, err := durable.Seal(got, &got.CRC); err != nil || !bytes.Equal(one, two) {
		t.Errorf("%s is read as %s, %v", one, two, err)
	}
	var flat struct { // fields of journals of earlier versions
		Lines    int64
		Format   string
		Place    place
		FirstBad []savedError
	}
	if err := json.Unmarshal(one, &flat); err != nil || flat.Lines != 7 || flat.Format != "text" || flat.Place.Line != 8 || len(flat.FirstBad) != 1 || flat.FirstBad[0].Err != text.ErrFields.Error()+": more" {
		t.Errorf("%+v, %v", flat, err)
	}
	restored := got.FirstBad[0]
	parseError(t, restored, text.ErrFields, 3, 2)
	if want := (&format.ParseError{File: "f", Line: 3, Column: 2, Field: "user", Text: "x", Err: fmt.Errorf("%w: more", text.ErrFields), Want: "w"}).Error(); restored.Error() != want {
		t.Errorf("%q, want %q", restored, want)
	}
	j.Version = 99
	must.Do(t, j.write(s))
	if _, err := readJournal(s, scratch.Journal); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("got %v", err)
	}
	if _, err := readJournal(&scratch.Dir{FS: vfs.OS(), Name: filepath.Join(dir, "none")}, scratch.Journal); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// FuzzJournal: parseJournal returns a journal or an error for any bytes.
func FuzzJournal(f *testing.F) {
	j := &journal{Version: journalVersion, Options: Options{}.shaping()}
	b := must.Get(durable.Seal(j, &j.CRC))(f)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := parseJournal(b)
		if (j == nil) == (err == nil) {
			t.Errorf("%v, %v", j, err)
		}
	})
}

// TestResumeWithDamagedFiles: if a temporary file was cut, changed or removed, the
// ingest begins anew and makes the store of an uninterrupted one.
func TestResumeWithDamagedFiles(t *testing.T) {
	t.Parallel()
	for _, u := range unluckyCases(t) {
		if u.name != "text" && u.name != "lists of ids" {
			continue
		}
		whole := target(t)
		if _, _, err := u.run(t, whole, -1); err != nil {
			t.Fatal(err)
		}
		want := vfstest.Contents(t, whole)
		for _, kind := range []string{"run", "ids", "log"} {
			for name, harm := range map[string]func(path string, b []byte) error{
				"cut":     func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)-1], 0o666) },
				"half":    func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o666) },
				"empty":   func(path string, b []byte) error { return os.WriteFile(path, nil, 0o666) },
				"longer":  func(path string, b []byte) error { return os.WriteFile(path, append(b, 0), 0o666) },
				"changed": func(path string, b []byte) error { b[len(b)-1] ^= 1; return os.WriteFile(path, b, 0o666) },
				"gone":    func(path string, b []byte) error { return os.Remove(path) },
			} {
				if kind == "log" && name == "longer" || !longtest.On() && name != "changed" && name != "gone" {
					continue // bytes after the valid part are allowed: they were written after the journal
				}
				out := target(t)
				ue := interrupted(t, &u, out)
				paths := must.Get(filepath.Glob(filepath.Join(ue.Dir, "*."+kind)))(t)
				if len(paths) == 0 {
					continue
				}
				path := paths[0] // a file that the journal names
				b := must.Get(os.ReadFile(path))(t)
				must.Do(t, harm(path, b))
				rep, _, err := u.run(t, out, -1)
				if err != nil {
					t.Fatalf("%s, %s %s: %v", u.name, kind, name, err)
				}
				if rep.Resumes != 0 {
					t.Errorf("%s, %s %s: it goes on from what is damaged", u.name, kind, name)
				}
				if diff := cmp.Diff(want, vfstest.Contents(t, out)); diff != "" {
					t.Errorf("%s, %s %s: another store", u.name, kind, name)
				}
				leftovers(t, out, true)
			}
		}
	}
}

// rewritten flips a bit of the byte at offset at and restores the time of the file.
func rewritten(t *testing.T, path string, at int64) {
	t.Helper()
	fi := must.Get(os.Stat(path))(t)
	b := must.Get(os.ReadFile(path))(t)
	b[at] ^= 1
	must.Do(t, errors.Join(os.WriteFile(path, b, 0o666), os.Chtimes(path, fi.ModTime(), fi.ModTime())))
}

// TestResumeOfChangedContent: an input with another content is another input, also if its size and
// time are the same, for an interrupted and for a finished ingest.
func TestResumeOfChangedContent(t *testing.T) {
	text := strings.Join(ratings(rand.New(rand.NewPCG(1, 1)), 300, false), "\n")
	in := write(t, "in", text)
	at := int64(strings.LastIndex(text, "::") - 1) // a digit of a value
	u := &unlucky{inputs: []string{in}, plan: tiny()}
	out := target(t)
	interrupted(t, u, out)
	rewritten(t, in, at)
	o := Options{Resume: true}.withDefaults()
	if _, err := ingest(t.Context(), u.inputs, out, o, u.plan); !errors.As(err, new(*csr.ResumeError)) || !strings.Contains(err.Error(), "has changed since") {
		t.Errorf("interrupted: %v", err)
	}
	rewritten(t, in, at)
	if rep, err := ingest(t.Context(), u.inputs, out, o, u.plan); err != nil || rep.Resumes != 1 {
		t.Fatalf("the same again: %+v, %v", rep, err)
	}
	if rep, err := ingest(t.Context(), u.inputs, out, o, u.plan); err != nil || !rep.Finished {
		t.Fatalf("finished: %+v, %v", rep, err)
	}
	rewritten(t, in, at)
	if _, err := ingest(t.Context(), u.inputs, out, o, u.plan); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "has changed since") {
		t.Errorf("finished, then changed: %v", err)
	}
}
