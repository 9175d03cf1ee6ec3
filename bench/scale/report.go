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
	K       int      `json:"k"`
	CPUs    int      `json:"cpus"`
	Rows    []row    `json:"runs"`
	Budgets *budgets `json:"budgets,omitempty"`
	// Constants is by size.
	Constants []constant `json:"constants,omitempty"`
}

// openReport reads what was measured before.
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

func (r *report) hasConstants(nnz int64) bool {
	return slices.ContainsFunc(r.Constants, func(c constant) bool { return c.NNZ == nnz })
}

func (r *report) write(name string) error {
	slices.SortFunc(r.Constants, func(a, b constant) int { return cmp.Compare(a.NNZ, b.NNZ) })
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
	if len(r.Constants) > 0 {
		b.WriteString("\nMilliseconds, the first time after the store was dropped from the page cache, and again (`--explain` without the time it measures the machine for):\n\n" +
			"| entries | blocks | open, first | again | `info`, first | again | `svd --explain`, first | again |\n|---|---|---|---|---|---|---|---|\n")
		for _, c := range r.Constants {
			fmt.Fprintf(&b, "| %.3g | %d |", float64(c.NNZ), c.Blocks)
			for _, t := range []timing{c.Open, c.Info, c.Explain} {
				fmt.Fprintf(&b, " %.3g | %.3g |", 1e3*t.First, 1e3*t.Again)
			}
			b.WriteString("\n")
		}
	}
	if u := r.Budgets; u != nil {
		same := "all three files are the same bits"
		if !u.Same {
			same = "**the bits differ**"
		}
		fmt.Fprintf(&b, "\n%.3g entries under several budgets: %s\n\n| budget | peak RSS | a pass reads | s/pass | sigma.npy | U.npy | V.npy |\n|---|---|---|---|---|---|---|\n", float64(u.NNZ), same)
		for _, w := range u.Runs {
			fmt.Fprintf(&b, "| %s | %s | %.0f %% | %.3g | %.12s | %.12s | %.12s |\n", mib(w.Memory), mib(w.PeakRSS), 100*float64(w.ReadPass)/float64(w.Bytes),
				w.Pass, w.Files["sigma.npy"], w.Files["U.npy"], w.Files["V.npy"])
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
	if r.Budgets != nil && !r.Budgets.Same {
		all = append(all, errors.New("the bits depend on the budget"))
	}
	return errors.Join(all...)
}

func mib(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
