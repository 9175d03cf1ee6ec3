package recommend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// Vectors are the vectors of the columns or rows of a factorisation, N rows of V or U, and the singular values.
type Vectors struct {
	N      int64
	Sigma  []float64
	Read   func(first int64, rows *mat.Dense) error
	Errors []float64 // factor.Result.Errors of the vectors times Sigma; nil: not known

	exact bool
}

// Columns returns the vectors of the columns.
func (f *Factorisation) Columns() Vectors { return Vectors{f.Cols, f.Sigma, f.V, f.errors[1], f.Exact} }

// Lines returns the vectors of the rows.
func (f *Factorisation) Lines() Vectors { return Vectors{f.Rows, f.Sigma, f.U, f.errors[0], f.Exact} }

// rounding is the length that rounding may leave of a vector that is 0, relative to the largest singular value or to the
// length of a singular vector.
const rounding = 1e-12

// scaled reads rows times Σ. A row that is 0 up to rounding becomes 0.
func (v Vectors) scaled(first int64, rows *mat.Dense) error {
	if err := v.Read(first, rows); err != nil {
		return err
	}
	for i := range rows.RawMatrix().Rows {
		row := rows.RawRowView(i)
		floats.Mul(row, v.Sigma)
		if !v.exact && norm(row) <= rounding*v.Sigma[0] {
			clear(row)
		}
	}
	return nil
}

// units reads rows times Σ, and divides each by its length, as factor.Units does.
func (v Vectors) units(first int64, rows *mat.Dense) error {
	err := v.scaled(first, rows)
	if err == nil {
		factor.Units(rows, v.Errors)
	}
	return err
}

// atMost returns how many rows or columns a search for n finds among the given number, or why v cannot be searched.
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
	N        int                     // largest number of similar rows or columns for each, 1 or more
	Of       []int64                 // indices, ascending, of the rows or columns to search for; nil: all
	Memory   int64                   // budget of the whole process in bytes; 0: factor.DefaultMemory
	Reserve  int64                   // bytes of Memory that emit, or the caller of Find, takes
	Workers  int                     // 0: all processors
	Progress func(done, total int64) // may be nil
}

