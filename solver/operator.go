package solver

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// OperatorKind is the symmetric operator through which SVD sees a matrix A, N×n. The
// triplets, their certificate, and the left vectors are those of A for each.
type OperatorKind uint8

const (
	// Gram is AᵀA, n×n, with eigenvalues σ²: the fewest passes and the least
	// memory, for any matrix. A σ below about 10⁻⁸σ₁ is invisible to it.
	Gram OperatorKind = iota
	// Dilation is H = [0 A; Aᵀ 0], of order N+n, with the eigenvectors
	// (u; ±v)/√2 for the eigenvalues ±σ. One read gives a product with it. The
	// relative gaps are those of the σ, about half as large as those of the
	// σ², which is what it costs in passes; vectors have N+n entries, all in
	// memory, which is what it costs there. In return small σ are as visible as
	// large ones. The method must be one that is Indefinite in its Traits.
	//
	// The search sees H; the right halves of what it has found are certified,
	// and should the certificate miss the tolerance, the search goes on with
	// the Gram operator. So does one that is given start vectors, which have no
	// left halves.
	Dilation
	// Symmetric is A itself, which must be square and symmetric. SVD spends one pass
	// on refusing a matrix that is not: an A with ‖A−Aᵀ‖_F = δ‖A‖_F is taken for
	// symmetric with a probability of at most 3·10⁻²⁰/δ².
	//
	// Without Settings.Which it must be positive semidefinite, too: a similarity, covariance,
	// or kernel matrix. Its singular triplets are its eigenpairs, u = v. That is taken on
	// trust: it is refused where a product shows the contrary, but eigenvalues below zero that
	// do not show are not found. With Settings.Which SVD finds eigenpairs with their signs.
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

// Errors of a matrix that does not have the operator asked for.
var (
	ErrOperator     = errors.New("matrix has no such products")
	ErrNotSymmetric = certificate.ErrNotSymmetric
	ErrNotDefinite  = errors.New("matrix is not positive semidefinite")
	ErrShift        = errors.New("no pair can be within the tolerance")
)

// operatorOf returns the operator asked for. A search that is given start vectors,
// and one that had left the dilation when it was saved, want the Gram operator
// instead of the dilation.
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
// shift; see shifted.
type dilated struct {
	a       Matrix
	rows, n int
}

var _ Operator = (*dilated)(nil)

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

// lower makes a search in the dilation one in the Gram operator, for the right
// halves of the vectors it has found. All k of them must be there.
func (f *factorisation) lower() {
	h, ok := f.op.(*dilated)
	if !ok {
		return
	}
	bound := f.found.Sigma(f.outside.Value)
	f.op, f.n = gram{f.a}, h.n
	f.found.Halve(h.long())
	f.outside.Value = f.found.Eigenvalue(bound)
	f.starts.warm = nil
	f.s.Deflation = Projected
	f.deflated.Operator, f.deflated.Plain = f.op, false
}
