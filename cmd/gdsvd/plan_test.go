package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/plan"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/must"
)

// near reports whether x is within 25 % of the likely value of r, or within its bounds.
func near(r plan.Range, x float64) bool {
	return math.Abs(math.Log(x/r.Likely)) <= math.Log(1.25) || r.Low <= x && x <= r.High
}

// TestPlanIsKept: the commands of a plan take the planned disk and memory.
func TestPlanIsKept(t *testing.T) {
	file := ratings(t, synth.Ratings{Users: 6000, Items: 2000, Ratings: 400_000, Seed: 1})
	store := filepath.Join(filepath.Dir(file), "m.csr")
	var p planned
	decode(t, succeeds(t, "plan", "--json", file, "-k", "20", "--memory", "512MiB", "--vectors", "right", "--view", "center=columns", "-o", store), &p)
	if p.Exists || len(p.Steps) != 4 || !near(p.Rows, 6000) || !near(p.Entries, 400_000) || !near(p.Cols, 2000) || p.Least.All <= 0 {
		t.Errorf("%+v", p)
	}
	for _, s := range p.Steps {
		for _, c := range s.Commands {
			cmd := process(t, append(c[1:], "--json", "-q")...)
			b, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %v\n%s", c, err, b)
			}
			var did struct {
				Bytes int64 `json:"bytes"`
				Peak  int64 `json:"peak_rss"`
			}
			if err := json.Unmarshal(b, &did); err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			if s.Name == "svd" {
				did.Bytes = du(t, strings.TrimSuffix(store, ".csr")+".svd")
			}
			t.Logf("%s: %d bytes on disk, %.0f told; %d in memory, %.0f told", s.Name, did.Bytes, s.Kept.Likely, did.Peak, s.Memory.Likely)
			if !near(s.Kept, float64(did.Bytes)) || !raceDetector && float64(did.Peak) > 1.25*s.Memory.High {
				t.Errorf("%s took %d bytes on disk and %d in memory; told were %+v", s.Name, did.Bytes, did.Peak, s)
			}
		}
	}
}

// TestPlanOfAnEngineIsKept: the commands of a plan with an engine run, with the planned number of groups.
func TestPlanOfAnEngineIsKept(t *testing.T) {
	store := stored(t, ratings(t, synth.Ratings{Users: 600, Items: 200, Ratings: 20_000, Seed: 1}))
	t.Chdir(filepath.Dir(store))
	var p planned
	decode(t, succeeds(t, "plan", "--json", "m.csr", "-k", "5", "--engine", "local", "--workers", "2", "--export", "none"), &p)
	for _, s := range p.Steps {
		for _, c := range s.Commands {
			succeeds(t, append(c[1:], "-q")...)
		}
	}
	var r factor.Result
	b, err := os.ReadFile("m.svd/result.json")
	if err = errors.Join(err, json.Unmarshal(b, &r)); err != nil || r.Engine == nil || r.Engine.Groups != min(6, p.Tasks.Groups) {
		t.Errorf("%+v for %+v: %v", r.Engine, p.Tasks, err)
	}
}

// du returns the number of bytes of the files in a directory.
func du(t *testing.T, dir string) (n int64) {
	t.Helper()
	for _, name := range names(t, dir) {
		info := must.Get(os.Stat(filepath.Join(dir, name)))(t)
		n += info.Size()
	}
	return n
}

// TestPlanOfLittleMemory: a budget that is too small is refused with the least one, which works.
func TestPlanOfLittleMemory(t *testing.T) {
	store := ingested(t, tall)
	o := fails(t, ui.ExitError, `^gdsvd: --memory 8.00MiB is too small: the least that works is --memory (\d+)MiB \(svd [\d.]+ MiB\)\n$`, "plan", store, "-k", "5", "--memory", "8MiB")
	least := regexp.MustCompile(`least that works is --memory (\d+MiB)`).FindStringSubmatch(o.stderr)
	if least == nil {
		t.FailNow()
	}
	succeeds(t, "plan", store, "-k", "5", "--memory", least[1])
	succeeds(t, "svd", "-q", store, "-k", "5", "--memory", least[1], "-o", filepath.Join(t.TempDir(), "out"))
	file := ratings(t, tall)
	fails(t, ui.ExitError, `\(ingest [\d.]+ MiB, svd [\d.]+ MiB\)`, "plan", file, "-k", "5", "--memory", "8MiB")
}

