package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/must"
)

// onDisk puts the temporary folders of a test on disk: files in memory count towards the limit of a group.
func onDisk(t *testing.T) {
	t.Helper()
	if os.Getenv("TMPDIR") == "/dev/shm" {
		t.Setenv("TMPDIR", "")
	}
}

// TestSmallestBudget: the refusal of a budget that is too small names one in which the run
// succeeds under a kernel limit of 105 % of the budget, which includes
// the page cache.
func TestSmallestBudget(t *testing.T) {
	longtest.Only(t)
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	onDisk(t)
	square, tall := filepath.Join(t.TempDir(), "square.csr"), filepath.Join(t.TempDir(), "tall.csr")
	succeeds(t, "generate", "spectrum", "-q", "--rows", "60000", "--cols", "9000", "--decay", "0.7", "-o", square)
	// All vectors of the shorter side, more than the rank: the finishing pass holds most
	// vectors, and the longer side is read and written repeatedly.
	succeeds(t, "generate", "spectrum", "-q", "--rows", "150000", "--cols", "50", "--layers", "2", "--rank", "40", "--decay", "0.8", "-o", tall)
	inBucket(t, square)
	cases := []struct {
		store string
		flags []string
	}{
		{square, []string{"-k", "6"}}, {storeInBucket, []string{"-k", "6"}}, {tall, []string{"-k", "50"}}, {square, []string{"-k", "30", "--method", "krylov", "--block", "8"}},
		{square, []string{"-k", "12", "--method", "block"}}, {square, []string{"-k", "3", "--method", "nesterov"}},
	}
	for _, c := range cases {
		store, flags := c.store, c.flags
		t.Run(filepath.Base(store)+" "+strings.Join(flags, " "), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := slices.Concat([]string{"svd", "-q", store, "-o", out, "--memory"}, []string{"22MiB"}, flags)
			const refusal = `memory budget of 22.0 MiB is too small: at least ([0-9.]+) MiB are needed \(MiB: runtime`
			for _, a := range [][]string{args, append(slices.Clone(args), "--explain"), slices.Delete(slices.Clone(args), 1, 2)} { // the last: without -q
				fails(t, ui.ExitError, refusal, a...)
			}
			least := regexp.MustCompile(refusal).FindStringSubmatch(gdsvd(t, args...).stderr)[1]
			budget := must.Get(memory.ParseSize(least + "MiB"))(t)
			args[slices.Index(args, "22MiB")] = least + "MiB"
			group := cgroup.ForTest(t, "gdsvd-test-budget", budget+budget/20)
			if printed, err := group.Command(process(t, args...)).CombinedOutput(); err != nil {
				t.Fatalf("within %s MiB: %v\n%s", least, err, printed)
			}
			r := resultOf(t, out)
			heap, other := factor.Memory{Parts: r.Memory}.Heap()
			if total := heap + other; r.PeakRSS <= 0 || r.PeakRSS > budget || total > budget || total < budget/2 {
				t.Errorf("%d bytes were resident and %d planned of a budget of %d: %v", r.PeakRSS, total, budget, r.Memory)
			}
			t.Logf("%d bytes were resident, %d planned, budget %d", r.PeakRSS, heap+other, budget)
			if usage, err := group.Usage(); err != nil || usage.Killed > 0 {
				t.Errorf("%+v, %v", usage, err)
			}
		})
	}
}

