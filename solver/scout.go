package solver

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

// scout is block Lanczos from random columns, without a basis: three blocks of
// few columns, and the block tridiagonal T. It finds no vectors. What it is there
// for is an upper bound on the largest eigenvalue of the operator, with the
// probability that it is wrong: see evidence.
//
// Without a basis Ritz values appear more than once, and X₁ᵀX_j is not zero. The
// recurrence holds to working precision all the same, and it is all that the
// bound is made of (Paige 1980).
type scout struct {
	arena    *Arena
	next     *mat.Dense // X_j, orthonormal, to be multiplied next
	last     *mat.Dense // X_{j−1}
	t        *mat.Dense // T, nil before the first product
	coupling *mat.Dense // B with M·X_{j−1} = … + X_j·B, nil before the first product
	steps    int        // products absorbed
	started  bool       // next is orthonormal
	over     bool       // the space is invariant: there is nothing to go on with
	top      float64    // largest norm of a product
	theta    []float64  // eigenvalues of T, descending
	ritz     *mat.Dense // eigenvectors of T, in rows

	qr    blockQR
	small sums
	eigen eigen.Solver
}

// few is how many random columns join k given ones at least.
func few(k int) int { return max(2, (k+9)/10) }

// GivenWidth is the number of columns of the widest block that a run for k triplets
// with a method multiplies if it is given start vectors.
func GivenWidth(m Method, k int) int {
	w := m.Width(k)
	most := max(w, scoutsBeside(w, k))
	if _, ok := m.(Krylov); ok {
		most = max(most, k+max(few(k), w))
	}
	return most
}

// scouts is how many random columns are to look outside of the vectors found. The more
// the fewer passes it takes; a method of one vector has no memory for many. Twice as
// many must fit into the space that is left, for the next block.
func (r *run) scouts() int {
	k := r.s.Rank
	return max(1, min(scoutsBeside(r.s.Method.Width(k), k), (r.n-r.locked.len)/2))
}

// scoutsBeside is scouts for a method of some width.
func scoutsBeside(width, k int) int {
	if width == 1 {
		return few(k)
	}
	const most = 32
	return max(few(k), min(2*k, most))
}

func newScout(a *Arena, z *mat.Dense) *scout {
	n, p := z.Dims()
	return &scout{
		arena: a, next: z, last: a.Dense(n, p),
		qr: blockQR{arena: a, key: z.At(0, 0)}, eigen: eigen.Solver{Workers: a.most()},
	}
}

// avoid implements avoider.
func (s *scout) avoid(found *basis) { s.qr.found = found }

func (s *scout) Next() *mat.Dense {
	if !s.started {
		s.qr.factor(s.next.RawMatrix(), nil, 0)
		s.started = true
	}
	return s.next
}

func (s *scout) Absorb(y *mat.Dense) []Candidate {
	x, last, g := s.next.RawMatrix(), s.last.RawMatrix(), y.RawMatrix()
	p, old := x.Cols, 0
	if s.t != nil {
		old, _ = s.t.Dims()
		f := panel.Pack(-1, s.coupling.RawMatrix())
		s.arena.eachChunk(g.Rows, reads(last, g).writes(g), func(_, i, rows int) { panel.AddProduct(rowsOf(g, i, rows), rowsOf(last, i, rows), f) })
	}
	a := mat.NewDense(p, p, nil)
	for range 2 {
		c := spanOf(x).project(s.arena, &s.small, g) // yᵀX
		for i := range p {
			for j := range p {
				a.Set(j, i, a.At(j, i)+c.Data[i*c.Stride+j])
			}
		}
	}
	if !allFinite(a.RawMatrix().Data) {
		return []Candidate{ritzCandidate(math.Inf(1), 0)}
	}
	t := mat.NewDense(old+p, old+p, nil)
	if old > 0 {
		t.Slice(0, old, 0, old).(*mat.Dense).Copy(s.t)
		t.Slice(old, old+p, old-p, old).(*mat.Dense).Copy(s.coupling)
		t.Slice(old-p, old, old, old+p).(*mat.Dense).Copy(s.coupling.T())
	}
	t.Slice(old, old+p, old, old+p).(*mat.Dense).Copy(a)
	s.t = t
	s.theta, s.ritz = rayleighRitz(&s.eigen, t.RawMatrix(), old+p)
	s.steps++
	s.top = max(s.top, math.Abs(s.theta[0]), mat.Norm(a, 2))
	s.advance(g)
	return []Candidate{ritzCandidate(s.theta[0], s.residual())}
}