// TestPlanCommandsRun: the printed commands run, for a file name that begins with a dash, and for odd and least budgets.
func TestPlanCommandsRun(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("-odd.dat", must.Get(os.ReadFile(ratings(t, wide)))(t), 0o666))
	var p planned
	for _, budget := range []string{"1GiB", "570000001"} {
		decode(t, succeeds(t, "plan", "--json", "./-odd.dat", "-k", "5", "--memory", budget), &p)
		for _, s := range p.Steps {
			for _, c := range s.Commands {
				succeeds(t, append(c[1:], "-q", "--force")...)
			}
		}
	}
	for _, k := range []string{"5", "8", "13", "21", "34"} {
		decode(t, succeeds(t, "plan", "--json", "./-odd.csr", "-k", k, "--method", "krylov"), &p)
		least := p.Least.All
		decode(t, succeeds(t, "plan", "--json", "./-odd.csr", "-k", k, "--method", "krylov", "--memory", strconv.FormatInt(least, 10), "--export", "none"), &p)
		if out, err := process(t, append(p.Steps[0].Commands[0][1:], "-q", "--force")...).CombinedOutput(); err != nil { // a process of its own
			t.Errorf("%v: %v\n%s", p.Steps[0].Commands[0], err, out)
		}
		text := succeeds(t, "plan", "./-odd.csr", "-k", k, "--method", "krylov")
		said := must.Get(memory.ParseSize(regexp.MustCompile(`the least that works is (.*)`).FindStringSubmatch(text)[1]))(t)
		if said < least || said > least+1<<20 {
			t.Errorf("k = %s: %d is said to work, %d does", k, said, least)
		}
	}
}

// TestPlanOfAShare: the plan for a share of the energy ranges from one triplet to the largest rank; it counts the events.
func TestPlanOfAShare(t *testing.T) {
	store := ingested(t, tall)
	var one, most, share planned
	decode(t, succeeds(t, "plan", "--json", store, "-k", "1"), &one)
	decode(t, succeeds(t, "plan", "--json", store, "-k", "30"), &most)
	decode(t, succeeds(t, "plan", "--json", store, "-k", "0.9", "--max-k", "30"), &share)
	if got, low, high := share.Steps[1].Kept, one.Steps[1].Kept.Low, most.Steps[1].Kept.High; got.Low != low || got.High != high {
		t.Errorf("an export of %+v, want from %g to %g", got, low, high)
	}
	dir, _ := factorised(t, store, "-k", "5", "--method", "power")
	decode(t, succeeds(t, "plan", "--json", store, "-k", "5", "--method", "power"), &one)
	if got := float64(du(t, dir)); !near(one.Steps[0].Kept, got) {
		t.Errorf("%g bytes are kept, told were %+v", got, one.Steps[0].Kept)
	}
}

// TestPlanOfTheRun: the plan of the run is that of svd: with the threads of --workers, and with checkpoints.
func TestPlanOfTheRun(t *testing.T) {
	var p planned
	store := ingested(t, synth.Ratings{Users: 1500, Items: 600, Ratings: 150000, Seed: 1})
	for _, workers := range []string{"1", "4"} {
		var e factor.Explanation
		flags := []string{store, "-k", "5", "--memory", "1GiB", "--workers", workers, "--json"}
		decode(t, succeeds(t, append([]string{"plan"}, flags...)...), &p)
		decode(t, succeeds(t, append([]string{"svd", "--explain"}, flags...)...), &e)
		if heap, other := e.Memory.Heap(); p.Steps[0].Memory.High != float64(heap+other) {
			t.Errorf("--workers %s: %v bytes of memory, want %d", workers, p.Steps[0].Memory.High, heap+other)
		}
	}
	long := write(t, t.TempDir(), "long.mtx", "%%MatrixMarket matrix coordinate real general\n400000 400000 3\n1 1 3\n2 2 2\n400000 400000 1\n")
	decode(t, succeeds(t, "plan", long, "-k", "200", "--memory", "8GiB", "--json"), &p)
	if p.Steps[1].Temporary.High == 0 {
		t.Errorf("no disk is planned for the checkpoints of a run of %v seconds", p.Steps[1].Seconds.High)
	}
}

