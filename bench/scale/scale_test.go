package main

import (
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup/cgrouptest"
	"github.com/gdsvd/gdsvd/internal/longtest"
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
	program, err := harness.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	text, base := filepath.Join(dir, "base.dat"), filepath.Join(dir, "base.csr")
	for _, args := range [][]string{
		{"generate", "ratings", "-q", "-o", text, "--users", "900", "--items", "350", "--ratings", "60000"},
		{"ingest", "-q", text, "-o", base},
	} {
		if err := program.Do(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	o, err := parse([]string{
		"-gdsvd", program.Path, "-base", base, "-dir", dir, "-o", filepath.Join(dir, "scale"), "-nnz", "1.2e7", "-only", "1.2e7",
		"-k", "6", "-memory", "64MiB", "-stream-memory", "48MiB", "-regimes", "limit,streaming",
		"-budgets", "48MiB,80MiB,1GiB", "-budget-nnz", "1.2e7",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(o); err != nil {
		t.Fatal(err)
	}
	r, err := openReport(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 {
		t.Fatalf("%d rows, want 2", len(r.Rows))
	}
	if len(r.Constants) != 1 || r.Constants[0].Open.Again <= 0 || r.Constants[0].Explain.First <= 0 || r.Constants[0].Blocks == 0 {
		t.Errorf("constants %+v", r.Constants)
	}
	for _, w := range r.Rows {
		if w.Group == nil || w.Group.Killed > 0 || w.Group.Peak > w.Limit+1<<20 || w.Error > harness.Wrong || w.Wrong != "" {
			t.Errorf("%s: %+v", w.Regime, w)
		}
	}
	b, err := o.underBudgets()
	if err != nil {
		t.Fatal(err)
	}
	if !b.Same {
		t.Errorf("the bits depend on the budget: %+v", b.Runs)
	}
	if first, last := b.Runs[0].ReadPass, b.Runs[len(b.Runs)-1].ReadPass; first == 0 || last != 0 {
		t.Errorf("passes read %d and %d bytes: the budgets do not differ in what stays decoded", first, last)
	}
}
