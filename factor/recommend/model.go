package recommend

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Scoring is how rows are scored: see the package.
type Scoring uint8

const (
	// Auto is History where the view weights columns, and Model elsewhere.
	Auto Scoring = iota
	Model
	History
)

// A Factorisation is what scores are made of: k triplets of a matrix. U and V fill a matrix of k columns with the
// rows from first on; U may be nil if scores are by History.
type Factorisation struct {
	Rows, Cols int64
	Sigma      []float64
	U, V       func(first int64, rows *mat.Dense) error
	View       view.Pipeline // of the matrix; nil: none
	Fold       *view.Fitted  // what makes h of the entries of a row in History; nil: see the package. It has no Q

	completed bool // by Predictions
}

// Of is the factorisation of a result. Its vectors are read when they are needed.
func Of(r *factor.Result) (*Factorisation, error) {
	if r.Settings.Which != "" {
		return nil, fmt.Errorf("%s has eigenpairs: scores are made of singular triplets", r.Dir())
	}
	f := &Factorisation{Rows: r.Rows, Cols: r.Cols, U: r.ReadU, V: r.ReadV}
	for _, s := range r.Sigma {
		f.Sigma = append(f.Sigma, float64(s))
	}
	if r.View != nil {
		p, err := view.Parse(r.View.Pipeline)
		if err != nil {
			return nil, fmt.Errorf("%s: view: %w", r.Dir(), err)
		}
		f.View = p
	}
	return f, nil
}

// Belongs is an error unless a result is of a store.
func Belongs(r *factor.Result, store *csr.Store) error {
	if r.Store.Fingerprint != store.Fingerprint() {
		return fmt.Errorf("%s is a result of another store: its fingerprint is %s (%s), that of %s is %s",
			r.Dir(), r.Store.Fingerprint, r.Store.Path, store.Path(), store.Fingerprint())
	}
	return nil
}

// scoring is how the rows are scored if nothing is said of it.
func (f *Factorisation) scoring(s Scoring) Scoring {
	switch {
	case s != Auto:
		return s
	case f.View.WeightsColumns():
		return History
	}
	return Model
}
