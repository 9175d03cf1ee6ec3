// Package scout bounds the eigenvalues of an operator that a search may have missed.
package scout

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Scout is block Lanczos from random columns, without a basis: three blocks of few columns, and the block tridiagonal T. It
// finds no vectors. Its purpose is an upper bound on the largest eigenvalue of the operator, with the probability that it is
// wrong: see method.Evidence.
//
// Without a basis Ritz values appear more than once, and X₁ᵀX_j is not zero. The recurrence still holds to working
// precision, and the bound needs nothing else (Paige 1980).
type Scout struct {
	iterate.Block            // X_j
	last          *mat.Dense // X_{j−1}
	t             *mat.Dense // T, nil before the first product
	coupling      *mat.Dense // B with M·X_{j−1} = … + X_j·B, nil before the first product
	steps         int        // products absorbed
	over          bool       // the space is invariant
	top           float64    // largest norm of a product
	theta         []float64  // eigenvalues of T, descending
	ritz          *mat.Dense // eigenvectors of T, in rows

	small tallskinny.Sums
}

// Version is the version of the parts of a scout that State saves.
const Version = 1

// New returns a scout to be started or restored.
func New(a *tallskinny.Arena) *Scout {
	return &Scout{Block: iterate.NewBlock(a)}
}

func (s *Scout) Start(z *mat.Dense) {
	n, p := z.Dims()
	s.Block.Start(z)
	s.last = s.Arena.Dense(n, p)
}

func (s *Scout) Absorb(y *mat.Dense) []method.RitzPair {
	x, last, g := s.X.RawMatrix(), s.last.RawMatrix(), y.RawMatrix()
	p, old := x.Cols, 0
	if s.t != nil {
		old, _ = s.t.Dims()
		f := panel.Pack(-1, s.coupling.RawMatrix())
		s.Arena.EachChunk(g.Rows, tallskinny.Reads(last, g).Writes(g), func(_, i, rows int) {
			panel.AddProduct(tallskinny.RowsOf(g, i, rows), tallskinny.RowsOf(last, i, rows), f)
		})
	}
	a := mat.NewDense(p, p, nil)
	for range 2 {
		c := tallskinny.SpanOf(x).Project(s.Arena, &s.small, g) // yᵀX
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
	s.theta, s.ritz = tallskinny.RayleighRitz(&s.Eigen, t.RawMatrix(), old+p)
	s.steps++
	s.top = max(s.top, math.Abs(s.theta[0]), mat.Norm(a, 2))
	s.advance(g)
	return []method.RitzPair{method.NewRitzPair(s.theta[0], s.residual())}
}

// advance makes the rest of a product the next block.
func (s *Scout) advance(y blas64.General) {
	p, least := y.Cols, tallskinny.DropFactor*tallskinny.Epsilon*s.top
	gram := s.Arena.Cross(&s.QR.Gram, y, y)
	s.over = true
	for i := range p {
		s.over = s.over && !(math.Sqrt(gram.Data[i*gram.Stride+i]) > least)
	}
	if s.over {
		s.coupling = mat.NewDense(p, p, nil)
		return
	}
	s.coupling = s.QR.Factor(y, tallskinny.SpanOf(s.X.RawMatrix()), least)
	s.Arena.SetBlock(s.last.RawMatrix(), y)
	s.X, s.last = s.last, s.X
}

// residual returns the residual of the leading Ritz pair.
func (s *Scout) residual() float64 {
	size, p := s.ritz.RawMatrix().Cols, tallskinny.Width(s.X)
	var d mat.VecDense
	d.MulVec(s.coupling, mat.NewVecDense(p, s.ritz.RawRowView(0)[size-p:]))
	return mat.Norm(&d, 2)
}

func (s *Scout) Evidence(int) (method.Evidence, bool) {
	size, p := s.ritz.RawMatrix().Cols, tallskinny.Width(s.X)
	first := mat.DenseCopyOf(s.ritz.Slice(0, size, 0, p))
	last := mat.DenseCopyOf(s.ritz.Slice(0, size, size-p, size))
	return method.Evidence{
		Steps: s.steps, Theta: s.theta, First: first, Last: s.Arena.Times(last, s.coupling), Top: s.top,
	}, true
}

// Over reports whether the space is invariant, so that the scout cannot go on.
func (s *Scout) Over() bool { return s.over }

// Vector implements method.Recurrence: it stores zeros, since a scout has no vectors.
func (s *Scout) Vector(dst []float64, _ int) { clear(dst) }
func (s *Scout) Free()                       { s.Arena.Free(s.X, s.last) }

func (s *Scout) State(st *method.State) {
	if !s.Block.State(st) {
		return
	}
	p := tallskinny.Width(s.X)
	st.Tall("last", &s.last, p)
	st.Int("steps", &s.steps, 0, math.MaxInt32)
	st.Flag("over", &s.over)
	st.Float("norm", &s.top)
	if s.steps > 0 {
		st.Small("T", &s.t, s.steps*p, s.steps*p)
		st.Small("coupling", &s.coupling, p, p)
	}
	switch {
	case !tallskinny.AllFinite([]float64{s.top}):
		st.Refuse("has values that are not finite")
	case s.steps > 0 && (s.t == nil || s.coupling == nil):
		st.Refuse("has no T after %d steps", s.steps)
	case s.steps > 0 && st.Restoring() && st.OK():
		s.theta, s.ritz = tallskinny.RayleighRitz(&s.Eigen, s.t.RawMatrix(), s.steps*p)
	}
}
