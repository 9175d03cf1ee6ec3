package solver

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Started returns a recurrence of m for the run r at the start block z.
func Started(m method.Method, r method.Run, z *mat.Dense) method.Recurrence {
	rec := m.New(r)
	rec.Start(z)
	return rec
}
