// Package found holds the eigenpairs of an operator that a search has found and locked.
package found

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Pairs holds the eigenpairs found, and the sizes that residuals are relative to.
type Pairs struct {
	arena *tallskinny.Arena
	draw  func(i int) (seed, stream uint64) // seed and stream of the random vector that follows i vectors
	most  int                               // largest number of pairs

	Basis   *tallskinny.Basis // the vectors
	Values  []float64         // their eigenvalues
	Seen    []float64         // their residuals relative to σ₁ as seen when locked
	Nulls   int               // vectors at the end whose eigenvalue is roundoff
	Noise   float64           // bound on the negative eigenvalues plain deflation makes
	Stalled bool              // a pair cannot meet the paper's rule, or larger eigenvalues turn up again and again

	Tol     float64  // residual, relative to σ₁, with which pairs are accepted
	Linear  bool     // eigenvalues of the operator are σ, not σ²
	Lambda1 float64  // largest ‖Gv‖ of a unit vector seen
	Norm    *float64 // largest norm of the matrix seen, if Lambda1 is that of a shifted matrix; otherwise nil
}

// New returns an empty set for up to most vectors of length n. draw returns the seed and the stream of the random vector
// that follows i vectors.
func New(a *tallskinny.Arena, n, most int, draw func(i int) (seed, stream uint64)) *Pairs {
	return &Pairs{
		arena: a, draw: draw, most: most, Basis: a.NewBasis(n, most),
		Values: make([]float64, 0, most), Seen: make([]float64, 0, most),
	}
}

// Len is the number of pairs.
func (p *Pairs) Len() int { return p.Basis.Len }

// Reset empties the set. Tol, Linear, Lambda1 and Norm stay.
func (p *Pairs) Reset() {
	p.Basis.Reset()
	p.Values, p.Seen = p.Values[:0], p.Seen[:0]
	p.Nulls, p.Noise, p.Stalled = 0, 0, false
}

// Push adds the vector that is in Basis.Next.
func (p *Pairs) Push(value, seen float64) {
	p.Values = append(p.Values, value)
	p.Seen = append(p.Seen, seen)
	p.Basis.Push()
}

// Extend makes x orthonormal to the vectors found, or a random vector orthonormal to them if x is in their span.
func (p *Pairs) Extend(x []float64) {
	if !p.Basis.Orthonormalise(x) {
		p.random(x)
	}
}

func (p *Pairs) random(x []float64) {
	seed, stream := p.draw(p.Len())
	p.Basis.Random(x, seed, stream)
}

// AddRandom adds a random vector with the given value and residual.
func (p *Pairs) AddRandom(value, seen float64) {
	p.random(p.Basis.Next())
	p.Push(value, seen)
}

// AddNull adds a random vector with the value 0: if the deflated operator is zero to working precision, any vector will do.
func (p *Pairs) AddNull() {
	p.AddRandom(0, 0)
	p.Nulls++
}

// AddBlock adds the vectors of x, which is destroyed, with their Ritz pairs. It returns false and adds no vector if x is too
// close to the vectors found.
func (p *Pairs) AddBlock(x *mat.Dense, pairs []method.RitzPair) bool {
	g := x.RawMatrix()
	if !p.Basis.OrthonormaliseAll(g) {
		return false
	}
	p.arena.SetTransposed(p.Basis.Data[p.Len()*p.Basis.N:], g)
	for _, c := range pairs {
		p.Push(c.Value, p.Relative(c))
	}
	return true
}

// Remove removes pair i.
func (p *Pairs) Remove(i int) {
	if i >= p.Len()-p.Nulls {
		p.Nulls--
	}
	p.Basis.Remove(i)
	p.Values = slices.Delete(p.Values, i, i+1)
	p.Seen = slices.Delete(p.Seen, i, i+1)
}

// Orthonormalise makes the vectors orthonormal; after plain deflation they are not.
func (p *Pairs) Orthonormalise() {
	k := p.Len()
	p.Basis.Reset()
	for range k {
		p.Extend(p.Basis.Next())
		p.Basis.Push()
	}
}

