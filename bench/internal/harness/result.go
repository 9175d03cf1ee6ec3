package harness

import "encoding/json"

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
