package solver

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// What tells a matrix that is not symmetric, or not semidefinite, from one that
// is so but for rounding, however it was computed: relative to ‖A‖_F.
const asymmetry = 1e-10

// symmetric is the operator ±A + shift·I, which is positive semidefinite.
type symmetric struct {
	arena *tallskinny.Arena
	a     Matrix
	n     int
	norm  float64 // ‖A‖_F
	which Which
	shift float64
	seen  float64 // largest ‖Ax‖ of a unit vector x
}

var _ Operator = (*symmetric)(nil)

// square refuses a matrix that is not.
func square(i Info) error {
	if i.Rows != int64(i.Cols) {
		return fmt.Errorf("use the matrix as a symmetric one: it is %d×%d, not square: %w", i.Rows, i.Cols, ErrNotSymmetric)
	}
	return nil
}

func newSymmetric(arena *tallskinny.Arena, a Matrix, s Settings) (*symmetric, error) {
	i := a.Info()
	op := &symmetric{arena: arena, a: a, n: i.Cols, norm: i.Norm, which: s.Which}
	if s.Which.shifted() {
		op.shift = math.Ldexp(s.Shift, -i.Exponent)
		if s.Shift == 0 {
			op.shift = i.Norm
		}
		tol := s.Tol
		if tol == 0 {
			tol = DefaultTol
		}
		if math.Abs(op.shift)*0x1p-52 > tol*op.norm && op.norm > 0 {
			return nil, fmt.Errorf("the shift %.6g is too large: ‖A‖ is %.6g, and the rounding of their sum hides residuals of %.3g·‖A‖: %w",
				s.Shift, scale(i.Exponent).sigma(op.norm), tol, ErrShift)
		}
	}
	return op, nil
}

func (s *symmetric) Dim() int       { return s.n }
func (s *symmetric) matrix() Matrix { return s.a }

// Apply sets dst to the product. A Rayleigh quotient that is clearly negative proves that
// the operator is not semidefinite.
func (s *symmetric) Apply(ctx context.Context, dst, x *mat.Dense) error {
	_, l := x.Dims()
	xx, xy, yy := make([]float64, l), make([]float64, l), make([]float64, l)
	over, _, _ := s.arena.Find(s.Dim(), tallskinny.Reads(x.RawMatrix(), dst.RawMatrix()))
	sign := s.which.sign()
	_, err := s.a.Run(ctx, Pass{X: x, RowsOut: Rows{Func: func(first int64, rows *mat.Dense) error {
		r, _ := rows.Dims()
		for i := range r {
			at := int(first) + i
			y, out := rows.RawRowView(i), dst.RawRowView(at)
			for j, v := range x.RawRowView(at) {
				xx[j] += v * v
				yy[j] += y[j] * y[j]
				out[j] = sign*y[j] + s.shift*v
				xy[j] += v * out[j]
			}
		}
		over.Evict(int(first), int(first)+r)
		return nil
	}}})
	if err != nil {
		return err
	}
	for j, d := range xy {
		if xx[j] > 0 {
			s.seen = max(s.seen, math.Sqrt(yy[j]/xx[j]))
		}
		if d < -asymmetry*(s.norm+math.Abs(s.shift))*xx[j] {
			return s.indefinite(d / xx[j])
		}
	}
	return nil
}

// indefinite is the error of a Rayleigh quotient below zero.
func (s *symmetric) indefinite(quotient float64) error {
	e := scaleOf(s)
	if !s.which.shifted() {
		return fmt.Errorf("use the matrix as a semidefinite one: it has an eigenvalue of at most %.3g: %w", e.signed(quotient), ErrNotDefinite)
	}
	side := [...]string{"at most", "at least"}[s.which-LargestAlgebraic]
	return fmt.Errorf("the shift %.6g is too small: the matrix has an eigenvalue of %s %.6g: %w",
		e.signed(s.shift), side, e.signed(s.which.sign()*(quotient-s.shift)), ErrNotDefinite)
}

