package deflation

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/internal/found"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// heap is an arena whose blocks lie in ordinary memory.
var heap *tallskinny.Arena

func gaussian(rows, cols int, stream uint64) *mat.Dense {
	d := mat.NewDense(rows, cols, nil)
	heap.Gaussian(d, 0, stream, stream)
	return d
}

// explicit is the Operator of an explicit matrix.
type explicit struct{ g *mat.Dense }

func (e explicit) Dim() int { n, _ := e.g.Dims(); return n }

func (e explicit) Apply(_ context.Context, dst, x *mat.Dense) error {
	dst.Mul(e.g, x)
	return nil
}

// TestDeflation compares the products of the deflated operators with explicit matrices, for blocks
// of several widths and layouts.
func TestDeflation(t *testing.T) {
	const n, k = 12, 3
	a := gaussian(20, n, 1)
	g := heap.GramOf(a)
	v := heap.NewBasis(n, k+2)
	for i := range k {
		v.Random(v.Next(), 5, uint64(i))
		v.Push()
	}
	cols := mat.NewDense(n, k, nil)
	for i := range k {
		cols.SetCol(i, v.Vector(i))
	}
	values := []float64{3, 2, 1}
	var low, vvt, rest mat.Dense
	low.Product(cols, mat.NewDiagDense(k, values), cols.T())
	low.Sub(g, &low)
	vvt.Mul(cols, cols.T())
	rest.Sub(identity(n), &vvt)
	var both mat.Dense
	both.Product(&rest, g, &rest)
	for _, l := range []int{1, 2, 5} {
		wide := gaussian(n, l+3, 2)
		for _, x := range []*mat.Dense{gaussian(n, l, 2), wide.Slice(0, n, 1, l+1).(*mat.Dense)} {
			var dst, want mat.Dense
			out := mat.NewDense(n, l+2, nil).Slice(0, n, 1, l+1).(*mat.Dense)
			p := &Deflated{Operator: explicit{g}, Found: &found.Pairs{Basis: v, Values: values}, Plain: true}
			must.Do(t, p.Apply(t.Context(), out, x))
			want.Mul(&low, x)
			if !mat.EqualApprox(out, &want, 1e-12) {
				t.Errorf("plain deflation is wrong for %d vectors", l)
			}
			dst.Mul(&rest, x) // Deflated is applied to vectors of the complement only
			q := &Deflated{Operator: explicit{g}, Found: &found.Pairs{Basis: v}}
			must.Do(t, q.Apply(t.Context(), out, &dst))
			want.Mul(&both, x)
			if !mat.EqualApprox(out, &want, 1e-12) {
				t.Errorf("projected deflation is wrong for %d vectors", l)
			}
		}
	}
}

func identity(n int) *mat.Dense {
	d := mat.NewDense(n, n, nil)
	for i := range n {
		d.Set(i, i, 1)
	}
	return d
}
