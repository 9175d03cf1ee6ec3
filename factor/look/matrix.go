package look

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
)

// Matrix is the entries of a store as a view makes them.
type Matrix struct {
	look  *look
	drops bool // there is a view, which may have made entries 0
}

// OpenMatrix measures the view of a store whose rows are to be read a number of times. A view that fills the matrix, as centring does,
// is refused: it has no entries alone.
func OpenMatrix(ctx context.Context, store *csr.Store, o Options, reads int) (*Matrix, error) {
	l, err := newLook(ctx, store, o, reads)
	if err != nil {
		return nil, err
	}
	if _, rank, _ := l.view.Sides(); rank > 0 {
		return nil, says("%v %s: it fills the matrix, so that there are not only entries to write: leave out the step that centres", factor.Option("View"), l.pipeline())
	}
	return &Matrix{look: l, drops: len(l.View) > 0}, nil
}

// EachRow calls each for the rows of the store in order, which are the columns of the user's matrix where the store is transposed, with
// their entries by ascending column. Those that the view has made 0 are left out. The slices are valid until each returns.
func (m *Matrix) EachRow(ctx context.Context, each func(row int64, cols []uint32, vals []float64) error) error {
	err := m.look.view.EachRow(ctx, m.look.options(0), func(row int64, cols []uint32, vals []float64) error {
		if m.drops {
			n := 0
			for i, v := range vals {
				if v != 0 {
					cols[n], vals[n], n = cols[i], v, n+1
				}
			}
			cols, vals = cols[:n], vals[:n]
		}
		return each(row, cols, vals)
	})
	return m.look.told(ctx, err)
}

// Memory is the budget in bytes.
func (m *Matrix) Memory() int64 { return m.look.Memory }
