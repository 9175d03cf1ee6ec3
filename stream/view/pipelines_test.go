package view

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// Steps of random pipelines: products, differences, masks, and steps at the end of a pipeline.
var (
	early = []string{
		"binary", "binary>=2", "clip=-1,3", "log1p", "sqrt", "power=1.5", "multiply=3", "confidence=40", "normalize=rows", "normalize=columns,l1",
		"normalize=rows,max", "normalize=rows,total:100", "normalize=columns,total:7", "normalize=rows,total:median", "normalize=columns,total:median",
		"tfidf", "tfidf=gensim", "tfidf=implicit", "tfidf=smooth:no,norm:none", "bm25", "bm25=1.2,0.75",
		"weight=rows,count:-0.5", "weight=columns,count:0.3", "weight=rows,sum:-0.5", "weight=columns,sum:-1", "weight=rows,norm:-1", "weight=columns,norm:0.7", "laplacian",
	}
	middle = []string{"ppmi", "ppmi=1.5", "bias=global", "bias=rows,damping:5", "bias=columns", "bias=both,damping:2", "bias=both"}
	masks  = []string{"keep=columns,some", "keep=rows,some", "drop=columns,count<2", "drop=rows,count<3", "keep=columns,hvg:2", "keep=rows,hvg:2",
		"keep=columns,hvg:1,flavor:cell_ranger", "keep=rows,hvg:3,flavor:cell_ranger"}
	late = []string{"laplacian=2", "correspondence", "center=columns", "center=rows", "center=both", "center=columns · scale=columns", "center=rows · scale=columns,ddof:1",
		"scale=columns", "center=columns · multiply=2 · scale=columns", "center=columns · center=rows", "center=rows · center=columns", "pearson=inf", "pearson=inf,clip:none · center=columns",
		"pearson=inf,clip:40 · multiply=2 · center=rows"}
)

// randomPipeline returns a random pipeline of a few steps.
func randomPipeline(r *rand.Rand) string {
	var p []string
	for range r.IntN(4) {
		p = append(p, early[r.IntN(len(early))])
	}
	if r.IntN(3) == 0 {
		p = append(p, middle[r.IntN(len(middle))])
	}
	if r.IntN(3) == 0 {
		p = append(p, fmt.Sprintf("keep=%s,hvg:%d,flavor:%s", []string{"rows", "columns"}[r.IntN(2)], 1+r.IntN(20), []string{seurat, cellRanger}[r.IntN(2)]))
	}
	for r.IntN(2) == 0 || len(p) == 0 {
		last := late[r.IntN(len(late))]
		if _, err := Parse(strings.Join(append(p, last), "|")); err == nil {
			p = append(p, last)
			break
		}
	}
	if r.IntN(4) == 0 {
		p = append(p, "multiply=0.1")
	}
	return strings.Join(p, " · ")
}

// randomMatrix returns a matrix with half-star or positive entries, and empty rows and columns.
func randomMatrix(r *rand.Rand) *mat.Dense {
	rows, cols := 2+r.IntN(40), 2+r.IntN(40)
	a := mat.NewDense(rows, cols, nil)
	stars := r.IntN(2) == 0
	a.Apply(func(i, j int, _ float64) float64 {
		switch {
		case i%7 == 3 || j%9 == 4 || r.IntN(3) > 0:
			return 0
		case stars:
			return float64(1+r.IntN(10)) / 2
		}
		return math.Exp(r.NormFloat64())
	}, a)
	a.Set(0, 0, 1)
	return a
}

