package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/bench/memgroup"
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

	Memory   int64           `json:"memory"` // budget
	Limit    int64           `json:"limit"`  // of the cgroup; 0: none
	PeakRSS  int64           `json:"peak_rss"`
	Group    *memgroup.Usage `json:"cgroup,omitempty"`
	Method   string          `json:"method"`
	Status   string          `json:"status"`
	Passes   int             `json:"passes"`
	Wall     float64         `json:"wall"`    // seconds from start to exit
	Seconds  []float64       `json:"seconds"` // of each pass of the iteration
	Pass     float64         `json:"pass"`    // median of Seconds without the first
	ReadPass int64           `json:"read"`    // bytes of the store that such a pass reads

	Residual      float64 `json:"residual"`      // worst certified one
	Orthogonality float64 `json:"orthogonality"` // of U or V, the worse
	Error         float64 `json:"error"`         // worst relative difference to the truth
	Wrong         string  `json:"wrong,omitempty"`
}

// measure has a store decomposed. The row is nil if the store is no case for the regime:
// too large for this machine, or too small for the disk to matter.
func (o *options) measure(s *store, regime string) (*row, error) {
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
		r.Memory = s.Decoded + 256<<20
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

// decompose runs gdsvd svd and fills in what came of it.
func (o *options) decompose(s *store, r *row, out string, flags []string) error {
	if err := memgroup.Forget(s.files...); err != nil {
		return err
	}
	args := []string{"svd", s.Path, "-k", strconv.Itoa(o.rank), "-o", out, "--force", "--json", "--memory", strconv.FormatInt(r.Memory, 10)}
	cmd := exec.Command(o.program, append(args, flags...)...)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	start := time.Now()
	if err := o.inGroup(cmd, r); err != nil {
		return err
	}
	r.Wall = time.Since(start).Seconds()
	if err := r.result(stdout.Bytes(), s); err != nil {
		return err
	}
	return r.passes(filepath.Join(out, "events.jsonl"))
}

// inGroup runs a process within the limit of the row, if it has one.
func (o *options) inGroup(cmd *exec.Cmd, r *row) (err error) {
	if r.Limit == 0 {
		return cmd.Run()
	}
	g, err := memgroup.New("gdsvd-scale", r.Limit)
	if errors.Is(err, memgroup.ErrUnavailable) && o.unlimited {
		log.Print(err)
		r.Limit = 0
		return cmd.Run()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Remove()) }()
	err = g.Command(cmd).Run()
	usage, e := g.Usage()
	r.Group = &usage
	if usage.Killed > 0 {
		err = fmt.Errorf("killed by the kernel for want of memory: %w", err)
	}
	return errors.Join(err, e)
}

// result reads what gdsvd has printed and holds it against the truth.
func (r *row) result(printed []byte, s *store) error {
	var res struct {
		Status        string                 `json:"status"`
		Certified     bool                   `json:"certified"`
		Converged     int                    `json:"converged"`
		Sigma         []float64              `json:"sigma"`
		Residual      []float64              `json:"residual"`
		Orthogonality struct{ U, V float64 } `json:"orthogonality"`
		Passes        int                    `json:"passes"`
		PeakRSS       int64                  `json:"peak_rss"`
		Settings      struct {
			Method string
			Block  float64
			Basis  float64
		} `json:"settings"`
	}
	if err := json.Unmarshal(printed, &res); err != nil {
		return fmt.Errorf("read what gdsvd printed: %w", err)
	}
	r.Status, r.Passes, r.PeakRSS = res.Status, res.Passes, res.PeakRSS
	r.Method = fmt.Sprintf("%s --block %g --basis %g", res.Settings.Method, res.Settings.Block, res.Settings.Basis)
	r.Residual = slices.Max(res.Residual)
	r.Orthogonality = max(res.Orthogonality.U, res.Orthogonality.V)
	if len(res.Sigma) > len(s.Sigma) {
		return fmt.Errorf("only %d values are known of %d", len(s.Sigma), len(res.Sigma))
	}
	for i, sigma := range res.Sigma {
		r.Error = max(r.Error, math.Abs(sigma-s.Sigma[i])/s.Sigma[i])
	}
	switch {
	case !res.Certified || res.Converged < len(res.Sigma):
		r.Wrong = fmt.Sprintf("%d of %d triplets are certified", res.Converged, len(res.Sigma))
	case !(r.Error <= wrong):
		r.Wrong = fmt.Sprintf("a value is off by %.2g", r.Error)
	case r.PeakRSS > r.Memory:
		r.Wrong = fmt.Sprintf("%d bytes were resident", r.PeakRSS)
	}
	return nil
}

// passes reads the events and finds out what the passes of the iteration took.
func (r *row) passes(events string) error {
	f, err := os.Open(events)
	if err != nil {
		return err
	}
	defer f.Close()
	var time float64
	var read int64
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var e struct {
			Phase   string
			Bytes   int64 `json:"bytes_read"`
			Seconds struct{ Multiply, Wait float64 }
		}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			return err
		}
		if e.Phase != "iterate" {
			continue
		}
		now := e.Seconds.Multiply + e.Seconds.Wait
		r.Seconds = append(r.Seconds, now-time)
		r.ReadPass = e.Bytes - read
		time, read = now, e.Bytes
	}
	if len(r.Seconds) < 2 {
		return errors.New("fewer than two passes: nothing to measure")
	}
	r.Pass = median(r.Seconds[1:])
	return nil
}

// nanoseconds is what a pass takes an entry.
func (r *row) nanoseconds() float64 { return r.Pass * 1e9 / float64(r.NNZ) }

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// available is the memory that Linux can give without swapping, or no limit elsewhere.
func available() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return math.MaxInt64
}
