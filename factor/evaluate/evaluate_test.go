package evaluate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/view"
)

// halves returns ratings of rows × cols, split into a and b, a fifth of them in b, and their stores. Row 3 has no
// entries in train, row 5 none in test.
func halves(t testing.TB, seed uint64, rows, cols int, transposed bool) (a, b *mat.Dense, train, test *csr.Store) {
	r := rand.New(rand.NewPCG(seed, 9))
	a, b = mat.NewDense(rows, cols, nil), mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			if r.Float64() > 0.6/(1+float64(j)/8)+0.3*float64((i+j)%3/2) {
				continue
			}
			to := a
			if r.IntN(5) == 0 {
				to = b
			}
			to.Set(i, j, float64(1+r.IntN(5)))
		}
	}
	for j := range cols {
		a.Set(3, j, 0)
		b.Set(5, j, 0)
	}
	b.Set(3, 1, 4)
	store := func(m *mat.Dense) *csr.Store {
		if transposed {
			return csrtest.FromDense(t, m.T(), csr.CreateOptions{Transposed: true})
		}
		return csrtest.FromDense(t, m, csr.CreateOptions{})
	}
	return a, b, store(a), store(b)
}

// naive computes a metric by its definition, from the scores of all rows and columns.
func naive(a, b *mat.Dense, scores func(i, j int) float64, judged func(i int) bool, m Metric, relevant float64) float64 {
	rows, cols := a.Dims()
	sum, users := 0.0, 0.0
	covered := map[int]bool{}
	for i := range rows {
		var list, test []int
		seen := 0
		for j := range cols {
			if a.At(i, j) != 0 {
				seen++
			} else {
				list = append(list, j)
			}
			if b.At(i, j) != 0 && b.At(i, j) >= relevant {
				test = append(test, j)
			}
		}
		if seen == 0 || !judged(i) {
			continue
		}
		slices.SortFunc(list, func(x, y int) int { return cmp.Or(cmp.Compare(scores(i, y), scores(i, x)), x-y) })
		list = list[:min(len(list), m.K)]
		for _, j := range list {
			covered[j] = true
		}
		if len(test) == 0 {
			continue
		}
		users++
		hit := func(place int) float64 {
			if place < len(list) && slices.Contains(test, list[place]) {
				return 1
			}
			return 0
		}
		hits, dcg, ideal, ap := 0.0, 0.0, 0.0, 0.0
		for p := range m.K {
			hits += hit(p)
			dcg += hit(p) * math.Ln2 / math.Log(float64(p+2))
			ap += hit(p) * hits / float64(p+1)
			if p < len(test) {
				ideal += math.Ln2 / math.Log(float64(p+2))
			}
		}
		switch most := math.Min(float64(m.K), float64(len(test))); m.Kind {
		case Recall:
			sum += hits / most
		case Precision:
			sum += hits / float64(m.K)
		case NDCG:
			sum += dcg / ideal
		case MAP:
			sum += ap / most
		}
	}
	if m.Kind == Coverage {
		return float64(len(covered)) / float64(cols)
	}
	return sum / users
}

// trained returns V of the view of the rows that are used, by a dense decomposition.
func trained(a *mat.Dense, pipeline string, used func(i int) bool, k int) mat.Matrix {
	v, _ := decomposed(a, pipeline, used, k)
	return v
}

// decomposed returns V as trained does, and all singular values.
func decomposed(a *mat.Dense, pipeline string, used func(i int) bool, k int) (mat.Matrix, []float64) {
	rows, cols := a.Dims()
	b := mat.NewDense(rows, cols, nil)
	counts := make([]float64, cols)
	for i := range rows {
		for j := range cols {
			if used(i) && a.At(i, j) != 0 {
				counts[j]++
			}
		}
	}
	for i := range rows {
		n := 0.0
		for j := range cols {
			if a.At(i, j) != 0 {
				n++
			}
		}
		for j := range cols {
			if a.At(i, j) == 0 || !used(i) {
				continue
			}
			switch b.Set(i, j, a.At(i, j)); pipeline {
			case "recsys":
				b.Set(i, j, math.Pow(counts[j], -0.3)/math.Sqrt(n))
			case "sqrt":
				b.Set(i, j, math.Sqrt(a.At(i, j)))
			}
		}
	}
	var svd mat.SVD
	svd.Factorize(b, mat.SVDThin)
	var v mat.Dense
	svd.VTo(&v)
	return v.Slice(0, cols, 0, k), svd.Values(nil)
}

