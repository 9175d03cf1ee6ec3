package tallskinny

import (
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// Times returns x·yᵀ.
func (a *Arena) Times(x, y *mat.Dense) *mat.Dense {
	r, _ := x.Dims()
	c, _ := y.Dims()
	p := mat.NewDense(r, c, nil)
	f := packed.Get().(*panel.Factor)
	defer packed.Put(f)
	f.Pack(1, y.RawMatrix())
	const together = 16
	parts := (r + together - 1) / together
	workers := 1
	if r*c*Width(y) >= worthSharing {
		workers = a.Most()
	}
	parallel.Each(workers, parts, func(_, i int) {
		rows := min(together, r-i*together)
		panel.AddProduct(RowsOf(p.RawMatrix(), i*together, rows), RowsOf(x.RawMatrix(), i*together, rows), *f)
	})
	return p
}

// packed are factors whose memory is used again.
var packed = sync.Pool{New: func() any { return new(panel.Factor) }}
