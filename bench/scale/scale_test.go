// Package scale measures the time and memory of gdsvd svd as matrices grow far beyond memory, under a limit
// that the kernel enforces, and checks the results. Paths in the flags of its test are relative to this folder:
//
//	go test ./bench/scale -timeout 0 -v -nnz 1e9 -dir /var/tmp -base /var/tmp/ml-1m.csr -out results/scale
//
// The test makes stores of 10⁷, 10⁸, … entries up to -nnz in -dir (gdsvd generate kron: copies of the base, singular
// values known; without -base it generates a base in the shape of MovieLens 1M), and decomposes each store in up to
// four regimes:
//
//   - limit: with -memory, by the method that gdsvd chooses, in a memory cgroup an eighth of a gibibyte larger, page cache included;
//   - streaming: with -stream-memory, so that every pass decodes nearly all of the store again, by a fixed method, in a
//     cgroup that also has room for the store in the page cache: the cost of reading and decoding without the disk;
//   - disk: the same without that room, for stores at least twice as large as the cgroup's limit, so that every pass reads the disk;
//   - resident: the same method with the whole store decoded in memory, if that takes at most three quarters of the available memory.
//
// A run is right if every triplet is certified, every value is within 1e-10 of the truth, relatively, at most the
// budget was resident, and no process was killed. Stores are dropped from the page cache before a run, so that the run
// is charged for their pages. The time of a pass is the median over the passes of the iteration without the first one,
// which fills memory.
//
// -store measures only the regime limit, on a store of known values; if vectors are larger than memory, the tables list
// the cost of their files:
//
//	gdsvd generate kron --base slashdot.csr --rows 610 --cols 610 --nnz 1055 --memory 3GiB -o long.csr
//	go test ./bench/scale -timeout 0 -v -store $PWD/long.csr -k 4 -memory 1920MiB -out results/longvectors
//
// NAME.json holds all measurements, NAME.md the tables; NAME is the value of -out. Rows already in NAME.json are not
// measured again, so that a long series can be measured in parts; delete the file to start again. -only measures one
// size.
//
// Cgroups need Linux and root; without them the test fails with an error, unless -unlimited is given.
package scale

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestSmallScale runs the measurement on a small scale: the decoded store is several times the
// limit, no process is killed within it, page cache included, the values are right, and the bits do
// not depend on the budget.
func TestSmallScale(t *testing.T) {
	if !longtest.On() {
		t.Skip("builds the program and makes stores")
	}
	cgroup.ForTest(t, "gdsvd-scale-test", 64<<20)
	dir := t.TempDir()
	program := harness.Open(t, "")
	text, base := filepath.Join(dir, "base.dat"), filepath.Join(dir, "base.csr")
	for _, args := range [][]string{
		{"generate", "ratings", "-q", "-o", text, "--users", "900", "--items", "350", "--ratings", "60000"},
		{"ingest", "-q", text, "-o", base},
	} {
		must.Do(t, program.Do(t.Context(), args...))
	}
	o := &options{
		program: program.Path, base: base, dir: dir, out: filepath.Join(dir, "scale"), largest: 1.2e7, only: 1.2e7, rank: 6,
		memory: 64 << 20, streamMemory: 48 << 20, regimes: []string{limited, streaming}, method: []string{"--method", "krylov", "--block", "4"},
	}
	must.Do(t, run(t, o))
	r := must.Get(openReport(o))(t)
	if len(r.Rows) != 2 {
		t.Fatalf("%d rows, want 2", len(r.Rows))
	}
	for _, w := range r.Rows {
		if w.Group == nil || w.Group.Killed > 0 || w.Group.Peak > w.Limit+1<<20 || w.Error > wrongBy || w.Wrong != "" {
			t.Errorf("%s: %+v", w.Regime, w)
		}
	}
	s := must.Get(o.store(1.2e7))(t)
	var reads []int64
	bits := map[string][]byte{}
	for _, memory := range []int64{48 << 20, 80 << 20, 1 << 30} {
		w, out := row{Memory: memory}, filepath.Join(dir, "bits.svd")
		must.Do(t, o.decompose(s, &w, out, o.method))
		reads = append(reads, w.ReadPass)
		for _, name := range []string{"sigma.npy", "U.npy", "V.npy"} {
			got := must.Get(os.ReadFile(filepath.Join(out, name)))(t)
			if bits[name] == nil {
				bits[name] = got
			}
			if !bytes.Equal(bits[name], got) {
				t.Errorf("the bits of %s depend on the budget: %d bytes", name, memory)
			}
		}
	}
	if reads[0] == 0 || reads[2] != 0 {
		t.Errorf("passes read %d bytes: the budgets do not differ in what stays decoded", reads)
	}
}
