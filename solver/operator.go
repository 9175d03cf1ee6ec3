package solver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// OperatorKind is the symmetric operator that SVD searches with, made from a matrix A, N×n. With each kind the
// triplets, their certificate, and the left vectors are those of A.
type OperatorKind uint8

const (
	// Gram is AᵀA, n×n, with eigenvalues σ²: the fewest passes and the least
	// memory, for any matrix. A σ below about 10⁻⁸σ₁ is invisible to it.
	Gram OperatorKind = iota
	// Dilation is H = [0 A; Aᵀ 0], of order N+n, with the eigenvectors (u; ±v)/√2 for the eigenvalues ±σ. A
	// product with H takes one read. The relative gaps are those of the σ, about half as large as those of the
	// σ², so that Dilation needs more passes than Gram; it needs more memory, too, since vectors have N+n
	// entries, all in memory. In return small σ are as visible as large ones. The method must be Indefinite in
	// its Traits.
	//
	// The search uses H. The finishing pass certifies the right halves of the vectors found; if the certificate
	// misses the tolerance, the search goes on with the Gram operator. A search with given start vectors, which
	// have no left halves, uses the Gram operator from the beginning.
	Dilation
	// Symmetric is A itself, which must be square and symmetric. SVD spends one pass on checking that: an A with
	// ‖A−Aᵀ‖_F = δ‖A‖_F passes the check with a probability of at most 3·10⁻²⁰/δ².
	//
	// Without Settings.Which A must be positive semidefinite, too: a similarity, covariance, or kernel matrix.
	// Its singular triplets are its eigenpairs, u = v. SVD returns an error that wraps ErrNotDefinite if a product
	// shows a negative eigenvalue; it does not find negative eigenvalues that no product shows. With
	// Settings.Which SVD finds eigenpairs with their signs.
	Symmetric
)

// String returns "gram", "dilation", or "symmetric".
func (o OperatorKind) String() string {
	switch o {
	case Dilation:
		return "dilation"
	case Symmetric:
		return "symmetric"
	}
	return "gram"
}

// Errors for a matrix that does not allow the operator or the shift asked for.
var (
	ErrOperator     = errors.New("matrix has no such products")
	ErrNotSymmetric = certificate.ErrNotSymmetric
	ErrNotDefinite  = errors.New("matrix is not positive semidefinite")
	ErrShift        = errors.New("no pair can be within the tolerance")
)

// operatorOf returns the operator asked for. Instead of the dilation it returns the Gram operator for a search
// with given start vectors, and for a continued search that had left the dilation when it was saved.
func operatorOf(arena *tallskinny.Arena, a Matrix, s Settings) (Operator, error) {
	switch s.Operator {
	case Dilation:
		h, err := newDilated(a)
		if err != nil {
			return nil, err
		}
		if left := s.Resume != nil && s.Resume.header.N == a.Info().Cols; left || s.Resume == nil && s.Init != nil {
			return gram{a}, nil
		}
		return h, nil
	case Symmetric:
		if err := square(a.Info()); err != nil || s.Which == LargestMagnitude {
			return gram{a}, err
		}
		return newSymmetric(arena, a, s)
	}
	return gram{a}, nil
}

func describe(a Matrix, s Settings) string {
	i, o := a.Info(), s.Operator
	shape := fmt.Sprintf("%d×%d matrix%v", i.Rows, i.Cols, scale(i.Exponent))
	if o == Gram {
		return shape
	}
	shape += ", " + o.String()
	if s.Which.signed() {
		shape += fmt.Sprintf(", %v", s.Which)
	}
	if s.Shift != 0 {
		shape += fmt.Sprintf(", shifted by %v", s.Shift)
	}
	return shape
}

// dilated is the operator H = [0 A; Aᵀ 0] of order N+n: the dilation trick of
// the paper (after its theorem on k-SVD). Vectors are pairs (u; v), the long
// half first.
//
// The paper calls H semidefinite, which it is not: its eigenvalues are ±σ. Yet
// gradient descent converges as on a semidefinite operator: the component of
// −σ is multiplied by 1 − η − ησ/σ₁ in a step, which lies between 1−2η and 1−η.
// The methods with momentum build on the same steps. The power method needs a
// shift; see package power.
type dilated struct {
	a       Matrix
	rows, n int
}