// TestResultsWithinAKernelLimit: commands on a result with long ids stay within a kernel limit of 105 % of the least budget.
func TestResultsWithinAKernelLimit(t *testing.T) {
	longtest.Only(t)
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	onDisk(t)
	dir, text := t.TempDir(), []byte("user,item,rating\n")
	at := func(name string) string { return filepath.Join(dir, name) }
	for i := range 20000 {
		text = fmt.Appendf(text, "%s%d,%d,%d\n", strings.Repeat("a long id ", 90), i*7919%20000, i%400, 1+i*i%97)
	}
	must.Do(t, os.WriteFile(at("r.csv"), text, 0o666))
	succeeds(t, "ingest", "-q", at("r.csv"), "-o", at("r.csr"))
	succeeds(t, "svd", "-q", at("r.csr"), "-k", "2", "-o", at("r.svd"))
	for name, args := range map[string][]string{
		"similar.csv": {"similar", at("r.svd"), "--row", "all", "-n", "3"}, "similar.parquet": {"similar", at("r.svd"), "--row", "all", "-n", "3"},
		"similar.json":      {"similar", at("r.svd"), "--row", "all", "-n", "3", "--json"}, // to standard output
		"recommend.parquet": {"recommend", at("r.svd"), "--store", at("r.csr"), "-n", "3"},
		"u.parquet":         {"export", at("r.svd"), "--what", "U"}, "us.csv": {"export", at("r.svd"), "--what", "US"}, "u.npz": {"export", at("r.svd"), "--what", "U"},
		"store.csv": {"export", at("r.csr")}, "store.npz": {"export", at("r.csr")},
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(args, "--json") {
				args = append(args, "-o", at(name))
			}
			args := append(args, "-q", "--memory")
			refused := gdsvd(t, append(args, "1MiB")...).stderr
			found := regexp.MustCompile(`at least ([0-9.]+) MiB are needed \(MiB: runtime`).FindStringSubmatch(refused)
			if found == nil {
				t.Fatal(refused)
			}
			least := found[1] + "MiB"
			budget := must.Get(memory.ParseSize(least))(t)
			group := cgroup.ForTest(t, "gdsvd-test-results", budget+budget/20)
			printed, err := group.Command(process(t, append(args, least)...)).CombinedOutput()
			if usage, e := group.Usage(); err != nil || e != nil || usage.Killed > 0 {
				t.Errorf("within %s: %v, %+v, %v\n%.1000s", least, err, usage, e, printed)
			}
		})
	}
}

// TestIngestWithinAKernelLimit: an ingest without --memory stays within the kernel's limit, as does an svd of standard input.
func TestIngestWithinAKernelLimit(t *testing.T) {
	longtest.Only(t)
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	onDisk(t)
	group := cgroup.ForTest(t, "gdsvd-test-ingest", 104<<20)
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	lines := []byte("user,item,rating\n")
	for i := range 12000000 { // at different places: an svd of standard input has no --duplicates
		lines = fmt.Appendf(lines, "%d,%d,%d\n", i*7919%200000, i/200000*1000+r.IntN(1000), 1+r.IntN(5))
	}
	input := filepath.Join(dir, "r.csv")
	must.Do(t, os.WriteFile(input, lines, 0o666))
	ingest := process(t, "ingest", "-q", input, "-o", filepath.Join(dir, "r.csr"), "--duplicates", "sum")
	svd := process(t, "svd", "-q", "-", "-k", "1", "-o", filepath.Join(dir, "r.svd"), "--tol", "0.1")
	svd.Stdin = must.Get(os.Open(input))(t)
	for _, command := range []*exec.Cmd{ingest, svd} {
		printed, err := group.Command(command).CombinedOutput()
		if usage, e := group.Usage(); err != nil || e != nil || usage.Killed > 0 {
			t.Fatalf("%v: %v, %+v, %v\n%s", command.Args, err, usage, e, printed)
		}
	}
}