// TestLists compares the metrics of popularity and factorisations with naive, for users of the training data and
// for users folded in, in both orientations.
func TestLists(t *testing.T) {
	for _, c := range []struct {
		view       string
		users      float64
		transposed bool
		relevant   float64
	}{{"recsys", 0, false, 0}, {"recsys", 0.3, true, 0}, {"none", 0.3, false, 4}, {"none", 0, true, 3}, {"sqrt", 0.3, true, 0}} {
		a, b, train, test := halves(t, 4, 60, 40, c.transposed)
		metrics := must.Get(ParseMetrics("recall@5,precision@7,ndcg@10,map@6,coverage@2,recall@12,coverage"))(t)
		const k, seed = 3, 8
		o := Options{Ranks: []int{k}, Metrics: metrics, Dir: t.TempDir(), Users: c.users, Seed: seed, Memory: 256 << 20, Views: []View{{Name: c.view}}}
		if c.relevant > 0 {
			o.Relevant = &c.relevant
		}
		if c.view != "none" {
			o.Views[0].Pipeline = must.Get(view.Parse(c.view))(t)
		}
		r := must.Get(Run(t.Context(), train, test, o))(t)
		used := func(i int) bool { return c.users == 0 || !heldOut(seed, int64(i), c.users) }
		judged := func(i int) bool { return c.users == 0 || !used(i) }
		v := trained(a, c.view, used, k)
		var scores mat.Dense
		plain := mat.DenseCopyOf(a)
		switch c.view {
		case "recsys":
			plain.Apply(func(_, _ int, x float64) float64 { return float64(min(1, int(x))) }, a)
		case "sqrt":
			plain.Apply(func(_, _ int, x float64) float64 { return math.Sqrt(x) }, a)
		}
		scores.Product(plain, v, v.T())
		popularity := func(_, j int) float64 {
			n := 0.0
			for i := range 60 {
				if used(i) && a.At(i, j) != 0 {
					n++
				}
			}
			return n
		}
		if len(r.Models) != 2 || r.Models[0].Name != "popularity" || r.Models[1].Name != c.view+", k = 3" {
			t.Fatalf("%+v", r.Models)
		}
		for n, of := range []func(i, j int) float64{popularity, scores.At} {
			for i, m := range metrics {
				got, want := float64(r.Models[n].Scores[i].Value), naive(a, b, of, judged, m, c.relevant)
				if math.Abs(got-want) > 1e-12 {
					t.Errorf("%+v: %v of %s is %v, want %v", c, m, r.Models[n].Name, got, want)
				}
				if s := r.Models[n].Scores[i]; m.Kind != Coverage && !(s.Low <= s.Value && s.Value <= s.High) {
					t.Errorf("%+v: %v of %s is %v in an interval from %v to %v", c, m, r.Models[n].Name, s.Value, s.Low, s.High)
				}
			}
		}
		if r.NoTrain != 1 && c.users == 0 {
			t.Errorf("%d users are in test only, want row 3", r.NoTrain)
		}
	}
}

