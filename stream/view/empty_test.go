package view

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// TestMatrixWithoutEntries checks that every step gives a zero matrix for a matrix without entries,
// from the store or from the step before. The exception is a laplacian that adds to every element.
func TestMatrixWithoutEntries(t *testing.T) {
	steps := []string{
		"binary", "binary>=2", "clip=0,3", "log1p", "sqrt", "power=0.5", "multiply=3", "confidence=40",
		"normalize=rows", "normalize=columns,l1", "normalize=rows,max", "normalize=columns,total:100",
		"normalize=rows,total:median", "normalize=columns,total:median",
		"tfidf", "tfidf=sublinear,smooth:no,norm:none", "tfidf=gensim", "tfidf=implicit", "bm25", "ppmi",
		"bias=global", "bias=both,damping:3", "center=columns", "center=rows", "center=both",
		"weight=rows,count:-0.5", "weight=columns,sum:-1", "weight=columns,norm:0.5", "scale=columns",
		"center=columns · scale=columns", "center=rows · scale=columns,ddof:1", "laplacian", "laplacian=2", "correspondence",
		"drop=columns,count<2", "drop=columns,count<2 · bm25 · center=columns",
	}
	for preset := range presets {
		steps = append(steps, preset)
	}
	const rows, cols = 5, 4
	none, some := mat.NewDense(rows, cols, nil), mat.NewDense(rows, cols, nil)
	some.Set(1, 2, 3)
	some.Set(4, 0, 1)
	for _, step := range steps {
		want := mat.NewDense(rows, cols, nil)
		if step == "laplacian=2" { // 2/cols over the roots of 2 and 2·rows/cols
			want.Apply(func(int, int, float64) float64 { return 0.2236067977499790 }, want)
		}
		for text, a := range map[string]*mat.Dense{step: none, "binary>=9 · " + step: some} {
			p := must.Get(Parse(text))(t)
			for _, transposed := range []bool{false, true} {
				v, err := New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 2})
				if err != nil {
					t.Errorf("%s, transposed %v: %v", text, transposed, err)
					continue
				}
				m := must.Get(stream.NewFrom(v, stream.Options{Workers: 2}))(t)
				got := dense(t, m, transposed)
				if norm := mat.Norm(want, 2); !mat.EqualApprox(got, want, 1e-15) || !(m.Info().Norm >= norm*(1-1e-14) && m.Info().Norm <= norm*(1+1e-14)) {
					t.Errorf("%s, transposed %v: %v with the norm %v", text, transposed, mat.Formatted(got), m.Info().Norm)
				}
				for _, s := range v.Statistics() {
					for _, x := range s.Values {
						if !finite(x) {
							t.Errorf("%s, transposed %v: a %s is %v", text, transposed, s.Name, x)
							break
						}
					}
				}
			}
		}
	}
}

// A matrix without rows or columns has a view, whose norm is 0.
func TestMatrixWithoutElements(t *testing.T) {
	for _, text := range []string{"center=columns", "center=rows", "center=both", "center=columns · scale=columns", "single-cell", "pearson=inf · center=columns", "patterson"} {
		for _, shape := range [][2]int64{{0, 3}, {3, 0}, {0, 0}} {
			for _, transposed := range []bool{false, true} {
				store := csrtest.Build(t, shape[1], make([][]csrtest.Entry, shape[0]), csr.CreateOptions{Transposed: transposed})
				v, err := New(t.Context(), store, must.Get(Parse(text))(t), transposed, stream.Options{Workers: 1})
				if err != nil {
					t.Errorf("%s, stored as %v, transposed %v: %v", text, shape, transposed, err)
				} else if norm, _ := v.Norm(); norm != 0 {
					t.Errorf("%s, stored as %v, transposed %v: norm %v", text, shape, transposed, norm)
				}
			}
		}
	}
}