// TestRandomPipelines compares random pipelines of random matrices with the formulas of their
// steps, in both orientations; if a formula gives a non-number, the view returns an error.
func TestRandomPipelines(t *testing.T) {
	count, refused := longtest.Pick(200, 50), 0
	for seed := range count {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		text, a, transposed := randomPipeline(r), randomMatrix(r), r.IntN(2) == 0
		t.Run(fmt.Sprintf("%d %s", seed, text), func(t *testing.T) {
			p := must.Get(Parse(text))(t)
			want, err := referenceOrError(p, a)
			if err == errUndecided {
				return
			}
			v, failed := New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 1 + r.IntN(3)})
			if (err == nil) != (failed == nil) {
				t.Fatalf("%v, want %v", failed, err)
			}
			if err != nil {
				refused++
				return
			}
			m := must.Get(stream.NewFrom(v, stream.Options{Workers: 2, Width: 50}))(t)
			if e := relative(dense(t, m, transposed), want); !(e < 1e-12) && mat.Norm(want, 2) > 1e-12 {
				t.Errorf("off by %g", e)
			}
			if axis := p.Centred(); axis != "" {
				for i, line := range along(axis, want) {
					if s := sumOf(line, same); math.Abs(s) > 1e-9*mat.Norm(want, 2) {
						t.Errorf("of the %s, which are said to be centred, number %d has the sum %g", axis, i, s)
					}
				}
			}
			if e := math.Abs(m.Info().Norm/mat.Norm(want, 2) - 1); !(e < 1e-12) && mat.Norm(want, 2) > 1e-12 {
				t.Errorf("norm %v off by %g", m.Info().Norm, e)
			}
			_, cols := a.Dims()
			x := solvertest.Random(cols, 5, 7)
			if transposed {
				return
			}
			var bx, gx mat.Dense
			bx.Mul(want, x)
			gx.Mul(want.T(), &bx)
			got := mat.NewDense(cols, 5, nil)
			must.Get(m.Run(t.Context(), solver.Pass{X: x, Sum: got}))(t)
			if e := relative(got, &gx); !(e < 1e-12) && mat.Norm(&gx, 2) > 1e-12 {
				t.Errorf("BᵀB·X is off by %g", e)
			}
		})
	}
	if refused > count/4 {
		t.Errorf("%d of %d were refused", refused, count)
	}
}

// degenerate returns matrices with statistics that are 0, or 0 up to rounding: with empty,
// constant, equal and proportional rows and columns, and with a single row or column.
func degenerate(r *rand.Rand) *mat.Dense {
	rows, cols := 1+r.IntN(6), 1+r.IntN(5)
	weights, of := make([]float64, rows), make([]float64, cols)
	for i := range weights {
		weights[i] = float64(1 + r.IntN(7))
	}
	for j := range of {
		of[j] = float64(1+r.IntN(9)) / 10
	}
	kind, emptyRow, emptyColumn, constant := r.IntN(7), r.IntN(2*rows), r.IntN(2*cols), r.IntN(2*cols)
	a := mat.NewDense(rows, cols, nil)
	a.Apply(func(i, j int, _ float64) float64 {
		switch {
		case i == emptyRow || j == emptyColumn:
			return 0
		case kind == 0:
			return 2
		case kind == 1:
			return of[j]
		case kind == 2:
			return weights[i] * of[j]
		case j == constant:
			return 0.3
		case kind < 5 && r.IntN(3) == 0:
			return 0
		case kind == 3:
			return float64(1 + r.IntN(5))
		case kind == 4:
			return r.NormFloat64()
		}
		return math.Exp(r.NormFloat64())
	}, a)
	return a
}

// coded is a Source with a table of its values.
type coded struct {
	stream.Source
	table *[256]float64
}

func (s *coded) DecodeBlock(i int, b *csr.Block) error {
	err := s.Source.DecodeBlock(i, b)
	b.Code = make([]uint8, len(b.Val))
	for k, v := range b.Val {
		b.Code[k] = uint8(slices.Index(s.table[:], v))
	}
	b.Val, b.Table = nil, s.table
	return err
}