// TestPlanRefuses: requests that cannot be planned are refused before the input is read completely.
func TestPlanRefuses(t *testing.T) {
	store, file := ingested(t, tall), ratings(t, tall)
	list := write(t, t.TempDir(), "list", "1\n2\n")
	fails(t, ui.ExitUsage, `the number of triplets is missing`, "plan", file)
	fails(t, ui.ExitUsage, `-k 41: a 90 × 40 matrix has only 40`, "plan", store, "-k", "41")
	fails(t, ui.ExitUsage, `needs the ids of a store`, "plan", file, "-k", "2", "--keep-cols", list)
	empty := write(t, t.TempDir(), "empty.mtx", "%%MatrixMarket matrix coordinate real general\n4 5 0\n")
	fails(t, ui.ExitError, `empty.mtx: what was read of it has no entries`, "plan", empty, "-k", "1")
	fails(t, ui.ExitError, `no such file`, "plan", filepath.Join(t.TempDir(), "nowhere"), "-k", "2")
	succeeds(t, "plan", store, "-k", "2", "--keep-cols", list)
	if out := succeeds(t, "plan", store, "-k", "2", "--keep-cols", "hvg:20", "--export", "none"); strings.Contains(out, "export") || !strings.Contains(out, "--keep-cols=hvg:20") {
		t.Errorf("%s", out)
	}
}

// TestPlannedNames: commands keep the address of --listen, the file of metrics and a view of several lines, not the token, and
// write OUT beside a store whose name ends in a slash.
func TestPlannedNames(t *testing.T) {
	dir, file := t.TempDir(), ratings(t, tall)
	metrics := filepath.Join(dir, "m.prom")
	said := []string{"--listen", "127.0.0.1:9", "--token", "secret", "--metrics-file", metrics, "--json"}
	var p planned
	decode(t, succeeds(t, append([]string{"plan", file, "-k", "2"}, said...)...), &p)
	var s sniffResult
	decode(t, succeeds(t, append([]string{"sniff", file}, said...)...), &s)
	for _, command := range [][]string{p.Steps[0].Commands[0], p.Steps[1].Commands[0], s.Command} {
		text := strings.Join(command, " ")
		if !strings.Contains(text, "--listen=127.0.0.1:9") || !strings.Contains(text, "--metrics-file="+metrics) || strings.Contains(text, "token") {
			t.Errorf("%s", text)
		}
	}
	store := ingested(t, tall)
	decode(t, succeeds(t, "plan", store, "-k", "2", "--view", "log1p # logarithms\n\ncenter=columns\n", "--json"), &p)
	if command := p.Steps[1].Commands[0]; !slices.Contains(command, "--view=log1p · center=columns") {
		t.Errorf("%q has another view", command)
	}
	out := strings.TrimSuffix(store, ".csr") + ".svd"
	decode(t, succeeds(t, "plan", store+"/", "-k", "2", "--json"), &p)
	if command := p.Steps[0].Commands[0]; !slices.Contains(command, out) {
		t.Errorf("%q does not write %s", command, out)
	}
}

// TestHours: times are printed without exponents and with at most one decimal.
func TestHours(t *testing.T) {
	for s, want := range map[float64]string{0.01: "0.1s", 3.2: "3s", 9.4: "9s", 9.7: "10s", 59: "59s", 90: "2m", 5400: "1.5h"} {
		if got := hours(s); got != want {
			t.Errorf("%g s are %q, want %q", s, got, want)
		}
	}
}
