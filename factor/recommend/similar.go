package recommend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
)

// Vectors are those of the columns or rows of a factorisation: n of them, V or U, and the singular values.
type Vectors struct {
	N     int64
	Sigma []float64
	Read  func(first int64, rows *mat.Dense) error
}

// Columns are the vectors of the columns.
func (f *Factorisation) Columns() Vectors { return Vectors{f.Cols, f.Sigma, f.V} }

// Lines are the vectors of the rows.
func (f *Factorisation) Lines() Vectors { return Vectors{f.Rows, f.Sigma, f.U} }

func (v Vectors) scaled(first int64, rows *mat.Dense) error {
	if err := v.Read(first, rows); err != nil {
		return err
	}
	n, _ := rows.Dims()
	for i := range n {
		row := rows.RawRowView(i)
		for j, s := range v.Sigma {
			row[j] *= s
		}
	}
	return nil
}

// rounding is what computing may leave of a vector that is 0, over the largest singular value or the length of a
// singular vector.
const rounding = 1e-12

// units reads rows times Σ, and divides each by its length. One that is 0, but for rounding, becomes 0.
func (v Vectors) units(first int64, rows *mat.Dense) error {
	if err := v.scaled(first, rows); err != nil {
		return err
	}
	n, _ := rows.Dims()
	for i := range n {
		row := rows.RawRowView(i)
		switch length := norm(row); {
		case length <= rounding*v.Sigma[0]:
			clear(row)
		case !math.IsInf(length, 0): // what is not finite is told of later
			for j := range row {
				row[j] /= length
			}
		}
	}
	return nil
}

// atMost is how many of among rows or columns a search for n finds.
func (v Vectors) atMost(n int, among int64) (int, error) {
	switch {
	case n < 1:
		return 0, fmt.Errorf("%d of them are wanted: want 1 or more", n)
	case among < 1:
		return 0, errors.New("there is nothing to choose from")
	case v.N > math.MaxUint32:
		return 0, fmt.Errorf("there are %d vectors: %d at most can be searched", v.N, uint32(math.MaxUint32))
	case len(v.Sigma) == 0:
		return 0, errors.New("a factorisation without triplets has no components")
	}
	return int(min(int64(n), among)), nil
}

// SimilarOptions of Similar. The zero value of every field but N is usable.
type SimilarOptions struct {
	N        int                     // similar ones for each at most, 1 or more
	Of       []int64                 // numbers, ascending, of those to find similar ones for; nil: all
	Memory   int64                   // budget of the whole process in bytes; 0: factor.DefaultMemory
	Workers  int                     // 0: all processors
	Progress func(done, total int64) // may be nil
}

// Similar finds those whose vectors have the smallest angles with one another, in the space that is scaled by Σ: the
// score of i and j is
//
//	cos(i, j) = (Σv_i)ᵀ(Σv_j) / (‖Σv_i‖·‖Σv_j‖),
//
// for columns the cosine of columns i and j of the approximation U·Σ·Vᵀ, and likewise for rows. Those with ‖Σv_i‖ ≤ 10⁻¹²·σ₁ have
// no direction but that of rounding: they are zero, and like no other. emit is called with each number in order, its vector being 0 or not, and with the most similar ones, the best
// first; it must not keep them.
func Similar(ctx context.Context, v Vectors, o SimilarOptions, emit func(i int64, zero bool, items []Item) error) error {
	var err error
	if o.N, err = v.atMost(o.N, v.N-1); err != nil {
		return err
	}
	s := &segments{n: v.N, k: len(v.Sigma), read: v.units}
	block, _, err := s.plan(cmp.Or(o.Memory, factor.DefaultMemory()), 0, int64(8*s.k+16*o.N+56), cmp.Or(o.Workers, runtime.GOMAXPROCS(0)))
	if err != nil {
		return err
	}
	heaps, done := newHeaps(o.N), progress(o.Progress, o.Of, v.N)
	return history.Each(o.Of, v.N, int64(block), func(of []int64) (int, error) {
		queries, found := mat.NewDense(len(of), s.k, nil), heaps(len(of))
		if err := readSome(v.units, of, queries); err != nil {
			return 0, err
		}
		if err := s.search(ctx, queries, found, func(query int, id uint32) bool { return int64(id) == of[query] }); err != nil {
			return 0, err
		}
		for i, number := range of {
			zero := norm(queries.RawRowView(i)) == 0
			if zero {
				found[i].items = nil
			}
			if err := emit(number, zero, found[i].items); err != nil {
				return 0, err
			}
		}
		done(len(of))
		return len(of), nil
	})
}