// elements returns the elements of a view of a single block, in the orientation of the user.
func elements(t testing.TB, v *View) *mat.Dense {
	t.Helper()
	rows, cols := int(v.Rows()), int(v.Cols())
	b := mat.NewDense(rows, cols, nil)
	block := v.Scratch()
	if err := v.DecodeBlock(0, block); err != nil || v.NumBlocks() != 1 {
		t.Fatalf("%d blocks, %v", v.NumBlocks(), err)
	}
	scaled, rank, _ := v.Sides()
	d, p := make([]float64, rows), make([]float64, rows*rank)
	v.RowSides(block, d, p)
	e, q := v.Columns()
	for i := range rows {
		table := block.Table
		if block.Step > 0 {
			table = (*[256]float64)(block.Val[i*block.Step:])
		}
		for at := block.RowPtr[i]; at < block.RowPtr[i+1]; at++ {
			j, x := columnAt(block, at), []float64{0}
			load(x, block, table, at, at+1)
			if scaled {
				x[0] *= d[i]
			}
			if e != nil {
				x[0] *= e[j]
			}
			b.Set(i, int(j), x[0])
		}
		for k := range rank {
			for j := range cols {
				b.Set(i, j, b.At(i, j)+p[i*rank+k]*q[k][j])
			}
		}
	}
	if v.transposed {
		return mat.DenseCopyOf(b.T())
	}
	return b
}

// checkSteps compares the view of a pipeline with the formulas of its steps in both orientations, for values
// and for codes: errors, elements and norm. It reports whether there were numbers to compare.
func checkSteps(t *testing.T, text string, a *mat.Dense, kept []bool) bool {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		return false
	}
	p = must.Get(p.Resolve(func(int, string) (*Mask, error) { return NewMask(kept), nil }))(t)
	want, refused := referenceOrError(p, a)
	if refused == errUndecided {
		return false
	}
	norm := math.NaN()
	if refused == nil {
		norm = mat.Norm(want, 2)
	}
	values := slices.Compact(slices.Sorted(slices.Values(slices.Concat(rowsOfDense(a)...))))
	for c := range 4 {
		transposed, src := c%2 == 1, inMemory(a, c%2 == 1)
		if c > 1 {
			src = &coded{src, (*[256]float64)(append(values, make([]float64, 256-len(values))...))}
		}
		v, err := New(t.Context(), src, p, transposed, stream.Options{Workers: 1})
		switch {
		case err != nil && refused == nil:
			t.Errorf("%s of %v, transposed %v: %v", text, mat.Formatted(a), transposed, err)
		case err == nil && refused != nil:
			t.Errorf("%s of %v, transposed %v: not refused: %v", text, mat.Formatted(a), transposed, refused)
		}
		if err != nil || refused != nil {
			continue
		}
		got := elements(t, v)
		if e := relative(got, want); !(e < 1e-9) && !(norm == 0 && mat.Norm(got, 2) == 0) {
			t.Errorf("%s, transposed %v: off by %g\n%.17g\n%.17g\n%.17g", text, transposed, e, mat.Formatted(a), mat.Formatted(got), mat.Formatted(want))
		}
		if err := samePartly(t, src, p, v); err != nil {
			t.Errorf("%s, transposed %v, by parts of the rows: %v\n%.17g", text, transposed, err, mat.Formatted(a))
		}
		if !(math.Abs(v.norm-norm) <= 1e-9*norm) {
			t.Errorf("%s, transposed %v: the norm is %v, want %v\n%.17g", text, transposed, v.norm, norm, mat.Formatted(a))
		}
	}
	return refused == nil
}