// TestGenotypesWithinAKernelLimit: genotypes are ingested, factorised and projected within a budget that a dense matrix of
// them exceeds, under a kernel limit of 105 % of it.
func TestGenotypesWithinAKernelLimit(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	onDisk(t)
	const budget = 48 << 20
	samples, variants := longtest.Pick(4000, 1000), longtest.Pick(20000, 8000)
	group := cgroup.ForTest(t, "gdsvd-test-genotypes", budget+budget/20)
	dir, r := t.TempDir(), rand.New(rand.NewPCG(2, 2))
	at := func(name string) string { return filepath.Join(dir, name) }
	bed := func(name string, samples, variants int) {
		var fam, bim []byte
		all := []byte("\x6c\x1b\x01")
		for i := range samples {
			fam = fmt.Appendf(fam, "f %s%d 0 0 0 -9\n", name, i)
		}
		for j := range variants {
			bim = fmt.Appendf(bim, "1 rs%d 0 %d A G\n", j, j+1)
			for i := 0; i < samples; i += 4 {
				// Four samples of two populations. The codes 3, 2, 1 and 0 mean 0, 1, missing and 2 copies of A1.
				b := byte(0)
				for g := range 4 {
					code := byte(3)
					switch x := r.IntN(100) + 20*(j%2)*(g%2); {
					case x < 3:
						code = 1
					case x > 90:
						code = 0
					case x > 60:
						code = 2
					}
					b |= code << (2 * g)
				}
				all = append(all, b)
			}
		}
		for suffix, text := range map[string][]byte{".bed": all, ".fam": fam, ".bim": bim} {
			must.Do(t, os.WriteFile(at(name+suffix), text, 0o666))
		}
	}
	bed("old", samples, variants)
	bed("new", 100, variants*3/4)
	printed := ""
	for _, args := range [][]string{
		{"ingest", at("old.bed"), "-o", at("store")},
		{"svd", at("store"), "-k", "3", "--tol", "1e-3", "--view", "patterson", "-o", at("out")},
		{"project", at("out"), at("new.bed"), "-o", at("x")},
	} {
		out, err := group.Command(process(t, append(args, "--memory", "48MiB")...)).CombinedOutput()
		if usage, e := group.Usage(); err != nil || e != nil || usage.Killed > 0 {
			t.Fatalf("%v: %v, %+v, %v\n%s", args, err, usage, e, out)
		}
		printed = string(out)
	}
	if got := resultOf(t, at("out")); got.PeakRSS <= 0 || got.PeakRSS > budget {
		t.Errorf("%d bytes were resident of a budget of %d", got.PeakRSS, budget)
	}
	if !regexp.MustCompile(`columns of the matrix that are missing .* about 0\.7\d* to 0\.7\d* times`).MatchString(printed) {
		t.Errorf("the shrinkage is not said: %s", printed)
	}
}

// TestResumeWithinAKernelLimit: a run under a kernel limit is killed and resumed under the
// same limit, and has the bits of an uninterrupted run with
// unlimited memory.
func TestResumeWithinAKernelLimit(t *testing.T) {
	longtest.Only(t)
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	onDisk(t)
	const limit = 40 << 20 // little more than the program and the vectors take
	group := cgroup.ForTest(t, "gdsvd-test", limit)
	store := stored(t, ratings(t, synth.Ratings{Users: 7000, Items: 1500, Ratings: 1100000, Seed: 3}))
	flags := []string{"-q", store, "-k", "6", "--tol", "1e-12", "--method", "nesterov"}
	want := filepath.Join(t.TempDir(), "want")
	succeeds(t, slices.Concat([]string{"svd", "-o", want}, flags)...)

	dir := filepath.Join(t.TempDir(), "out")
	args := slices.Concat([]string{"svd", "-o", dir, "--resume", "--checkpoint-every", "10ms", "--memory", "36MiB"}, flags)
	first := group.Command(process(t, args...))
	must.Do(t, first.Start())
	passes := 0
	for start := time.Now(); passes == 0 && time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		passes, _ = savedPasses(dir)
	}
	if passes == 0 {
		t.Fatal("no checkpoint was written")
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	if out, err := group.Command(process(t, args...)).CombinedOutput(); err != nil {
		t.Fatalf("within %d bytes: %v\n%s", limit, err, out)
	}
	for _, f := range partFiles {
		same(t, f, filepath.Join(want, f), filepath.Join(dir, f))
	}
}

