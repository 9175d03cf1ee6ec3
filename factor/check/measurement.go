package check

import "github.com/gdsvd/gdsvd/factor"

// Measurement is what Result has measured on the matrix, in the user's
// orientation, triplets in descending order of sigma.
type Measurement struct {
	Store  string          `json:"store"`
	View   string          `json:"view,omitempty"` // of the store, that the result is of
	Rows   int64           `json:"rows"`
	Cols   int64           `json:"cols"`
	NNZ    int64           `json:"nnz"`
	K      int             `json:"k"`
	Passes int             `json:"passes"`
	Time   float64         `json:"seconds"`
	Sigma  []factor.Number `json:"sigma,omitempty"`
	Lambda []factor.Number `json:"lambda,omitempty"` // of eigenpairs, in the order of the result
	// Residual is the larger of Left, ‖Av−σu‖/σ₁, and Right, ‖Aᵀu−σv‖/σ₁. Of an eigenpair σ is |λ|, u is v
	// with the sign of λ, and for σ₁ there is the norm that the result states, or else the largest |λ|.
	Residual []factor.Number `json:"residual"`
	Left     []factor.Number `json:"left"`
	Right    []factor.Number `json:"right"`
	// Floor is what the rounding of the measurement may add to a residual.
	Floor         factor.Number        `json:"floor"`
	Orthogonality factor.Orthogonality `json:"orthogonality"`     // null for vectors that are not there
	Implied       string               `json:"implied,omitempty"` // "U" or "V", if it is not there and was taken from the other
	Stated        *Stated              `json:"stated,omitempty"`  // by result.json
	Tol           *float64             `json:"tol,omitempty"`     // what residuals and orthogonality are compared with
	Misses        []int                `json:"misses"`            // triplets, from 0 on, that are not as stated or not within --tol
	asked         bool                 // Tol is that of --tol
	loose         float64              // the largest of Orthogonality
}

// Stated is what result.json says of what was measured.
type Stated struct {
	Residual      []factor.Number      `json:"residual"`
	Floor         []factor.Number      `json:"floor,omitempty"` // what rounding may hide of each residual; absent if it says nothing of it
	Orthogonality factor.Orthogonality `json:"orthogonality"`
	Certified     bool                 `json:"certified"`
}
