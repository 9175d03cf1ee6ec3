package left

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/jacobi"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// heap is ordinary memory.
var heap *tallskinny.Arena

func gaussian(rows, cols int, stream uint64) *mat.Dense {
	d := mat.NewDense(rows, cols, nil)
	heap.Gaussian(d, 0, stream, stream)
	return d
}

// dense is a block in memory.
type dense struct{ *mat.Dense }

func (d dense) vectors(ctx context.Context) *Vectors {
	n, k := d.Dims()
	part := func(first int64, rows *mat.Dense) *mat.Dense {
		r, _ := rows.Dims()
		return d.Slice(int(first), int(first)+r, 0, k).(*mat.Dense)
	}
	read := func(first int64, rows *mat.Dense) error { rows.Copy(part(first, rows)); return nil }
	write := func(first int64, rows *mat.Dense) error { part(first, rows).Copy(rows); return nil }
	return New(k, func(s Step) (*Sums, error) { return s.Over(ctx, 0, Rows{0, int64(n), k, read, write}) })
}

// TestLeftSweeps turns and completes blocks of several chunks and of every
// defect of rank.
func TestLeftSweeps(t *testing.T) {
	for _, c := range []struct{ rows, k, rank int }{
		{1, 1, 0}, {1, 1, 1}, {5, 5, 0}, {5, 5, 2}, {5, 5, 4}, {200, 6, 3}, {40000, 3, 1}, {40000, 3, 3}, {300, 250, 100}, {300, 300, 299},
	} {
		w := gaussian(c.rows, c.k, 7)
		var qr mat.QR
		var r mat.Dense
		qr.Factorize(w)
		qr.RTo(&r)
		_, right := jacobi.Right(r.Slice(0, c.k, 0, c.k).(*mat.Dense).RawMatrix())
		rot := mat.DenseCopyOf(mat.NewDense(c.k, c.k, right.Data).T())
		var wr mat.Dense
		wr.Mul(w, rot)
		for j := range c.k {
			f := 0.0
			if j < c.rank {
				f = 1 / mat.Norm(wr.ColView(j), 2)
			}
			heap.ScaleColumn(rot, j, f)
		}
		l := dense{w}.vectors(t.Context())
		gram, err := l.RotateTo(rot, c.rank)
		if err == nil && c.rank < c.k {
			gram, err = l.Complete(3, 2<<32, c.rank)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := tallskinny.Orthogonality(heap.GramOf(w))
		if o > 1e-12 || math.Abs(o-tallskinny.Orthogonality(gram)) > 1e-13 {
			t.Errorf("%+v: orthonormal to %.3g, said to be to %.3g", c, o, tallskinny.Orthogonality(gram))
		}
	}
}

func TestLeftCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := dense{mat.NewDense(10, 2, nil)}.vectors(ctx)
	if _, err := l.RotateTo(mat.NewDense(2, 2, []float64{1, 0, 0, 1}), 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
