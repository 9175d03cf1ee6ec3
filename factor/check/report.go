package check

import (
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
)

// Report holds the findings of Result.
type Report struct {
	Dir      string
	Sealed   bool         // whether checksums exist and were compared
	Bytes    int64        // bytes of files that were read
	Problems []error      // problems that make the result unfit for use
	Warnings []string     // findings that do not make it unfit
	Measured *Measurement // nil without Options.Store

	what   string         // format of the sentence of Sound
	stated *factor.Result // contents of result.json; nil if it is missing or cannot be read
}

// Sound returns a sentence about a result without problems.
func (r *Report) Sound() string { return fmt.Sprintf(r.what, r.Dir, memory.FormatSize(r.Bytes)) }

// Continue returns factor.Result.Continue of the result; "" if result.json is missing or cannot be read.
func (r *Report) Continue() string {
	if r.stated == nil {
		return ""
	}
	return r.stated.Continue()
}

// Err returns the error of a result that is damaged, differs from its statements or has not converged, or nil.
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

// Measurement holds what Result measured on the matrix, in the user's orientation. Triplets are in descending order of sigma.
type Measurement struct {
	Store  string          `json:"store"`            // the store
	View   string          `json:"view,omitempty"`   // the view of the store that was measured
	Rows   int64           `json:"rows"`             // number of rows of the matrix
	Cols   int64           `json:"cols"`             // number of columns of the matrix
	NNZ    int64           `json:"nnz"`              // number of stored entries
	K      int             `json:"k"`                // number of triplets
	Passes int             `json:"passes"`           // number of passes over the matrix
	Time   float64         `json:"seconds"`          // seconds that the measurement took
	Sigma  []factor.Number `json:"sigma,omitempty"`  // the singular values, descending
	Lambda []factor.Number `json:"lambda,omitempty"` // eigenvalues, in the order of the result
	// the larger of `left` and `right` for each triplet. For an eigenpair, σ is |λ|, u is v with the sign of λ, and the residual is relative to the norm that the result states, or to the largest |λ| if it states none
	Residual      []factor.Number      `json:"residual"`
	Left          []factor.Number      `json:"left"`              // ‖Av − σu‖/σ₁ of each triplet
	Right         []factor.Number      `json:"right"`             // ‖Aᵀu − σv‖/σ₁ of each triplet
	Floor         factor.Number        `json:"floor"`             // bound on what the rounding of the measurement adds to a residual
	Orthogonality factor.Orthogonality `json:"orthogonality"`     // deviation of the vectors from orthonormality; null for vectors that the result does not have
	Implied       string               `json:"implied,omitempty"` // "U" or "V" if the result lacks it and it was computed from the other side; the residuals exclude what the rounding of the computed vectors may add
	Stated        *Stated              `json:"stated,omitempty"`  // what result.json states
	Tol           *float64             `json:"tol,omitempty"`     // tolerance for residuals and orthogonality
	Misses        []int                `json:"misses"`            // indices of the triplets that differ from what the result states, or exceed `--tol`
	asked         bool                 // whether Tol is that of --tol
	loose         float64              // larger one of the two numbers of Orthogonality
}

// Stated holds the statements of result.json about the measured quantities.
type Stated struct {
	Residual      []factor.Number      `json:"residual"`        // relative residual of each triplet
	Floor         []factor.Number      `json:"floor,omitempty"` // bound on the rounding error of each residual; absent if it is not stated
	Orthogonality factor.Orthogonality `json:"orthogonality"`   // deviation of the vectors from orthonormality
	Certified     bool                 `json:"certified"`       // whether the result is certified
}
