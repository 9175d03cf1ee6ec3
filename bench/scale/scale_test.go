// Package scale measures what gdsvd svd takes as matrices grow far beyond memory, under a limit that the kernel enforces, and whether the
// results are right. Its test does, and takes paths from this folder on:
//
//	go test ./bench/scale -timeout 0 -v -nnz 1e9 -dir /var/tmp -base /var/tmp/ml-1m.csr -out results/scale
//
// It makes stores of 10⁷, 10⁸, … entries up to -nnz in -dir (gdsvd generate kron: copies of the base, singular values known; without -base the
// base is made up, in the shape of MovieLens 1M), and has each decomposed in up to four regimes:
//
//   - limit: with -memory, by the method that gdsvd chooses, in a memory cgroup an eighth of a gibibyte larger, page cache included;
//   - streaming: with -stream-memory, so that every pass decodes nearly all of the store anew, by a method that is always the same, in a
//     cgroup that has room for the store in the page cache besides: what reading and decoding cost without the disk;
//   - disk: the same without that room, for stores twice as large as the cgroup, of which every pass comes from the disk;
//   - resident: the same method with the whole store decoded in memory, where that takes at most three quarters of what the machine has left.
//
// A run is good if every triplet is certified, every value is within 1e-10 of the truth, relatively, no more than the budget was resident, and
// nothing was killed. Stores are dropped from the page cache before a run, so that it is charged for what it reads. What a pass takes is the
// median over the passes of the iteration, without the first one, which fills memory.
//
// -store measures the regime limit alone, on a store of known values; where vectors are larger than memory, tables have what their files take:
//
//	gdsvd generate kron --base slashdot.csr --rows 610 --cols 610 --nnz 1055 --memory 3GiB -o long.csr
//	go test ./bench/scale -timeout 0 -v -store $PWD/long.csr -k 4 -memory 1920MiB -out results/longvectors
//
// NAME.json has everything, NAME.md the tables; NAME is what -out says. What is in NAME.json already is not measured again, so that a long
// series can be measured a piece at a time; delete it to begin anew. -only makes one size of it.
//
// Cgroups take Linux and root; where none can be made the test fails and says so, unless -unlimited is given.
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

// The whole of it on a small scale: a store whose decoded form is several times
// the limit, and page cache included nothing is killed, the values are right,
// and the bits do not depend on the budget.
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