// TestStepsOfSteps checks that a step acts on the result of the steps before it, in either orientation: all
// ordered pairs of steps, in the short form a fourth of them, and random triples, on degenerate matrices.
func TestStepsOfSteps(t *testing.T) {
	steps := slices.Concat(early, middle, masks, []string{"tfidf=sublinear,norm:l1", "normalize=columns,max", "laplacian=2", "correspondence",
		"center=columns", "center=rows", "center=both", "scale=columns", "scale=columns,ddof:1", "patterson", "impute=mean", "impute=zero",
		"pearson=inf", "pearson=inf,clip:none", "pearson=inf,clip:1.5"})
	var texts []string
	for i, first := range steps {
		for j, second := range steps {
			if (i+j)%longtest.Pick(1, 4) == 0 {
				texts = append(texts, first+" | "+second)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	one := func() string { return steps[r.IntN(len(steps))] }
	for range longtest.Pick(500, 125) {
		texts = append(texts, one()+" | "+one()+" | "+one(), one()+" | center=columns | center=rows | scale=columns")
	}
	compared := 0
	for _, text := range texts {
		a := degenerate(r)
		rows, cols := a.Dims()
		kept := make([]bool, cols)
		if strings.Contains(text, "keep=rows,some") {
			kept = make([]bool, rows)
		}
		for j := range kept {
			kept[j] = r.IntN(3) > 0
		}
		if strings.Contains(text, "keep=rows,some") && strings.Contains(text, "keep=columns,some") {
			continue
		}
		if checkSteps(t, text, a, kept) {
			compared++
		}
	}
	t.Logf("%d of %d", compared, len(texts))
	if compared < len(texts)/2 {
		t.Errorf("%d of %d are compared", compared, len(texts))
	}
}

// TestLastCodesBecomeZero checks that values that a step makes 0 are no entries for later steps, also the last of a table.
func TestLastCodesBecomeZero(t *testing.T) {
	a := denseOf([][]float64{{1, 2, 4, 5}, {4, 1, 0, 2}, {5, 5, 1, 1}, {2, 4, 5, 0}})
	negative := denseOf([][]float64{{-1, -2, 0}, {0, -1, -2}})
	for _, text := range []string{"binary>=6 | ppmi", "binary>=6 | bias=columns", "confidence=-0.2 | bias=columns", "confidence=-0.2 | bias=both", "confidence=-0.25 | sqrt | ppmi", "bias=columns"} {
		checkSteps(t, text, a, nil)
		checkSteps(t, text, negative, nil)
	}
}

// TestPearsonRefused checks that unsupported Pearson residuals are refused with a hint.
func TestPearsonRefused(t *testing.T) {
	for text, want := range map[string]string{
		"pearson":                   "THETA is missing",
		"pearson=100":               "a finite THETA",
		"pearson=inf,clip:0":        "C is a number above 0, or none",
		"pearson=inf | center=both": "cannot follow",
		"pearson=inf | center=rows | center=columns": "cannot follow",
		"pearson=inf | scale=columns":                "cannot follow",
		"center=columns | pearson=inf":               "put it before",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	p := must.Get(Parse("pearson=inf"))(t)
	for _, transposed := range []bool{false, true} {
		_, err := New(t.Context(), inMemory(denseOf([][]float64{{50, 0}, {0, 50}}), transposed), p, transposed, stream.Options{})
		if err == nil || !strings.Contains(err.Error(), "the largest expected count, of the row and the column with the largest sums, is 25; clip:none clips none, and clip:5 no zeros") {
			t.Errorf("transposed %v: %v", transposed, err)
		}
	}
}

// TestCodedStores compares views of stores with tables of values with the reference: half stars, ones, long and short rows.
func TestCodedStores(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	texts := slices.Concat(early, middle, late, []string{
		"tfidf=sublinear", "bias=both · center=both", "binary>=3 · ppmi", "binary>=3 · bias=both,damping:3", "ppmi · normalize=rows · pca",
		"normalize=rows,total:median · log1p · bias=both", "normalize=rows,max · sqrt · bm25", "normalize=rows,l1 · log1p · normalize=columns · sqrt", "weight=rows,count:1 · log1p",
	})
	for _, values := range []int{1, 10} {
		a := mat.NewDense(90, 50, nil)
		a.Apply(func(i, j int, _ float64) float64 {
			if r.IntN(1+i%5) > 0 || i == 7 {
				return 0
			}
			if j%10 == 9 || i%20 == 19 {
				return 0.5 // binary>=3 makes it 0
			}
			return float64(1+r.IntN(values)) / 2
		}, a)
		for _, transposed := range []bool{false, true} {
			store := stored(t, a, transposed)
			if len(store.Manifest().Values.Table) != values {
				t.Fatal("not the case to test")
			}
			for _, text := range texts {
				p := must.Get(Parse(text))(t)
				want := reference(p, a)
				if mat.Norm(want, 2) < 1e-12 {
					continue
				}
				_, m := matrixOf(t, store, text, stream.Options{Workers: 1, Width: 90})
				if e := relative(dense(t, m, transposed), want); !(e < 1e-12) {
					t.Errorf("%d values, %s, transposed %t: off by %g", values, text, transposed, e)
				}
			}
		}
	}
}

// TestTablesOfRows checks that values that depend on the row alone are stored as tables of rows if these take
// less, in passes with several tasks per block. Tables of rows of counts are kept by their sum.
func TestTablesOfRows(t *testing.T) {
	for text, values := range map[string]int{"normalize=rows,l2 · sqrt · center=both": 4, "normalize=rows,total:100 · log1p · center=both": 20} {
		r := rand.New(rand.NewPCG(8, 9))
		a := mat.NewDense(300, 2000, nil)
		a.Apply(func(i, _ int, _ float64) float64 {
			if i%50 == 3 || r.IntN(5) > 0 {
				return 0
			}
			return float64(1 + r.IntN(values))
		}, a)
		a.Set(3, 0, 4) // fewer entries than distinct values
		a.Set(3, 1, 2)
		store := stored(t, a, false)
		v, m := matrixOf(t, store, text, stream.Options{Width: 300})
		if e := relative(dense(t, m, false), reference(v.pipeline, a)); !(e < 1e-12) {
			t.Errorf("%s: off by %g", text, e)
		}
		b, size := v.Scratch(), store.Block(0)
		must.Do(t, v.DecodeBlock(0, b))
		more := v.DecodedSize(int64(size.Rows), int64(size.NNZ)) - store.DecodedSize(int64(size.Rows), int64(size.NNZ))
		if b.Step == 0 || 8*len(b.Val) > int(more) || more > int64(size.NNZ) {
			t.Errorf("%s: %d numbers, %d bytes more for %d entries", text, len(b.Val), more, size.NNZ)
		}
		kept := 0
		for i := range v.known {
			if v.known[i].Load() != nil {
				kept++
			}
		}
		if kept > 0 != (values > 16) {
			t.Errorf("%s: tables of %d sums", text, kept)
		}
	}
}

// TestCounts checks counts of more than 256 distinct values: codes in blocks of few large counts, and numbers in the last block, which has many.
func TestCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 10))
	a := mat.NewDense(2000, 200, nil)
	a.Apply(func(i, j int, _ float64) float64 {
		switch {
		case i%50 == 3 && j > 1: // a short row
			return 0
		case j == 5 && i < 1600: // 100 large values, some in every block
			return float64(1000 + i%100)
		case j < 5 && i >= 1800:
			return float64(60 + 5*(i-1800) + j)
		}
		return float64(r.IntN(4))
	}, a)
	store, kinds := stored(t, a, false), map[bool]int{}
	b := store.Scratch()
	for i := range store.NumBlocks() {
		must.Do(t, store.DecodeBlock(i, b))
		kinds[len(b.Code) > 0]++
		for row := range b.Rows() {
			for col, x := range b.Row(row) {
				if want := a.At(int(b.FirstRow)+row, int(col)); x != want {
					t.Fatalf("block %d: %v, want %v", i, x, want)
				}
			}
		}
	}
	if store.Values().Coding != csr.Integer || kinds[true] < 2 || kinds[false] == 0 {
		t.Fatalf("not the case to test: %s, %v", store.Values().Coding, kinds)
	}
	for _, text := range []string{"log1p", "normalize=rows,total:10000 · log1p · center=columns", "normalize=rows,l2 · sqrt · center=both", "binary>=3", "log1p · bias=both", "bm25", "ppmi"} {
		memory, want := int64(0), (*mat.Dense)(nil)
		for resident := 3; resident >= 2; resident-- {
			v, m := matrixOf(t, store, text, stream.Options{Width: 200, Memory: memory, Workers: 1})
			if want == nil {
				want = reference(v.pipeline, a)
			}
			if e := relative(dense(t, m, false), want); !(e < 1e-12) || m.Plan().Resident > resident {
				t.Errorf("%s within %d bytes: off by %g, %d blocks stay", text, memory, e, m.Plan().Resident)
			}
			memory = m.Plan().Total() - 1<<20
			for _, p := range m.Plan().Parts {
				if p.Name == "products of strips" { // would be given up before a resident block
					memory -= p.Bytes
				}
			}
		}
	}
}

// TestTriplets compares ten triplets of B with LAPACK's SVD of the dense matrix, vectors of both
// sides included, and the number of triplets that capture 70 % of its energy.
func TestTriplets(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	a := mat.NewDense(120, 60, nil)
	a.Apply(func(int, int, float64) float64 {
		if r.IntN(4) > 0 {
			return 0
		}
		return float64(1+r.IntN(10)) / 2
	}, a)
	for _, transposed := range []bool{false, true} {
		store := stored(t, a, transposed)
		for name, text := range presets {
			t.Run(fmt.Sprintf("%s/%t", name, transposed), func(t *testing.T) {
				p := must.Get(Parse(text))(t)
				_, m := matrixOf(t, store, name, stream.Options{Workers: 1, Width: 12, Rank: 60})
				b := reference(p, a)
				var svd mat.SVD
				if !svd.Factorize(b, mat.SVDThin) {
					t.Fatal("no dense SVD")
				}
				want := svd.Values(nil)
				left := solver.NewDenseRows(int(store.Rows()), 10)
				res := must.Get(solver.SVD(t.Context(), m, solver.Settings{Rank: 10, Method: lanczos.Krylov{Columns: 4}, Tol: 1e-12, MaxPasses: 500, Left: left}))(t)
				var u, v mat.Dense
				svd.UTo(&u)
				svd.VTo(&v)
				long, short := &u, &v
				if transposed {
					long, short = &v, &u
				}
				sameVectors(t, "left", left.Dense, long, want)
				sameVectors(t, "right", res.Right, short, want)
				checkEnough(t, m, want)
				for i, s := range res.Sigma {
					if !(math.Abs(s-want[i]) <= 1e-12*want[0]) {
						t.Errorf("σ[%d] is %v, want %v", i, s, want[i])
					}
				}
				energy := 0.0
				for _, s := range want[:10] {
					energy += s * s
				}
				if all := mat.Norm(b, 2); math.Abs(res.Energy-energy/(all*all)) > 1e-12 {
					t.Errorf("energy %v, want %v", res.Energy, energy/(all*all))
				}
			})
		}
	}
}

// sameVectors compares singular vectors with those of LAPACK, up to signs. An error of r·σ₁ in the matrix turns
// vector i by at most r·σ₁ over the distance of its value from the others (Davis, Kahan).
func sameVectors(t *testing.T, side string, got, want *mat.Dense, sigma []float64) {
	t.Helper()
	_, k := got.Dims()
	for i := range k {
		gap := sigma[i] - sigma[i+1]
		if i > 0 {
			gap = min(gap, sigma[i-1]-sigma[i])
		}
		x, y := mat.VecDenseCopyOf(got.ColView(i)), want.ColView(i)
		cosine := mat.Dot(x, y)
		x.AddScaledVec(x, -cosine, y)
		if sine := mat.Norm(x, 2); !(sine <= 4e-12*sigma[0]/gap) || !(1-math.Abs(cosine) <= 1e-12) {
			t.Errorf("%s vector %d: its sine with that of LAPACK is %.2g, the distance of its value from others %.2g", side, i, sine, gap/sigma[0])
		}
	}
}

// fewest returns the number of values that capture a share of the energy.
func fewest(sigma []float64, share float64) int {
	total, sum := 0.0, 0.0
	for _, s := range sigma {
		total += s * s
	}
	for i, s := range sigma {
		if sum += s * s; sum >= share*total {
			return i + 1
		}
	}
	return len(sigma)
}

// checkEnough checks the number of triplets that capture 70 % of the energy.
func checkEnough(t *testing.T, m *stream.Matrix, sigma []float64) {
	t.Helper()
	res := must.Get(solver.SVD(t.Context(), m, solver.Settings{Rank: len(sigma), Energy: 0.7, Method: lanczos.Krylov{Columns: 4}}))(t)
	if k := fewest(sigma, 0.7); len(res.Sigma) != k || !res.Target.Smallest {
		t.Errorf("%d triplets, target %+v; LAPACK needs %d", len(res.Sigma), res.Target, k)
	}
}

// TestSameBits checks that the bits do not depend on the number of workers, the budget, or the size of shards.
func TestSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	a := mat.NewDense(3000, 40, nil)
	a.Apply(func(int, int, float64) float64 {
		if r.IntN(3) > 0 {
			return 0
		}
		return float64(1+r.IntN(10)) / 2
	}, a)
	store := stored(t, a, false)
	x := solvertest.Random(40, 4, 1)
	for _, text := range []string{"tfidf", "bias=both · center=both · scale=columns", "single-cell", "correspondence"} {
		var want []float64
		var norm float64
		for _, o := range []stream.Options{{Workers: 1, Width: 4}, {Workers: 5, Width: 4}, {Workers: 2, Width: 4, Memory: 64 << 20}, {Workers: 1, Width: 4, Memory: 36 << 20}} {
			_, m := matrixOf(t, store, text, o)
			y := mat.NewDense(40, 4, nil)
			must.Get(m.Run(t.Context(), solver.Pass{X: x, Sum: y}))(t)
			if want == nil {
				want, norm = y.RawMatrix().Data, m.Info().Norm
			}
			if !slices.Equal(y.RawMatrix().Data, want) || m.Info().Norm != norm {
				t.Errorf("%s: other bits with %+v", text, o)
			}
		}
	}
}

