package synth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
)

// Factor describes the small sparse matrix by which [Expansion] multiplies a store. Activity of its rows and popularity of its
// columns are skewed, as in ratings.
type Factor struct {
	Rows, Cols int
	NNZ        int       // number of entries, at least max(Rows, Cols): no row or column is empty
	Values     []float64 // numbers from which entries are drawn; nil: DefaultFactorValues
	Seed       uint64
}

// DefaultFactorValues returns the values 0.5 and 1, which keep ratings valid: a half-star rating, or half of a whole-star rating,
// is a half-star rating.
func DefaultFactorValues() []float64 { return []float64{0.5, 1} }

// maxFactorCells bounds the rows times columns of the factor, which is decomposed densely.
const maxFactorCells = 1 << 22

func (f Factor) Validate() error {
	switch {
	case f.Rows < 1 || f.Cols < 1 || f.Rows > maxFactorCells || f.Cols > maxFactorCells || f.Rows*f.Cols > maxFactorCells:
		return fmt.Errorf("factor of %d × %d: want at least 1 × 1 and at most %d cells", f.Rows, f.Cols, maxFactorCells)
	case f.NNZ < max(f.Rows, f.Cols) || f.NNZ > f.Rows*f.Cols:
		return fmt.Errorf("factor of %d × %d with %d entries: want %d to %d, no row or column empty", f.Rows, f.Cols, f.NNZ, max(f.Rows, f.Cols), f.Rows*f.Cols)
	}
	for _, v := range f.Values {
		if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("factor with entries of %v: want finite numbers but 0", v)
		}
	}
	return nil
}

// Matrix draws the factor. It panics if the factor is not valid.
func (f Factor) Matrix() *mat.Dense {
	if err := f.Validate(); err != nil {
		panic("synth: " + err.Error())
	}
	values := f.Values
	if len(values) == 0 {
		values = DefaultFactorValues()
	}
	r := rand.New(rand.NewPCG(f.Seed, 0x666163746f72))
	m := mat.NewDense(f.Rows, f.Cols, nil)
	for _, cell := range f.pattern(r) {
		m.Set(cell/f.Cols, cell%f.Cols, values[r.IntN(len(values))])
	}
	return m
}

// pattern draws the cells that have an entry, ascending: one for every row and column, then cells without replacement by
// weight (those with the n smallest exponential variates divided by weights, as in catalogue.drawByKeys).
func (f Factor) pattern(r *rand.Rand) []int {
	rowWeight, colWeight := skewed(r, f.Rows), skewed(r, f.Cols)
	rowOrder, colOrder := r.Perm(f.Rows), r.Perm(f.Cols)
	taken := make(map[int]bool, f.NNZ)
	for i := range max(f.Rows, f.Cols) {
		taken[rowOrder[i%f.Rows]*f.Cols+colOrder[i%f.Cols]] = true
	}
	keys := make([]drawKey, 0, f.Rows*f.Cols-len(taken))
	for i := range f.Rows {
		for j := range f.Cols {
			if cell := i*f.Cols + j; !taken[cell] {
				keys = append(keys, drawKey{r.ExpFloat64() / (rowWeight[i] * colWeight[j]), int32(cell)})
			}
		}
	}
	slices.SortFunc(keys, drawKey.compare)
	cells := slices.AppendSeq(make([]int, 0, f.NNZ), maps.Keys(taken))
	for _, k := range keys[:f.NNZ-len(taken)] {
		cells = append(cells, int(k.item))
	}
	slices.Sort(cells)
	return cells
}

// skewed returns n weights proportional to the inverse square root of their rank, in random order.
func skewed(r *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / math.Sqrt(float64(i+1))
	}
	r.Shuffle(n, func(i, j int) { w[i], w[j] = w[j], w[i] })
	return w
}

type entries struct {
	col []int
	val []float64
}

func sparseRows(m *mat.Dense) []entries {
	rows, _ := m.Dims()
	all := make([]entries, rows)
	for i := range all {
		for j, v := range m.RawRowView(i) {
			if v != 0 {
				all[i].col, all[i].val = append(all[i].col, j), append(all[i].val, v)
			}
		}
	}
	return all
}

