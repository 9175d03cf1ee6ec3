package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// referenceMask returns the factors by which a mask multiplies columns.
func referenceMask(s Step, columns [][]float64) []float64 {
	by := make([]float64, len(columns))
	for j, x := range columns {
		switch {
		case s.Name == "drop" && !(sumOf(x, nonzero) < s.X), s.Mask != nil && s.Mask.kept[j]:
			by[j] = 1
		}
	}
	if s.hvg() {
		return referenceHVG(s.Mode, int(s.X), columns)
	}
	return by
}

// referenceHVG is highly_variable_genes of scanpy 1.11.5 by its formula, in two passes over each
// column. Values that differ by rounding count as equal.
func referenceHVG(flavor string, n int, columns [][]float64) []float64 {
	k := len(columns)
	less := func(x, y float64) bool { return x < y-rounding*(math.Abs(x)+math.Abs(y)+1) }
	means, disp, norm := make([]float64, k), make([]float64, k), make([]float64, k)
	for j, x := range columns {
		f := same
		if flavor == seurat {
			f = math.Expm1
		}
		size := sumOf(x, func(v float64) float64 { return math.Abs(f(v)) })
		means[j] = sumOf(x, f) / float64(len(x))
		v := sumOf(x, func(v float64) float64 { return square(f(v) - means[j]) }) / float64(len(x)-1)
		if v <= square(rounding*size) {
			v /= math.Inf(1) // 0, or NaN for a single row
		}
		if math.Abs(means[j]) <= rounding*size {
			means[j] = 1e-12
		}
		disp[j] = v / means[j]
		if flavor == seurat {
			if disp[j] == 0 {
				disp[j] = math.NaN()
			}
			disp[j], means[j] = math.Log(disp[j]), math.Log1p(means[j])
		}
	}
	sorted := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(means), math.IsNaN)))
	by := make([]float64, k)
	if len(sorted) == 0 {
		return by
	}
	low, high := sorted[0], sorted[len(sorted)-1]
	bin := func(m float64) (b int) {
		switch {
		case math.IsNaN(m):
			return -1
		case flavor == seurat && !less(low, high):
			return 0
		case flavor == seurat:
			for b = 0; b < 19 && less(low+float64(b+1)*((high-low)/20), m); b++ {
			}
			return b
		}
		for p := 10; p <= 100; p += 5 {
			at := float64(p) / 100 * float64(len(sorted)-1)
			i := min(int(at+1e-9), len(sorted)-1)
			if edge := sorted[i] + (at-float64(i))*(sorted[min(i+1, len(sorted)-1)]-sorted[i]); less(edge, m) {
				b++
			}
		}
		return b
	}
	from := func(x, centre float64) float64 {
		if !less(x, centre) && !less(centre, x) {
			return 0
		}
		return x - centre
	}
	for j := range columns {
		var mates []float64
		for i := range columns {
			if bin(means[i]) == bin(means[j]) && !math.IsNaN(disp[i]) {
				mates = append(mates, disp[i])
			}
		}
		if norm[j] = math.NaN(); bin(means[j]) < 0 || math.IsNaN(disp[j]) {
			continue
		}
		slices.Sort(mates)
		middle := func(x []float64) float64 { return (x[len(x)/2] + x[(len(x)-1)/2]) / 2 }
		var centre, spread float64
		switch {
		case flavor == cellRanger:
			centre = middle(mates)
			for i := range mates {
				mates[i] = math.Abs(from(mates[i], centre))
			}
			slices.Sort(mates)
			spread = 1.482602218505602 * middle(mates)
		case len(mates) == 1:
			centre, spread = disp[j]-1, 1 // that of x/x
		default:
			centre = sumOf(mates, same) / float64(len(mates))
			spread = math.Sqrt(sumOf(mates, func(v float64) float64 { return square(from(v, centre)) }) / float64(len(mates)-1))
		}
		norm[j] = from(disp[j], centre) / spread
	}
	order := slices.DeleteFunc(slices.Clone(norm), math.IsNaN)
	slices.Sort(order)
	if len(order) == 0 {
		return by
	}
	least := order[max(0, len(order)-n)]
	for j := range by {
		infinite := math.IsInf(norm[j], 0) || math.IsInf(least, 0)
		if norm[j] >= least || !infinite && !less(norm[j], least) && !math.IsNaN(norm[j]) {
			by[j] = 1
		}
	}
	return by
}

