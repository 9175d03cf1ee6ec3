package main

import (
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
)

// TestChoiceCanBeMadeAgain: a run with the flags recorded in result.json writes the same files and
// settings.
func TestChoiceCanBeMadeAgain(t *testing.T) {
	store := ingested(t, tall)
	for _, flags := range [][]string{
		{"-k", "4"}, {"-k", "40"}, {"-k", "3", "--operator", "dilation"}, {"-k", "2", "--stop", "paper", "--tol", "1e-6"},
	} {
		auto, r := factorised(t, store, flags...)
		if r.Choice == nil || r.Method == "auto" || r.Settings.Method != r.Method {
			t.Fatalf("%v: choice %+v, method %s", flags, r.Choice, r.Method)
		}
		again, s := factorised(t, store, append(flags, r.Choice.Flags...)...)
		if s.Choice != nil {
			t.Errorf("%v: a choice is recorded although the method was given", flags)
		}
		for _, f := range partFiles {
			same(t, f, filepath.Join(auto, f), filepath.Join(again, f))
		}
		if diff := cmp.Diff(r.Settings, s.Settings, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Memory" }, cmp.Ignore())); diff != "" {
			t.Errorf("%v: %s", flags, diff)
		}
	}
}

// TestChoiceDoesNotDependOnTheMachine: for a given memory, the choice is the same for any number of workers
// and processors, also if the matrix is read in each pass or vectors are in files.
// With memory for everything it is the choice of the table.
func TestChoiceDoesNotDependOnTheMachine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ratings := ingested(t, synth.Ratings{Users: 1500, Items: 600, Ratings: 150000, Seed: 1})
	name := write(t, t.TempDir(), "long.mtx", "%%MatrixMarket matrix coordinate real general\n400000 400000 3\n1 1 3\n2 2 2\n400000 400000 1\n")
	long := stored(t, name)
	for _, c := range []struct {
		store, memory string
		why           string // expected reason of the choice; "": any
		files         bool
	}{
		{ratings, "10GiB", "table", false}, {ratings, "100MiB", "table", false}, {ratings, "34MiB", "", false},
		{long, "64MiB", "memory", true}, {long, "72MiB", "memory", true}, {long, "100MiB", "", true},
	} {
		processors, teams := []int{1, 2, 4}, []string{"1", "2", "3", "8"}
		if !longtest.On() {
			processors, teams = processors[1:], teams[2:]
		}
		var want []string
		for _, procs := range processors {
			runtime.GOMAXPROCS(procs)
			for _, workers := range teams {
				var e factor.Explanation
				decode(t, succeeds(t, "svd", c.store, "-k", "6", "--workers", workers, "--memory", c.memory, "--explain", "--json"), &e)
				if e.Choice == nil || c.why != "" && e.Choice.Why != c.why || (e.Files > 0) != c.files {
					t.Fatalf("workers %s, memory %s: %+v, %d bytes in files", workers, c.memory, e.Choice, e.Files)
				}
				if want == nil {
					want = e.Choice.Flags
				}
				if !slices.Equal(e.Choice.Flags, want) {
					t.Errorf("workers %s of %d processors, memory %s: %v, want %v", workers, procs, c.memory, e.Choice.Flags, want)
				}
			}
		}
	}
}

// TestWorkersChangeNoBitsInFiles: with vectors in files a result has the same bits for any number of
// workers and processors.
func TestWorkersChangeNoBitsInFiles(t *testing.T) {
	longtest.Only(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	store := long(t, 150000, 150000)
	flags := []string{"-k", "3", "--method", "krylov", "--block", "2", "--basis", "30", "--memory", "72MiB", "--max-passes", "40"}
	var want string
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		for _, workers := range []string{"1", "2", "3", "8"} {
			dir, r := factorised(t, store, slices.Concat(flags, []string{"--workers", workers})...)
			if r.VectorFiles == 0 || r.VectorsRead == 0 || r.VectorsWrote == 0 {
				t.Fatalf("%d bytes of vectors in files, %d read, %d written", r.VectorFiles, r.VectorsRead, r.VectorsWrote)
			}
			if want == "" {
				want = dir
				var e factor.Explanation
				decode(t, succeeds(t, slices.Concat([]string{"svd", store, "--explain", "--json"}, flags)...), &e)
				for what, x := range map[string][2]int64{"read": {e.Plan.VectorsRead, r.VectorsRead}, "written": {e.Plan.VectorsWrote, r.VectorsWrote}} {
					if ratio := float64(x[0]) / float64(x[1]); ratio < 1/1.5 || ratio > 1.5 {
						t.Errorf("%d bytes of vectors %s, %d were expected", x[1], what, x[0])
					}
				}
			}
			for _, f := range partFiles {
				same(t, f, filepath.Join(want, f), filepath.Join(dir, f))
			}
		}
	}
}