// TestRatings compares the errors of predictions with formulas: mean, biases, factorisation with and without biases.
func TestRatings(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		a, b, train, test := halves(t, 6, 50, 30, transposed)
		bias := must.Get(view.Parse("bias=both,damping:2"))(t)
		const k = 2
		o := Options{Ranks: []int{1, k}, Metrics: []Metric{{Kind: RMSE}, {Kind: MAE}}, Dir: t.TempDir(), Views: []View{{"none", nil}, {"bias", bias}}}
		r := must.Get(Run(t.Context(), train, test, o))(t)
		mean := mat.Sum(a) / float64(train.NNZ())
		biases := func(damping float64) *mat.Dense {
			out := mat.NewDense(50, 30, nil)
			ofCols := make([]float64, 30)
			for j := range ofCols {
				s, n := 0.0, 0.0
				for i := range 50 {
					if x := a.At(i, j); x != 0 {
						s, n = s+x-mean, n+1
					}
				}
				if n > 0 {
					ofCols[j] = s / (n + damping)
				}
			}
			for i := range 50 {
				s, n := 0.0, 0.0
				for j := range 30 {
					if x := a.At(i, j); x != 0 {
						s, n = s+x-mean-ofCols[j], n+1
					}
				}
				for j := range 30 {
					out.Set(i, j, mean+ofCols[j])
					if n > 0 {
						out.Set(i, j, mean+ofCols[j]+s/(n+damping))
					}
				}
			}
			return out
		}
		low := func(x mat.Matrix, k int) *mat.Dense {
			var svd mat.SVD
			svd.Factorize(x, mat.SVDThin)
			var v, out mat.Dense
			svd.VTo(&v)
			w := v.Slice(0, 30, 0, k)
			out.Product(x, w, w.T())
			return &out
		}
		flat := mat.NewDense(50, 30, slices.Repeat([]float64{mean}, 1500))
		left := mat.NewDense(50, 30, nil)
		two := biases(2)
		left.Apply(func(i, j int, x float64) float64 {
			if x == 0 {
				return 0
			}
			return x - two.At(i, j)
		}, a)
		plus := func(x mat.Matrix) *mat.Dense {
			var out mat.Dense
			out.Add(two, x)
			return &out
		}
		want := []mat.Matrix{flat, biases(5), low(a, 1), low(a, k), plus(low(left, 1)), plus(low(left, k))}
		if len(r.Models) != len(want) {
			t.Fatalf("%d models, want %d", len(r.Models), len(want))
		}
		for n, m := range r.Models {
			squares, absolute := 0.0, 0.0
			for i := range 50 {
				for j := range 30 {
					if x := b.At(i, j); x != 0 {
						off := x - want[n].At(i, j)
						squares, absolute = squares+off*off, absolute+math.Abs(off)
					}
				}
			}
			entries := float64(test.NNZ())
			for s, value := range []float64{math.Sqrt(squares / entries), absolute / entries} {
				if got := float64(m.Scores[s].Value); math.Abs(got-value) > 1e-9 {
					t.Errorf("%s: %s is %v, want %v", m.Name, m.Scores[s].Metric, got, value)
				}
			}
		}
		if notes := fmt.Sprint(r.Notes); !strings.Contains(notes, "none takes missing entries for zeros") || !strings.Contains(notes, "none, k = 1 loses to the baseline mean in rmse") {
			t.Errorf("notes %q", r.Notes)
		}
	}
}

// TestWithoutTestStore: without a test store, Run splits the entries of the users folded in, and reports as for two stores.
func TestWithoutTestStore(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		a, b, _, _ := halves(t, 6, 90, 40, false)
		const seed, share = 3, 0.4
		a.Add(a, b)
		b.Zero()
		store := func(m mat.Matrix) *csr.Store {
			if transposed {
				m = mat.DenseCopyOf(m.T())
			}
			return csrtest.FromDense(t, mat.DenseCopyOf(m), csr.CreateOptions{Transposed: transposed})
		}
		whole := store(a)
		entries, targets := 0, 0
		for i := range 90 {
			for j := range 40 {
				if a.At(i, j) == 0 || !heldOut(seed, int64(i), share) {
					continue
				}
				if entries++; target(seed, int64(i), uint32(j)) {
					targets++
					b.Set(i, j, a.At(i, j))
					a.Set(i, j, 0)
				}
			}
		}
		if p := float64(targets) / float64(entries); math.Abs(p-Targets) > 4*math.Sqrt(Targets*(1-Targets)/float64(entries)) {
			t.Errorf("%d of %d entries are judged by", targets, entries)
		}
		train, test := store(a), store(b)
		for _, v := range []string{"none", "recsys", "sqrt", "bias=both"} {
			metrics := must.Get(ParseMetrics("recall@5,ndcg@10,coverage@3,rmse,mae"))(t)
			o := Options{Ranks: []int{1, 3}, Metrics: metrics, Users: share, Seed: seed, Memory: 256 << 20, Views: []View{{Name: v}}}
			if v != "none" {
				o.Views[0].Pipeline = must.Get(view.Parse(v))(t)
			}
			o.Dir = t.TempDir()
			got := must.Get(Run(t.Context(), whole, nil, o))(t)
			o.Dir = t.TempDir()
			want := must.Get(Run(t.Context(), train, test, o))(t)
			if got.Users != want.Users || got.NoTrain != want.NoTrain || got.Targets != Targets {
				t.Errorf("%s: %+v, want %+v", v, got, want)
			}
			for m := range want.Models {
				for i, s := range want.Models[m].Scores {
					g := got.Models[m].Scores[i]
					if d := math.Abs(float64(g.Value - s.Value)); d > 1e-9 || math.IsNaN(float64(g.Value)) != math.IsNaN(float64(s.Value)) {
						t.Errorf("%s: %s of %s is %v, want %v", v, s.Metric, want.Models[m].Name, g.Value, s.Value)
					}
				}
			}
		}
	}
}

