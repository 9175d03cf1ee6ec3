package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// Result is what is of interest of a result.json, which gdsvd svd --json prints.
type Result struct {
	Status        string                     `json:"status"`
	Certified     bool                       `json:"certified"`
	Converged     int                        `json:"converged"`
	Sigma         []float64                  `json:"sigma"`
	Residual      []float64                  `json:"residual"`
	Orthogonality struct{ U, V float64 }     `json:"orthogonality"`
	Passes        int                        `json:"passes"`
	PeakRSS       int64                      `json:"peak_rss"`
	VectorFiles   int64                      `json:"vector_files"`
	VectorsRead   int64                      `json:"vectors_read"`
	VectorsWrote  int64                      `json:"vectors_written"`
	Settings      map[string]json.RawMessage `json:"settings"`
}

// Method is the method with its widths, as flags.
func (r *Result) Method() string {
	method := strings.Trim(string(r.Settings["method"]), `"`)
	for _, width := range []string{"block", "basis"} {
		if n, ok := r.Settings[width]; ok {
			method += fmt.Sprintf(" --%s %s", width, n)
		}
	}
	return method
}

// Wrong is how far from the truth a value may be, relatively.
const Wrong = 1e-10

// Judge compares a result with the true values, as many at least, and the budget
// of the run. It returns the worst relative error, and what is wrong, if anything.
func (r *Result) Judge(truth []float64, memory int64) (worst float64, wrong string) {
	for i, sigma := range r.Sigma {
		worst = max(worst, math.Abs(sigma-truth[i])/truth[i])
	}
	switch {
	case !r.Certified || r.Converged < len(r.Sigma):
		wrong = fmt.Sprintf("%d of %d triplets are certified", r.Converged, len(r.Sigma))
	case !(worst <= Wrong):
		wrong = fmt.Sprintf("a value is off by %.2g", worst)
	case r.PeakRSS > memory:
		wrong = fmt.Sprintf("%d bytes were resident", r.PeakRSS)
	}
	return worst, wrong
}

// Passes is what an iteration took, pass by pass.
type Passes struct {
	Seconds []float64 // of each pass
	Between []float64 // seconds from one to the next
	Read    int64     // bytes of the store that the last one has read
	Finish  float64   // seconds of what comes after the iteration
}

// ReadPasses reads the events of the result in a directory.
func ReadPasses(dir string) (p Passes, err error) {
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

// Store is what is known of a store to measure with.
type Store struct {
	Path            string
	Rows, Cols, NNZ int64
	Bytes           int64
	Decoded         int64     // bytes
	Sigma           []float64 // the true ones; nil if they are not known
	Shards          []string  // its files, but for the small ones
}

// OpenStore looks at a store. One of which fewer than known true values are there is an error.
func OpenStore(path string, known int) (_ *Store, err error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d := &Store{Path: path, Rows: s.Rows(), Cols: s.Cols(), NNZ: s.NNZ(), Bytes: s.Size()}
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

// Forget drops the store from the page cache, so that who reads it next is charged for it.
func (s *Store) Forget() error { return cgroup.Forget(s.Shards...) }
