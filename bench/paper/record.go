package main

// Record is what one case has given. Fields that mean nothing for its experiment
// are zero.
type Record struct {
	Key        string  `json:"key"`
	Experiment string  `json:"experiment"`
	Matrix     string  `json:"matrix"`
	Rows       int64   `json:"rows,omitempty"`
	Cols       int64   `json:"cols,omitempty"`
	Bytes      int64   `json:"bytes,omitempty"` // of the store
	Rank       int     `json:"k,omitempty"`
	Gap        float64 `json:"gap,omitempty"` // σ₁−σ₂
	A          float64 `json:"a,omitempty"`   // parameters drawn for the values
	B          float64 `json:"b,omitempty"`
	Rejected   int     `json:"rejected,omitempty"` // draws of them that were refused

	Method   string  `json:"method"`
	Beta     float64 `json:"beta,omitempty"` // the best of those tried
	Status   string  `json:"status"`
	Passes   int     `json:"passes"` // products with the whole matrix
	Products int64   `json:"products"`
	Seconds  float64 `json:"seconds"`

	ErrSigma   float64 `json:"err_sigma"`          // ε_Σ
	ErrVectors float64 `json:"err_vectors"`        // ε_{U,V}
	Residual   float64 `json:"residual,omitempty"` // the largest that was certified

	Points []Point `json:"points,omitempty"`
}

// Point is what a run that is stopped early has to show.
type Point struct {
	Passes  int     `json:"passes"`
	Seconds float64 `json:"seconds"`
	Worst   float64 `json:"worst"` // largest residual of the k triplets
	Mean    float64 `json:"mean"`  // their geometric mean
}
