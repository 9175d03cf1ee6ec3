package left

import (
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/jacobi"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// heap is an arena whose blocks lie in ordinary memory.
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
	return New(k, func(s Step) (*Sums, error) { return s.Over(ctx, 0, Rows{0, int64(n), k, d.read, d.write}) })
}

func (d dense) part(first int64, rows *mat.Dense) *mat.Dense {
	r, k := rows.Dims()
	return d.Slice(int(first), int(first)+r, 0, k).(*mat.Dense)
}

func (d dense) read(first int64, rows *mat.Dense) error  { rows.Copy(d.part(first, rows)); return nil }
func (d dense) write(first int64, rows *mat.Dense) error { d.part(first, rows).Copy(rows); return nil }

// TestLeftSweeps rotates and completes blocks of one and several chunks and of various ranks.
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
		must.Do(t, err)
		o := tallskinny.Orthogonality(heap.GramOf(w))
		if o > 1e-12 || math.Abs(o-tallskinny.Orthogonality(gram)) > 1e-13 {
			t.Errorf("%+v: orthonormal to %.3g, said to be to %.3g", c, o, tallskinny.Orthogonality(gram))
		}
	}
}

// TestLeftOrder checks that the number of goroutines changes no bit of sums, that chunks come in order, and that the
// first failure ends the sweep.
func TestLeftOrder(t *testing.T) {
	const n, k = 2600, 90
	x, by := gaussian(n, k, 7), gaussian(k, k, 8)
	sweep := func(workers int, s Step, fail int64) (*Sums, *mat.Dense, error) {
		d := dense{mat.DenseCopyOf(x)}
		var at [2]int64
		next := func(i int, first int64, rows *mat.Dense) error {
			if first != 100+at[i] {
				t.Errorf("row %d comes after %d", first, at[i])
			}
			at[i] += int64(rows.RawMatrix().Rows)
			if first == fail {
				return io.ErrShortWrite
			}
			return nil
		}
		sums, err := s.Over(t.Context(), workers, Rows{100, n, k, func(first int64, rows *mat.Dense) error {
			return errors.Join(next(0, first, rows), d.read(first-100, rows))
		}, func(first int64, rows *mat.Dense) error {
			return errors.Join(next(1, first, rows), d.write(first-100, rows))
		}})
		return sums, d.Dense, err
	}
	for _, s := range []Step{{By: by, Keep: true}, {By: by}, {Keep: true}, {Fill: &Fill{40, 1, 2}, Keep: true}} {
		want, rows, err := sweep(1, s, -1)
		must.Do(t, err)
		if !s.Keep && s.By != nil {
			var all mat.Dense
			all.Mul(x, by)
			for j, v := range want.Largest {
				if col := mat.Col(nil, j, &all); math.Abs(math.Abs(v)-floats.Norm(col, math.Inf(1))) > 1e-12 {
					t.Errorf("the largest of column %d is %v", j, v)
				}
			}
		} else if !mat.EqualApprox(want.Gram, heap.GramOf(rows), 1e-9) {
			t.Error("the sums are not those of the rows")
		}
		for _, workers := range []int{3, 9} {
			got, same, err := sweep(workers, s, -1)
			if err != nil || !reflect.DeepEqual(got, want) || !mat.Equal(same, rows) {
				t.Errorf("%d workers, %+v: other bits (%v)", workers, s, err)
			}
		}
	}
	for _, workers := range []int{1, 4} {
		if _, _, err := sweep(workers, Step{Keep: true}, 100+2*(Entries/k)); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d workers: %v", workers, err)
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
