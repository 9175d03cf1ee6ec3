package stream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestMulBoth checks that both products of one read equal the dense ones, with any number of workers and any memory.
func TestMulBoth(t *testing.T) {
	for _, s := range shapes {
		a := randomCSR(1, s.rows, s.cols, 0.1)
		dense := a.ToDense()
		x, y := randomDense(2, s.cols, s.l), randomDense(3, s.rows, s.l)
		var ax, aty mat.Dense
		ax.Mul(dense, x)
		aty.Mul(dense.T(), y)
		var first *mat.Dense
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%dx%d/l=%d/%d", s.rows, s.cols, s.l, workers), func(t *testing.T) {
				src := newDisk(a)
				m := mustNew(t, src, Options{Workers: workers, Width: s.l, Rank: s.l})
				got := mat.NewDense(s.rows, s.l, nil)
				next := int64(0)
				sum := must.Get(m.mulBoth(t.Context(), x, func(at int64, rows, fill *mat.Dense) error {
					if at != next {
						t.Errorf("rows from %d, want %d", at, next)
					}
					n, _ := rows.Dims()
					next += int64(n)
					got.Slice(int(at), int(at)+n, 0, s.l).(*mat.Dense).Copy(rows)
					fill.Copy(y.Slice(int(at), int(at)+n, 0, s.l))
					return nil
				}))(t)
				if d := max(relDiff(got, &ax), relDiff(sum, &aty)); d > 1e-13 {
					t.Errorf("off by %g", d)
				}
				if n := int(src.decoded.Load()); n != src.NumBlocks() {
					t.Errorf("%d blocks read, there are %d", n, src.NumBlocks())
				}
				if first == nil {
					first = sum
				} else if !mat.Equal(first, sum) {
					t.Error("other workers, other bits")
				}
			})
		}
	}
}

func TestMulBothStops(t *testing.T) {
	a := randomCSR(1, 300, 40, 0.1)
	x := randomDense(2, 40, 2)
	mine := errors.New("mine")
	for _, workers := range []int{1, 3} {
		src := newDisk(a)
		m := mustNew(t, src, Options{Workers: workers, Width: 2})
		if _, err := m.mulBoth(t.Context(), x, func(at int64, _, _ *mat.Dense) error {
			if at > 0 {
				return mine
			}
			return nil
		}); !errors.Is(err, mine) {
			t.Errorf("%d workers: %v, want the error of the function", workers, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		_, err := m.mulBoth(ctx, x, func(int64, *mat.Dense, *mat.Dense) error { calls++; cancel(); return nil })
		if !errors.Is(err, context.Canceled) || calls > workers {
			t.Errorf("%d workers: %v after %d calls", workers, err, calls)
		}
	}
	m := mustNew(t, newDisk(a), Options{Memory: 64 << 20, Width: 2})
	if _, err := m.mulBoth(t.Context(), randomDense(2, 40, 3), nil); err == nil {
		t.Error("more columns than planned were taken")
	}
}