// advance makes what is left of a product the next block.
func (s *scout) advance(y blas64.General) {
	p, least := y.Cols, dropFactor*epsilon*s.top
	gram := s.arena.cross(&s.qr.gram, y, y)
	s.over = true
	for i := range p {
		s.over = s.over && !(math.Sqrt(gram.Data[i*gram.Stride+i]) > least)
	}
	if s.over {
		s.coupling = mat.NewDense(p, p, nil)
		return
	}
	s.coupling = s.qr.factor(y, spanOf(s.next.RawMatrix()), least)
	s.arena.setBlock(s.last.RawMatrix(), y)
	s.next, s.last = s.last, s.next
}

// residual is that of the leading Ritz pair.
func (s *scout) residual() float64 {
	size, p := s.ritz.RawMatrix().Cols, width(s.next)
	var d mat.VecDense
	d.MulVec(s.coupling, mat.NewVecDense(p, s.ritz.RawRowView(0)[size-p:]))
	return mat.Norm(&d, 2)
}

// evidence implements witness.
func (s *scout) evidence(int) (evidence, bool) {
	size, p := s.ritz.RawMatrix().Cols, width(s.next)
	first := mat.DenseCopyOf(s.ritz.Slice(0, size, 0, p))
	last := mat.DenseCopyOf(s.ritz.Slice(0, size, size-p, size))
	return evidence{
		steps: s.steps, theta: s.theta, first: first, last: s.arena.times(last, s.coupling), top: s.top,
	}, true
}

// Vector implements Recurrence: a scout has none.
func (s *scout) Vector(dst []float64, _ int) { clear(dst) }

// Lock implements Recurrence.
func (s *scout) Lock(int) bool { return false }

func (s *scout) Save() State {
	st := State{
		Blocks:  []*mat.Dense{s.next, s.last, {}, {}},
		Scalars: []float64{s.qr.key, float64(s.qr.drawn), float64(s.steps), scalar(s.started), scalar(s.over), s.top},
	}
	if s.t != nil {
		st.Blocks[2], st.Blocks[3] = s.t, s.coupling
	}
	return st
}

// restoreScout returns the scout that st was saved from.
func restoreScout(a *Arena, st State) (*scout, error) {
	if err := st.shape(4, 6); err != nil {
		return nil, err
	}
	s := &scout{
		arena: a, top: st.Scalars[5],
		qr: blockQR{arena: a, key: st.Scalars[0]}, eigen: eigen.Solver{Workers: a.most()},
	}
	var err error
	if s.next, err = st.block(0, -1, -1); err != nil {
		return nil, err
	}
	n, p := s.next.Dims()
	if s.last, err = st.block(1, n, p); err != nil {
		return nil, err
	}
	if s.qr.drawn, err = st.count(1, math.MaxInt32); err != nil {
		return nil, err
	}
	if s.steps, err = st.count(2, math.MaxInt32); err != nil {
		return nil, err
	}
	if s.started, err = st.flag(3); err != nil {
		return nil, err
	}
	if s.over, err = st.flag(4); err != nil {
		return nil, err
	}
	if !allFinite(st.Scalars) {
		return nil, errors.New("state has values that are not finite")
	}
	if s.steps == 0 {
		return s, nil
	}
	if size, _ := st.Blocks[2].Dims(); size != s.steps*p {
		return nil, fmt.Errorf("state has %d Ritz values after %d steps with %d columns", size, s.steps, p)
	}
	if s.t, err = st.block(2, s.steps*p, s.steps*p); err != nil {
		return nil, err
	}
	if s.coupling, err = st.block(3, p, p); err != nil {
		return nil, err
	}
	s.theta, s.ritz = rayleighRitz(&s.eigen, s.t.RawMatrix(), s.steps*p)
	return s, nil
}