// Halve converts the pairs of a dilation to pairs of the Gram operator: the second halves of the vectors, from row cut on,
// with the squares of their values, which keep their signs.
func (p *Pairs) Halve(cut int) {
	of := *p
	p.Basis = p.arena.NewBasis(of.Basis.N-cut, p.most)
	for i, v := range of.Values {
		x := p.Basis.Next()
		p.arena.CopyVector(x, of.Basis.Vector(i)[cut:])
		p.Extend(x)
		p.Basis.Push()
		p.Values[i] = v * math.Abs(v)
	}
	p.Linear, p.Lambda1, p.Noise = false, of.Lambda1*of.Lambda1, 0
}

// Least is the least value found.
func (p *Pairs) Least() float64 { return slices.Min(p.Values) }

// Sigma returns the singular value that belongs to an eigenvalue.
func (p *Pairs) Sigma(value float64) float64 {
	if p.Linear {
		return max(value, 0)
	}
	return math.Sqrt(max(value, 0))
}

// Eigenvalue is the inverse of Sigma.
func (p *Pairs) Eigenvalue(sigma float64) float64 {
	if p.Linear {
		return sigma
	}
	return sigma * sigma
}

// Share returns the fraction of λ₁ that residuals are relative to.
func (p *Pairs) Share() float64 {
	if p.Norm == nil || p.Lambda1 == 0 {
		return 1
	}
	return min(1, max(*p.Norm/p.Lambda1, tallskinny.FloorFactor*tallskinny.Epsilon))
}

// Relative returns the residual of the triplet that belongs to a Ritz pair, relative to σ₁.
func (p *Pairs) Relative(c method.RitzPair) float64 {
	return judge.Relative(c, p.Lambda1, p.Linear) / p.Share()
}

// Worst returns the largest residual of the given Ritz pairs, relative to σ₁.
func (p *Pairs) Worst(pairs []method.RitzPair) float64 {
	worst := 0.0
	for _, c := range pairs {
		worst = max(worst, p.Relative(c))
	}
	return worst
}

// Slack is the difference below which eigenvalues near λ count as equal.
func (p *Pairs) Slack(lambda float64) float64 {
	return 2*p.Tol*p.Share()*math.Sqrt(max(lambda, 0)*p.Lambda1) + judge.NearFloor*tallskinny.Epsilon*p.Lambda1
}

// Pair returns pair i, with its residual as seen when locked.
func (p *Pairs) Pair(i int) method.RitzPair {
	of := p.Lambda1
	if !p.Linear {
		of = math.Sqrt(max(p.Values[i], 0) * p.Lambda1)
	}
	return method.RitzPair{Value: p.Values[i], Residual: p.Seen[i] * p.Share() * of}
}

// State saves or restores everything but the vectors, whose number is known.
func (p *Pairs) State(s *method.State) {
	s.Int("nulls", &p.Nulls, 0, p.Len())
	s.Flag("stalled", &p.Stalled)
	s.Float("noise", &p.Noise)
	s.Float("norm", &p.Lambda1)
	s.Float("tolerance", &p.Tol)
	s.Floats("values", &p.Values)
	s.Floats("residuals", &p.Seen)
	if len(p.Values) != p.Len() || len(p.Seen) != p.Len() {
		s.Refuse("has %d vectors with %d values and %d residuals", p.Len(), len(p.Values), len(p.Seen))
	}
}

// Vectors saves or restores the vectors. It refuses vectors whose norm is not 1: later steps rely on the norm.
func (p *Pairs) Vectors(s *method.State) {
	for i := range p.Len() {
		v := mat.NewDense(p.Basis.N, 1, p.Basis.Vector(i))
		if !s.Tall(fmt.Sprintf("vector %d", i), &v, 1) || !s.Restoring() {
			continue
		}
		x := tallskinny.Column(v)
		p.arena.CopyVector(p.Basis.Vector(i), x)
		if norm := p.arena.Norm2(x); !(math.Abs(norm-1) < 1e-8) {
			s.Refuse("has a vector %d of norm %g", i, norm)
		}
		p.arena.Free(v)
	}
}
