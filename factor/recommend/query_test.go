package recommend_test

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/view"
)

// The titles of Deerwester et al. 1990, table 2: counts of 12 words (human, interface, computer, user, system, response,
// time, EPS, survey, trees, graph, minors) in five titles about human-computer interaction and four about graphs.
var titles = mat.NewDense(9, 12, []float64{
	1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0,
	0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0,
	1, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0,
	0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1,
	0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1,
})

func indexed(t *testing.T, pipeline string) *factor.Result {
	path := filepath.Join(t.TempDir(), "titles.csr")
	rows := make([][]csrtest.Entry, 12)
	for j := range rows {
		for i := range 9 {
			if x := titles.At(i, j); x != 0 {
				rows[j] = append(rows[j], csrtest.Entry{Col: uint32(i), Val: x})
			}
		}
	}
	csrtest.Write(t, path, 9, rows, csr.CreateOptions{Transposed: true})
	p, err := view.Parse(pipeline)
	if pipeline != "" && err != nil {
		t.Fatal(err)
	}
	r := must.Get(factor.Run(t.Context(), csrtest.Open(t, path, csr.OpenOptions{}), factor.Options{Rank: 2, Dir: filepath.Join(t.TempDir(), "out"), View: p}))(t)
	return r
}

// The query "human computer interaction" of the paper finds its five titles, of which two share no word with it, before the
// four about graphs: "the term interaction is ignored, since it is not among the words".
func TestFindPaper(t *testing.T) {
	items := must.Get(recommend.Find(t.Context(), indexed(t, ""), recommend.QueryOf([]int64{2, 0}), recommend.SimilarOptions{N: 9}))(t)
	for i, x := range items {
		if (i < 5) != (x.Index < 5) || (i < 5) != (x.Score > 0.9) {
			t.Errorf("place %d: title c%d with %v", i+1, x.Index+1, x.Score)
		}
	}
}

// Scores are the cosines of dense algebra, of counts and of centred ones.
func TestFind(t *testing.T) {
	for _, pipeline := range []string{"", "center=columns"} {
		r := indexed(t, pipeline)
		b := mat.DenseCopyOf(titles)
		query := mat.NewVecDense(12, []float64{0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 1, 0})
		if pipeline != "" {
			for j := range 12 {
				mean := mat.Sum(titles.ColView(j)) / 9
				for i := range 9 {
					b.Set(i, j, b.At(i, j)-mean)
				}
				query.SetVec(j, query.AtVec(j)-mean)
			}
		}
		var svd mat.SVD
		svd.Factorize(b, mat.SVDThin)
		var v, rows mat.Dense
		svd.VTo(&v)
		rows.Mul(b, v.Slice(0, 12, 0, 2))
		var x mat.VecDense
		x.MulVec(v.Slice(0, 12, 0, 2).T(), query)
		want := make([]recommend.Item, 9)
		for i := range want {
			row := rows.RowView(i)
			want[i] = recommend.Item{Index: uint32(i), Score: mat.Dot(&x, row) / mat.Norm(&x, 2) / mat.Norm(row, 2)}
		}
		slices.SortFunc(want, func(a, b recommend.Item) int { return cmp.Compare(b.Score, a.Score) })
		got := must.Get(recommend.Find(t.Context(), r, recommend.QueryOf([]int64{4, 2, 10, 2}), recommend.SimilarOptions{N: 9}))(t)
		for i := range got {
			if math.Abs(got[i].Score-want[i].Score) > 1e-12 {
				t.Errorf("%q, place %d: %v, want %v", pipeline, i, got[i], want[i])
			}
		}
	}
}

func TestFindRefusals(t *testing.T) {
	r := indexed(t, "")
	if _, err := recommend.Find(t.Context(), r, recommend.Query{}, recommend.SimilarOptions{N: 2}); err == nil || !strings.Contains(err.Error(), "the query has nothing in common with the 2 components") {
		t.Errorf("empty query: %v", err)
	}
}
