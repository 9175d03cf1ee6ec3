package check

import (
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
)

// Report is what Result has found.
type Report struct {
	Dir      string
	Sealed   bool         // there are checksums, and they were compared
	Bytes    int64        // of files that were read
	Problems []error      // that make the result unfit for use
	Warnings []string     //
	Measured *Measurement // with Options.Store

	what   string         // there is
	stated *factor.Result // by result.json; nil if there is none, or none that can be read
}

// Sound says what is known of a result without problems.
func (r *Report) Sound() string { return fmt.Sprintf(r.what, r.Dir, memory.FormatSize(r.Bytes)) }

// Continue is what factor.Result.Continue says of the result; "" if there is none.
func (r *Report) Continue() string {
	if r.stated == nil {
		return ""
	}
	return r.stated.Continue()
}

// Err is the error of a result that is damaged or not what it states, or nil.
func (r *Report) Err() error {
	switch n := len(r.Problems); {
	case n == 1:
		return says(csr.ErrCorrupt, "%s: 1 problem found; compute what is damaged again", r.Dir)
	case n > 1:
		return says(csr.ErrCorrupt, "%s: %d problems found; compute what is damaged again", r.Dir, n)
	case r.Measured == nil && r.stated != nil && r.stated.Status != "" && r.stated.Status != solver.Converged.String():
		return says(factor.ErrNotConverged, "%s is whole, but has not converged: its status is %.60q", r.Dir, r.stated.Status)
	case r.Measured == nil:
		return nil
	}
	return r.Measured.verdict(r.Dir)
}
