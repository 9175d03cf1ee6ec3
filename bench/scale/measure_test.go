package scale

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/memory"
)

const (
	limited   = "limit"
	streaming = "streaming"
	disk      = "disk"
	resident  = "resident"
)

var allRegimes = []string{limited, streaming, disk, resident}

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
	ReadPass int64         `json:"read"`    // bytes of the store that a pass after the first reads

	// Bytes of the files of vectors, and seconds between passes and after them.
	VectorFiles  int64   `json:"vector_files,omitempty"`
	VectorsRead  int64   `json:"vectors_read,omitempty"`
	VectorsWrote int64   `json:"vectors_written,omitempty"`
	Between      float64 `json:"between"` // median
	Finish       float64 `json:"finish"`

	Residual      float64 `json:"residual"`      // the largest certified residual
	Orthogonality float64 `json:"orthogonality"` // the larger of those of U and V
	Error         float64 `json:"error"`         // largest relative difference to the known values
	Wrong         string  `json:"wrong,omitempty"`
}

// measure decomposes a store. It returns a nil row if the store does not fit the regime: too large
// for this machine, or too small for the disk to matter.
func (o *options) measure(s *dataset, regime string) (*row, error) {
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
		if free := cmp.Or(memory.Available(), math.MaxInt64); r.Memory > free/4*3 { // Available is 0 on some systems
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

func (o *options) decompose(s *dataset, r *row, out string, flags []string) (err error) {
	if err := s.forget(); err != nil {
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
	var res result
	if err := run.Decode(&res); err != nil {
		return err
	}
	r.Status, r.Method, r.Passes, r.PeakRSS = res.Status, res.flags(), res.Passes, res.PeakRSS
	r.Residual = slices.Max(res.Residual)
	r.Orthogonality = max(res.Orthogonality.U, res.Orthogonality.V)
	r.Error, r.Wrong = res.judge(s.Sigma, r.Memory)
	times, err := readPasses(out)
	if err != nil {
		return err
	}
	r.VectorFiles, r.VectorsRead, r.VectorsWrote = res.VectorFiles, res.VectorsRead, res.VectorsWrote
	r.Seconds, r.ReadPass, r.Between, r.Finish = times.Seconds, times.Read, median(times.Between), times.Finish
	r.Pass = median(r.Seconds[1:])
	return nil
}

// group makes a cgroup with the limit of the row, or returns nil if the row has none.
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

type report struct {
	K    int   `json:"k"`
	CPUs int   `json:"cpus"`
	Rows []row `json:"runs"`
}

func openReport(o *options) (*report, error) {
	r := &report{K: o.rank, CPUs: runtime.NumCPU()}
	data, err := os.ReadFile(o.out + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err == nil && r.K != o.rank {
		err = fmt.Errorf("%s.json is of %d triplets", o.out, r.K)
	}
	return r, err
}

func (r *report) has(nnz int64, regime string) bool {
	return slices.ContainsFunc(r.Rows, func(w row) bool { return w.NNZ == nnz && w.Regime == regime })
}

func (r *report) write(name string) error {
	slices.SortStableFunc(r.Rows, func(a, b row) int {
		return cmp.Or(slices.Index(allRegimes, a.Regime)-slices.Index(allRegimes, b.Regime), cmp.Compare(a.NNZ, b.NNZ))
	})
	return harness.Write(name, r, r.markdown())
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d triplets to 1e-8, %d CPUs\n\n", r.K, r.CPUs)
	b.WriteString("| regime | entries | shape | bytes/entry | budget | cgroup | peak RSS | passes | s/pass | MB/s | ns/entry | total | residual | error of σ | |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, w := range r.Rows {
		fmt.Fprintf(&b, "| %s | %.3g | %d × %d | %.2f | %s | %s | %s | %d | %.3g | %.0f | %.2f | %.4g s | %.1e | %.1e | %s |\n",
			w.Regime, float64(w.NNZ), w.Rows, w.Cols, float64(w.Bytes)/float64(w.NNZ), mib(w.Memory), mib(w.Limit), mib(w.PeakRSS),
			w.Passes, w.Pass, float64(w.ReadPass)/1e6/w.Pass, w.nanoseconds(), w.Wall, w.Residual, w.Error, w.Wrong)
	}
	for _, w := range r.Rows {
		if w.VectorFiles > 0 {
			fmt.Fprintf(&b, "\n%.3g entries, %s: vectors in files %s at most, %s read, %s written; %.3g s between two passes, %.3g s of finishing\n",
				float64(w.NNZ), w.Regime, mib(w.VectorFiles), mib(w.VectorsRead), mib(w.VectorsWrote), w.Between, w.Finish)
		}
	}
	for _, regime := range allRegimes[1:] {
		if low, high, ok := r.spread(regime); ok {
			fmt.Fprintf(&b, "\n%s: %.2f to %.2f ns an entry, a ratio of %.2f\n", regime, low, high, high/low)
		}
	}
	return b.String()
}

// spread returns the least and the largest time per entry of a pass in a regime.
func (r *report) spread(regime string) (low, high float64, ok bool) {
	for _, w := range r.Rows {
		if ns := w.nanoseconds(); w.Regime == regime {
			if !ok {
				low, high, ok = ns, ns, true
			}
			low, high = min(low, ns), max(high, ns)
		}
	}
	return low, high, ok
}

// verdict returns an error if a measured result is wrong. Times are not judged.
func (r *report) verdict() error {
	var all []error
	for _, w := range r.Rows {
		if w.Wrong != "" {
			all = append(all, fmt.Errorf("%.3g entries, %s: %s", float64(w.NNZ), w.Regime, w.Wrong))
		}
	}
	return errors.Join(all...)
}

func mib(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
