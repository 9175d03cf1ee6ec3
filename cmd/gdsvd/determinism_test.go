package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestSameBitsWhateverTheMachine: the bytes of σ, U and V do not depend on the number of workers, the memory
// budget or the size of the shards.
func TestSameBitsWhateverTheMachine(t *testing.T) {
	// Several blocks, which do not all fit into the tight budget.
	large := synth.Ratings{Users: 7000, Items: 1500, Ratings: 1_100_000, Seed: 3}
	passes, workerCounts := "25", []string{"1", "2", "7"}
	if raceDetector || !longtest.On() { // a smaller case of the same code
		large.Users, large.Ratings, passes, workerCounts = 4500, 700_000, "4", []string{"1", "7"}
	}
	file := ratings(t, large)
	method := []string{"svd", "-k", "3", "--method", "krylov", "--block", "4"} // a named method: a choice may depend on the budget
	for _, orient := range longtest.Pick([]string{"rows", "cols"}, []string{"cols"}) {
		work := t.TempDir()
		large, small := filepath.Join(work, "large.csr"), filepath.Join(work, "small.csr")
		succeeds(t, "ingest", "-q", file, "-o", large, "--orient", orient)
		succeeds(t, "ingest", "-q", file, "-o", small, "--orient", orient, "--shard-size", "64KiB", "--workers", "1", "--memory", "64MiB")
		if n := blocks(t, small); n < 5 {
			t.Fatalf("only %d blocks: too few to tell", n)
		}
		tight := tightBudget(t, large, method)
		var first map[string][]byte
		run := 0
		for _, store := range []string{large, small} {
			for _, workers := range workerCounts {
				for _, memory := range []string{tight, "1GiB"} {
					run++
					dir := filepath.Join(work, fmt.Sprint(run))
					o := gdsvd(t, slices.Concat(method, []string{store, "-o", dir, "--max-passes", passes, "--workers", workers, "--memory", memory, "--log-level", "debug"})...)
					if o.code != ui.ExitOK && o.code != ui.ExitNotConverged {
						t.Fatalf("exit %d: %s", o.code, o.stderr)
					}
					if whole := resident(t, o.stderr); whole != (memory == "1GiB") {
						t.Fatalf("--memory %s holds the whole store: %v", memory, whole)
					}
					got := map[string][]byte{}
					for _, name := range []string{factor.SigmaFile, leftFile, rightFile} {
						data := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
						got[name] = data
						if first != nil && !bytes.Equal(data, first[name]) {
							t.Errorf("orientation %s, %s, workers %s, memory %s: %s differs", orient, filepath.Base(store), workers, memory, name)
						}
					}
					if first == nil {
						first = got
					}
				}
			}
		}
	}
}

// tightBudget returns a budget that keeps almost no block of the store: 1 MiB more
// than the least one that the refusal of 1 MiB names.
func tightBudget(t *testing.T, store string, flags []string) string {
	t.Helper()
	o := gdsvd(t, slices.Concat(flags, []string{store, "-o", filepath.Join(t.TempDir(), "none"), "--memory", "1MiB"})...)
	m := regexp.MustCompile(`at least ([\d.]+) MiB`).FindStringSubmatch(o.stderr)
	if m == nil {
		t.Fatalf("no refusal of --memory 1MiB: %s", o.stderr)
	}
	need := must.Get(strconv.ParseFloat(m[1], 64))(t)
	return fmt.Sprintf("%.0fMiB", need+1)
}

// resident reports whether the log says that all blocks stay in memory.
func resident(t *testing.T, log string) bool {
	t.Helper()
	m := regexp.MustCompile(`blocks=(\d+) resident=(\d+)`).FindStringSubmatch(log)
	if m == nil {
		t.Fatalf("the log does not tell what is resident:\n%s", log)
	}
	return m[1] == m[2]
}

func blocks(t *testing.T, path string) int {
	t.Helper()
	s := must.Get(csr.Open(path, csr.OpenOptions{}))(t)
	defer s.Close()
	return s.NumBlocks()
}
