package foldin_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// alleles returns a store of counts, with NaN as the missing entry, whose columns have the given ids.
func alleles(t testing.TB, g *mat.Dense, ids []string, transposed bool) *csr.Store {
	t.Helper()
	n, m := g.Dims()
	if transposed {
		n, m = m, n
	}
	path := filepath.Join(t.TempDir(), "g.csr")
	w, err := csr.Create(path, csr.CreateOptions{
		Cols: int64(m), Transposed: transposed, Missing: 3, Values: csr.Values{Coding: csr.Dict4, Table: []float64{1, 2, 3}},
	})
	must.Do(t, err)
	for i := range n {
		var cols []uint32
		var vals []float64
		for j := range m {
			v := 0.0
			if transposed {
				v = g.At(j, i)
			} else {
				v = g.At(i, j)
			}
			if math.IsNaN(v) {
				v = 3
			}
			if v != 0 {
				cols, vals = append(cols, uint32(j)), append(vals, v)
			}
		}
		must.Do(t, w.AppendRow(cols, vals))
	}
	axis := csr.ColAxis
	if transposed {
		axis = csr.RowAxis
	}
	iw := must.Get(w.IDs(axis, csr.StringIDs))(t)
	for _, id := range ids {
		must.Do(t, iw.AppendString(id))
	}
	must.Do(t, errors.Join(iw.Close(), w.Commit()))
	return csrtest.Open(t, path, csr.OpenOptions{Missing: true})
}

// TestGenotypes compares projections of new samples with the formula: missing entries and variants not measured count as
// the mean, variants that the matrix does not have are left out.
func TestGenotypes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	draw := func(n, m int) *mat.Dense {
		g := mat.NewDense(n, m, nil)
		g.Apply(func(i, j int, _ float64) float64 {
			if r.IntN(12) == 0 {
				return math.NaN()
			}
			return float64(r.IntN(3))
		}, g)
		return g
	}
	const n, m, fresh, k = 30, 20, 7, 4
	ids := make([]string, m)
	for j := range ids {
		ids[j] = fmt.Sprintf("rs%02d", j)
	}
	g, other := draw(n, m), draw(fresh, m+1)
	newIDs := slices.Clone(ids)
	for _, gone := range []int{15, 7, 0} { // not measured in the new samples
		newIDs = slices.Delete(newIDs, gone, gone+1)
	}
	newIDs = append(newIDs, "rs98", "rs99") // not in the matrix
	other = other.Slice(0, fresh, 0, len(newIDs)).(*mat.Dense)
	p, factor := make([]float64, m), make([]float64, m)
	for j := range m {
		known := 0.0
		for i := range n {
			if v := g.At(i, j); !math.IsNaN(v) {
				p[j] += v / 2
				known++
			}
		}
		p[j] /= known
		factor[j] = 1 / math.Sqrt(2*p[j]*(1-p[j]))
	}
	for c := range 4 {
		res := factorised(t, alleles(t, g, ids, c%2 == 1), pipeline(t, "patterson"), k)
		said, x := projected(t, res, alleles(t, other, newIDs, c > 1), foldin.Options{})
		v := arrayOf(t, filepath.Join(res.Dir(), "V.npy"))
		for f := range k { // Shrinkage is the part of the length of V's columns that is left
			if want := 1 - math.Pow(v.At(15, f), 2) - math.Pow(v.At(7, f), 2) - math.Pow(v.At(0, f), 2); math.Abs(said.Shrinkage[f]-want) > 1e-12 {
				t.Errorf("case %d, component %d: %v is left, want %v", c, f, said.Shrinkage[f], want)
			}
		}
		for i := range fresh {
			for f := range k {
				want := 0.0
				for at, id := range newIDs {
					if a := other.At(i, at); !math.IsNaN(a) && slices.Contains(ids, id) {
						j := slices.Index(ids, id)
						want += (a - 2*p[j]) * factor[j] * v.At(j, f)
					}
				}
				if math.Abs(x.At(i, f)-want) > 1e-12 {
					t.Errorf("case %d, sample %d, component %d: %v, want %v", c, i, f, x.At(i, f), want)
				}
			}
		}
		// The samples of the matrix itself are projected to U·Σ.
		if said, own := projected(t, res, alleles(t, g, ids, false), foldin.Options{}); off(own, scaled(t, res, false)) > 1e-10 || said.Shrinkage != nil {
			t.Errorf("case %d: the samples of the matrix are elsewhere, or shrunk by %v", c, said.Shrinkage)
		}
	}
	plain := factorised(t, ingested(t, ratings(9, 6), ingest.OrientRows), nil, 2)
	if _, err := foldin.Project(t.Context(), plain, alleles(t, draw(3, 6), []string{"i0000", "i0001", "i0002", "i0003", "i0004", "i0005"}, false), foldin.Options{Dir: filepath.Join(t.TempDir(), "x")}); !errors.Is(err, csr.ErrMissing) {
		t.Errorf("missing entries as numbers: %v", err)
	}
	res := factorised(t, alleles(t, g, ids, false), pipeline(t, "patterson"), 2)
	some := g.Slice(0, n-1, 0, m).(*mat.Dense)
	if _, err := foldin.Project(t.Context(), res, alleles(t, some, ids, false), foldin.Options{Dir: filepath.Join(t.TempDir(), "x"), Columns: true}); err == nil || !strings.Contains(err.Error(), "1 of 30 rows") {
		t.Errorf("variants of other samples: %v", err)
	}
}

