package factor

import (
	"errors"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/internal/percent"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
)

func (t *task) pairs() bool { return t.Which != solver.Semidefinite }

func (t *task) wanted() string {
	if t.pairs() {
		return "eigenpairs"
	}
	return "triplets"
}

func (t *task) which() string {
	if t.pairs() {
		return t.Which.String()
	}
	return ""
}

// beside returns the bytes that eigenpairs take in addition to RunFootprint.
func (t *task) beside(m method.Method) int64 {
	if t.pairs() {
		return solver.PairsFootprint(m, int(t.store.Cols()), t.Rank)
	}
	return 0
}

// planPairs sets the options of eigenpairs. It returns an error unless rows and columns have the same ids.
func (t *task) planPairs() error {
	if !t.pairs() {
		return nil
	}
	t.Operator = solver.Symmetric
	if t.Vectors != None {
		t.Vectors = Right
	}
	if rows, cols := Dims(t.store); rows != cols {
		return says(solver.ErrNotSymmetric, "a %d × %d matrix has no eigenpairs: give a symmetric one, such as a graph that was ingested as undirected, or compute its singular triplets", rows, cols)
	}
	at, row, col, err := differ(t.store)
	if err == nil && at >= 0 {
		err = says(solver.ErrNotSymmetric, "row %d is %v and column %d is %v, counted from 0: eigenvectors are of a matrix whose rows and columns have the same ids, such as a graph that was ingested as undirected; singular triplets are of any", at, row, at, col)
	}
	return err
}

// differ returns the first row of a square store whose id differs from that of the column, and both ids; at is −1 if none does.
func differ(store *csr.Store) (at int64, row, col any, err error) {
	rows, cols := csr.Orient(store, csr.RowAxis, csr.ColAxis)
	r, err := store.IDs(rows)
	if err != nil {
		return -1, nil, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	c, err := store.IDs(cols)
	if err != nil {
		return -1, nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for at := int64(0); r.Next() && c.Next(); at++ {
		if r.Kind() != c.Kind() || r.Int() != c.Int() || r.Kind() == csr.StringIDs && r.String() != c.String() {
			return at, source.Value(r), source.Value(c), nil
		}
	}
	return -1, nil, nil, errors.Join(r.Err(), c.Err())
}

// pairsError returns the error of a run for eigenpairs with what can be done about it, or nil if err is not about the matrix.
func (t *task) pairsError(err error) error {
	var at *solver.AsymmetryError
	switch {
	case !t.pairs():
	case errors.As(err, &at):
		row, col := t.read.IDOf(csr.RowAxis, int64(at.Row)), t.read.IDOf(csr.ColAxis, int64(at.Col))
		return says(err, "the matrix is not symmetric: row %s has %.6g in column %s, and row %s has %.6g in column %s; eigenpairs are of a symmetric matrix, singular triplets of any",
			row, at.Entry, col, col, at.Mirror, row)
	case errors.Is(err, solver.ErrNotSymmetric):
		return says(err, "%v; eigenpairs are of a symmetric matrix, singular triplets of any", err)
	case errors.Is(err, solver.ErrNotDefinite):
		return says(err, "%v; take a larger %v, or none, which is always enough", err, Option("Shift"))
	case errors.Is(err, solver.ErrShift):
		return says(err, "%v; take a %v of ‖A‖, or none, which is always enough", err, Option("Shift"))
	}
	return nil
}

// Target says how far Options.Energy was reached: see solver.Target.
type Target struct {
	Share    float64 `json:"share"`    // the share that was asked for
	Before   Number  `json:"before"`   // the share that the triplets without the last one capture
	Error    Number  `json:"error"`    // upper bound, from the residuals and `outside`, on how much larger the share of as many exact leading triplets is
	Reached  bool    `json:"reached"`  // whether `energy` is at least the share asked for
	Smallest bool    `json:"smallest"` // whether no smaller number of triplets reaches the share: `before` and `error` add up to less
}

// asMany reports whether a result has as many triplets as the task asks for.
func (t *task) asMany(r *Result) bool {
	if t.Energy == 0 {
		return r.K == t.Rank
	}
	return r.Settings.Energy == t.Energy && r.Settings.MaxRank == t.Rank
}

// sayTarget warns if the largest number of triplets allowed does not reach the share asked for.
func (t *task) sayTarget(r *Result) {
	if g := r.Target; g != nil && !g.Reached && r.K == t.Rank {
		t.Log.Warn("the largest number of triplets does not capture the share asked for", "triplets", r.K,
			"captured", percent.Text(float64(r.Energy), t.Energy, 'g', 4), "asked", percent.Text(t.Energy, 1, 'g', 4))
	}
}
