package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// report is NAME.json.
type report struct {
	Rows  int64 `json:"rows"`
	Cols  int64 `json:"cols"`
	NNZ   int64 `json:"nnz"`
	Bytes int64 `json:"bytes"` // of the store
	K     int   `json:"k"`

	Memory    int64        `json:"memory"` // budget
	Limit     int64        `json:"limit"`  // of the control group
	Group     cgroup.Usage `json:"cgroup"`
	Explained string       `json:"explained"`
	Wall      float64      `json:"wall"`    // seconds from start to exit
	Pass      float64      `json:"pass"`    // median seconds of a pass of the iteration
	Between   float64      `json:"between"` // median seconds from one to the next
	Finish    float64      `json:"finish"`  // seconds of finishing

	Result harness.Result `json:"result"`
	Error  float64        `json:"error"` // worst relative difference to the truth
	Wrong  string         `json:"wrong,omitempty"`
}

func (r *report) markdown() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	s := r.Result
	fmt.Fprintf(&b, "%d × %d, %.3g entries, %d triplets to 1e-8\n\n| | |\n|---|---|\n", r.Rows, r.Cols, float64(r.NNZ), r.K)
	line("store", "%d MiB, %.2f bytes an entry", r.Bytes>>20, float64(r.Bytes)/float64(r.NNZ))
	line("one vector", "%d MiB", 8*r.Cols>>20)
	line("`--memory`", "%d MiB", r.Memory>>20)
	line("control group, page cache included", "%d MiB; most charged %d MiB; %d killed", r.Limit>>20, r.Group.Peak>>20, r.Group.Killed)
	line("peak resident", "%d MiB", s.PeakRSS>>20)
	line("vectors in files", "%d MiB at most", s.VectorFiles>>20)
	line("vectors read and written", "%d and %d MiB", s.VectorsRead>>20, s.VectorsWrote>>20)
	line("store read", "%d MiB", s.BytesRead>>20)
	line("passes", "%d, %.3g s each, %.3g s between two", s.Passes, r.Pass, r.Between)
	line("finishing", "%.4g s", r.Finish)
	line("in all", "%.4g s", r.Wall)
	line("residuals", "%.1e", slices.Max(s.Residual))
	line("orthogonality of U and V", "%.1e, %.1e", s.Orthogonality.U, s.Orthogonality.V)
	line("largest relative error of σ against the truth", "%.1e", r.Error)
	if r.Wrong != "" {
		line("**wrong**", "%s", r.Wrong)
	}
	fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.TrimSpace(r.Explained))
	return b.String()
}