// AsymmetryError says where a matrix is not symmetric: entries (Row, Col) and (Col, Row) are
// Entry and Mirror. Distance is an estimate of ‖A − Aᵀ‖_F, and Norm is ‖A‖_F.
type AsymmetryError struct {
	Row, Col       int
	Entry, Mirror  float64
	Distance, Norm float64
}

func (e *AsymmetryError) Error() string {
	return fmt.Sprintf("use the matrix as a symmetric one: ‖A−Aᵀ‖ is about %.3g, ‖A‖ is %.3g; entry (%d, %d) is %.6g and entry (%d, %d) is %.6g, counted from 0: %v",
		e.Distance, e.Norm, e.Row, e.Col, e.Entry, e.Col, e.Row, e.Mirror, ErrNotSymmetric)
}

// Unwrap returns ErrNotSymmetric.
func (e *AsymmetryError) Unwrap() error { return ErrNotSymmetric }

// checkSymmetric compares Ax with Aᵀx for a random x, in one read.
//
// For independent normal entries of x the expectation of ‖(A−Aᵀ)x‖² is ‖A−Aᵀ‖²_F. The singular
// values of A − Aᵀ come in pairs, so that this is a sum of exponentially distributed terms and
// below ε²‖A−Aᵀ‖²_F with a probability of at most e·ε².
func checkSymmetric(ctx context.Context, arena *tallskinny.Arena, a Matrix, seed uint64) error {
	i := a.Info()
	n := i.Cols
	x, ax, atx := arena.Dense(n, 1), arena.Dense(n, 1), arena.Dense(n, 1)
	defer arena.Free(x, ax, atx)
	arena.Gaussian(x, 0, seed, streamProbe)
	both := func() error {
		_, err := a.Run(ctx, Pass{X: x, RowsIn: Rows{Block: x}, RowsOut: Rows{Block: ax}, Sum: atx})
		return err
	}
	if err := both(); err != nil {
		return err
	}
	column, row := tallskinny.Column(ax), tallskinny.Column(atx)
	d := arena.Distance(column, 1, row, 1)
	if !(d > asymmetry*i.Norm) {
		return nil
	}
	e, wrong := scale(i.Exponent), &AsymmetryError{}
	wrong.Distance, wrong.Norm = e.sigma(d), e.sigma(i.Norm)
	widest := func() (at int) {
		for i := range column {
			if math.Abs(column[i]-row[i]) > math.Abs(column[at]-row[at]) {
				at = i
			}
		}
		return at
	}
	wrong.Col = widest()
	x.Zero()
	x.Set(wrong.Col, 0, 1)
	if err := both(); err != nil {
		return err
	}
	wrong.Row = widest()
	wrong.Entry, wrong.Mirror = e.signed(column[wrong.Row]), e.signed(row[wrong.Row])
	return wrong
}

// inspect spends a pass on refusing a matrix that is not symmetric, unless there
// is none to spare or it has been done. The status is NotTerminated, or that of
// a context that has ended.
func (f *factorisation) inspect() (Status, error) {
	if f.s.Operator != Symmetric || f.passes.stats.Passes > 0 {
		return NotTerminated, nil
	}
	st := f.passes.may(f.reserve())
	switch {
	case f.passes.cut:
		return st, nil
	case st != NotTerminated:
		return NotTerminated, nil
	}
	if err := f.passes.make(func() error { return checkSymmetric(f.passes.ctx, f.arena, f.a, f.key) }, f.n, 0, 0); err != nil {
		return f.abandon(err)
	}
	return NotTerminated, f.observe(Event{
		Phase: PhaseInspect, Pass: f.passes.stats.Passes, Rank: f.s.Rank, Tol: f.s.Tol, Stats: f.passes.cost(),
	})
}

// shift returns the operator's, and the sign of A in it.
func (r *run) shift() (shift, sign float64) {
	if s, ok := r.op.(*symmetric); ok {
		return s.shift, s.which.sign()
	}
	return 0, 1
}
