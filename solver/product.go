package solver

import (
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/parallel"
	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

// times returns x·yᵀ.
func (a *Arena) times(x, y *mat.Dense) *mat.Dense {
	r, _ := x.Dims()
	c, _ := y.Dims()
	p := mat.NewDense(r, c, nil)
	f := packed.Get().(*panel.Factor)
	defer packed.Put(f)
	f.Pack(1, y.RawMatrix())
	const together = 16
	parts := (r + together - 1) / together
	workers := 1
	if r*c*width(y) >= worthSharing {
		workers = a.most()
	}
	parallel.Each(workers, parts, func(_, i int) {
		rows := min(together, r-i*together)
		panel.AddProduct(rowsOf(p.RawMatrix(), i*together, rows), rowsOf(x.RawMatrix(), i*together, rows), *f)
	})
	return p
}

// packed are factors whose memory is used again.
var packed = sync.Pool{New: func() any { return new(panel.Factor) }}