// TestImputedSamples: variants not measured in new samples are missing entries, not counts of 0, for each kind of step.
func TestImputedSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	const n, m, fresh, k = 25, 12, 6, 3
	ids, means := make([]string, m), make([]float64, m)
	g, other := mat.NewDense(n, m, nil), mat.NewDense(fresh, m, nil)
	for j := range m {
		ids[j] = fmt.Sprintf("rs%02d", j)
		known := 0.0
		for i := range n {
			g.Set(i, j, []float64{0, 1, 2, math.NaN()}[r.IntN(4)])
			if v := g.At(i, j); !math.IsNaN(v) {
				means[j], known = means[j]+v, known+1
			}
		}
		means[j] /= known
	}
	other.Apply(func(int, int, float64) float64 { return []float64{0, 1, 2, math.NaN()}[r.IntN(4)] }, other)
	there := []int{1, 2, 5, 6, 7, 8, 10}
	measured, newIDs := mat.NewDense(fresh, len(there), nil), make([]string, len(there))
	for at, j := range there {
		measured.SetCol(at, mat.Col(nil, j, other))
		newIDs[at] = ids[j]
	}
	for text, after := range map[string]func(row []float64){
		"impute=zero":                  nil,
		"impute=mean":                  func([]float64) {},
		"impute=mean · center=columns": func(row []float64) { floats.Sub(row, means) },
		"impute=mean · normalize=rows": func(row []float64) { floats.Scale(1/floats.Norm(row, 2), row) },
		"impute=mean · log1p": func(row []float64) {
			for j, v := range row {
				row[j] = math.Log1p(v)
			}
		},
	} {
		for c := range 4 {
			res := factorised(t, alleles(t, g, ids, c%2 == 1), pipeline(t, text), k)
			said, x := projected(t, res, alleles(t, measured, newIDs, c > 1), foldin.Options{})
			if shrunk := said.Shrinkage != nil; shrunk != (after != nil) {
				t.Errorf("%s: shrinkage %v", text, said.Shrinkage)
			}
			v := arrayOf(t, filepath.Join(res.Dir(), "V.npy"))
			for i := range fresh {
				row := make([]float64, m)
				for j := range row {
					if after != nil {
						row[j] = means[j]
					}
					if a := other.At(i, j); slices.Contains(there, j) && !math.IsNaN(a) {
						row[j] = a
					}
				}
				if after != nil {
					after(row)
				}
				want := mat.NewVecDense(k, nil)
				want.MulVec(v.T(), mat.NewVecDense(m, row))
				if !floats.EqualApprox(x.RawRowView(i), want.RawVector().Data, 1e-12) {
					t.Errorf("%s, case %d, sample %d: %v, want %v", text, c, i, x.RawRowView(i), want.RawVector().Data)
				}
			}
		}
	}
}

// TestShrinkage: scores of new samples of the same populations shrink as docs/genotypes.md says: by the factor of Lee, Zou
// and Wright (2010) for independent variants, and by Shrinkage if variants are missing.
func TestShrinkage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const n, m = 200, 2000
	p, apart, ids := make([]float64, m), make([]float64, m), make([]string, m)
	for j := range m {
		p[j], apart[j], ids[j] = 0.2+0.6*r.Float64(), 0.08*(2*r.Float64()-1), fmt.Sprintf("rs%04d", j)
	}
	draw := func() *mat.Dense {
		g := mat.NewDense(n, m, nil)
		g.Apply(func(i, j int, _ float64) (a float64) {
			for range 2 {
				if r.Float64() < p[j]+apart[j]*float64(2*(i%2)-1) {
					a++
				}
			}
			return a
		}, g)
		return g
	}
	res := factorised(t, alleles(t, draw(), ids, false), pipeline(t, "patterson"), 1)
	sigma, fresh := res.Values()[0], draw()
	d, gamma := sigma*sigma/n, float64(m)/n
	lambda := (d + 1 - gamma + math.Sqrt(math.Pow(d+1-gamma, 2)-4*d)) / 2 // d = lambda(1 + gamma/(lambda-1))
	want := (lambda - 1) / (lambda + gamma - 1)
	_, whole := projected(t, res, alleles(t, fresh, ids, false), foldin.Options{})
	if left := mat.Norm(whole, 2) / sigma; math.Abs(left/want-1) > 0.05 || want > 0.8 {
		t.Errorf("%v of the scores is left, want %v of a population value %v", left, want, lambda)
	}
	const there = m * 2 / 3
	said, part := projected(t, res, alleles(t, fresh.Slice(0, n, 0, there).(*mat.Dense), ids[:there], false), foldin.Options{})
	if left, want := mat.Norm(part, 2)/mat.Norm(whole, 2), said.Shrinkage[0]; math.Abs(left/want-1) > 0.05 || want > 0.75 {
		t.Errorf("%v of the scores is left, want %v", left, want)
	}
}