// resolved parses a pipeline; keep=columns,some keeps the columns set in kept.
func resolved(t *testing.T, text string, kept []bool) Pipeline {
	t.Helper()
	p := must.Get(Parse(text))(t)
	p = must.Get(p.Resolve(func(_ int, file string) (*Mask, error) {
		if file != "some" {
			return nil, fmt.Errorf("%q is looked for", file)
		}
		return NewMask(kept), nil
	}))(t)
	return p
}

// TestMasks checks that columns that are not kept are zero in B, with any other steps, and count as
// zero in later statistics.
func TestMasks(t *testing.T) {
	var texts []string
	for _, mask := range []string{"keep=columns,some", "drop=columns,count<6", "keep=columns,some · drop=columns,count<4"} {
		texts = append(texts, strings.ReplaceAll(mask, "columns", "rows")+" · center=rows · scale=columns", strings.ReplaceAll(mask, "columns", "rows")+" · tfidf")
		texts = append(texts, mask, "normalize=rows,l2 · "+mask+" · log1p · normalize=rows,total:median")
		for _, s := range slices.Concat(early, middle, late) {
			if s != "laplacian=2" && !strings.Contains(s, "both") && !strings.Contains(s, "center=rows") {
				texts = append(texts, mask+" · "+s)
			}
		}
	}
	texts = append(texts, "center=both · keep=columns,some", "keep=columns,some · bias=both", "center=columns · keep=columns,some · scale=columns", "center=rows · keep=columns,some · multiply=2",
		"center=both · keep=rows,some", "center=columns · keep=rows,some · scale=columns", "drop=rows,count<4 · drop=columns,count<6 · bm25")
	for _, values := range []int{3, 1 << 20} {
		r := rand.New(rand.NewPCG(3, uint64(values)))
		a := mat.NewDense(30, 12, nil)
		a.Apply(func(i, j int, _ float64) float64 {
			if r.IntN(12) < j || j == 5 || i == 7 {
				return 0
			}
			return float64(1+r.IntN(values)) / float64(values)
		}, a)
		kept, keptRows := make([]bool, 12), make([]bool, 30)
		for i := range keptRows {
			keptRows[i] = i%4 != 2
		}
		for j := range kept {
			kept[j] = j%3 != 1
		}
		for _, transposed := range []bool{false, true} {
			store := stored(t, a, transposed)
			for _, text := range texts {
				list := kept
				if strings.Contains(text, "keep=rows") {
					list = keptRows
				}
				p := resolved(t, text, list)
				want := reference(p, a)
				if mat.Norm(want, 2) < 1e-12 {
					continue
				}
				m := measured(t, store, p)
				if e := relative(dense(t, m, transposed), want); !(e < 1e-12) {
					t.Errorf("%s, transposed %t: off by %g", text, transposed, e)
				}
				if e := math.Abs(m.Info().Norm/mat.Norm(want, 2) - 1); !(e < 1e-12) {
					t.Errorf("%s, transposed %t: norm off by %g", text, transposed, e)
				}
			}
		}
	}
}

// measured returns the matrix of a pipeline over a store.
func measured(t *testing.T, store *csr.Store, p Pipeline) *stream.Matrix {
	t.Helper()
	v := must.Get(New(t.Context(), store, p, store.Transposed(), stream.Options{Workers: 2}))(t)
	return must.Get(stream.NewFrom(v, stream.Options{Workers: 2, Width: 60}))(t)
}

// keptBy returns the columns that step at of a pipeline keeps.
func keptBy(t *testing.T, a *mat.Dense, transposed bool, text string, at int) (kept []int) {
	t.Helper()
	p := must.Get(Parse(text))(t)
	v := must.Get(New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 2}))(t)
	for _, s := range v.Statistics() {
		if s.Step == at && s.Name == "mask" {
			for j, k := range s.Values {
				if k == 1 {
					kept = append(kept, j)
				}
			}
		}
	}
	return kept
}

// TestHighlyVariable compares highly variable columns of random matrices with the formula, in both orientations.
func TestHighlyVariable(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 11))
		columns := 40 + r.IntN(100)
		a := mat.NewDense(30, columns, nil)
		a.Apply(func(i, j int, _ float64) float64 {
			if i > 1 && r.IntN(columns) < j {
				return 0
			}
			return math.Exp(r.NormFloat64() * float64(1+j%4) / 4)
		}, a)
		for _, flavor := range []string{seurat, cellRanger} {
			for _, n := range []int{1, 12, 1000} {
				text := fmt.Sprintf("log1p · keep=columns,hvg:%d,flavor:%s", n, flavor)
				var logs mat.Dense
				logs.Apply(func(_, _ int, v float64) float64 { return math.Log1p(v) }, a)
				var want []int
				for j, k := range referenceHVG(flavor, n, along("columns", &logs)) {
					if k == 1 {
						want = append(want, j)
					}
				}
				for _, transposed := range []bool{false, true} {
					if got := keptBy(t, a, transposed, text, 1); !slices.Equal(got, want) {
						t.Errorf("seed %d, %s, transposed %t: %v, want %v", seed, text, transposed, got, want)
					}
				}
			}
		}
	}
}

