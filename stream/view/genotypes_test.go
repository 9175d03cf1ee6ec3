package view

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// unknown is a Source whose value 3 stands for missing entries.
type unknown struct{ stream.Source }

func (unknown) Missing() (float64, bool) { return 3, true }

// genotypes returns counts of alleles with missing entries, 3; some columns are constant, and some are missing as a whole.
func genotypes(r *rand.Rand, rows, cols int) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	a.Apply(func(i, j int, _ float64) float64 {
		switch {
		case j%11 == 5 || r.IntN(20) == 0:
			return 3
		case j%7 == 3:
			return float64(j % 3)
		}
		return float64(r.IntN(3))
	}, a)
	return a
}

// withNaN replaces missing entries by NaN.
func withNaN(a *mat.Dense) *mat.Dense {
	b := mat.DenseCopyOf(a)
	b.Apply(func(_, _ int, v float64) float64 {
		if v == 3 {
			return math.NaN()
		}
		return v
	}, b)
	return b
}

// TestMissingEntries compares steps for missing entries, and steps after them, with the reference, in both orientations.
func TestMissingEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	texts := []string{"patterson", "patterson · multiply=0.5", "impute=mean", "impute=zero", "impute=mean · patterson", "impute=zero · patterson"}
	for _, first := range []string{"impute=mean · ", "impute=zero · "} {
		for _, next := range slices.Concat(early, middle, late) {
			texts = append(texts, first+next)
		}
	}
	compared := 0
	for _, text := range texts {
		p := must.Get(Parse(text))(t)
		a := genotypes(r, 1+r.IntN(30), 1+r.IntN(30))
		want, refused := referenceOrError(p, withNaN(a))
		if refused != nil {
			continue
		}
		compared++
		for c := range 4 {
			transposed, src := c%2 == 1, inMemory(a, c%2 == 1)
			if c > 1 {
				src = &coded{src, &[256]float64{1, 2, 3}}
			}
			v, err := New(t.Context(), unknown{src}, p, transposed, stream.Options{Workers: 1})
			if err != nil {
				t.Errorf("%s, transposed %v: %v", text, transposed, err)
				continue
			}
			got, norm := elements(t, v), mat.Norm(want, 2)
			if e := relative(got, want); !(e < 1e-11) && !(norm == 0 && mat.Norm(got, 2) == 0) {
				t.Errorf("%s, transposed %v: off by %g\n%v\n%.17g\n%.17g", text, transposed, e, mat.Formatted(a), mat.Formatted(got), mat.Formatted(want))
			}
			if !(math.Abs(v.norm-norm) <= 1e-11*norm) {
				t.Errorf("%s, transposed %v: the norm is %v, want %v", text, transposed, v.norm, norm)
			}
			again := Plan(unknown{src}, p, transposed)
			if err := again.Recall(v.Measured()); err != nil || !mat.Equal(elements(t, again), got) {
				t.Errorf("%s, transposed %v: recalled it is another matrix (%v)", text, transposed, err)
			}
		}
	}
	if compared < len(texts)/2 {
		t.Errorf("%d of %d are compared", compared, len(texts))
	}
}

// TestMonomorphic checks that constant columns become 0 and are counted.
func TestMonomorphic(t *testing.T) {
	a := denseOf([][]float64{{2, 0, 1, 3, 1}, {2, 0, 0, 3, 3}, {3, 0, 2, 3, 1}})
	p := must.Get(Parse("patterson"))(t)
	for _, transposed := range []bool{false, true} {
		v := must.Get(New(t.Context(), unknown{inMemory(a, transposed)}, p, transposed, stream.Options{}))(t)
		s := v.Statistics()
		if len(s) != 2 || s[0].Name != "mean" || !slices.Equal(s[0].Values, []float64{2, 0, 1, 0, 1}) || s[1].Name != "monomorphic" || s[1].Values[0] != 3 {
			t.Errorf("transposed %v: %+v", transposed, s)
		}
		got := elements(t, v)
		for _, j := range []int{0, 1, 3} {
			if x := mat.Col(nil, j, got); slices.Max(x) != 0 || slices.Min(x) != 0 {
				t.Errorf("column %d is %v", j, x)
			}
		}
	}
}

// TestNoGenotype checks that a value that is no count of alleles is refused with its position.
func TestNoGenotype(t *testing.T) {
	p := must.Get(Parse("patterson"))(t)
	for _, bad := range []float64{2.5, -1, 3} {
		a := denseOf([][]float64{{1, 2, 0}, {0, 1, bad}})
		for _, transposed := range []bool{false, true} {
			_, err := New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{})
			if e := new(ValueError); !errors.As(err, &e) || e.Row != 1 || e.Col != 2 || !strings.HasSuffix(e.Makes, fmt.Sprint(" makes ", bad)) {
				t.Errorf("%v, transposed %v: %v", bad, transposed, err)
			}
		}
	}
}

// TestImputes checks that a store with missing entries is accepted only by pipelines that first replace these.
func TestImputes(t *testing.T) {
	store := csrtest.Build(t, 2, [][]csrtest.Entry{{{Col: 0, Val: 3}, {Col: 1, Val: 1}}}, csr.CreateOptions{Missing: 3})
	if err := store.NoMissing(); !errors.Is(err, csr.ErrMissing) {
		t.Error(err)
	}
	for text, want := range map[string]bool{"patterson": true, "impute=mean | pca": true, "impute=zero": true, "pca": false, "drop=columns,count<2 | patterson": false} {
		p, err := Parse(text)
		if err != nil || p.Imputes() != want || p.ImputesMeans() != (want && text != "impute=zero") {
			t.Errorf("%s: %v, %v", text, p.Imputes(), err)
		}
	}
	if (Pipeline{}).Imputes() {
		t.Error("nothing imputes")
	}
}

// TestMissingEntriesOfRanges checks that statistics of missing entries by ranges of rows add up to those of all rows.
func TestMissingEntriesOfRanges(t *testing.T) {
	a := genotypes(rand.New(rand.NewPCG(7, 9)), 12000, 40)
	for _, text := range []string{"impute=mean · center=columns", "patterson"} {
		p := must.Get(Parse(text))(t)
		for _, transposed := range []bool{false, true} {
			src := unknown{csrtest.FromDense(t, a, csr.CreateOptions{Transposed: transposed})}
			whole := must.Get(New(t.Context(), src, p, transposed, stream.Options{}))(t)
			parts, err := measuredByParts(t, src, p, transposed)
			got, want := slices.Concat(parts.Measured()...), slices.Concat(whole.Measured()...)
			if err != nil || !floats.EqualApprox(got, want, 1e-12) {
				t.Errorf("%s, transposed %v: %v is measured, want %v (%v)", text, transposed, got, want, err)
			}
			if !transposed && src.NumBlocks() < 2 {
				t.Errorf("there are %d blocks: the test misses what it is for", src.NumBlocks())
			}
		}
	}
}