// TestSameReport: a report has the same bytes for any number of workers and any budget.
func TestSameReport(t *testing.T) {
	_, _, train, test := halves(t, 2, 80, 50, false)
	metrics := must.Get(ParseMetrics("recall@5,ndcg@5,coverage,rmse"))(t)
	var first []byte
	for _, workers := range []int{1, 2, 3} {
		r, err := Run(t.Context(), train, test, Options{
			Ranks: []int{2}, Metrics: metrics, Dir: filepath.Join(t.TempDir()), Views: []View{{"none", nil}}, Workers: workers, Memory: int64(workers) * 100 << 20,
		})
		must.Do(t, err)
		text := must.Get(json.Marshal(r))(t)
		if first == nil {
			first = text
		}
		if !reflect.DeepEqual(first, text) {
			t.Errorf("%d workers: %s\nwant %s", workers, text, first)
		}
	}
}

func TestRefusals(t *testing.T) {
	_, _, train, test := halves(t, 2, 20, 12, false)
	_, _, other, _ := halves(t, 2, 21, 12, false)
	pca := must.Get(view.Parse("pca"))(t)
	none := []View{{"none", nil}}
	recall := []Metric{{Recall, 3}}
	never := 9.
	for _, c := range []struct {
		test *csr.Store
		o    Options
		want string
	}{
		{other, Options{Ranks: []int{1}, Metrics: recall}, "want the two stores that one ingest --holdout has made"},
		{test, Options{Ranks: []int{13}, Metrics: recall}, "13 triplets: a 20 × 12 matrix has 1 to 12"},
		{test, Options{Ranks: []int{1}, Metrics: []Metric{{Recall, 13}}}, "recall@13: the matrix has only 12 columns"},
		{test, Options{Ranks: []int{1}}, "want at least one metric"},
		{test, Options{Ranks: []int{1}, Metrics: recall, Users: 1e-9}, "want some users to train with and some to fold in"},
		{test, Options{Ranks: []int{1}, Metrics: recall, Users: 0.2, Views: []View{{"pca", pca}}}, "users cannot be folded in with the view pca: "}, // centring would fill the rows that are left out
		{test, Options{Ranks: []int{1}, Metrics: recall, Relevant: &never}, "nothing can be judged"},
		{nil, Options{Ranks: []int{1}, Metrics: recall}, "want a test store, or a share of the users to fold in"},
		{nil, Options{Ranks: []int{1}, Metrics: recall, Relevant: &never, Users: 0.5}, "none of them has relevant entries both to fold in by and to evaluate on"},
	} {
		if c.o.Views == nil {
			c.o.Views = none
		}
		c.o.Dir = t.TempDir()
		if _, err := Run(t.Context(), train, c.test, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// TestTies compares small stores with many equal or zero scores with naive: scores that differ by rounding only are
// ties, and of equal scores the first column comes first.
func TestTies(t *testing.T) {
	metrics, err := ParseMetrics("recall@2,precision@1,ndcg@3,map@3,coverage@1")
	must.Do(t, err)
	random := rand.New(rand.NewPCG(5, 5))
	judged := 0
	for trial := range 40 {
		rows, cols := 3+random.IntN(6), 3+random.IntN(6)
		a, b := mat.NewDense(rows, cols, nil), mat.NewDense(rows, cols, nil)
		for i := range rows {
			for j := range cols {
				switch x := random.IntN(10); {
				case x < 3:
					a.Set(i, j, float64(1+random.IntN(3)))
				case x < 5:
					b.Set(i, j, 1)
				}
			}
		}
		name := []string{"none", "recsys"}[trial%2]
		o := Options{Ranks: []int{1 + random.IntN(2)}, Metrics: metrics, Dir: t.TempDir(), Memory: 256 << 20, Views: []View{{Name: name}}}
		plain := mat.DenseCopyOf(a)
		if name == "recsys" {
			o.Views[0].Pipeline, err = view.Parse(name)
			plain.Apply(func(_, _ int, x float64) float64 { return min(1, x) }, a)
		}
		must.Do(t, err)
		v, sigma := decomposed(a, name, func(int) bool { return true }, o.Ranks[0])
		if k := o.Ranks[0]; !(sigma[k-1] > 1e-6*sigma[0]) || k < len(sigma) && !(sigma[k-1]-sigma[k] > 1e-3*sigma[0]) {
			continue // the leading vectors are not unique
		}
		r, err := Run(t.Context(), csrtest.FromDense(t, a, csr.CreateOptions{}), csrtest.FromDense(t, b, csr.CreateOptions{}), o)
		if err != nil {
			if strings.Contains(err.Error(), "nothing can be judged") {
				continue
			}
			t.Fatal(err)
		}
		var query mat.Dense
		query.Mul(plain, v)
		score := func(i, j int) float64 {
			grid := mat.Norm(plain.RowView(i), 2) * 0x1p-36
			if grid == 0 {
				return 0
			}
			return math.Round(mat.Dot(query.RowView(i), v.(*mat.Dense).RowView(j)) / grid)
		}
		judged++
		for i, m := range metrics {
			got, want := float64(r.Models[1].Scores[i].Value), naive(a, b, score, func(int) bool { return true }, m, 0)
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("trial %d, %d × %d, %s: %v is %v, want %v", trial, rows, cols, name, m, got, want)
			}
		}
	}
	if judged < 20 {
		t.Errorf("only %d trials were judged", judged)
	}
}

// TestForeign: for lists and vectors of other programs, columns in which a user has a training entry are no hits even if
// the test store has them, and the length of vectors does not matter.
func TestForeign(t *testing.T) {
	a, b, train, test := halves(t, 4, 30, 12, false)
	b.Apply(func(i, j int, x float64) float64 { return max(x, a.At(i, j)) }, b)
	both := csrtest.FromDense(t, b, csr.CreateOptions{})
	o := Options{Ranks: []int{1}, Metrics: []Metric{{NDCG, 3}}, Dir: t.TempDir(), Memory: 256 << 20}
	o.Lists = []List{{Name: "seen", Store: train}, {Name: "new", Store: test}}
	for _, length := range []float64{1, 1e-14} {
		u, v := mat.NewDense(30, 2, nil), mat.NewDense(12, 2, nil)
		u.Apply(func(i, j int, _ float64) float64 { return length * math.Sin(float64(3*i+j)) }, u)
		v.Apply(func(i, j int, _ float64) float64 { return math.Cos(float64(5*i + j)) }, v)
		users, items := csrtest.FromDense(t, u, csr.CreateOptions{}), csrtest.FromDense(t, v, csr.CreateOptions{})
		o.Vectors = append(o.Vectors, Vectors{"vectors", users, items})
	}
	r := must.Get(Run(t.Context(), train, both, o))(t)
	var got []float64
	for _, m := range r.Models[1:] {
		got = append(got, float64(m.Scores[0].Value))
	}
	if !(got[0] > 0 && got[0] == got[1] && got[2] == 0 && got[3] > 0) {
		t.Errorf("vectors, the same but shorter, what users have, what they do not have: %v", got)
	}
}
