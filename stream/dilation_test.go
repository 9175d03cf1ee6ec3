package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"
)

func TestDilationAgreesWithDense(t *testing.T) {
	for _, s := range shapes {
		t.Run(fmt.Sprintf("%dx%d/l=%d", s.rows, s.cols, s.l), func(t *testing.T) {
			a := randomCSR(1, s.rows, s.cols, 0.1)
			m := mustNew(t, newDisk(a), Options{Workers: 3, Width: s.l})
			long, short := randomDense(2, s.rows, s.l), randomDense(3, s.cols, s.l)
			var wantLong, wantShort mat.Dense
			wantLong.Mul(a.ToDense(), short)
			wantShort.Mul(a.ToDense().T(), long)
			// dst must be overwritten; blocks may be parts of wider ones.
			for _, wide := range []int{0, 2} {
				part := func(seed uint64, r int) *mat.Dense {
					return randomDense(seed, r, s.l+wide).Slice(0, r, wide/2, s.l+wide/2).(*mat.Dense)
				}
				dstLong, dstShort, l2, s2 := part(9, s.rows), part(8, s.cols), part(7, s.rows), part(6, s.cols)
				l2.Copy(long)
				s2.Copy(short)
				must.Do(t, m.dilate(t.Context(), dstLong, dstShort, l2, s2))
				near(t, "A·short", dstLong, &wantLong)
				near(t, "Aᵀ·long", dstShort, &wantShort)
			}
		})
	}
}

func TestDilationSameBitsInOneRead(t *testing.T) {
	const rows, cols, l = 1500, 60, 5
	src := newDisk(randomCSR(4, rows, cols, 0.08))
	long, short := randomDense(2, rows, l), randomDense(3, cols, l)
	full := mustNew(t, src, Options{Workers: 1, Width: l}).Plan().Total()
	streaming := full - residentBytes(src, src.NumBlocks())
	var want []float64
	for _, o := range []Options{
		{Workers: 1, Width: l},
		{Workers: 2, Width: l},
		{Workers: 64, Width: l},
		{Workers: 1, Width: l, Memory: streaming},
		{Workers: 7, Width: l, Memory: (streaming + full) / 2},
	} {
		m := mustNew(t, src, o)
		src.decoded.Store(0)
		dstLong, dstShort := mat.NewDense(rows, l, nil), mat.NewDense(cols, l, nil)
		must.Do(t, m.dilate(t.Context(), dstLong, dstShort, long, short))
		if got := src.decoded.Load(); got != int64(src.NumBlocks()) {
			t.Errorf("%d decodings of %d blocks", got, src.NumBlocks())
		}
		got := slices.Concat(dstLong.RawMatrix().Data, dstShort.RawMatrix().Data)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("bits differ with %d workers and budget %d", o.Workers, o.Memory)
		}
	}
}

func TestDilationFailures(t *testing.T) {
	src := newDisk(randomCSR(6, 4000, 30, 0.2))
	long, short := randomDense(2, 4000, 1), randomDense(3, 30, 1)
	apply := func(ctx context.Context, o Options) error {
		return mustNew(t, src, o).dilate(ctx, mat.NewDense(4000, 1, nil), mat.NewDense(30, 1, nil), long, short)
	}
	cause := errors.New("user pressed Ctrl-C")
	for _, workers := range []int{1, 5} {
		src.failAt = src.NumBlocks() / 2
		if err := apply(t.Context(), Options{Workers: workers}); !errors.Is(err, errDamaged) {
			t.Errorf("%d workers: %v, want the damaged block", workers, err)
		}
		src.failAt = -1
		ctx, cancel := context.WithCancelCause(t.Context())
		src.onRead = func(i int) {
			if i == 10 {
				cancel(cause)
			}
		}
		if err := apply(ctx, Options{Workers: workers}); !errors.Is(err, cause) {
			t.Errorf("%d workers: %v, want the cause", workers, err)
		}
		src.onRead = nil
	}
	m := mustNew(t, src, Options{Width: 1, Memory: 1 << 30})
	wide := func(r int) *mat.Dense { return mat.NewDense(r, 2, nil) }
	if err := m.dilate(t.Context(), wide(4000), wide(30), wide(4000), wide(30)); err == nil {
		t.Error("a block wider than the plan was accepted")
	}
}

func TestDilationOfNothing(t *testing.T) {
	const rows = 70_000
	m := mustNew(t, newInMemory(sparse.NewCSR(rows, 5, make([]int, rows+1), nil, nil), csr.BlockRows, csr.BlockNNZ), Options{Width: 2})
	dstLong, dstShort := randomDense(1, rows, 2), randomDense(2, 5, 2)
	must.Do(t, m.dilate(t.Context(), dstLong, dstShort, randomDense(3, rows, 2), randomDense(4, 5, 2)))
	if mat.Norm(dstLong, 2) != 0 || mat.Norm(dstShort, 2) != 0 {
		t.Error("products of a zero matrix are not zero")
	}
}
