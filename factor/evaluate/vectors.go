package evaluate

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
)

// Vectors are a model of any program: a vector for each row and each column of the training store. Their inner products
// are its scores, and what it predicts.
type Vectors struct {
	Name       string
	Rows, Cols *csr.Store // a row for each vector, with ids of the training store; not transposed
}

func (e *evaluation) vectors(ctx context.Context, v Vectors, names [2]*factor.Names) error {
	_, k := factor.Dims(v.Rows)
	if _, of := factor.Dims(v.Cols); of != k {
		return fmt.Errorf("%s: vectors of rows have %d numbers, those of columns %d: want equally many", v.Name, k, of)
	}
	f := &recommend.Factorisation{Rows: e.rows, Cols: e.cols, Sigma: slices.Repeat([]float64{1}, int(k))}
	var err error
	if f.U, err = e.side(ctx, v, v.Rows, names[0], "rows"); err != nil {
		return err
	}
	if f.V, err = e.side(ctx, v, v.Cols, names[1], "columns"); err != nil {
		return err
	}
	m := e.model(&Model{Name: v.Name, K: int(k)})
	e.held = 8*(e.rows+e.cols) + 24*e.entries
	defer func() { e.held = 0 }()
	if e.lists {
		if err := e.list(ctx, m, f, recommend.Model); err != nil {
			return err
		}
	}
	if !e.rating {
		return nil
	}
	return e.rate(ctx, offset{columns: e.columns.plain()}, f, f.U, []*Model{m})
}

// side reads the vectors of rows or columns in the order of the training store.
func (e *evaluation) side(ctx context.Context, v Vectors, store *csr.Store, names *factor.Names, what string) (func(first int64, to *mat.Dense) error, error) {
	l, err := e.align(ctx, v.Name, store, names, what)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(l.place, -1); i >= 0 {
		id, err := names.ID(int64(i))
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %q of the %s of %s has no vector: want one for each, such as zeros", v.Name, id, what, e.trainStore.Path())
	}
	return func(first int64, to *mat.Dense) error {
		to.Zero()
		n, _ := to.Dims()
		for i := range n {
			cols, vals, err := l.row(ctx, first+int64(i))
			if err != nil {
				return err
			}
			for p, c := range cols {
				to.Set(i, int(c), vals[p])
			}
		}
		return nil
	}, nil
}
