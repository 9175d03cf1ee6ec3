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
	arena       *tallskinny.Arena // of the rows of a chunk, in memory
	ctx         context.Context
	read, write func(first int64, rows *mat.Dense) error
	rows        int64
	k           int
	chunk       int64
	buf         *mat.Dense // of rows of a chunk
}

// Entries is the number of entries of a chunk of left vectors, unless k is
// large.
const Entries = 1 << 17

// New returns a rows×k block that is read and written by chunks, which go from the first
// row to the last in each sweep; without write it can only be measured. The size of a
// chunk depends on k alone, so sums over rows are always added up in the same order.
func New(ctx context.Context, workers int, rows int64, k int, read, write func(first int64, rows *mat.Dense) error) *Vectors {
	return &Vectors{
		arena: &tallskinny.Arena{Threads: workers}, ctx: ctx, read: read, write: write,
		rows: rows, k: k, chunk: int64(max(64, Entries/k)),
	}
}

// sweep reads every chunk, hands it to f, and writes it back if write is set.
func (l *Vectors) sweep(write bool, f func(first int64, rows *mat.Dense)) error {
	if l.buf == nil {
		l.buf = mat.NewDense(int(min(l.chunk, l.rows)), l.k, nil)
	}
	for at := int64(0); at < l.rows; at += l.chunk {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		rows := l.buf.Slice(0, int(min(l.chunk, l.rows-at)), 0, l.k).(*mat.Dense)
		if err := l.read(at, rows); err != nil {
			return fmt.Errorf("read left vectors: %w", err)
		}
		f(at, rows)
		if !write {
			continue
		}
		if err := l.write(at, rows); err != nil {
			return fmt.Errorf("write left vectors: %w", err)
		}
	}
	return nil
}

// Gram returns WᵀW.
func (l *Vectors) Gram() (*mat.Dense, error) {
	gram := mat.NewDense(l.k, l.k, nil)
	var s tallskinny.Sums
	err := l.sweep(false, func(_ int64, rows *mat.Dense) {
		floats.Add(gram.RawMatrix().Data, l.arena.Cross(&s, rows.RawMatrix(), rows.RawMatrix()).Data)
	})
	return gram, err
}

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
	gram, d := mat.NewDense(l.k, l.k, nil), tallskinny.Transposed(rotation)
	var s tallskinny.Sums
	err := l.sweep(true, func(_ int64, rows *mat.Dense) {
		s.Reset(rows.RawMatrix().Rows, l.k, l.k)
		l.arena.RotateThen(rows.RawMatrix(), d, func(seg int, part blas64.General) { panel.AddCross(s.Of(seg), part, part) })
		floats.Add(gram.RawMatrix().Data, s.Total().Data)
	})
	if err == nil && !tallskinny.AllFinite(gram.RawMatrix().Data) {
		err = fmt.Errorf("left vectors are not finite: %w", tallskinny.ErrBreakdown)
	}
	return gram, err
}

// Negative reports for every column of W·rotation whether its entry of largest
// magnitude is negative, the first such entry on ties. It reads only.
func (l *Vectors) Negative(rotation *mat.Dense) ([]bool, error) {
	big, d := make([]float64, l.k), tallskinny.Transposed(rotation)
	err := l.sweep(false, func(_ int64, rows *mat.Dense) {
		l.arena.Rotate(rows.RawMatrix(), d)
		r, _ := rows.Dims()
		for i := range r {
			tallskinny.Larger(big, rows.RawRowView(i))
		}
	})
	neg := make([]bool, l.k)
	for j, v := range big {
		neg[j] = v < 0
	}
	return neg, err
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
	random := mat.NewDense(int(min(l.chunk, l.rows)), l.k-rank, nil)
	gram := mat.NewDense(l.k, l.k, nil)
	var s tallskinny.Sums
	err := l.sweep(true, func(first int64, rows *mat.Dense) {
		r, _ := rows.Dims()
		part := random.Slice(0, r, 0, l.k-rank).(*mat.Dense)
		l.arena.Gaussian(part, first, seed, stream)
		rows.Slice(0, r, rank, l.k).(*mat.Dense).Copy(part)
		floats.Add(gram.RawMatrix().Data, l.arena.Cross(&s, rows.RawMatrix(), rows.RawMatrix()).Data)
	})
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
	t := mat.NewDense(k, k, nil)
	for i := range k {
		t.Set(i, i, 1)
	}
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
	t := mat.NewDense(l.k, l.k, nil)
	for i := range l.k {
		t.Set(i, i, 1)
	}
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
