package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// long returns a store of a matrix with two entries per row, whose vectors take most of the memory of a run.
func long(t *testing.T, rows, cols int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	name, store := filepath.Join(t.TempDir(), "long.mtx"), filepath.Join(t.TempDir(), "long.csr")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", rows, cols, 2*rows)
	for i := range rows {
		popular, other := int(float64(cols)*math.Pow(r.Float64(), 8)), r.IntN(cols-1)
		if other >= popular {
			other++
		}
		fmt.Fprintf(&b, "%d %d %d\n%d %d %d\n", i+1, popular+1, 1+r.IntN(5), i+1, other+1, 1+r.IntN(5))
	}
	must.Do(t, os.WriteFile(name, b.Bytes(), 0o666))
	succeeds(t, "ingest", "-q", name, "-o", store)
	return store
}

// tightly returns the least budget that a run accepts, and its explanation.
func tightly(t *testing.T, store string, flags []string) (memory string, e factor.Explanation) {
	t.Helper()
	memory = tightBudget(t, store, append([]string{"svd"}, flags...))
	decode(t, succeeds(t, slices.Concat([]string{"svd", "-q", store, "--memory", memory, "--explain", "--json"}, flags)...), &e)
	return memory, e
}

// TestVectorsInFiles: if the vectors do not fit into the budget they are in files, with the
// same bits for runs up to a limit of passes, resumed runs, and runs with start
// vectors. No files but OUT are left.
func TestVectorsInFiles(t *testing.T) {
	store := long(t, longtest.Pick(130000, 40000), longtest.Pick(110000, 33000))
	methods := []string{
		"--method krylov --block 1 --basis 10", "--method krylov --block 4 --basis 20", "--method block --block 5",
		"--method power", "--method nesterov", "--method polyak", "--method gd", "--method nesterov-general",
	}
	if raceDetector || !longtest.On() {
		methods = methods[:1]
	}
	for _, m := range methods {
		t.Run(m, func(t *testing.T) {
			flags := append(strings.Fields(m), "-k", "3")
			memory, e := tightly(t, store, flags)
			if e.Files == 0 {
				t.Fatalf("with %s no vectors are in files", memory)
			}
			work := t.TempDir()
			run := func(out string, more ...string) {
				t.Helper()
				o := gdsvd(t, slices.Concat([]string{"svd", "-q", store, "-o", filepath.Join(work, out)}, flags, more)...)
				if o.code != ui.ExitOK && o.code != ui.ExitNotConverged {
					t.Fatalf("exit %d: %s", o.code, o.stderr)
				}
			}
			check := func(want, got string) {
				t.Helper()
				for _, f := range []string{factor.SigmaFile, leftFile, rightFile} {
					same(t, got+": "+f, filepath.Join(work, want, f), filepath.Join(work, got, f))
				}
			}
			run("memory", "--max-passes", "9", "--memory", "1GiB")
			run("files", "--max-passes", "9", "--memory", memory)
			check("memory", "files")

			run("parts", "--max-passes", "5", "--memory", memory, "--checkpoint-every", "1ns")
			run("parts", "--max-passes", "9", "--memory", memory, "--resume")
			check("memory", "parts")

			run("memory from", "--max-passes", "4", "--init", filepath.Join(work, "files"))
			// With start vectors blocks are wider.
			given := []string{"--init", filepath.Join(work, "files")}
			wider, _ := tightly(t, store, slices.Concat(flags, given))
			run("files from", slices.Concat(given, []string{"--max-passes", "4", "--memory", wider})...)
			check("memory from", "files from")
			if left := names(t, work); !slices.Equal(left, []string{"files", "files from", "memory", "memory from", "parts"}) {
				t.Errorf("there are %v", left)
			}
		})
	}
}

// TestLeastBudgetWorks: the plan for the least budget that a refusal names fits into it, for each method.
func TestLeastBudgetWorks(t *testing.T) {
	store := long(t, 30000, 25000)
	for _, m := range []string{"auto", "krylov", "block", "power", "gd", "polyak", "nesterov", "nesterov-general"} {
		flags := []string{"--method", m, "-k", "6"}
		memory, e := tightly(t, store, flags)
		var total int64
		for _, p := range e.Parts {
			total += p.Bytes
		}
		if total > e.Budget {
			t.Errorf("%s: %d bytes of %s", m, total, memory)
		}
	}
}