// TestInfiniteDispersions checks that a column off the centre of a bin without spread is above or below all others.
func TestInfiniteDispersions(t *testing.T) {
	const rows = 100
	a := mat.NewDense(rows, rows-1, nil)
	for j := range rows - 1 {
		for i := range j + 1 {
			a.Set(i, j, 60/float64(rows-j-1)) // variance/mean is the same for all j
		}
		if m := (j + 1) % 5; m < 2 {
			a.Set(0, j, a.At(0, j)*(1+float64(((j+1)*7)%13-5)/10))
		}
	}
	for _, c := range []struct{ n, kept, sum, sumOfSquares int }{
		{1, 25, 1317, 90583}, {5, 25, 1317, 90583}, {30, 36, 1763, 114837}, {35, 36, 1763, 114837},
	} {
		text := fmt.Sprintf("keep=columns,hvg:%d,flavor:cell_ranger", c.n)
		for _, transposed := range []bool{false, true} {
			kept := keptBy(t, a, transposed, text, 0)
			sum, squares := 0, 0
			for _, j := range kept {
				sum, squares = sum+j, squares+j*j
			}
			if len(kept) != c.kept || sum != c.sum || squares != c.sumOfSquares {
				t.Errorf("%s, transposed %t: %d columns, %d, %d: %v", text, transposed, len(kept), sum, squares, kept)
			}
			var want []int
			for j, k := range referenceHVG(cellRanger, c.n, along("columns", a)) {
				if k == 1 {
					want = append(want, j)
				}
			}
			if !slices.Equal(kept, want) {
				t.Errorf("%s, transposed %t: %v, want %v", text, transposed, kept, want)
			}
		}
	}
}

