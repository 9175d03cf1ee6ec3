package solver

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/left"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Triplets are singular triplets from anywhere, to be measured.
type Triplets struct {
	Sigma []float64
	// Right holds the v_i, n×k. Nil: v_i is Aᵀu_i made a unit vector.
	Right *mat.Dense
	// Left fills rows with the rows of the u_i, N×k, from first on; they are asked for
	// in ascending order, once a read. Nil: u_i is A·v_i made a unit vector.
	Left func(first int64, rows *mat.Dense) error
}

// Residuals measures ‖A v_i − σ_i u_i‖ and ‖Aᵀu_i − σ_i v_i‖ in one read of the matrix,
// two if there are no right vectors. It takes the vectors as they are: whether they are
// orthonormal is for Orthogonality to say. One of Right and Left must be there.
// A residual that is not 0 but smaller than every number is the smallest.
func Residuals(ctx context.Context, a Matrix, t Triplets) (left, right []float64, err error) {
	e := scale(a.Info().Exponent)
	sigma := make([]float64, len(t.Sigma))
	for i, s := range t.Sigma {
		sigma[i] = math.Ldexp(s, -int(e))
	}
	t.Sigma = sigma
	left, right, err = residuals(ctx, a, t)
	for _, of := range [][]float64{left, right} {
		for i, r := range of {
			of[i] = e.sigma(r)
			if of[i] == 0 && r > 0 {
				of[i] = math.SmallestNonzeroFloat64
			}
		}
	}
	return left, right, err
}

func residuals(ctx context.Context, a Matrix, t Triplets) (left, right []float64, err error) {
	// What squares are taken relative to, lest they leave the range: a power of two, so
	// that it costs no digits.
	scale := 1.0
	if top := floats.Norm(t.Sigma, math.Inf(1)); top > 0 {
		_, e := math.Frexp(top)
		scale = math.Ldexp(1, max(e, -1000))
	}
	if t.Left == nil {
		return impliedLeft(ctx, a, t, scale)
	}
	if t.Right == nil {
		t.Right = mat.NewDense(a.Info().Cols, len(t.Sigma), nil)
		_, err = a.Run(ctx, Pass{RowsIn: Rows{Func: t.Left}, Sum: t.Right})
		if err != nil {
			return nil, nil, err
		}
		divideColumns(t.Right, columnNorms(t.Right, scale))
	}
	left = make([]float64, len(t.Sigma)) // squares at first
	n, k := t.Right.Dims()
	atu := mat.NewDense(n, k, nil)
	var us []*mat.Dense // rows of the left vectors that await theirs of A·X
	in := func(first int64, rows *mat.Dense) error {
		if first == 0 {
			us = nil
		}
		us = append(us, rows)
		return t.Left(first, rows)
	}
	out := func(_ int64, ax *mat.Dense) error {
		u := us[0]
		us = us[1:]
		n, _ := ax.Dims()
		for i := range n {
			x, y := ax.RawRowView(i), u.RawRowView(i)
			for j, s := range t.Sigma {
				d := (x[j] - s*y[j]) / scale
				left[j] += d * d
			}
		}
		return nil
	}
	_, err = a.Run(ctx, Pass{X: t.Right, RowsIn: Rows{Func: in}, RowsOut: Rows{Func: out}, Sum: atu})
	if err != nil {
		return nil, nil, err
	}
	for j, square := range left {
		left[j] = scale * math.Sqrt(square)
	}
	return left, t.rightResiduals(atu, scale), nil
}

// impliedLeft is Residuals where u_i = A v_i/‖A v_i‖. AᵀA has the square of the scale:
// it multiplies v_i/scale.
func impliedLeft(ctx context.Context, a Matrix, t Triplets, scale float64) (left, right []float64, err error) {
	n, k := t.Right.Dims()
	atw, r := mat.NewDense(n, k, nil), mat.NewDense(k, k, nil)
	t.Right.Scale(1/scale, t.Right)
	_, err = a.Run(ctx, Pass{X: t.Right, Sum: atw, R: r})
	t.Right.Scale(scale, t.Right)
	if err != nil {
		return nil, nil, err
	}
	norms := columnNorms(r, 1)
	divideColumns(atw, norms)
	for j, s := range t.Sigma {
		left = append(left, math.Abs(scale*norms[j]-s))
	}
	return left, t.rightResiduals(atw, scale), nil
}

// rightResiduals returns the norms of the columns of Aᵀu_i − σ_i v_i, in the place of atu.
func (t *Triplets) rightResiduals(atu *mat.Dense, scale float64) []float64 {
	n, _ := atu.Dims()
	for i := range n {
		row, v := atu.RawRowView(i), t.Right.RawRowView(i)
		for j, s := range t.Sigma {
			row[j] -= s * v[j]
		}
	}
	return columnNorms(atu, scale)
}

// columnNorms returns the norms of the columns of x, whose size scale is about.
func columnNorms(x *mat.Dense, scale float64) []float64 {
	n, k := x.Dims()
	norms := make([]float64, k)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			norms[j] += (v / scale) * (v / scale)
		}
	}
	for j, square := range norms {
		norms[j] = scale * math.Sqrt(square)
	}
	return norms
}

// divideColumns divides the columns of x, those by zero excepted.
func divideColumns(x *mat.Dense, by []float64) {
	n, _ := x.Dims()
	for i := range n {
		row := x.RawRowView(i)
		for j, d := range by {
			if d > 0 {
				row[j] /= d
			}
		}
	}
}

// Orthogonality returns max|XᵀX − I| of a block of n rows and k columns, computed by so
// many workers (0: GOMAXPROCS). source fills rows with its rows from first on, which are
// asked for in ascending order.
func Orthogonality(ctx context.Context, workers int, n int64, k int, source func(first int64, rows *mat.Dense) error) (float64, error) {
	sums, err := left.Step{Keep: true}.Over(ctx, workers, left.Rows{N: n, K: k, Read: source})
	if err != nil {
		return 0, fmt.Errorf("measure orthogonality: %w", err)
	}
	return tallskinny.Orthogonality(sums.Gram), nil
}
