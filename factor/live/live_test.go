package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/must"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

func read(t *testing.T, r *Reader) *State {
	t.Helper()
	return must.Get(r.State(t.Context()))(t)
}

// await reads states until want returns true.
func await(t *testing.T, r *Reader, want func(*State) bool) *State {
	t.Helper()
	for {
		s, err := r.State(t.Context())
		if err == nil && want(s) {
			return s
		}
		if err != nil && !errors.Is(err, ErrNoRun) {
			t.Fatal(err)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%+v", s)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func aPass(i int) factor.Event {
	return factor.Event{Phase: "iterate", Pass: i, Triplet: i / 10, Locked: i / 10, Sigma: factor.Number(100 / (1 + float64(i))), Residual: 1e-3, Open: 2, Worst: 1e-2, Goal: 1e-8, BytesRead: int64(i) << 20}
}

// TestRecordIsRead: a Reader sees the recorded state while the run goes on; End removes the file.
func TestRecordIsRead(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a.svd")
	about := About{Command: "svd", Out: out, PID: 7, Host: "h", Rank: 10, Tol: 1e-8, Workers: 2, Budget: 1 << 30, Began: time.Now().Add(-time.Minute)}
	rec := Record(vfs.OS(), about)
	r := NewReader(vfs.OS(), out)
	rec.Stage(Stage{Name: "read", Unit: "bytes", Done: 5, Total: 10})
	s := await(t, r, func(s *State) bool { return s.Done == 5 })
	if s.Status != Running || s.Name != "a.svd" || s.Rank != 10 || !s.Began.Equal(about.Began) || s.Seconds < 60 {
		t.Errorf("%+v", s)
	}
	rec.Describe(func(a *About) { a.Method = "krylov" })
	for i := range 12 {
		rec.Pass(aPass(i+1), Stage{Name: "passes", Left: 100, Share: 0.5})
	}
	s = await(t, r, func(s *State) bool { return s.Last != nil && s.Last.Pass == 12 })
	if s.Method != "krylov" || len(s.Passes.Events) != 12 || s.Share != 0.5 || s.Remaining() > 100 || s.Remaining() < 90 {
		t.Errorf("%+v", s)
	}
	mine := rec.State()
	if diff := cmp.Diff(mine.Passes.Events, s.Passes.Events); diff != "" {
		t.Error(diff)
	}
	rec.End(Finished, "")
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := r.State(t.Context()); !errors.Is(err, ErrNoRun) {
		t.Errorf("then it is %v", err)
	}
}

// TestEndLeavesNothing: End removes the file for each status, and a second record for the same output does not touch it.
func TestEndLeavesNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a")
	for _, status := range []Status{Finished, Interrupted, Failed} {
		Record(vfs.OS(), About{Command: "svd", Out: out}).End(status, "before it began")
		rec := Record(vfs.OS(), About{Command: "svd", Out: out})
		rec.Pass(aPass(1), Stage{})
		r := NewReader(vfs.OS(), out)
		await(t, r, func(s *State) bool { return s.Status == Running })
		other := Record(vfs.OS(), About{Command: "eigs", Out: out})
		other.Pass(aPass(1), Stage{})
		other.End(Failed, "locked")
		if s := read(t, r); s.Command != "svd" || s.Status != Running {
			t.Errorf("%+v", s)
		}
		rec.End(status, "why")
		if s := rec.State(); s.Status != status || s.Message != "why" {
			t.Errorf("%+v", s)
		}
		if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	}
}

// crashed writes the file that a killed process leaves.
func crashed(t *testing.T, out string, tail string) {
	t.Helper()
	about := About{Command: "svd", Out: out, Began: time.Now()}
	s := State{About: about, Status: Running, Seconds: 4}
	s.pass(aPass(3))
	var text bytes.Buffer
	for _, l := range s.lines(0) {
		must.Do(t, json.NewEncoder(&text).Encode(l))
	}
	must.Do(t, os.WriteFile(out+Suffix, append(text.Bytes(), tail...), 0o666))
}

// TestDied: a file without an end whose lock is free or missing belongs to a run that died. An incomplete line is ignored.
func TestDied(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a")
	crashed(t, out, `{"t":99,"en`)
	r := NewReader(vfs.OS(), out)
	for range 2 {
		s := read(t, r)
		if s.Status != Died || s.Message == "" || s.Seconds != 4 || s.Last.Pass != 3 || s.Checkpoint {
			t.Errorf("%+v", s)
		}
		must.Do(t, os.WriteFile(out+Suffix+lockSuffix, nil, 0o666))
	}
	must.Do(t, os.Mkdir(out, 0o777))
	events := ""
	for i := range 5 {
		events += fmt.Sprintf(`{"phase":"iterate","pass":%d,"sigma":3,"residual":null,"seconds":{"total":%d}}`+"\n", i+1, i)
	}
	for name, text := range map[string]string{layout.Checkpoint: "x", layout.CheckpointEvents: events + `{"crc":"00000000"}` + "\n"} {
		must.Do(t, os.WriteFile(filepath.Join(out, name), []byte(text), 0o666))
	}
	if s := read(t, r); s.Status != Died || !s.Checkpoint {
		t.Errorf("%+v", s)
	}
	Record(vfs.OS(), About{Out: out}).End(Finished, "")
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 1 {
		t.Errorf("a run that had nothing to do leaves %v, %v", left, err)
	}
	if s := read(t, r); s.Status != Unfinished || !s.Checkpoint || s.Last.Pass != 5 || s.Seconds != 4 || len(s.Passes.Events) != 5 {
		t.Errorf("%+v", s)
	}
}

// quiet returns a recorder of a run, and the output of the run. The test calls write, no goroutine does.
func quiet(t *testing.T) (rec *Recorder, out string) {
	out = filepath.Join(t.TempDir(), "a")
	rec = &Recorder{fs: vfs.OS(), name: out + Suffix, began: time.Now(), changed: true}
	rec.state = State{Format: Format, Name: "a", Status: Running, About: About{Out: out}}
	rec.begun.Do(func() {})
	return rec, out
}

// TestFileIsBounded: the size of the file is bounded for a long run, and passes from the whole run are kept.
func TestFileIsBounded(t *testing.T) {
	rec, out := quiet(t)
	largest := int64(0)
	const passes = 60_000
	for i := range passes {
		rec.Pass(aPass(i), Stage{Name: "passes"})
		if i%1000 == 999 {
			rec.write()
			info := must.Get(os.Stat(out + Suffix))(t)
			largest = max(largest, info.Size())
		}
	}
	s := read(t, NewReader(vfs.OS(), out))
	if largest > MaxFile+1<<20 || rec.part < 3 {
		t.Errorf("%d bytes, written %d times", largest, rec.part)
	}
	if n := len(s.Passes.Events); n > MostPasses || n < MostPasses/4 || s.Passes.Events[0].Pass != 0 || s.Last.Pass != passes-1 || s.Passes.Events[n-1].Pass != passes-1 {
		t.Errorf("%d passes, the last one is %d", n, s.Last.Pass)
	}
	rec.end()
}

// TestMemoryIsTold: the memory is written at each look, also if there is a pass at each look.
func TestMemoryIsTold(t *testing.T) {
	if memory.RSS() == 0 {
		t.Skip("this system does not tell it")
	}
	rec, out := quiet(t)
	for i := range 4 {
		rec.beat = time.Time{}
		rec.Pass(aPass(i), Stage{Name: "passes"})
		rec.staged = false
		rec.write()
		text, err := os.ReadFile(out + Suffix)
		if n := bytes.Count(text, []byte(`"rss":`)); err != nil || n != i+1 {
			t.Errorf("told %d times in %d writes, %v", n, i+1, err)
		}
	}
	rec.end()
}

// TestThinned: of many passes the first, the last and some between are kept, in order.
func TestThinned(t *testing.T) {
	for _, n := range []int{1, 2, MostPasses, MostPasses + 1, 2*MostPasses + 3, 10*MostPasses + 7} {
		var s State
		for i := range n {
			s.pass(factor.Event{Pass: i})
			if l := len(s.Passes.Events); l > MostPasses || s.Passes.Events[l-1].Pass != i || s.Passes.Events[0].Pass != 0 {
				t.Fatalf("%d kept of %d, the last one is %d", l, i+1, s.Passes.Events[l-1].Pass)
			}
		}
		if !slices.IsSortedFunc(s.Passes.Events, func(a, b factor.Event) int { return a.Pass - b.Pass }) || len(s.Passes.Events) < min(n, MostPasses/2) {
			t.Errorf("%d kept of %d", len(s.Passes.Events), n)
		}
	}
}

// TestThinnedKeepsWhatWasFound: the pass that found a triplet is kept, for any number of passes.
func TestThinnedKeepsWhatWasFound(t *testing.T) {
	var s State
	const triplets, each = 40, 700
	for i := range triplets * each {
		s.pass(factor.Event{Pass: i, Triplet: i / each, Locked: (i + 1) / each})
	}
	ends := map[int]int{}
	for _, p := range s.Passes.Events {
		ends[p.Triplet] = p.Pass
	}
	for i := range triplets {
		if want := (i+1)*each - 1; ends[i] != want {
			t.Errorf("the last pass of triplet %d is %d, want %d", i, ends[i], want)
		}
	}
	for i := range 3 * MostPasses { // more triplets than passes can be kept
		if s.pass(factor.Event{Pass: triplets*each + i, Triplet: triplets + i, Locked: triplets + i}); len(s.Passes.Events) > MostPasses {
			t.Fatalf("%d passes", len(s.Passes.Events))
		}
	}
}

// TestRate: BytesPerSecond is the rate of the last seconds.
func TestRate(t *testing.T) {
	var s State
	for i := range 10 {
		s.apply(&line{T: float64(i), Stage: &Stage{Name: "read", Unit: "bytes", Done: int64(i) * 100}})
	}
	if s.BytesPerSecond != 100 || s.BytesRead != 900 {
		t.Errorf("%v, %v", s.BytesPerSecond, s.BytesRead)
	}
	for i := range 10 {
		s.apply(&line{T: 10 + float64(i), Stage: &Stage{Name: "again", Unit: "bytes", Done: int64(i) * 7}})
	}
	if s.BytesPerSecond != 7 {
		t.Errorf("%v", s.BytesPerSecond)
	}
}

// TestHostileFiles: files that gdsvd has not written are refused with the number of the line.
func TestHostileFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":    {"hello\n", "a.live: line 1: invalid"},
		"other":      {`{"format":2,"about":{}}` + "\n", "line 1: format 2, want 1"},
		"no about":   {`{"format":1}` + "\n", "line 1: it does not describe the run"},
		"second bad": {`{"format":1,"about":{"command":"x"}}` + "\n{\n", "line 2: unexpected end"},
		"large":      {strings.Repeat("x", 2*MaxFile+1), "has 4194305 bytes"},
	} {
		out := filepath.Join(t.TempDir(), "a")
		must.Do(t, os.WriteFile(out+Suffix, []byte(c.text), 0o666))
		if _, err := NewReader(vfs.OS(), out).State(t.Context()); !errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFolder: States lists the runs of a folder and does not follow symbolic links out of it.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(t.Context(), vfs.OS(), filepath.Join(dir, "none")); !errors.Is(err, ErrNoRun) {
		t.Errorf("%v", err)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	crashed(t, outside, "")
	if err := os.Symlink(outside+Suffix, filepath.Join(dir, "link"+Suffix)); err != nil {
		t.Skip(err)
	}
	crashed(t, filepath.Join(dir, "b"), "")
	must.Do(t, os.WriteFile(filepath.Join(dir, "broken"+Suffix), []byte("{}\n"), 0o666))
	rec := Record(vfs.OS(), About{Command: "ingest", Out: filepath.Join(dir, "a")})
	rec.Stage(Stage{})
	defer rec.End(Finished, "")
	await(t, NewReader(vfs.OS(), filepath.Join(dir, "a")), func(*State) bool { return true })
	f, err := Open(t.Context(), vfs.OS(), dir)
	if err != nil || f.Single() {
		t.Fatal(err)
	}
	for range 2 {
		all := must.Get(f.States(t.Context()))(t)
		var got []string
		for _, s := range all {
			got = append(got, s.Name+" "+string(s.Status))
		}
		if diff := cmp.Diff([]string{"a running", "b died", "broken failed"}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	one, err := Open(t.Context(), vfs.OS(), filepath.Join(dir, "b"))
	if err != nil || !one.Single() {
		t.Fatal(err)
	}
	if all, err := one.States(t.Context()); err != nil || len(all) != 1 || all[0].Status != Died {
		t.Errorf("%v, %v", all, err)
	}
}

// FuzzFile: State and Metrics do not panic, and the progress is between 0 and 1.
func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"format":1,"about":{"command":"svd","rank":3}}` + "\n" + `{"t":1,"pass":{"phase":"iterate","pass":1,"residual":null}}` + "\n"))
	f.Add([]byte(`{"format":1,"about":{},"progress":{"stage":"read","unit":"bytes","done":-5,"total":3}}` + "\n" + `{"end":"x"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out := filepath.Join(t.TempDir(), "a")
		must.Do(t, os.WriteFile(out+Suffix, text, 0o666))
		s, err := NewReader(vfs.OS(), out).State(t.Context())
		if err != nil {
			return
		}
		must.Get(json.Marshal(s))(t)
		if s.Status == Running || s.Progress() > 1 || s.Progress() < 0 {
			t.Errorf("%+v: %v", s, s.Progress())
		}
		Metrics([]*State{s})
	})
}
