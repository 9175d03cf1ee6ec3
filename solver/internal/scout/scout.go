// Package scout bounds the eigenvalues of an operator that a search may have missed.
package scout

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Scout is block Lanczos from random columns, without a basis: three blocks of
// few columns, and the block tridiagonal T. It finds no vectors. What it is there
// for is an upper bound on the largest eigenvalue of the operator, with the
// probability that it is wrong: see method.Evidence.
//
// Without a basis Ritz values appear more than once, and X₁ᵀX_j is not zero. The
// recurrence holds to working precision all the same, and it is all that the
// bound is made of (Paige 1980).
type Scout struct {
	method.Alone
	arena    *tallskinny.Arena
	next     *mat.Dense // X_j, orthonormal, to be multiplied next
	last     *mat.Dense // X_{j−1}
	t        *mat.Dense // T, nil before the first product
	coupling *mat.Dense // B with M·X_{j−1} = … + X_j·B, nil before the first product
	steps    int        // products absorbed
	started  bool       // next is orthonormal
	over     bool       // the space is invariant
	top      float64    // largest norm of a product
	theta    []float64  // eigenvalues of T, descending
	ritz     *mat.Dense // eigenvectors of T, in rows

	qr    tallskinny.BlockQR
	small tallskinny.Sums
	eigen eigen.Solver
}

// Version is that of the parts of a scout.
const Version = 1

// New returns a scout to be started or restored.
func New(a *tallskinny.Arena) *Scout {
	return &Scout{arena: a, qr: tallskinny.BlockQR{Arena: a}, eigen: eigen.Solver{Workers: a.Most()}}
}

func (s *Scout) Start(z *mat.Dense) {
	n, p := z.Dims()
	s.next, s.last, s.qr.Key = z, s.arena.Dense(n, p), z.At(0, 0)
}

func (s *Scout) Avoid(found *tallskinny.Basis) { s.qr.Found = found }

func (s *Scout) Next() *mat.Dense {
	if !s.started {
		s.qr.Factor(s.next.RawMatrix(), nil, 0)
		s.started = true
	}
	return s.next
}

func (s *Scout) Absorb(y *mat.Dense) []method.RitzPair {
	x, last, g := s.next.RawMatrix(), s.last.RawMatrix(), y.RawMatrix()
	p, old := x.Cols, 0
	if s.t != nil {
		old, _ = s.t.Dims()
		f := panel.Pack(-1, s.coupling.RawMatrix())
		s.arena.EachChunk(g.Rows, tallskinny.Reads(last, g).Writes(g), func(_, i, rows int) {
			panel.AddProduct(tallskinny.RowsOf(g, i, rows), tallskinny.RowsOf(last, i, rows), f)
		})
	}
	a := mat.NewDense(p, p, nil)
	for range 2 {
		c := tallskinny.SpanOf(x).Project(s.arena, &s.small, g) // yᵀX
		for i := range p {
			for j := range p {
				a.Set(j, i, a.At(j, i)+c.Data[i*c.Stride+j])
			}
		}
	}
	if !tallskinny.AllFinite(a.RawMatrix().Data) {
		return []method.RitzPair{method.NewRitzPair(math.Inf(1), 0)}
	}
	t := mat.NewDense(old+p, old+p, nil)
	if old > 0 {
		t.Slice(0, old, 0, old).(*mat.Dense).Copy(s.t)
		t.Slice(old, old+p, old-p, old).(*mat.Dense).Copy(s.coupling)
		t.Slice(old-p, old, old, old+p).(*mat.Dense).Copy(s.coupling.T())
	}
	t.Slice(old, old+p, old, old+p).(*mat.Dense).Copy(a)
	s.t = t
	s.theta, s.ritz = tallskinny.RayleighRitz(&s.eigen, t.RawMatrix(), old+p)
	s.steps++
	s.top = max(s.top, math.Abs(s.theta[0]), mat.Norm(a, 2))
	s.advance(g)
	return []method.RitzPair{method.NewRitzPair(s.theta[0], s.residual())}
}

// advance makes what is left of a product the next block.
func (s *Scout) advance(y blas64.General) {
	p, least := y.Cols, tallskinny.DropFactor*tallskinny.Epsilon*s.top
	gram := s.arena.Cross(&s.qr.Gram, y, y)
	s.over = true
	for i := range p {
		s.over = s.over && !(math.Sqrt(gram.Data[i*gram.Stride+i]) > least)
	}
	if s.over {
		s.coupling = mat.NewDense(p, p, nil)
		return
	}
	s.coupling = s.qr.Factor(y, tallskinny.SpanOf(s.next.RawMatrix()), least)
	s.arena.SetBlock(s.last.RawMatrix(), y)
	s.next, s.last = s.last, s.next
}

// residual is that of the leading Ritz pair.
func (s *Scout) residual() float64 {
	size, p := s.ritz.RawMatrix().Cols, tallskinny.Width(s.next)
	var d mat.VecDense
	d.MulVec(s.coupling, mat.NewVecDense(p, s.ritz.RawRowView(0)[size-p:]))
	return mat.Norm(&d, 2)
}

func (s *Scout) Evidence(int) (method.Evidence, bool) {
	size, p := s.ritz.RawMatrix().Cols, tallskinny.Width(s.next)
	first := mat.DenseCopyOf(s.ritz.Slice(0, size, 0, p))
	last := mat.DenseCopyOf(s.ritz.Slice(0, size, size-p, size))
	return method.Evidence{
		Steps: s.steps, Theta: s.theta, First: first, Last: s.arena.Times(last, s.coupling), Top: s.top,
	}, true
}

// Over reports whether the space is invariant: there is nothing to go on with.
func (s *Scout) Over() bool { return s.over }

// Vector implements Recurrence: a scout has none.
func (s *Scout) Vector(dst []float64, _ int) { clear(dst) }

func (s *Scout) Free() { s.arena.Free(s.next, s.last) }

func (s *Scout) State(st *method.State) {
	if !st.Tall("next", &s.next, -1) {
		return
	}
	p := tallskinny.Width(s.next)
	st.Tall("last", &s.last, p)
	st.Float("key", &s.qr.Key)
	st.Int("drawn", &s.qr.Drawn, 0, math.MaxInt32)
	st.Int("steps", &s.steps, 0, math.MaxInt32)
	st.Flag("started", &s.started)
	st.Flag("over", &s.over)
	st.Float("norm", &s.top)
	if s.steps > 0 {
		st.Small("T", &s.t, s.steps*p, s.steps*p)
		st.Small("coupling", &s.coupling, p, p)
	}
	switch {
	case !tallskinny.AllFinite([]float64{s.qr.Key, s.top}):
		st.Refuse("has values that are not finite")
	case s.steps > 0 && (s.t == nil || s.coupling == nil):
		st.Refuse("has no T after %d steps", s.steps)
	case s.steps > 0 && st.Restoring() && st.OK():
		s.theta, s.ritz = tallskinny.RayleighRitz(&s.eigen, s.t.RawMatrix(), s.steps*p)
	}
}