// TestVectorsInFilesWithinAKernelLimit does the same with vectors in files, of which a killed
// process leaves none.
func TestVectorsInFilesWithinAKernelLimit(t *testing.T) {
	if raceDetector || !longtest.On() {
		t.Skip("vectors of many megabytes")
	}
	onDisk(t)
	store := long(t, 400000, 350000)
	flags := []string{"-q", store, "-k", "3", "--method", "krylov", "--block", "1", "--basis", "12", "--max-passes", "30"}
	memory, e := tightly(t, store, flags[2:])
	if e.Files < 2*e.Budget {
		t.Fatalf("%d bytes of vectors in files with %s of memory: too little to tell", e.Files, memory)
	}
	group := cgroup.ForTest(t, "gdsvd-test-files", e.Budget+8<<20)
	work := t.TempDir()
	want, dir := filepath.Join(work, "want"), filepath.Join(work, "out")
	gdsvd(t, slices.Concat([]string{"svd", "-o", want, "--memory", "1GiB"}, flags)...)

	args := slices.Concat([]string{"svd", "-o", dir, "--resume", "--checkpoint-every", "10ms", "--memory", memory}, flags)
	first := group.Command(process(t, args...))
	must.Do(t, first.Start())
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		if _, err := savedPasses(dir); err == nil {
			break
		}
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	if left, _ := filepath.Glob(filepath.Join(work, "*", "vectors-*")); len(left) > 0 {
		t.Errorf("the dead have left %v", left)
	}
	out, err := group.Command(process(t, args...)).CombinedOutput()
	if usage, e := group.Usage(); e != nil || usage.Killed > 0 {
		t.Fatalf("%+v, %v\n%s", usage, e, out)
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != ui.ExitNotConverged) {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, f := range partFiles {
		same(t, f, filepath.Join(want, f), filepath.Join(dir, f))
	}
	if r := resultOf(t, dir); r.PeakRSS > e.Budget || r.VectorFiles == 0 {
		t.Errorf("%d bytes were resident, %d in files, with a budget of %d", r.PeakRSS, r.VectorFiles, e.Budget)
	}
}

// TestTooFewAddresses: a limit of address space in which Go's runtime starts but gdsvd cannot run is refused in one line.
func TestTooFewAddresses(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes terabytes of addresses")
	}
	cmd := process(t, "version")
	cmd.Args = []string{"sh", "-c", `ulimit -v 1800000 && exec "$0" version`, cmd.Path}
	cmd.Path = "/bin/sh"
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || cmd.ProcessState.ExitCode() != ui.ExitError || strings.Count(text, "\n") != 1 || !strings.Contains(text, "ulimit -v") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestTooFewThreads: a limit of threads that is too small is refused in one line. As root has no limit, another user is taken.
func TestTooFewThreads(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has threads of its own")
	}
	dir := must.Get(os.MkdirTemp("", "gdsvd-threads-"))(t)
	defer os.RemoveAll(dir)
	cmd := process(t, "version")
	program := filepath.Join(dir, "gdsvd")
	text, err := os.ReadFile(cmd.Path)
	if err == nil {
		err = errors.Join(os.WriteFile(program, text, 0o755), os.Chmod(dir, 0o755))
	}
	must.Do(t, err)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	}
	cmd.Args, cmd.Path = []string{"sh", "-c", `ulimit -u 15 2>/dev/null || ulimit -p 15; exec "$0" version`, program}, "/bin/sh"
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || cmd.ProcessState.ExitCode() != ui.ExitError || strings.Count(text, "\n") != 1 || !strings.Contains(text, "ulimit -u") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestCheckWithinAKernelLimit: check of many vectors, k² sums per worker, stays within a kernel limit of 105 % of its budget.
func TestCheckWithinAKernelLimit(t *testing.T) {
	longtest.Only(t)
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	onDisk(t)
	const n, k, budget = 1600, 1500, 80 << 20
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	ones, sigma := mat.NewDense(n, k, nil), make([]float64, k)
	var lines []byte
	for i := range n {
		value := 2 - float64(i)/n
		if i < k {
			ones.Set(i, i, 1)
			sigma[i] = value
		}
		lines = fmt.Appendf(lines, "%04d,%04d,%v\n", i, i, value)
	}
	must.Do(t, os.WriteFile(at("diagonal.csv"), lines, 0o666))
	succeeds(t, "ingest", "-q", at("diagonal.csv"), "-o", at("store"))
	must.Do(t, os.Mkdir(at("found"), 0o777))
	for name, array := range map[string][]byte{"U": npyBytes(ones, "<f8", false), "V": npyBytes(ones, "<f8", false), "sigma": npyVector(sigma)} {
		must.Do(t, os.WriteFile(filepath.Join(at("found"), name+".npy"), array, 0o666))
	}
	group := cgroup.ForTest(t, "gdsvd-test-check", budget+budget/20)
	args := []string{"check", at("found"), "--store", at("store"), "--workers", "4", "--memory"}
	out, err := group.Command(process(t, append(args, "80MiB")...)).CombinedOutput()
	if usage, e := group.Usage(); err != nil || e != nil || usage.Killed > 0 || !strings.Contains(string(out), "measured on") {
		t.Errorf("%v: %+v, %v\n%s", err, usage, e, out)
	}
	fails(t, ui.ExitError, `memory budget of 64\.0 MiB is too small: at least .* sums of vectors 34\.3`, append(args, "64MiB")...)
}
