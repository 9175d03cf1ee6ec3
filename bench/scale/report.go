package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
)

// report is NAME.json.
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
		if c := slices.Index(allRegimes, a.Regime) - slices.Index(allRegimes, b.Regime); c != 0 {
			return c
		}
		return cmp.Compare(a.NNZ, b.NNZ)
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
	for _, regime := range fixed {
		if low, high, ok := r.spread(regime); ok {
			fmt.Fprintf(&b, "\n%s: %.2f to %.2f ns an entry, a ratio of %.2f\n", regime, low, high, high/low)
		}
	}
	return b.String()
}

// spread is the least and the most a pass takes an entry in a regime.
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

// verdict is an error if something measured is not as it must be. What costs
// time is no part of it: that is for people to look at.
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