// Similar finds, for rows or for columns, those whose vectors, scaled by Σ, have the smallest angles with theirs: the
// score of i and j is
//
//	cos(i, j) = (Σv_i)ᵀ(Σv_j) / (‖Σv_i‖·‖Σv_j‖),
//
// for columns the cosine of columns i and j of the approximation U·Σ·Vᵀ, and likewise for rows. A vector with
// ‖Σv_i‖ ≤ 10⁻¹²·σ₁, or without a number above factor.Result.Errors, has only the direction of errors: it counts as zero, and
// is similar to no other. emit is called with each index in order, whether its vector is zero, and the most similar ones, the
// best first; emit must not keep items.
func Similar(ctx context.Context, v Vectors, o SimilarOptions, emit func(i int64, zero bool, items []Item) error) error {
	var err error
	if o.N, err = v.atMost(o.N, v.N-1); err != nil {
		return err
	}
	s := &segments{n: v.N, k: len(v.Sigma), read: v.units}
	block, _, err := s.plan(cmp.Or(o.Memory, factor.DefaultMemory()), o.Reserve, int64(8*s.k+16*o.N+56), numberOf(o.Of, v.N), cmp.Or(o.Workers, runtime.GOMAXPROCS(0)))
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

// Topic holds the strongest rows or columns of one component: those with the largest and the smallest numbers in its
// singular vector, the strongest first. The numbers are above 0 in Positive and below 0 in Negative. The sign of a component
// is arbitrary: negating both of its vectors gives the same triplet.
type Topic struct {
	Positive, Negative []Item // Score is the number in the vector
}

// Topics finds the n strongest rows or columns, or all if there are fewer, of each sign for each component. Of equal numbers the first are taken.
func Topics(ctx context.Context, v Vectors, n int, budget int64, progress func(done, total int64)) ([]Topic, error) {
	k := len(v.Sigma)
	n, err := v.atMost(n, v.N)
	if err != nil {
		return nil, err
	}
	s := segments{n: v.N, k: k}
	if _, _, err := s.plan(cmp.Or(budget, factor.DefaultMemory()), int64(k)*int64(n)*32, 1, 1, 0); err != nil {
		return nil, err
	}
	all, least := make([][2]top, k), make([]float64, k)
	for j := range all {
		for sign := range all[j] {
			all[j][sign] = top{items: make([]Item, 0, n), grid: tie}
		}
		least[j] = rounding
		if len(v.Errors) > 0 && v.Sigma[j] != 0 {
			least[j] = max(rounding, v.Errors[j]/math.Abs(v.Sigma[j]))
		}
	}
	const part = 1 << 13
	window := npy.Window{N: v.N, Most: min(part, s.Most), K: k, Read: v.Read}
	err = window.Each(ctx, func(first int64, rows *mat.Dense) error {
		for i := range rows.RawMatrix().Rows {
			if x, ok := multiplies(rows.RawRowView(i)); !ok {
				return fmt.Errorf("vector %d has the number %v", first+int64(i), x)
			}
			for j, x := range rows.RawRowView(i) {
				all[j][0].offer(uint32(first)+uint32(i), x, least[j])
				all[j][1].offer(uint32(first)+uint32(i), -x, least[j])
			}
		}
		if progress != nil {
			progress(min(first+window.Most, v.N), v.N)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	topics := make([]Topic, k)
	for j := range all {
		for sign := range all[j] {
			all[j][sign].sort()
		}
		topics[j].Positive, topics[j].Negative = all[j][0].items, all[j][1].items
		for i := range topics[j].Negative {
			topics[j].Negative[i].Score *= -1
		}
	}
	return topics, nil
}

// offer adds x if it exceeds least, the largest error of a number that is 0.
func (t *top) offer(index uint32, x, least float64) {
	if x > least && t.takes(Item{index, x}) {
		t.add(Item{index, x})
	}
}

// Query is a row that the matrix does not have: values in columns, which ascend.
type Query struct {
	Cols   []uint32
	Values []float64
}

// QueryOf counts words: the entry of a column is how often its number is in the list.
func QueryOf(cols []int64) (q Query) {
	for _, c := range slices.Sorted(slices.Values(cols)) {
		if n := len(q.Cols); n > 0 && q.Cols[n-1] == uint32(c) {
			q.Values[n-1]++
			continue
		}
		q.Cols, q.Values = append(q.Cols, uint32(c)), append(q.Values, 1)
	}
	return q
}

// Find ranks the rows of a result by their similarity with a query: latent semantic indexing (Deerwester, Dumais, Furnas,
// Landauer and Harshman, Journal of the American Society for Information Science 41, 1990). The query is folded in as
// x = bᵀV, where b is its row as the view of the result transforms it, and the score of row i is
//
//	cos(x, Σu_i) = xᵀ(Σu_i) / (‖x‖·‖Σu_i‖).
//
// The best rows come first; of rows with equal scores, the one with the smaller index.
func Find(ctx context.Context, r *factor.Result, q Query, o SimilarOptions) ([]Item, error) {
	if r.Completion != nil {
		return nil, fmt.Errorf("%s is a completion: a query is for results of gdsvd svd, in which missing entries are zeros", r.Dir())
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
	window, _, err := s.plan(cmp.Or(o.Memory, factor.DefaultMemory()), o.Reserve+16*int64(o.N), int64(8*s.k), 1, cmp.Or(o.Workers, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	x, err := fold(ctx, r, q, s.k, window)
	if err != nil {
		return nil, err
	}
	heaps := []top{{items: make([]Item, 0, o.N)}}
	err = s.search(ctx, x, heaps, func(int, uint32) bool { return false })
	return heaps[0].items, err
}

// fold returns x = bᵀV of the first k columns of V, divided by its length. It reads V window rows at a time.
func fold(ctx context.Context, r *factor.Result, q Query, k, window int) (unit *mat.Dense, err error) {
	v, err := r.OpenV() // verifies the number of rows before that much is allocated
	if err != nil {
		return nil, err
	}
	defer v.Close()
	steps, err := r.Pipeline(ctx)
	if err != nil {
		return nil, err
	}
	b := slices.Clone(q.Values)
	var p [2]float64
	var base [][]float64
	if len(steps) > 0 {
		fitted, err := r.Fit(ctx, steps, false)
		if err != nil {
			return nil, err
		}
		if p, err = fitted.Line(0, q.Cols, q.Values, b); err != nil {
			return nil, err
		}
		base = fitted.Q()
	}
	x := make([]float64, k)
	one := mat.NewDense(1, k, nil)
	for i, c := range q.Cols {
		if err := v.ReadRows(int64(c), one); err != nil {
			return nil, err
		}
		floats.AddScaled(x, b[i], one.RawRowView(0))
	}
	if len(base) > 0 {
		all := npy.Window{N: r.Cols, Most: int64(window), K: k, Read: v.ReadRows}
		err = all.Each(ctx, func(first int64, part *mat.Dense) error {
			for i := range part.RawMatrix().Rows {
				for t, column := range base {
					floats.AddScaled(x, p[t]*column[first+int64(i)], part.RawRowView(i))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	length := norm(x)
	if r.Rank == 0 {
		length = 0 // the vectors of a matrix that is 0 are arbitrary
	}
	unit = mat.NewDense(1, k, x)
	factor.Units(unit, r.Errors(r.Cols, slices.Repeat([]float64{floats.Norm(b, 1)}, k)))
	if !(length > rounding*norm(b)) || math.IsInf(length, 0) || norm(x) == 0 {
		err = fmt.Errorf("the query has nothing in common with the %d components of %s: its projection has the length %.3g; take other words, or more components", k, r.Dir(), length)
	}
	return unit, err
}