// TestNoRoomForVectors: a disk without room for the vectors is one line on standard error.
func TestNoRoomForVectors(t *testing.T) {
	store := long(t, longtest.Pick(130000, 40000), longtest.Pick(110000, 33000))
	flags := []string{"--method", "krylov", "--block", "1", "--basis", "10", "-k", "3"}
	memory, _ := tightly(t, store, flags)
	for _, after := range []int{0, 1, 4, 9} {
		made := 0
		f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if o.Kind != vfstest.OpScratch {
				return nil
			}
			if made++; made > after {
				return &os.PathError{Op: "allocate", Path: o.Name, Err: syscall.ENOSPC}
			}
			return nil
		}}
		work := t.TempDir()
		o := withFaults(t, f, slices.Concat([]string{"svd", "-q", store, "-o", filepath.Join(work, "out"), "--memory", memory}, flags)...)
		if o.code != ui.ExitError || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, "no space left on device") || !strings.Contains(o.stderr, "for vectors") {
			t.Errorf("after %d blocks: exit %d\n%s", after, o.code, o.stderr)
		}
		// A fault during the run leaves a checkpoint, and the error says so.
		want := []string(nil)
		if strings.Contains(o.stderr, "--resume goes on from there") {
			want = []string{checkpointFile, checkpointEvents}
		}
		var left []string
		if len(names(t, work)) > 0 {
			left = names(t, filepath.Join(work, "out"))
		}
		if !slices.Equal(left, want) {
			t.Errorf("after %d blocks %v are left\n%s", after, left, o.stderr)
		}
	}
}

func TestExplainVectorsInFiles(t *testing.T) {
	store := long(t, longtest.Pick(130000, 40000), longtest.Pick(110000, 33000))
	flags := []string{"--method", "krylov", "--block", "2", "--basis", "10", "-k", "3"}
	memory, e := tightly(t, store, flags)
	text := succeeds(t, slices.Concat([]string{"svd", "-q", store, "--memory", memory, "--explain"}, flags)...)
	times := func(n int) string {
		return map[bool]string{true: "once", false: fmt.Sprint(n, " times")}[n == 1]
	}
	for _, want := range []string{"vectors ", "in files beside OUT", fmt.Sprintf("a pass reads the store %s, the last one %s", times(e.Reads), times(e.LastReads)), "checkpoint "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text = succeeds(t, slices.Concat([]string{"svd", "-q", store, "--memory", "1GiB", "--explain"}, flags)...)
	if strings.Contains(text, "in files") {
		t.Errorf("with plenty of memory:\n%s", text)
	}
}

// TestSizes: flags accept sizes in all usual notations, and a budget larger than the memory of the machine
// works with one line of warning.
func TestSizes(t *testing.T) {
	file, dir := ratings(t, tall), t.TempDir()
	plain, short := filepath.Join(dir, "a.csr"), filepath.Join(dir, "b.csr")
	succeeds(t, "ingest", "-q", file, "-o", plain, "--memory", "64MiB", "--shard-size", "8KiB")
	succeeds(t, "ingest", "-q", file, "-o", short, "--memory", "64m", "--shard-size", "8k")
	if want, got := names(t, plain), names(t, short); !slices.Equal(got, want) {
		t.Errorf("8k gives the files %v, 8KiB %v", got, want)
	}
	succeeds(t, "generate", "kron", "-q", "--base", plain, "--rows", "2", "--cols", "1", "--nnz", "2", "-o", filepath.Join(dir, "k.csr"), "--memory", "64Mi", "--shard-size", "1G")
	succeeds(t, "generate", "spectrum", "-q", "--rows", "9", "--cols", "5", "-o", filepath.Join(dir, "s.csr"), "--shard-size", "1g")
	succeeds(t, "svd", "-q", plain, "-k", "2", "-o", filepath.Join(dir, "out"), "--memory", "64M")
	fails(t, ui.ExitUsage, `--memory.* size "64Q" is not understood \(write 800MB, 512MiB`, "svd", plain, "-k", "2", "--explain", "--memory", "64Q")
	if memory.Total() == 0 {
		t.Skip("the memory of the machine is not known on this system")
	}
	for _, args := range [][]string{
		{"svd", plain, "-k", "2", "-o", filepath.Join(dir, "large"), "--memory", "1024T"},
		{"svd", plain, "-k", "2", "--explain", "--memory", "1024TiB"},
		{"ingest", file, "-o", filepath.Join(dir, "large.csr"), "--memory", "1024Ti"},
		{"generate", "kron", "--base", plain, "--rows", "2", "--cols", "1", "--nnz", "2", "-o", filepath.Join(dir, "large2.csr"), "--memory", "1048576g"},
	} {
		o := gdsvd(t, args...)
		said := slices.DeleteFunc(strings.Split(o.stderr, "\n"), func(line string) bool { return !strings.Contains(line, "--memory is more than the machine") })
		if o.code != ui.ExitOK || len(said) != 1 || !strings.Contains(said[0], "1.00 PiB") || !strings.Contains(said[0], memory.FormatSize(memory.Total())) {
			t.Errorf("%v: exit %d, standard error\n%s", args, o.code, o.stderr)
		}
	}
}