// TestChoiceWithinMemory: if the preferred choice does not fit into the memory, one that fits is made;
// if none fits, the error gives the numbers.
func TestChoiceWithinMemory(t *testing.T) {
	name := write(t, t.TempDir(), "wide.mtx", "%%MatrixMarket matrix coordinate real general\n60000 60000 3\n1 1 3\n2 2 2\n60000 60000 1\n")
	store := stored(t, name)
	var last int64
	for _, memory := range []string{"1GiB", "130MiB", "110MiB", "90MiB", "75MiB", "60MiB", "50MiB"} {
		o := gdsvd(t, "svd", "-q", store, "-k", "2", "--memory", memory, "--explain", "--json")
		if o.code != ui.ExitOK {
			if !strings.Contains(o.stderr, "memory budget of") || last == 0 {
				t.Fatalf("%s: %s", memory, o.stderr)
			}
			continue
		}
		var e factor.Explanation
		decode(t, o.stdout, &e)
		var total int64
		for _, p := range e.Parts {
			total += p.Bytes
		}
		if total > e.Budget {
			t.Errorf("%s: %d bytes are planned", memory, total)
		}
		if (e.Choice.Why == "memory") != (e.Choice.Table != nil) {
			t.Errorf("%s: %+v", memory, e.Choice)
		}
		if last > 0 && e.Plan.Memory > last {
			t.Errorf("%s: vectors of %d bytes, %d with more memory", memory, e.Plan.Memory, last)
		}
		last = e.Plan.Memory
	}
}

func TestExplain(t *testing.T) {
	store := ingested(t, wide)
	work := t.TempDir()
	out := filepath.Join(work, "out")
	for _, flags := range [][]string{{"-k", "3"}, {"-k", "3", "-o", out}, {"-k", "3", "-o", out, "--method", "power"}} {
		text := succeeds(t, append([]string{"svd", store, "--explain"}, flags...)...)
		shape := `^40 × 90, 1800 entries: 3 triplets to 1e-08\n\n--method \w+.*\n(\(.*\)\n)?\npasses +about \d+, \d+ columns multiplied\n` +
			`reads +\S+ \w+ in the first pass, .* in each of the others\ntime +about .* s with \d+ threads?: .*\nmemory +.* of .*: runtime .*\n`
		if !regexp.MustCompile(shape).MatchString(text) {
			t.Errorf("%v explains\n%s\nwant\n%s", flags, text, shape)
		}
		var e factor.Explanation
		decode(t, succeeds(t, append([]string{"svd", store, "--explain", "--json"}, flags...)...), &e)
		given := slices.Contains(flags, "power")
		if e.K != 3 || e.Rows != 40 || e.Cols != 90 || e.Plan.Passes < 2 || e.Plan.Total <= 0 || (e.Choice == nil) != given || (len(e.Considered) == 0) != given {
			t.Errorf("%v: %+v", flags, e)
		}
		if !given && !strings.Contains(text, "\n*  ") {
			t.Errorf("the choice is not marked:\n%s", text)
		}
	}
	if left := names(t, work); len(left) > 0 {
		t.Errorf("--explain leaves %v", left)
	}
}

// TestResumeTakesTheRecordedMethod: a resumed run uses the method of its checkpoint, not a new choice.
func TestResumeTakesTheRecordedMethod(t *testing.T) {
	store := ingested(t, tall)
	for _, method := range []string{"auto", "nesterov", "block", "krylov"} {
		flags := []string{"-k", "4", "--seed", "5"}
		begin := append(flags, "--method", method, "--max-passes", "4")
		if method == "krylov" {
			begin = append(begin, "--block", "3", "--basis", "11")
		}
		dir := stopped(t, store, begin...)
		o := succeeds(t, append([]string{"svd", store, "-o", dir, "--resume", "--explain"}, flags...)...)
		succeeds(t, slices.Concat([]string{"svd", "-q", store, "-o", dir, "--resume"}, flags)...)
		r := resultOf(t, dir)
		if r.Choice == nil || r.Choice.Why != "checkpoint" || !strings.Contains(o, strings.Join(r.Choice.Flags, " ")) {
			t.Fatalf("%s: choice %+v, explained\n%s", method, r.Choice, o)
		}
		want, _ := factorised(t, store, append(flags, r.Choice.Flags...)...)
		for _, f := range partFiles {
			same(t, f, filepath.Join(want, f), filepath.Join(dir, f))
		}
		if method != "auto" && r.Method != method {
			t.Errorf("%s goes on as %s", method, r.Method)
		}
	}
}

// TestResumeWithTheDefaultSaid: a run may be resumed with the default step size given explicitly.
func TestResumeWithTheDefaultSaid(t *testing.T) {
	store := ingested(t, tall)
	for _, method := range []string{"gd", "polyak", "nesterov"} {
		flags := []string{"-k", "3", "--method", method}
		dir := stopped(t, store, append(flags, "--max-passes", "5")...)
		succeeds(t, slices.Concat([]string{"svd", "-q", store, "-o", dir, "--resume", "--eta", "0.5"}, flags)...)
	}
}
