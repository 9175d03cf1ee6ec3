package synth

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
)

// matrixOf returns the stream.Matrix of a source and closes it with the test.
func matrixOf(t testing.TB, src stream.Source, o stream.Options) *stream.Matrix {
	t.Helper()
	m := must.Get(stream.NewFrom(src, o))(t)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// products holds the results of each kind of pass.
type products struct{ gram, atw, r, w, trans *mat.Dense }

func productsOf(t *testing.T, m *stream.Matrix, k int) (p products) {
	t.Helper()
	n, rows := m.Info().Cols, int(m.Info().Rows)
	x, y := mat.NewDense(n, k, nil), mat.NewDense(rows, k, nil)
	solver.Gaussian(x, 0, 1, 1)
	solver.Gaussian(y, 0, 2, 1)
	p = products{
		mat.NewDense(n, k, nil), mat.NewDense(n, k, nil), mat.NewDense(k, k, nil), mat.NewDense(rows, k, nil), mat.NewDense(n, k, nil),
	}
	for _, pass := range []solver.Pass{
		{X: x, Sum: p.gram},
		{X: x, RowsOut: solver.Rows{Func: (&solver.DenseRows{Dense: p.w}).WriteRows}, Sum: p.atw, R: p.r},
		{RowsIn: solver.Rows{Block: y}, Sum: p.trans},
	} {
		must.Get(m.Run(t.Context(), pass))(t)
	}
	return p
}

func (p *products) all() []*mat.Dense { return []*mat.Dense{p.gram, p.atw, p.r, p.w, p.trans} }

// compare fails if products differ by more than tol times their norm.
func (p *products) compare(t *testing.T, what string, want *products, tol float64) {
	t.Helper()
	for i, x := range p.all() {
		y := want.all()[i]
		if e := apart(x, y); e > tol*mat.Norm(y, 2) || math.IsNaN(e) {
			t.Errorf("%s: product %d is off by %g of %g", what, i, e, mat.Norm(y, 2))
		}
	}
}

// TestSourcesAreTheStores: a source has the products of its store, and the
// same bits for any number of workers and any budget.
func TestSourcesAreTheStores(t *testing.T) {
	base := randomStore(t, 1500, 300, false, []float64{1, 2, 3, 4, 5}, 9)
	turned := randomStore(t, 1500, 300, true, []float64{0.3, 2, 7}, 10)
	kron := &Expansion{Factor: Factor{Rows: 5, Cols: 3, NNZ: 8, Seed: 2}, Base: base}
	wide := &Expansion{Factor: Factor{Rows: 3, Cols: 4, NNZ: 7, Seed: 3, Values: []float64{-1, 0.5}}, Base: turned}
	flat := manyBlocks
	flat.Rows, flat.Cols = flat.Cols, flat.Rows
	for name, c := range map[string]struct {
		source func() (stream.Source, error)
		store  func() *csr.Store
		tol    float64
	}{
		"kron": {
			func() (stream.Source, error) { return kron.Source(t.Context()) },
			func() *csr.Store { s, _ := expandTo(t, kron, WriteOptions{}); return s }, 0,
		},
		"kron of a transposed base": {
			func() (stream.Source, error) { return wide.Source(t.Context()) },
			func() *csr.Store { s, _ := expandTo(t, wide, WriteOptions{}); return s }, 0,
		},
		// The blocks of the source may differ from those of the store.
		"spectrum":      {manyBlocks.Source, func() *csr.Store { s, _ := stored(t, manyBlocks, WriteOptions{}); return s }, 1e-14},
		"wide spectrum": {flat.Source, func() *csr.Store { s, _ := stored(t, flat, WriteOptions{}); return s }, 1e-14},
	} {
		t.Run(name, func(t *testing.T) {
			src := must.Get(c.source())(t)
			store := c.store()
			if src.Rows() != store.Rows() || src.Cols() != store.Cols() || math.Abs(math.Ldexp(src.Norm())/math.Ldexp(store.Norm())-1) > 1e-13 {
				t.Errorf("%d × %d with a norm of %v, stored %d × %d with %v",
					src.Rows(), src.Cols(), math.Ldexp(src.Norm()), store.Rows(), store.Cols(), math.Ldexp(store.Norm()))
			}
			const k = 3
			first := productsOf(t, matrixOf(t, src, stream.Options{Width: k, Workers: 1}), k)
			for _, o := range []stream.Options{{Workers: 3, Memory: 50 << 20}, {Workers: 2}, {Workers: 7}}[:longtest.Pick(3, 1)] {
				o.Width = k
				again := productsOf(t, matrixOf(t, src, o), k)
				again.compare(t, "of other workers", &first, 0)
			}
			want := productsOf(t, matrixOf(t, store, stream.Options{Width: k}), k)
			first.compare(t, "of the store", &want, c.tol)
		})
	}
}

// largeEnough fails unless the decoded matrix takes at least three times the budget.
func largeEnough(t *testing.T, src stream.Source, budget int64) {
	t.Helper()
	var nnz int64
	for i := range src.NumBlocks() {
		nnz += int64(src.Block(i).NNZ)
	}
	if size := src.DecodedSize(src.Rows(), nnz); size < 3*budget {
		t.Errorf("decoded the matrix takes %d bytes, not much more than the budget of %d", size, budget)
	}
}

// TestSolveSpectrumWithoutAStore: the leading values and vectors of a source are those of its Spectrum.
func TestSolveSpectrumWithoutAStore(t *testing.T) {
	if !longtest.On() {
		t.Skip("several seconds")
	}
	const k, budget = 5, 64 << 20
	s := Spectrum{Rows: 1200000, Cols: 50000, Values: Profile{Kind: Exponential, Decay: 0.6, Least: 1e-3}, Layers: 4, Seed: 1}
	src := must.Get(s.Source())(t)
	largeEnough(t, src, budget)
	m := matrixOf(t, src, stream.Options{Memory: budget, Width: 8, Rank: k})
	res, err := solver.SVD(t.Context(), m, solver.Settings{Rank: k, Method: lanczos.Krylov{Columns: 8}, Tol: 1e-9})
	if err != nil || res.Status != solver.Converged {
		t.Fatalf("%v, %v", res.Status, err)
	}
	v := make([]float64, s.Cols)
	for i, sigma := range res.Sigma {
		if want := s.Sigma(int64(i)); math.Abs(sigma-want) > 1e-12 {
			t.Errorf("value %d is %v, made with %v", i, sigma, want)
		}
		s.Right(v, int64(i))
		if cos := math.Abs(mat.Dot(mat.NewVecDense(len(v), v), res.Right.ColView(i))); !(math.Abs(cos-1) < 1e-12) {
			t.Errorf("vector %d has a cosine of %v with the one it was made with", i, cos)
		}
	}
}

// TestSolveKronWithoutAStore: the leading values of an expansion are products of those of its factors.
func TestSolveKronWithoutAStore(t *testing.T) {
	if !longtest.On() {
		t.Skip("several seconds")
	}
	const k, budget = 5, 96 << 20
	base := randomStore(t, 3000, 120, false, []float64{1, 2, 3, 4, 5}, 4)
	e := &Expansion{Factor: Factor{Rows: 40, Cols: 8, NNZ: 300, Seed: 6}, Base: base}
	src := must.Get(e.Source(t.Context()))(t)
	largeEnough(t, src, budget)
	m := matrixOf(t, src, stream.Options{Memory: budget, Width: 4, Rank: k})
	res, err := solver.SVD(t.Context(), m, solver.Settings{Rank: k, Method: lanczos.Krylov{Columns: 4}})
	if err != nil || res.Status != solver.Converged {
		t.Fatalf("%v, %v", res.Status, err)
	}
	want := expandedValues(t, e)
	for i, sigma := range res.Sigma {
		if math.Abs(sigma-want[i]) > 1e-12*want[0] {
			t.Errorf("value %d is %v, want %v", i, sigma, want[i])
		}
	}
}

// TestStoresAndSourcesConform: stores and sources satisfy solvertest.CheckMatrix.
func TestStoresAndSourcesConform(t *testing.T) {
	e := &Expansion{Factor: Factor{Rows: 4, Cols: 3, NNZ: 8, Seed: 2}, Base: randomStore(t, 90, 20, false, []float64{1, 2, 3}, 9)}
	expanded := must.Get(e.Source(t.Context()))(t)
	inStore, _ := expandTo(t, e, WriteOptions{})
	s := Spectrum{Rows: 120, Cols: 50, Values: Profile{Kind: Exponential, Decay: 0.6, Least: 1e-3}, Layers: 3, Seed: 1}
	made := must.Get(s.Source())(t)
	spectrum, _ := stored(t, s, WriteOptions{})
	for name, c := range map[string]struct {
		src   stream.Source
		store *csr.Store
	}{"kron": {expanded, inStore}, "spectrum": {made, spectrum}} {
		a := denseOf(t, c.store)
		for _, o := range []stream.Options{{Workers: 1, Width: 5}, {Workers: 3, Width: 5, Memory: 40 << 20}} {
			for kind, src := range map[string]stream.Source{"generated": c.src, "stored": c.store} {
				t.Run(name+" "+kind, func(t *testing.T) {
					m := matrixOf(t, src, o)
					solvertest.CheckMatrix(t, m, a)
					if m.Info().ID == "" {
						t.Error("the matrix has no name")
					}
				})
			}
		}
	}
}
