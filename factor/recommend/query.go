package recommend

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
)

// Query is a row that the matrix does not have: values in columns, which ascend.
type Query struct {
	Cols   []uint32
	Values []float64
}

// QueryOf counts words: the entry of a column is how often its number is in the list.
func QueryOf(cols []int64) (q Query) {
	cols = slices.Clone(cols)
	slices.Sort(cols)
	for _, c := range cols {
		if n := len(q.Cols); n > 0 && q.Cols[n-1] == uint32(c) {
			q.Values[n-1]++
			continue
		}
		q.Cols, q.Values = append(q.Cols, uint32(c)), append(q.Values, 1)
	}
	return q
}

// Find ranks the rows of a result by their likeness with a query: latent semantic indexing (Deerwester, Dumais, Furnas,
// Landauer and Harshman, Journal of the American Society for Information Science 41, 1990). The query is folded in as
// x = bᵀV, b being what the view of the result makes of its row, and the score of row i is
//
//	cos(x, Σu_i) = xᵀ(Σu_i) / (‖x‖·‖Σu_i‖).
//
// The best come first; of equal ones, those with the smaller numbers.
func Find(ctx context.Context, r *factor.Result, q Query, o SimilarOptions) ([]Item, error) {
	if err := notOf(r, "a query"); err != nil {
		return nil, err
	}
	f, err := Of(r)
	if err != nil {
		return nil, err
	}
	v := f.Lines()
	if o.N, err = v.atMost(o.N, v.N); err != nil {
		return nil, err
	}
	s := &segments{n: v.N, k: len(v.Sigma), read: v.units}
	window, _, err := s.plan(cmp.Or(o.Memory, factor.DefaultMemory()), 0, int64(8*s.k), cmp.Or(o.Workers, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	x, length, err := fold(ctx, r, q, window)
	if err != nil {
		return nil, err
	}
	for j := range x {
		x[j] /= length
	}
	heaps := []top{{items: make([]Item, 0, o.N)}}
	err = s.search(ctx, mat.NewDense(1, s.k, x), heaps, func(int, uint32) bool { return false })
	return heaps[0].items, err
}

// fold is x = bᵀV, and its length. V is read window rows at a time.
func fold(ctx context.Context, r *factor.Result, q Query, window int) (x []float64, length float64, err error) {
	v, err := r.OpenV() // as many rows as the result says, before anything is made that large
	if err != nil {
		return nil, 0, err
	}
	defer v.Close()
	steps, err := r.Pipeline(ctx)
	if err != nil {
		return nil, 0, err
	}
	b := slices.Clone(q.Values)
	var p [2]float64
	var base [][]float64
	if len(steps) > 0 {
		fitted, err := r.Fit(ctx, steps, false)
		if err != nil {
			return nil, 0, err
		}
		if p, err = fitted.Line(0, q.Cols, q.Values, b); err != nil {
			return nil, 0, err
		}
		base = fitted.Q()
	}
	x = make([]float64, r.K)
	rows := mat.NewDense(int(min(r.Cols, int64(window))), r.K, nil)
	add := func(weight float64, row []float64) {
		for j, y := range row {
			x[j] += weight * y
		}
	}
	for i, c := range q.Cols {
		if err := v.ReadRows(int64(c), rows.Slice(0, 1, 0, r.K).(*mat.Dense)); err != nil {
			return nil, 0, err
		}
		add(b[i], rows.RawRowView(0))
	}
	for first := int64(0); len(base) > 0 && first < r.Cols; first += int64(window) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		part := rows.Slice(0, int(min(r.Cols-first, int64(window))), 0, r.K).(*mat.Dense)
		if err := v.ReadRows(first, part); err != nil {
			return nil, 0, err
		}
		for i := range part.RawMatrix().Rows {
			for t, column := range base {
				add(p[t]*column[first+int64(i)], part.RawRowView(i))
			}
		}
	}
	length = norm(x)
	if !(length > rounding*norm(b)) || math.IsInf(length, 0) {
		err = fmt.Errorf("the query has nothing in common with the %d components of %s: its projection has the length %.3g; take other words, or more components", r.K, r.Dir(), length)
	}
	return x, length, err
}
