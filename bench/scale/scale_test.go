package scale

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup/cgrouptest"
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
	cgrouptest.New(t, "gdsvd-scale-test", 64<<20)
	dir := t.TempDir()
	program := must.Get(harness.Open(t.Context(), ""))(t)
	defer program.Close()
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
	must.Do(t, run(o))
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
