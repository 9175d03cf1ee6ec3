package harness

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// The whole way: the program is built, makes a store with known values, finds them,
// and what it reports is read.
func TestTrial(t *testing.T) {
	if !longtest.On() {
		t.Skip("builds the program")
	}
	p := must.Get(Open(t.Context(), ""))(t)
	dir := t.TempDir()
	store, out := filepath.Join(dir, "m.csr"), filepath.Join(dir, "out")
	must.Do(t, p.Do(t.Context(), "generate", "spectrum", "-q", "--rows", "3000", "--cols", "500", "-o", store))
	s, err := OpenStore(store, 4)
	if err != nil || s.Rows != 3000 || s.NNZ == 0 || s.Decoded < 4*s.NNZ || len(s.Shards) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := OpenStore(store, 501); err == nil || !strings.Contains(err.Error(), "500 of its singular values are known, 501 are needed") {
		t.Errorf("got %v", err)
	}
	run, err := p.Run(t.Context(), nil, "svd", store, "-k", "4", "-o", out, "-q", "--json")
	if err != nil || run.Seconds <= 0 || run.Group != nil {
		t.Fatalf("%+v, %v", run, err)
	}
	var r Result
	must.Do(t, run.Decode(&r))
	passes, err := ReadPasses(out)
	if err != nil || len(passes.Seconds) < 2 || len(passes.Seconds) > r.Passes || len(passes.Between) != len(passes.Seconds) || passes.Finish <= 0 {
		t.Errorf("%+v, %v of %d passes", passes, err, r.Passes)
	}
	if worst, wrong := r.Judge(s.Sigma, 1<<40); worst > Wrong || wrong != "" || r.PeakRSS == 0 || !strings.HasPrefix(r.Method(), "krylov --block ") {
		t.Errorf("%g %q %+v", worst, wrong, r)
	}
	if _, wrong := r.Judge(s.Sigma, r.PeakRSS-1); !strings.Contains(wrong, "were resident") {
		t.Errorf("more than the budget: %q", wrong)
	}
	if _, wrong := r.Judge(s.Sigma[1:], 1<<40); !strings.Contains(wrong, "a value is off by") {
		t.Errorf("other values: %q", wrong)
	}
	r.Converged--
	if _, wrong := r.Judge(s.Sigma, 1<<40); wrong != "3 of 4 triplets are certified" {
		t.Errorf("not all converged: %q", wrong)
	}
	if _, err := p.Run(t.Context(), nil, "svd", store); err == nil || !strings.Contains(err.Error(), "gdsvd svd: exit status 2 gdsvd: how many triplets?") {
		t.Errorf("got %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.Path); err == nil {
		t.Error("the program is not removed")
	}
}

func TestSizes(t *testing.T) {
	var n int64
	f := flag.NewFlagSet("", flag.ContinueOnError)
	SizeVar(f, &n, "size", "20GB", "")
	if err := f.Parse(nil); err != nil || n != 20e9 || f.Lookup("size").DefValue != "20GB" {
		t.Errorf("%d, %v, %s", n, err, f.Lookup("size").DefValue)
	}
	if err := f.Parse([]string{"-size", "256MiB"}); err != nil || n != 256<<20 || f.Lookup("size").Value.String() != "256MiB" {
		t.Errorf("%d, %v", n, err)
	}
	if err := f.Parse([]string{"-size", "MiB"}); err == nil || n != 256<<20 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1}, 3}, {[]float64{9, 1, 2}, 2}} {
		x := append([]float64(nil), c.x...)
		if m := Median(x); m != c.want || !reflect.DeepEqual(x, c.x) {
			t.Errorf("of %v: %g", c.x, m)
		}
	}
}

func TestWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "report")
	must.Do(t, Write(name, []int{1, 2}, "# both\n"))
	data, err := os.ReadFile(name + ".json")
	var x []int
	if err != nil || json.Unmarshal(data, &x) != nil || len(x) != 2 {
		t.Errorf("%s, %v", data, err)
	}
	if text, err := os.ReadFile(name + ".md"); err != nil || string(text) != "# both\n" {
		t.Errorf("%s, %v", text, err)
	}
}
