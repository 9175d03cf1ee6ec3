package scale

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

type result struct{ harness.Result }

// flags returns the method with its widths, as flags.
func (r *result) flags() string {
	method := strings.Trim(string(r.Settings["method"]), `"`)
	for _, width := range []string{"block", "basis"} {
		if n, ok := r.Settings[width]; ok {
			method += fmt.Sprintf(" --%s %s", width, n)
		}
	}
	return method
}

// wrongBy is the largest relative error of a value that is right.
const wrongBy = 1e-10

// judge compares a result with the true values, at least as many, and with the budget of the run.
// It returns the worst relative error, and what is wrong, or "".
func (r *result) judge(truth []float64, memory int64) (worst float64, wrong string) {
	for i, sigma := range r.Sigma {
		worst = max(worst, math.Abs(sigma-truth[i])/truth[i])
	}
	switch {
	case !r.Certified || r.Converged < len(r.Sigma):
		wrong = fmt.Sprintf("%d of %d triplets are certified", r.Converged, len(r.Sigma))
	case !(worst <= wrongBy):
		wrong = fmt.Sprintf("a value is off by %.2g", worst)
	case r.PeakRSS > memory:
		wrong = fmt.Sprintf("%d bytes were resident", r.PeakRSS)
	}
	return worst, wrong
}

// passes holds the times of an iteration.
type passes struct {
	Seconds []float64 // of each pass
	Between []float64 // from the end of a pass to the next
	Read    int64     // bytes of the store that the last pass read
	Finish  float64   // of the work after the iteration
}

// readPasses reads the events of the result in a directory.
func readPasses(dir string) (p passes, err error) {
	f, err := os.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return p, err
	}
	defer f.Close()
	var time, dense float64
	var read int64
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var e struct {
			Phase   string
			Bytes   int64 `json:"bytes_read"`
			Seconds struct{ Multiply, Wait, Orthogonalise, Finish float64 }
		}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			return p, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		p.Finish = max(p.Finish, e.Seconds.Finish)
		if e.Phase != "iterate" {
			continue
		}
		now := e.Seconds.Multiply + e.Seconds.Wait
		p.Seconds, p.Between = append(p.Seconds, now-time), append(p.Between, e.Seconds.Orthogonalise-dense)
		p.Read = e.Bytes - read
		time, dense, read = now, e.Seconds.Orthogonalise, e.Bytes
	}
	if err := sc.Err(); err != nil {
		return p, err
	}
	if len(p.Seconds) < 2 {
		return p, fmt.Errorf("%s: fewer than two passes: nothing to measure", f.Name())
	}
	return p, nil
}

// dataset describes a store to measure with.
type dataset struct {
	Path            string
	Rows, Cols, NNZ int64
	Bytes           int64
	Decoded         int64     // bytes
	Sigma           []float64 // the true values; nil: unknown
	Shards          []string  // paths of the shards
}

// openStore reads the description of a store. Fewer than known true values are an error.
func openStore(path string, known int) (_ *dataset, err error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d := &dataset{Path: path, Rows: s.Rows(), Cols: s.Cols(), NNZ: s.NNZ(), Bytes: s.Size()}
	truth, err := s.Truth()
	if err != nil {
		return nil, err
	}
	if truth != nil {
		d.Sigma = truth.Sigma
	}
	if len(d.Sigma) < known {
		return nil, fmt.Errorf("%s: %d of its singular values are known, %d are needed", path, len(d.Sigma), known)
	}
	for _, shard := range s.Manifest().Shards {
		d.Shards = append(d.Shards, filepath.Join(path, shard.Name))
	}
	for i := range s.NumBlocks() {
		b := s.Block(i)
		d.Decoded += s.DecodedSize(int64(b.Rows), int64(b.NNZ))
	}
	return d, nil
}

// forget drops the store from the page cache, so that the next process to read it is charged for its pages.
func (s *dataset) forget() error { return cgroup.Forget(s.Shards...) }

// median returns the median of at least one number.
func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// TestResult builds the program, makes a store with known values, decomposes it, and checks the
// result and the times that are read.
func TestResult(t *testing.T) {
	if !longtest.On() {
		t.Skip("builds the program")
	}
	p := harness.Open(t, "")
	dir := t.TempDir()
	store, out := filepath.Join(dir, "m.csr"), filepath.Join(dir, "out")
	must.Do(t, p.Do(t.Context(), "generate", "spectrum", "-q", "--rows", "3000", "--cols", "500", "-o", store))
	s, err := openStore(store, 4)
	if err != nil || s.Rows != 3000 || s.NNZ == 0 || s.Decoded < 4*s.NNZ || len(s.Shards) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := openStore(store, 501); err == nil || !strings.Contains(err.Error(), "500 of its singular values are known, 501 are needed") {
		t.Errorf("got %v", err)
	}
	run, err := p.Run(t.Context(), nil, "svd", store, "-k", "4", "-o", out, "-q", "--json")
	if err != nil || run.Seconds <= 0 || run.Group != nil {
		t.Fatalf("%+v, %v", run, err)
	}
	var r result
	must.Do(t, run.Decode(&r))
	times, err := readPasses(out)
	if err != nil || len(times.Seconds) < 2 || len(times.Seconds) > r.Passes || len(times.Between) != len(times.Seconds) || times.Finish <= 0 {
		t.Errorf("%+v, %v of %d passes", times, err, r.Passes)
	}
	if worst, wrong := r.judge(s.Sigma, 1<<40); worst > wrongBy || wrong != "" || r.PeakRSS == 0 || !strings.HasPrefix(r.flags(), "krylov --block ") {
		t.Errorf("%g %q %+v", worst, wrong, r)
	}
	if _, wrong := r.judge(s.Sigma, r.PeakRSS-1); !strings.Contains(wrong, "were resident") {
		t.Errorf("more than the budget: %q", wrong)
	}
	if _, wrong := r.judge(s.Sigma[1:], 1<<40); !strings.Contains(wrong, "a value is off by") {
		t.Errorf("other values: %q", wrong)
	}
	r.Converged--
	if _, wrong := r.judge(s.Sigma, 1<<40); wrong != "3 of 4 triplets are certified" {
		t.Errorf("not all converged: %q", wrong)
	}
	if _, err := p.Run(t.Context(), nil, "svd", store); err == nil || !strings.Contains(err.Error(), "gdsvd svd: exit status 2 gdsvd: the number of triplets is missing") {
		t.Errorf("got %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1}, 3}, {[]float64{9, 1, 2}, 2}} {
		x := append([]float64(nil), c.x...)
		if m := median(x); m != c.want || !reflect.DeepEqual(x, c.x) {
			t.Errorf("of %v: %g", c.x, m)
		}
	}
}