// exactProduct returns a·b if float64 represents it exactly, else errInexact.
func exactProduct(a, b float64) (float64, error) {
	// Near the ends of the range FMA would miss the rounding error.
	fa, ea := math.Frexp(a)
	fb, eb := math.Frexp(b)
	f, e := fa*fb, ea+eb
	p := math.Ldexp(f, e)
	if math.FMA(fa, fb, -f) != 0 || math.Ldexp(p, -e) != f {
		return 0, errInexact
	}
	return p, nil
}

var errInexact = errors.New("products of its values with those of the factor are not exact: choose others, powers of two for example")

const (
	// leading is the number of values of a large base that are computed, and thus the least number of known values of
	// the expansion.
	leading = 200
	// maxKnown bounds the number of known values that are written.
	maxKnown = 4096
	// denseSide is the longest side of a base that is decomposed densely.
	denseSide = 400
	truthTol  = 1e-11
)

// truth computes the leading singular values of factor ⊗ base.
//
// If only the k leading values of the base are known, a product with any other one is at most σ₁(factor)·σ_k(base). So the
// list of products is complete down to this value.
func (e *Expansion) truth(ctx context.Context, factor *mat.Dense, o *WriteOptions) (csr.Truth, error) {
	base, all, bound, err := e.baseValues(ctx, o)
	if err != nil {
		return csr.Truth{}, err
	}
	small := dense(factor)
	sigma := allProducts(small, base)
	if !all {
		least := small[0] * base[len(base)-1]
		sigma = slices.DeleteFunc(sigma, func(p float64) bool { return p < least })
	}
	if len(sigma) > maxKnown {
		sigma, all = sigma[:maxKnown], false
	}
	// Both decompositions and the products of their values are accurate to a few units of roundoff.
	rows, cols := factor.Dims()
	bound += float64(rows+cols) * 0x1p-50
	if len(sigma) > 0 && sigma[0] > 0 {
		// Near underflow each factor and the product may be off by half the smallest number.
		bound += math.SmallestNonzeroFloat64 * (2 + small[0] + base[0]) / sigma[0]
	}
	return csr.Truth{Sigma: sigma, Complete: all, Error: bound}, nil
}

// baseValues returns the leading singular values of the base, whether these are all, and a bound of their errors relative
// to the largest value.
func (e *Expansion) baseValues(ctx context.Context, o *WriteOptions) (sigma []float64, all bool, bound float64, err error) {
	if e.Base.Rows() == 0 || e.Base.Cols() == 0 {
		return nil, true, 0, nil
	}
	if max(e.Base.Rows(), e.Base.Cols()) <= denseSide {
		sigma, err := e.denseBase(ctx)
		return sigma, true, denseSide * 0x1p-50, err
	}
	least := min(e.Base.Rows(), e.Base.Cols())
	k := int(min(leading, least))
	res, err := solveBase(ctx, e.Base, k, o)
	if err != nil {
		return nil, false, 0, err
	}
	return res.Sigma, int64(k) == least, slices.Max(res.Residuals), nil
}

func (e *Expansion) denseBase(ctx context.Context) ([]float64, error) {
	a := mat.NewDense(int(e.Base.Rows()), int(e.Base.Cols()), nil)
	err := e.blocks(ctx, func(b *csr.Block) error {
		for r := range b.Rows() {
			for c, v := range b.Row(r) {
				a.Set(int(b.FirstRow)+r, int(c), v)
			}
		}
		return nil
	})
	return dense(a), err
}

func solveBase(ctx context.Context, base *csr.Store, k int, o *WriteOptions) (_ *solver.Result, err error) {
	method := lanczos.Krylov{Columns: 16}
	about := method.Traits(k)
	n := base.Cols()
	memory := cmp.Or(o.Memory, 1<<30)
	m, err := stream.New(base, stream.Options{
		Memory: memory, Reserve: about.Footprint(int(n)) + 8*n*int64(6*k+8),
		Width: int(min(int64(about.Width(k)), n)), Rank: k,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	var passes int64
	res, err := solver.SVD(ctx, m, solver.Settings{
		Rank: k, Method: method, Tol: truthTol,
		Observer: func(solver.Event) error {
			passes++
			o.Progress(StageTruth, passes, 0)
			return nil
		},
	})
	if err := cmp.Or(err, ctx.Err()); err != nil { // the error of a cancelled run is not one of the solver
		return nil, err
	}
	if res.Status != solver.Converged {
		return nil, fmt.Errorf("%v: %d of %d triplets are within %g", res.Status, res.Converged, k, truthTol)
	}
	return res, nil
}
