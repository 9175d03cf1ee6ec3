package view

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// narrow is a Source of one block, split into blocks of two rows.
type narrow struct{ stream.Source }

func (s narrow) NumBlocks() int { return int(s.Rows()+1) / 2 }

func (s narrow) Block(i int) csr.BlockInfo {
	b := s.Source.Block(0)
	b.FirstRow, b.Rows = int64(2*i), int(min(2, s.Rows()-int64(2*i)))
	return b
}

func (s narrow) DecodeBlock(i int, b *csr.Block) error {
	err := s.Source.DecodeBlock(0, b)
	rows := b.RowPtr[2*i : 2*i+1+s.Block(i).Rows]
	from, to := rows[0], rows[len(rows)-1]
	b.FirstRow, b.Col = int64(2*i), b.Col[from:to]
	if b.Val != nil {
		b.Val = b.Val[from:to]
	}
	if b.Code != nil {
		b.Code = b.Code[from:to]
	}
	b.RowPtr = slices.Clone(rows)
	for k := range b.RowPtr {
		b.RowPtr[k] -= from
	}
	return err
}

// measuredByParts measures a view as tasks do: up to three ranges of blocks are summed, and only numbers are passed on.
func measuredByParts(t testing.TB, src stream.Source, p Pipeline, transposed bool) (*View, error) {
	t.Helper()
	v := Plan(src, p, transposed)
	n := v.src.NumBlocks()
	return v, v.MeasureBy(func(i int) (*Sums, error) {
		total := v.NewSums(i, 0, src.Rows())
		for from := 0; from < n; from += (n + 2) / 3 {
			part, err := v.Sum(t.Context(), stream.Options{Workers: 1}, i, from, min(n, from+(n+2)/3))
			if err != nil {
				return nil, err
			}
			read, numbers := v.NewSums(i, part.first, part.rows), []float64(nil)
			must.Do(t, part.Each(func(x []float64) error { numbers = append(numbers, x...); return nil }))
			must.Do(t, read.Each(func(x []float64) error { numbers = numbers[copy(x, numbers):]; return nil }))
			total.Add(read)
		}
		return total, nil
	})
}

// samePartly returns an error unless statistics by parts of the rows equal those of one read to 1e-12.
func samePartly(t testing.TB, src stream.Source, p Pipeline, v *View) error {
	t.Helper()
	parts, err := measuredByParts(t, narrow{src}, p, v.transposed)
	if err != nil {
		return err
	}
	got, want := parts.Measured(), v.Measured()
	for k := range want {
		scale := 0.0
		for _, x := range want[k] {
			scale = max(scale, math.Abs(x))
		}
		for i, x := range want[k] {
			if y := got[k][i]; !(math.Abs(x-y) <= 1e-12*scale) && x != y && (x == x || y == y) {
				return fmt.Errorf("number %d of list %d is %v, of all rows %v", i, k, y, x)
			}
		}
	}
	return nil
}
