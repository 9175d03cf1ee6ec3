package recommend_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/stream/view"
)

// titles is table 2 of Deerwester et al. 1990: counts of 12 words (human, interface, computer, user, system, response,
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
	return must.Get(factor.Run(t.Context(), csrtest.Open(t, path, csr.OpenOptions{}), factor.Options{Rank: 2, Dir: filepath.Join(t.TempDir(), "out"), View: p}))(t)
}

// TestFindBudget: a search plans the memory that the caller takes.
func TestFindBudget(t *testing.T) {
	r := indexed(t, "")
	for reserve, fits := range map[int64]bool{0: true, 255 << 20: false} {
		_, err := recommend.Find(t.Context(), r, recommend.QueryOf([]int64{0}), recommend.SimilarOptions{N: 3, Memory: 256 << 20, Reserve: reserve})
		if small := (*budget.Error)(nil); errors.As(err, &small) == fits {
			t.Errorf("%d bytes of 256 MiB are taken: %v", reserve, err)
		}
	}
}

// TestFindInZeros: a query of a matrix that is 0 has nothing in common with its arbitrary vectors.
func TestFindInZeros(t *testing.T) {
	store := csrtest.FromDense(t, mat.NewDense(3, 2, nil), csr.CreateOptions{})
	r := must.Get(factor.Run(t.Context(), store, factor.Options{Rank: 2, Dir: filepath.Join(t.TempDir(), "out")}))(t)
	items, err := recommend.Find(t.Context(), r, recommend.QueryOf([]int64{0}), recommend.SimilarOptions{N: 1})
	if err == nil || !strings.Contains(err.Error(), "nothing in common") || !strings.Contains(err.Error(), "has the length 0;") {
		t.Errorf("%v, %v", items, err)
	}
}

// TestFindPaper: the query "human computer interaction" of the paper finds the five titles about it first, two of which
// share no word with the query. The word interaction is ignored, as it is not one of the 12.
func TestFindPaper(t *testing.T) {
	items := must.Get(recommend.Find(t.Context(), indexed(t, ""), recommend.QueryOf([]int64{2, 0}), recommend.SimilarOptions{N: 9}))(t)
	for i, x := range items {
		if (i < 5) != (x.Index < 5) || (i < 5) != (x.Score > 0.9) {
			t.Errorf("place %d: title c%d with %v", i+1, x.Index+1, x.Score)
		}
	}
}

// TestFind compares scores with cosines of dense algebra, for counts and centred counts.
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

// TestPartsWithoutTriplets: rows and columns of blocks that the leading triplets do not reach have vectors of 0 up to
// the tolerance. They are similar to no other, and no query finds them.
func TestPartsWithoutTriplets(t *testing.T) {
	r, sizes := rand.New(rand.NewPCG(1, 2)), [][3]float64{{40, 30, .5}, {30, 6, .6}, {30, 5, .5}, {20, 20, .15}, {20, 15, .12}, {15, 12, .12}}
	a := mat.NewDense(155, 88, nil)
	i, j := 0, 0
	for _, s := range sizes {
		rows, cols := int(s[0]), int(s[1])
		for at := range rows * cols {
			if r.Float64() < s[2] {
				a.Set(i+at/cols, j+at%cols, float64(1+r.IntN(5)))
			}
		}
		i, j = i+rows, j+cols
	}
	var svd mat.SVD
	svd.Factorize(a, mat.SVDThin)
	var sides [2]mat.Dense
	svd.UTo(&sides[0])
	svd.VTo(&sides[1])
	store := csrtest.FromDense(t, a, csr.CreateOptions{})
	for k, tol := range map[int]float64{2: 1e-8, 3: 1e-4, 5: 1e-8, 8: 1e-8} {
		for _, m := range []method.Method{lanczos.Krylov{}, block.Descent{}, momentum.Polyak{}} {
			o := factor.Options{Rank: k, Tol: tol, Method: m, Dir: filepath.Join(t.TempDir(), "out")}
			result := must.Get(factor.Run(t.Context(), store, o))(t)
			f := must.Get(recommend.Of(result))(t)
			var scaled [2]*mat.Dense
			for side, of := range []recommend.Vectors{f.Lines(), f.Columns()} {
				n, _ := sides[side].Dims()
				x := mat.DenseCopyOf(sides[side].Slice(0, n, 0, k))
				x.Apply(func(_, l int, v float64) float64 { return v * svd.Values(nil)[l] }, x)
				scaled[side] = x
				zero := func(i int) bool { return mat.Norm(x.RowView(i), 2) < 1e-9 }
				must.Do(t, recommend.Similar(t.Context(), of, recommend.SimilarOptions{N: 10}, func(i int64, none bool, items []recommend.Item) error {
					if none != zero(int(i)) {
						t.Errorf("k = %d, %T, side %d: %d has no direction: %t", k, m, side, i, none)
					}
					for _, item := range items {
						j := int(item.Index)
						if want := mat.Dot(x.RowView(int(i)), x.RowView(j)) / mat.Norm(x.RowView(int(i)), 2) / mat.Norm(x.RowView(j), 2); zero(j) || !(math.Abs(item.Score-want) < 1e3*tol) {
							t.Errorf("k = %d, %T, side %d: %d is like %d: %g, want %g", k, m, side, i, j, item.Score, want)
						}
					}
					return nil
				}))
				for l, topic := range must.Get(recommend.Topics(t.Context(), of, n, 0, nil))(t) {
					listed := make([]bool, n)
					for _, item := range slices.Concat(topic.Positive, topic.Negative) {
						listed[item.Index] = true
					}
					for i := range n {
						if v := math.Abs(sides[side].At(i, l)); listed[i] && v < 1e-9 && tol < 1e-6 || !listed[i] && v > 1e-3 {
							t.Errorf("k = %d, %T, side %d, component %d: %d, which has %g, is listed: %t", k, m, side, l, i, v, listed[i])
						}
					}
				}
			}
			for j := range 88 {
				_, err := recommend.Find(t.Context(), result, recommend.QueryOf([]int64{int64(j)}), recommend.SimilarOptions{N: 1})
				if none := err != nil && strings.Contains(err.Error(), "nothing in common"); none != (mat.Norm(scaled[1].RowView(j), 2) < 1e-9) {
					t.Errorf("k = %d, %T: a query for column %d: %v", k, m, j, err)
				}
			}
			for _, item := range must.Get(recommend.Find(t.Context(), result, recommend.QueryOf([]int64{0, 3}), recommend.SimilarOptions{N: 155}))(t) {
				if mat.Norm(scaled[0].RowView(int(item.Index)), 2) < 1e-9 {
					t.Errorf("k = %d, %T: row %d, which is 0, is found", k, m, item.Index)
				}
			}
		}
	}
}
