package recommend

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
)

// Topic is the strongest rows or columns of one component: those with the largest and the smallest numbers in its
// singular vector, the strongest first. Positive ones have numbers above 0 and Negative ones below. Which of the two signs a
// component has means nothing: it is that of both of its vectors.
type Topic struct {
	Positive, Negative []Item // Score is the number in the vector
}

// Topics finds the n strongest, or all if there are fewer, of each sign for each component, of equal ones those that come first.
func Topics(ctx context.Context, v Vectors, n int, budget int64, progress func(done, total int64)) ([]Topic, error) {
	k := len(v.Sigma)
	n, err := v.atMost(n, v.N)
	if err != nil {
		return nil, err
	}
	s := segments{n: v.N, k: k}
	if _, _, err := s.plan(cmp.Or(budget, factor.DefaultMemory()), int64(k)*int64(n)*32, 1, 0); err != nil {
		return nil, err
	}
	all := make([][2]top, k)
	for j := range all {
		for sign := range all[j] {
			all[j][sign].items = make([]Item, 0, n)
		}
	}
	const part = 1 << 13
	rows := mat.NewDense(int(min(part, s.size)), k, nil)
	for first := int64(0); first < v.N; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := int(min(v.N-first, int64(rows.RawMatrix().Rows)))
		window := rows.Slice(0, m, 0, k).(*mat.Dense)
		if err := v.Read(first, window); err != nil {
			return nil, err
		}
		for i := range m {
			if x, ok := multiplies(window.RawRowView(i)); !ok {
				return nil, fmt.Errorf("vector %d has the number %v", first+int64(i), x)
			}
			for j, x := range window.RawRowView(i) {
				all[j][0].offer(uint32(first)+uint32(i), x)
				all[j][1].offer(uint32(first)+uint32(i), -x)
			}
		}
		first += int64(m)
		if progress != nil {
			progress(first, v.N)
		}
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

// offer adds a number above 0, and above what rounding may leave of it.
func (t *top) offer(index uint32, x float64) {
	if x > rounding && t.takes(Item{index, x}) {
		t.add(Item{index, x})
	}
}