// TestHighlyVariableInPlace checks that the dispersions replace the sums in place: at most 16 bytes per column are allocated, with the mask.
func TestHighlyVariableInPlace(t *testing.T) {
	const n = 1 << 17
	for _, flavor := range []string{seurat, cellRanger} {
		m := newMoments(n)
		for j := range n {
			m.add(j, float64(1+j%7))
			m.add(j, float64(2+j%11))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		kept := m.highlyVariable(flavor, 500, 50, 1e-13, func(int) bool { return true }, func() func(int) {
			mask := make([]float64, n)
			return func(j int) { mask[j] = 1 }
		})
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; kept < 500 || made > 16*n+1<<16 {
			t.Errorf("%s: %d are kept, %d bytes made for %d columns", flavor, kept, made, n)
		}
	}
}

// TestNothingVaries checks that columns of equal dispersion give an error instead of a view of zeros.
func TestNothingVaries(t *testing.T) {
	for _, flavor := range []string{seurat, cellRanger} {
		for _, rows := range []int{1, 4} {
			a := mat.NewDense(rows, 3, nil)
			a.Apply(func(_, j int, _ float64) float64 { return float64(j + 1) }, a)
			p, err := Parse("keep=columns,hvg:2,flavor:" + flavor)
			must.Do(t, err)
			_, err = New(t.Context(), inMemory(a, false), p, false, stream.Options{})
			if err == nil || !strings.Contains(err.Error(), "keeps none of 3 columns") {
				t.Errorf("%s of %d rows: %v", flavor, rows, err)
			}
		}
	}
}

// TestHighlyVariableGenes compares with scanpy 1.11.5: normalize_total(target_sum=1e4), log1p,
// filter_genes(min_cells), highly_variable_genes(n_top_genes, flavor) in float64.
func TestHighlyVariableGenes(t *testing.T) {
	data := os.Getenv("GDSVD_DATA")
	if data == "" {
		t.Skip("GDSVD_DATA does not name a directory of real data")
	}
	cells := mat.NewDense(1107, 507, nil)
	for _, l := range table(t, filepath.Join(data, "10x/v3.matrix.mtx.gz"), " ")[1:] {
		cells.Set(int(l[1])-1, int(l[0])-1, l[2])
	}
	genes := mat.DenseCopyOf(cells.T())
	for _, c := range []struct {
		flavor            string
		least, n          int
		sum, sumOfSquares int
	}{
		{seurat, 0, 20, 5448, 2090814},
		{seurat, 0, 60, 17731, 6581503},
		{seurat, 1, 20, 5624, 2163006},
		{seurat, 5, 60, 19176, 7229264},
		{cellRanger, 1, 20, 6977, 2753499},
		{cellRanger, 1, 60, 19095, 7164571},
		{cellRanger, 5, 20, 6970, 2719796},
	} {
		text, at := "normalize=rows,total:10000 · log1p", 2
		if c.least > 0 {
			text, at = fmt.Sprintf("%s · drop=columns,count<%d", text, c.least), 3
		}
		text = fmt.Sprintf("%s · keep=columns,hvg:%d,flavor:%s · center=columns", text, c.n, c.flavor)
		for _, transposed := range []bool{false, true} {
			kept := keptBy(t, cells, transposed, text, at)
			swap := strings.NewReplacer("rows", "columns", "columns", "rows")
			if other := keptBy(t, genes, !transposed, swap.Replace(text), at); !slices.Equal(other, kept) {
				t.Errorf("%s, transposed %t: %v, of rows %v", text, transposed, kept, other)
			}
			sum, squares := 0, 0
			for _, j := range kept {
				sum, squares = sum+j, squares+j*j
			}
			if len(kept) != c.n || sum != c.sum || squares != c.sumOfSquares {
				t.Errorf("%s, transposed %t: %v", text, transposed, kept)
			}
		}
	}
}

// TestCentred checks which axis a pipeline leaves centred: a mask or a scaling across it ends that.
func TestCentred(t *testing.T) {
	for text, want := range map[string]string{
		"pca": "columns", "center=rows": "rows", "center=both": "columns", "center=both · keep=rows,some": "rows", "center=both · keep=columns,some": "columns",
		"center=columns · keep=rows,some": "", "center=rows · keep=columns,some": "", "keep=columns,some · pca": "columns",
		"pca-scaled": "columns", "center=rows · scale=columns": "", "center=both · scale=columns": "columns", "center=rows · scale=columns · multiply=2": "",
	} {
		p, err := Parse(text)
		if got := p.Centred(); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestResolve checks that the name of a mask identifies the kept columns.
func TestResolve(t *testing.T) {
	kept := []bool{true, false, true}
	p := resolved(t, "log1p · keep=columns,some · pca", kept)
	again := must.Get(Parse(p.String()))(t)
	for _, other := range [][]bool{kept, {true, true, true}, {true, false, true, false}} {
		q, err := again.Resolve(func(step int, file string) (*Mask, error) {
			if step != 1 || file != "" {
				t.Errorf("step %d, file %q", step, file)
			}
			return NewMask(other), nil
		})
		if fits := slices.Equal(other, kept); fits != (err == nil) || fits && q.String() != p.String() {
			t.Errorf("%v: %v, %v", other, q, err)
		}
	}
	if a, b := resolved(t, "keep=columns,some", kept), resolved(t, "keep=columns,some", []bool{false, true, true}); a.String() == b.String() {
		t.Errorf("two lists are both %v", a)
	}
}

// TestKeep checks that Keep inserts its step where the values are still those of entries.
func TestKeep(t *testing.T) {
	for _, c := range []struct{ text, what, want string }{
		{"", "genes|1.txt", "keep=columns,genes|1.txt"},
		{"log1p · sqrt", "hvg:5", "log1p · sqrt · keep=columns,hvg:5,flavor:seurat"},
		{"single-cell", "hvg:5,flavor:cell_ranger", "normalize=rows,total:median · log1p · keep=columns,hvg:5,flavor:cell_ranger · center=columns"},
		{"pca-scaled", "a.txt", "keep=columns,a.txt · center=columns · scale=columns,ddof:0"},
		{"pca", "Ann, 2020/a,hvg:5", "keep=columns,Ann, 2020/a,hvg:5 · center=columns"},
	} {
		var p Pipeline
		if c.text != "" {
			p = resolved(t, c.text, nil)
		}
		if got, err := p.Keep(c.what); err != nil || got.String() != c.want {
			t.Errorf("%q, %q: %v, %v", c.text, c.what, got, err)
		}
	}
	for _, c := range []struct{ text, what, says string }{
		{"log1p", "hvg:no", "a whole number above 0"},
		{"log1p", "", "a parameter is missing"},
		{"center=rows", "a.txt", "it would fill the columns that are not kept"},
	} {
		if p, err := resolved(t, c.text, nil).Keep(c.what); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %q: %v, %v", c.text, c.what, p, err)
		}
	}
}