func newDilated(a Matrix) (*dilated, error) {
	i := a.Info()
	if i.Rows > int64(math.MaxInt-i.Cols) {
		return nil, fmt.Errorf("use the dilation of order %d + %d: %w", i.Rows, i.Cols, ErrOperator)
	}
	return &dilated{a: a, rows: int(i.Rows), n: i.Cols}, nil
}

func (h *dilated) Dim() int       { return h.rows + h.n }
func (h *dilated) long() int      { return h.rows }
func (h *dilated) matrix() Matrix { return h.a }

func (h *dilated) Apply(ctx context.Context, dst, x *mat.Dense) error {
	n, l := x.Dims()
	half := func(m *mat.Dense, from, to int) *mat.Dense { return m.Slice(from, to, 0, l).(*mat.Dense) }
	_, err := h.a.Run(ctx, Pass{
		X: half(x, h.rows, n), RowsIn: Rows{Block: half(x, 0, h.rows)},
		RowsOut: Rows{Block: half(dst, 0, h.rows)}, Sum: half(dst, h.rows, n),
	})
	return err
}

// lower changes the operator of a search from the dilation to the Gram operator, and keeps the right halves of
// the vectors found. All k vectors must have been found. With other operators it does nothing.
func (f *factorisation) lower() {
	h, ok := f.op.(*dilated)
	if !ok {
		return
	}
	// The evidence is about (I−UUᵀ)A(I−VVᵀ). A(I−VVᵀ) also contains UᵀA(I−VVᵀ), the residuals for u and v of length 1.
	// These are at most twice the residuals seen for (u; v) of length 1, whose halves have at least the length ½ if the
	// residual is below half of the value.
	bound := math.Hypot(f.found.Sigma(f.outside.Value), 2*slices.Max(f.found.Seen)*f.found.Lambda1)
	f.op, f.n = gram{f.a}, h.n
	f.found.Halve(h.long())
	f.outside.Value = f.found.Eigenvalue(bound)
	f.starts.warm = nil
	f.s.Deflation = Projected
	f.deflated.Operator, f.deflated.Plain = f.op, false
}

// asymmetry is the largest distance of a matrix from a symmetric or semidefinite one, relative to ‖A‖_F, that is
// taken for rounding errors, whatever algorithm computed the matrix.
const asymmetry = 1e-10

// asymmetry returns asymmetry·‖A‖_F, or what sums of the terms of a product may differ by where that is more.
func (i Info) asymmetry() float64 {
	return max(asymmetry*i.Norm, 16*tallskinny.Epsilon*math.Sqrt(float64(i.Cols))*i.terms())
}

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

// square returns an error if the matrix is not square.
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
		tol := cmp.Or(s.Tol, DefaultTol)
		if math.Abs(op.shift)*0x1p-52 > tol*op.norm && op.norm > 0 {
			return nil, fmt.Errorf("the shift %.6g is too large: ‖A‖ is %.6g, and the rounding of their sum hides residuals of %.3g·‖A‖: %w",
				s.Shift, scale(i.Exponent).sigma(op.norm), tol, ErrShift)
		}
	}
	return op, nil
}

func (s *symmetric) Dim() int       { return s.n }
func (s *symmetric) matrix() Matrix { return s.a }

// Apply sets dst to the product. It returns an error for a Rayleigh quotient that is clearly negative, which
// proves that the operator is not semidefinite.
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
		if d < -(s.a.Info().asymmetry()+asymmetry*math.Abs(s.shift))*xx[j] {
			return s.indefinite(d / xx[j])
		}
	}
	return nil
}

// indefinite returns the error for a negative Rayleigh quotient.
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

func (e *AsymmetryError) Unwrap() error { return ErrNotSymmetric }

// checkSymmetric compares Ax with Aᵀx for a random x, in one read. If they differ, a second read finds an entry.
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
	if !(d > i.asymmetry()) {
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

// inspect spends a pass on checking that the matrix is symmetric if the operator is Symmetric, unless no pass can
// be spared or the check was made before. The status is NotTerminated, or that of a context that has ended.
func (f *factorisation) inspect() (Status, error) {
	if f.s.Operator != Symmetric && !f.passes.cut || f.passes.stats.Passes > 0 {
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

// shift returns the shift of the operator and the sign of A in it: 0 and 1 for an operator without a shift.
func (r *run) shift() (shift, sign float64) {
	if s, ok := r.op.(*symmetric); ok {
		return s.shift, s.which.sign()
	}
	return 0, 1
}
