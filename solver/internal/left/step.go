package left

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Step is a sweep over the rows of left vectors: what becomes of each row, and what is summed up.
type Step struct {
	By   *mat.Dense // k×k that rows are multiplied with; nil: they stay as they are
	Fill *Fill      // drawn before that; nil: nothing is
	Keep bool       // the rows are written, and Sums has Gram; otherwise it has Largest
}

// Fill is columns drawn at random, each entry by the number of its row.
type Fill struct {
	From         int // the first of them
	Seed, Stream uint64
}

// Sums is what a Step sums up of the rows that it makes.
type Sums struct {
	Gram    *mat.Dense // UᵀU
	Largest []float64  // of each column, the entry of largest magnitude, the first such entry on ties
}

// NewSums is those of no rows.
func NewSums(s Step, k int) *Sums {
	if s.Keep {
		return &Sums{Gram: mat.NewDense(k, k, nil)}
	}
	return &Sums{Largest: make([]float64, k)}
}

// Add adds the sums of the rows that come next.
func (s *Sums) Add(next *Sums) {
	if s.Gram != nil {
		floats.Add(s.Gram.RawMatrix().Data, next.Gram.RawMatrix().Data)
		return
	}
	tallskinny.Larger(s.Largest, next.Largest)
}

// Rows are consecutive rows, which are read and written by chunks, from the first to the last.
type Rows struct {
	First, N    int64
	K           int                                      // columns
	Read, Write func(first int64, rows *mat.Dense) error // Write may be nil
}

// Entries is the number of entries of a chunk of left vectors, unless k is
// large.
const Entries = 1 << 17

// Over makes the sweep with a number of goroutines. The size of a chunk depends on the number of columns alone, so sums
// are always added up in the same order.
func (s Step) Over(ctx context.Context, workers int, all Rows) (*Sums, error) {
	arena, k := &tallskinny.Arena{Threads: workers}, all.K
	sums, chunk := NewSums(s, k), min(int64(max(64, Entries/k)), all.N)
	buf := mat.NewDense(int(chunk), k, nil)
	var random *mat.Dense
	if s.Fill != nil {
		random = mat.NewDense(int(chunk), k-s.Fill.From, nil)
	}
	var by blas64.General
	if s.By != nil {
		by = tallskinny.Transposed(s.By)
	}
	var part tallskinny.Sums
	for at := int64(0); at < all.N; at += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, first := int(min(chunk, all.N-at)), all.First+at
		rows := buf.Slice(0, n, 0, k).(*mat.Dense)
		if err := all.Read(first, rows); err != nil {
			return nil, fmt.Errorf("read left vectors: %w", err)
		}
		if s.Fill != nil {
			drawn := random.Slice(0, n, 0, k-s.Fill.From).(*mat.Dense)
			arena.Gaussian(drawn, first, s.Fill.Seed, s.Fill.Stream)
			rows.Slice(0, n, s.Fill.From, k).(*mat.Dense).Copy(drawn)
		}
		switch {
		case s.By != nil && s.Keep:
			part.Reset(n, k, k)
			arena.RotateThen(rows.RawMatrix(), by, func(seg int, x blas64.General) { panel.AddCross(part.Of(seg), x, x) })
			floats.Add(sums.Gram.RawMatrix().Data, part.Total().Data)
		case s.By != nil:
			arena.Rotate(rows.RawMatrix(), by)
		case s.Keep:
			floats.Add(sums.Gram.RawMatrix().Data, arena.Cross(&part, rows.RawMatrix(), rows.RawMatrix()).Data)
		}
		for i := 0; !s.Keep && i < n; i++ {
			tallskinny.Larger(sums.Largest, rows.RawRowView(i))
		}
		if !s.Keep || all.Write == nil {
			continue
		}
		if err := all.Write(first, rows); err != nil {
			return nil, fmt.Errorf("write left vectors: %w", err)
		}
	}
	return sums, nil
}
