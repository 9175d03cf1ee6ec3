package solver

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// What tells a matrix that is not symmetric, or not semidefinite, from one that
// is so but for rounding, however it was computed: relative to ‖A‖_F.
const asymmetry = 1e-10

// symmetric is the operator A, for a symmetric positive semidefinite A.
type symmetric struct {
	arena *tallskinny.Arena
	a     Matrix
	n     int
	norm  float64 // ‖A‖_F
}

var _ Operator = (*symmetric)(nil)

func newSymmetric(arena *tallskinny.Arena, a Matrix) (*symmetric, error) {
	i := a.Info()
	if i.Rows != int64(i.Cols) {
		return nil, fmt.Errorf("use the matrix as a symmetric one: it is %d×%d, not square: %w", i.Rows, i.Cols, ErrNotSymmetric)
	}
	return &symmetric{arena: arena, a: a, n: i.Cols, norm: i.Norm}, nil
}

func (s *symmetric) Dim() int       { return s.n }
func (s *symmetric) matrix() Matrix { return s.a }

// Apply sets dst = A·x. A Rayleigh quotient that is clearly negative proves that
// A is not semidefinite.
func (s *symmetric) Apply(ctx context.Context, dst, x *mat.Dense) error {
	_, l := x.Dims()
	xx, xy := make([]float64, l), make([]float64, l)
	over, _, _ := s.arena.Find(s.Dim(), tallskinny.Reads(x.RawMatrix(), dst.RawMatrix()))
	_, err := s.a.Run(ctx, Pass{X: x, RowsOut: Rows{Func: func(first int64, rows *mat.Dense) error {
		r, _ := rows.Dims()
		for i := range r {
			at := int(first) + i
			y := rows.RawRowView(i)
			copy(dst.RawRowView(at), y)
			for j, v := range x.RawRowView(at) {
				xx[j] += v * v
				xy[j] += v * y[j]
			}
		}
		over.Evict(int(first), int(first)+r)
		return nil
	}}})
	if err != nil {
		return err
	}
	for j, d := range xy {
		if d < -asymmetry*s.norm*xx[j] {
			return fmt.Errorf("use the matrix as a semidefinite one: it has an eigenvalue of at most %.3g: %w", -scaleOf(s).sigma(-d/xx[j]), ErrNotDefinite)
		}
	}
	return nil
}

// check compares Ax with Aᵀx for a random x, in one read. For independent
// normal entries the expected ‖(A−Aᵀ)x‖² is ‖A−Aᵀ‖²_F, and a difference is
// missed with probability zero.
func (s *symmetric) check(ctx context.Context, seed uint64) error {
	n := s.Dim()
	x, ax, atx := s.arena.Dense(n, 1), s.arena.Dense(n, 1), s.arena.Dense(n, 1)
	defer s.arena.Free(x, ax, atx)
	s.arena.Gaussian(x, 0, seed, streamProbe)
	if _, err := s.a.Run(ctx, Pass{X: x, RowsIn: Rows{Block: x}, RowsOut: Rows{Block: ax}, Sum: atx}); err != nil {
		return err
	}
	e := scaleOf(s)
	if d := s.arena.Distance(tallskinny.Column(ax), 1, tallskinny.Column(atx), 1); d > asymmetry*s.norm {
		return fmt.Errorf("use the matrix as a symmetric one: ‖A−Aᵀ‖ is about %.3g, ‖A‖ is %.3g: %w", e.sigma(d), e.sigma(s.norm), ErrNotSymmetric)
	}
	return nil
}

// inspect spends a pass on refusing a matrix that is not symmetric, unless there
// is none to spare or it has been done. The status is NotTerminated, or that of
// a context that has ended.
func (f *factorisation) inspect() (Status, error) {
	s, ok := f.op.(*symmetric)
	if !ok || f.stats.Passes > 0 {
		return NotTerminated, nil
	}
	if st := f.mayPass(f.reserve()); f.cut {
		return st, nil
	} else if st != NotTerminated {
		return NotTerminated, nil
	}
	if err := f.pass(func() error { return s.check(f.ctx, f.s.Seed) }, 0, 0); err != nil {
		return f.abandon(err)
	}
	return NotTerminated, f.observe(Event{
		Phase: PhaseInspect, Pass: f.stats.Passes, Rank: f.s.Rank, Tol: f.s.Tol, Stats: f.cost(),
	})
}
