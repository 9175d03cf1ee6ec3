// Package left turns A·V, in a file or in memory, into the left singular vectors.
package left

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Vectors turns W = A·V into the left singular vectors, in
// place, by sweeps over chunks of rows.
type Vectors struct {
	k     int
	sweep func(Step) (*Sums, error)
}

// New returns vectors with k columns, which sweep goes over as Step.Over does.
func New(k int, sweep func(Step) (*Sums, error)) *Vectors { return &Vectors{k, sweep} }

// RotateTo replaces W by U = W·rotation, whose first rank columns are orthonormal
// but for rounding, and returns UᵀU.
//
// Where a small σ was found by cancellation between larger columns of W, u
// keeps a part of the leading ones that the division by σ has magnified. Then
// a sweep of Gram–Schmidt, leading vectors first, takes it out: U·L⁻ᵀ for
// UᵀU = LLᵀ.
func (l *Vectors) RotateTo(rotation *mat.Dense, rank int) (*mat.Dense, error) {
	gram, err := l.rotate(rotation)
	if err != nil || rank == 0 {
		return gram, err
	}
	const sloppy = 1e-13
	block := gram.Slice(0, rank, 0, rank).(*mat.Dense)
	if tallskinny.Orthogonality(block) <= sloppy {
		return gram, nil
	}
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(rank, mat.DenseCopyOf(block).RawMatrix().Data)) {
		return gram, nil // nothing to be mended; the result says how bad it is
	}
	var upper, inverse mat.TriDense
	chol.UTo(&upper)
	if err := inverse.InverseTri(&upper); err != nil {
		return gram, nil // ill-conditioned: as above
	}
	t := mat.NewDense(l.k, l.k, nil)
	t.Slice(0, rank, 0, rank).(*mat.Dense).Copy(&inverse)
	return l.rotate(t)
}

// rotate replaces W by U = W·rotation and returns UᵀU.
func (l *Vectors) rotate(rotation *mat.Dense) (*mat.Dense, error) {
	return l.gram(Step{By: rotation, Keep: true})
}

// gram makes a sweep that keeps the rows and returns the Gram matrix of what they are then.
func (l *Vectors) gram(s Step) (*mat.Dense, error) {
	sums, err := l.sweep(s)
	if err != nil {
		return nil, err
	}
	if !tallskinny.AllFinite(sums.Gram.RawMatrix().Data) {
		err = fmt.Errorf("left vectors are not finite: %w", tallskinny.ErrBreakdown)
	}
	return sums.Gram, err
}

// Negative reports for every column of W·rotation whether its entry of largest
// magnitude is negative, the first such entry on ties. It reads only.
func (l *Vectors) Negative(rotation *mat.Dense) ([]bool, error) {
	sums, err := l.sweep(Step{By: rotation})
	if err != nil {
		return nil, err
	}
	neg := make([]bool, l.k)
	for j, v := range sums.Largest {
		neg[j] = v < 0
	}
	return neg, nil
}

// Complete fills the columns from rank on with random vectors of a stream and makes them
// orthonormal and orthogonal to the columns before, which are orthonormal. It
// returns UᵀU at the end.
//
// Each sweep applies the linear map that the sums of the last one call for and
// forms the sums anew: first the projection, which is done twice, then also
// the orthonormalisation of what is left by the eigenvectors of its Gram
// matrix (SVQB: Stathopoulos, Wu 2002), which tolerates nearly dependent
// columns and is repeated until nothing changes.
func (l *Vectors) Complete(seed, stream uint64, rank int) (*mat.Dense, error) {
	gram, err := l.gram(Step{Fill: &Fill{rank, seed, stream}, Keep: true})
	if err != nil {
		return nil, err
	}
	const maxSweeps = 8
	for i := range maxSweeps {
		last := tallskinny.Orthogonality(gram)
		if i > 2 && last <= 32*tallskinny.Epsilon*math.Sqrt(float64(l.k)) {
			break
		}
		gram, err = l.rotate(completionStep(gram, rank, i > 0))
		if err != nil {
			return nil, err
		}
	}
	return gram, nil
}

// completionStep returns the k×k map that leaves the first rank columns alone,
// removes their components from the others, and makes those orthonormal if
// scale is set, for columns with the given Gram matrix.
func completionStep(gram *mat.Dense, rank int, scale bool) *mat.Dense {
	k, _ := gram.Dims()
	m := k - rank
	t := identity(k)
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			d := gram.At(rank+i, rank+j)
			for p := range rank {
				d -= gram.At(p, rank+i) * gram.At(p, rank+j)
			}
			s.SetSym(i, j, d)
		}
	}
	x := mat.NewDense(m, m, nil)
	if scale {
		inverseRoot(x, s)
	} else {
		for i := range m {
			x.Set(i, i, 1/math.Sqrt(max(gram.At(rank+i, rank+i), math.SmallestNonzeroFloat64)))
		}
	}
	t.Slice(rank, k, rank, k).(*mat.Dense).Copy(x)
	if rank > 0 {
		var up mat.Dense
		up.Mul(gram.Slice(0, rank, rank, k), x)
		up.Scale(-1, &up)
		t.Slice(0, rank, rank, k).(*mat.Dense).Copy(&up)
	}
	return t
}

func identity(k int) *mat.Dense {
	t := mat.NewDense(k, k, nil)
	for i := range k {
		t.Set(i, i, 1)
	}
	return t
}

// inverseRoot sets x to a matrix with xᵀ s x = I, up to directions in which s
// is singular to working precision.
func inverseRoot(x *mat.Dense, s *mat.SymDense) {
	var e mat.EigenSym
	if !e.Factorize(s, true) {
		panic(tallskinny.Breakdown("Gram matrix of left vectors has no eigenvalues"))
	}
	e.VectorsTo(x)
	values := e.Values(nil)
	top := values[len(values)-1]
	for j, v := range values {
		(*tallskinny.Arena)(nil).ScaleColumn(x, j, 1/math.Sqrt(max(v, tallskinny.Epsilon*top, math.SmallestNonzeroFloat64)))
	}
}

// SignCompletion applies the sign rule to the columns from rank on and returns
// UᵀU.
func (l *Vectors) SignCompletion(rank int) (*mat.Dense, error) {
	t := identity(l.k)
	negative, err := l.Negative(t)
	if err != nil {
		return nil, err
	}
	for j := rank; j < l.k; j++ {
		if negative[j] {
			t.Set(j, j, -1)
		}
	}
	return l.rotate(t)
}

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
