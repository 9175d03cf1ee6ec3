package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// The regimes.
const (
	limited   = "limit"
	streaming = "streaming"
	disk      = "disk"
	resident  = "resident"
)

// fixed are those with a method that is always the same.
var fixed = []string{streaming, disk, resident}

var allRegimes = append([]string{limited}, fixed...)

// row is one run.
type row struct {
	Regime string `json:"regime"`
	Rows   int64  `json:"rows"`
	Cols   int64  `json:"cols"`
	NNZ    int64  `json:"nnz"`
	Bytes  int64  `json:"bytes"` // of the store

	Memory   int64         `json:"memory"` // budget
	Limit    int64         `json:"limit"`  // of the cgroup; 0: none
	PeakRSS  int64         `json:"peak_rss"`
	Group    *cgroup.Usage `json:"cgroup,omitempty"`
	Method   string        `json:"method"`
	Status   string        `json:"status"`
	Passes   int           `json:"passes"`
	Wall     float64       `json:"wall"`    // seconds from start to exit
	Seconds  []float64     `json:"seconds"` // of each pass of the iteration
	Pass     float64       `json:"pass"`    // median of Seconds without the first
	ReadPass int64         `json:"read"`    // bytes of the store that such a pass reads

	// Of vectors in files, bytes, and of what comes between passes and after them, seconds.
	VectorFiles  int64   `json:"vector_files,omitempty"`
	VectorsRead  int64   `json:"vectors_read,omitempty"`
	VectorsWrote int64   `json:"vectors_written,omitempty"`
	Between      float64 `json:"between"` // median
	Finish       float64 `json:"finish"`

	Residual      float64 `json:"residual"`      // worst certified one
	Orthogonality float64 `json:"orthogonality"` // of U or V, the worse
	Error         float64 `json:"error"`         // worst relative difference to the truth
	Wrong         string  `json:"wrong,omitempty"`
}

// measure has a store decomposed. The row is nil if the store is no case for the regime:
// too large for this machine, or too small for the disk to matter.
func (o *options) measure(s *harness.Store, regime string) (*row, error) {
	r := &row{Regime: regime, Rows: s.Rows, Cols: s.Cols, NNZ: s.NNZ, Bytes: s.Bytes}
	flags := o.method
	switch regime {
	case limited:
		r.Memory, flags = o.memory, nil
		r.Limit = r.Memory + headroom
	case streaming:
		r.Memory = o.streamMemory
		r.Limit = r.Memory + headroom + s.Bytes
	case disk:
		r.Memory = o.streamMemory
		r.Limit = r.Memory + headroom
		if s.Bytes < 2*r.Limit {
			return nil, nil
		}
	case resident:
		r.Memory = s.Decoded + s.Decoded/32 + 256<<20
		if free := available(); r.Memory > free/4*3 {
			return nil, nil
		}
	}
	out := filepath.Join(o.dir, "scale.svd")
	if err := o.decompose(s, r, out, flags); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.Path, regime, err)
	}
	log.Printf("%s: %s: %.3g s a pass, %.3g ns an entry, %d passes, %.4g s in all; error %.1g %s",
		s.Path, regime, r.Pass, r.nanoseconds(), r.Passes, r.Wall, r.Error, r.Wrong)
	return r, os.RemoveAll(out)
}

func (o *options) decompose(s *harness.Store, r *row, out string, flags []string) (err error) {
	if err := s.Forget(); err != nil {
		return err
	}
	g, err := o.group(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Remove()) }()
	args := []string{"svd", s.Path, "-k", strconv.Itoa(o.rank), "-o", out, "--force", "--json", "--memory", strconv.FormatInt(r.Memory, 10)}
	run, err := o.gdsvd.Run(context.Background(), g, append(args, flags...)...)
	if err != nil {
		return err
	}
	r.Group, r.Wall = run.Group, run.Seconds
	var res harness.Result
	if err := run.Decode(&res); err != nil {
		return err
	}
	r.Status, r.Method, r.Passes, r.PeakRSS = res.Status, res.Method(), res.Passes, res.PeakRSS
	r.Residual = slices.Max(res.Residual)
	r.Orthogonality = max(res.Orthogonality.U, res.Orthogonality.V)
	r.Error, r.Wrong = res.Judge(s.Sigma, r.Memory)
	passes, err := harness.ReadPasses(out)
	if err != nil {
		return err
	}
	r.VectorFiles, r.VectorsRead, r.VectorsWrote = res.VectorFiles, res.VectorsRead, res.VectorsWrote
	r.Seconds, r.ReadPass, r.Between, r.Finish = passes.Seconds, passes.Read, harness.Median(passes.Between), passes.Finish
	r.Pass = harness.Median(r.Seconds[1:])
	return nil
}

// group makes a group with the limit of the row, if it has one.
func (o *options) group(r *row) (*cgroup.Group, error) {
	if r.Limit == 0 {
		return nil, nil
	}
	g, err := cgroup.New("gdsvd-scale", r.Limit)
	if errors.Is(err, cgroup.ErrUnavailable) && o.unlimited {
		log.Print(err)
		r.Limit = 0
		return nil, nil
	}
	return g, err
}

func (r *row) nanoseconds() float64 { return r.Pass * 1e9 / float64(r.NNZ) }

// available is the memory that the machine has left, or no limit where it does not tell.
func available() int64 { return cmp.Or(memory.Available(), math.MaxInt64) }