// TestValueErrors checks that a value that becomes a non-number gives an error with its position and step.
func TestValueErrors(t *testing.T) {
	a := denseOf([][]float64{{1, 0, 2}, {0, 3, -2}, {0.5, 0, 0}, {4, 5, 6}})
	for _, transposed := range []bool{false, true} {
		store := stored(t, a, transposed)
		for text, want := range map[string]string{
			"log1p":                     "view: log1p makes -2 in row 1 (from 0), column 2, NaN",
			"multiply=0.5 · log1p":      "view: log1p makes -1 in row 1 (from 0), column 2, -Inf",
			"normalize=rows,l1 · sqrt":  "view: sqrt makes -0.4 in row 1 (from 0), column 2, NaN",
			"ppmi":                      "view: ppmi=1 makes -2 in row 1 (from 0), column 2, NaN",
			"sqrt · log1p · pca":        "view: sqrt makes -2 in row 1 (from 0), column 2, NaN",
			"weight=columns,sum:0.5":    "",
			"power=400 · power=400":     "+Inf",
			"binary · laplacian · sqrt": "",
		} {
			p, err := Parse(text)
			must.Do(t, err)
			_, err = New(t.Context(), store, p, transposed, stream.Options{Workers: 3})
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %v", text, err)
			case want != "" && (!errors.As(err, new(*ValueError)) || !strings.HasSuffix(err.Error(), want)):
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		}
	}
}
