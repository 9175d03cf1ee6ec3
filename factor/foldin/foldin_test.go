package foldin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/stream/view"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// rating is one entry of a matrix, by ids.
type rating struct {
	User   string  `json:"user"`
	Item   string  `json:"item"`
	Rating float64 `json:"rating"`
}

// ingested returns a store of ratings, made by Ingest.
func ingested(t testing.TB, ratings []rating, orient ingest.Orientation) *csr.Store {
	t.Helper()
	var text strings.Builder
	for _, r := range ratings {
		line := must.Get(json.Marshal(r))(t)
		fmt.Fprintf(&text, "%s\n", line)
	}
	path := filepath.Join(t.TempDir(), "m.csr")
	must.Get(ingest.Ingest(context.Background(), []string{"-"}, path, ingest.Options{Stdin: strings.NewReader(text.String()), Memory: 128 << 20, Orient: orient}))(t)
	return csrtest.Open(t, path, csr.OpenOptions{})
}

// ratings returns about a third of the ratings of users × items, from 1 to 5, with entries in each row and column.
func ratings(users, items int) (all []rating) {
	r := rand.New(rand.NewPCG(uint64(users), uint64(items)))
	for i := range users {
		for j := range items {
			if r.IntN(3) == 0 || i == j%users || j == i%items {
				all = append(all, rating{fmt.Sprintf("u%04d", i), fmt.Sprintf("i%04d", j), float64(1 + (i*j+r.IntN(3))%5)})
			}
		}
	}
	return all
}

func pipeline(t testing.TB, text string) view.Pipeline {
	t.Helper()
	return must.Get(view.Parse(text))(t)
}

func factorised(t testing.TB, store *csr.Store, p view.Pipeline, k int) *factor.Result {
	t.Helper()
	r, err := factor.Run(context.Background(), store, factor.Options{Rank: k, Tol: 1e-14, MaxPasses: 300, Dir: filepath.Join(t.TempDir(), "out"), View: p, Memory: 256 << 20})
	if err != nil && !errors.Is(err, factor.ErrNotConverged) {
		t.Fatal(err)
	}
	r = must.Get(factor.Open(r.Dir()))(t)
	return r
}

func projected(t testing.TB, r *factor.Result, store *csr.Store, o foldin.Options) (*foldin.Projection, *mat.Dense) {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "x")
	p := must.Get(foldin.Project(context.Background(), r, store, o))(t)
	return p, arrayOf(t, filepath.Join(o.Dir, "X.npy"))
}

func arrayOf(t testing.TB, path string) *mat.Dense {
	t.Helper()
	m := must.Get(npy.Open(vfs.OS(), path))(t)
	defer m.Close()
	x := mat.NewDense(int(m.Rows), int(m.Cols), nil)
	must.Do(t, m.ReadRows(0, 0, x))
	return x
}

// scaled returns U·Σ, or V·Σ if columns.
func scaled(t testing.TB, r *factor.Result, columns bool) *mat.Dense {
	t.Helper()
	x := mat.NewDense(int(r.Rows), r.K, nil)
	read := r.ReadU
	if columns {
		x, read = mat.NewDense(int(r.Cols), r.K, nil), r.ReadV
	}
	must.Do(t, read(0, x))
	x.Apply(func(_, j int, v float64) float64 { return v * float64(r.Sigma[j]) }, x)
	return x
}

// off returns the largest absolute difference of x and y, relative to the largest entry of y.
func off(x, y *mat.Dense) float64 {
	var d mat.Dense
	d.Sub(x, y)
	return mat.Max(abs(&d)) / max(mat.Max(abs(y)), 1e-300)
}

func abs(x *mat.Dense) *mat.Dense {
	var y mat.Dense
	y.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, x)
	return &y
}

var views = []string{
	"", "binary>=2", "log1p", "sqrt", "power=1.5", "multiply=3", "confidence=40", "clip=0,4", "normalize=rows", "normalize=columns,l1", "normalize=rows,total:median",
	"normalize=columns,total:median", "tfidf", "tfidf=gensim", "tfidf=implicit", "bm25", "ppmi", "ppmi=1.5", "bias=global", "bias=rows,damping:5", "bias=columns", "bias=both,damping:2",
	"center=columns", "center=rows", "center=both", "pca-scaled", "center=rows · scale=columns,ddof:1", "weight=rows,count:-0.5", "weight=columns,sum:0.3", "laplacian", "laplacian=2",
	"correspondence", "pearson=inf,clip:none", "pearson=inf,clip:9 · center=columns", "drop=columns,count<9 · pca", "drop=rows,count<9 · lsi", "keep=columns,hvg:9 · pca", "single-cell", "recsys", "cosine",
}

// TestTrainingRows: the rows of the matrix itself, projected as new rows, are at U·Σ, for each view and for both
// orientations of both stores. Columns are at V·Σ if the view needs no number of each row.
func TestTrainingRows(t *testing.T) {
	byColumn := 0
	for _, size := range [][2]int{{60, 25}, {25, 60}} {
		all := ratings(size[0], size[1])
		store := ingested(t, all, ingest.OrientAuto)
		turned := ingested(t, all, map[bool]ingest.Orientation{true: ingest.OrientRows, false: ingest.OrientCols}[store.Transposed()])
		for i, text := range views {
			var p view.Pipeline
			if text != "" {
				p = pipeline(t, text)
			}
			r := factorised(t, store, p, 3)
			for _, s := range []*csr.Store{store, turned}[i%2 : 1+i%2] {
				said, x := projected(t, r, s, foldin.Options{Workers: 1 + i%3, Memory: 64 << 20})
				if e := off(x, scaled(t, r, false)); e > 1e-12 || said.Unknown > 0 || said.Known != r.Cols || said.Empty > 0 || said.Rows != r.Rows {
					t.Errorf("%d × %d, %s: rows are off by %g, %+v", size[0], size[1], text, e, said)
				}
				dir := filepath.Join(t.TempDir(), "columns")
				if _, err := foldin.Project(t.Context(), r, s, foldin.Options{Columns: true, Dir: dir}); err != nil {
					if !strings.Contains(err.Error(), "needs a number of each of the rows of the matrix, and these are not kept") {
						t.Errorf("%s: %v", text, err)
					}
					continue
				}
				if strings.Contains(text, "hvg") {
					continue // columns that the view drops are not dropped as new columns
				}
				byColumn++
				if e := off(arrayOf(t, filepath.Join(dir, "X.npy")), scaled(t, r, true)); e > 1e-12 {
					t.Errorf("%d × %d, %s: columns are off by %g", size[0], size[1], text, e)
				}
			}
		}
	}
	if byColumn < 20 {
		t.Errorf("columns of %d views", byColumn)
	}
}

// TestUnknown: columns are matched by id; columns that the matrix does not have are counted and left out.
func TestUnknown(t *testing.T) {
	store := ingested(t, ratings(40, 20), ingest.OrientAuto)
	r := factorised(t, store, pipeline(t, "pca"), 2)
	fresh := []rating{{"new", "i0003", 4}, {"new", "other", 5}, {"new", "i0007", 1}, {"nothing", "zz", 1}, {"nothing", "other", 2}, {"one", "i0019", 5}}
	said, x := projected(t, r, ingested(t, fresh, ingest.OrientRows), foldin.Options{})
	if said.Known != 3 || said.Unknown != 2 || !slices.Equal(said.UnknownIDs, []string{"other", "zz"}) || said.UnknownEntries != 3 || said.Empty != 1 || said.Rows != 3 {
		t.Errorf("%+v", said)
	}
	v, mean := mat.NewDense(20, 2, nil), arrayOf(t, filepath.Join(r.Dir(), r.View.Statistics[0].File))
	must.Do(t, r.ReadV(0, v))
	for i, row := range []map[int]float64{{3: 4, 7: 1}, {}, {19: 5}} {
		for c := range 2 {
			want := 0.0
			for j := range 20 {
				want += (row[j] - mean.At(j, 0)) * v.At(j, c)
			}
			if math.Abs(x.At(i, c)-want) > 1e-13 {
				t.Errorf("row %d, component %d: %v, want %v", i, c, x.At(i, c), want)
			}
		}
	}
	fresh = append(fresh, rating{"one", "more", 1}, rating{"one", "yet more", 1})
	_, err := foldin.Project(t.Context(), r, ingested(t, fresh, ingest.OrientRows), foldin.Options{Dir: filepath.Join(t.TempDir(), "x")})
	if err == nil || !strings.Contains(err.Error(), `4 of 7 columns of `) || !strings.Contains(err.Error(), `such as "more", are not among those of `) || !strings.HasSuffix(err.Error(), "is this the same catalogue?") {
		t.Error(err)
	}
}

// TestIDKinds: an integer id and a text id match if their texts are equal.
func TestIDKinds(t *testing.T) {
	var words, numbers []rating
	for i := range 30 {
		for j := range 12 {
			if (i*j+i)%3 != 1 {
				words = append(words, rating{fmt.Sprint(i), fmt.Sprint(j), float64(1 + (i+j)%5)})
			}
		}
	}
	numbers = slices.Clone(words)
	words = append(words, rating{"x", "word", 0.5})
	a, b := ingested(t, words, ingest.OrientAuto), ingested(t, numbers, ingest.OrientAuto)
	r := factorised(t, a, nil, 2)
	said, x := projected(t, r, b, foldin.Options{})
	names := must.Get(r.RowNames(t.Context()))(t)
	defer names.Close()
	want := scaled(t, r, false)
	for i := range 30 {
		at, err := names.Index(fmt.Sprint(i))
		if err != nil || at < 0 {
			t.Fatal(at, err)
		}
		for c := range 2 {
			if math.Abs(x.At(i, c)-want.At(int(at), c)) > 1e-12*float64(r.Sigma[0]) {
				t.Errorf("row %d: %v, want %v", i, x.At(i, c), want.At(int(at), c))
			}
		}
	}
	if said.Unknown != 0 || said.Known != 12 {
		t.Errorf("%+v", said)
	}
}

// TestSameBits: a projection has the same bits for any number of workers and any memory, also without room for V.
func TestSameBits(t *testing.T) {
	store := ingested(t, ratings(300, 400), ingest.OrientRows)
	r := factorised(t, store, pipeline(t, "center=columns"), 3)
	long := *r
	_, want := projected(t, r, store, foldin.Options{Workers: 1, Memory: 1 << 30})
	for _, o := range []foldin.Options{{Workers: 3, Memory: 1 << 30}, {Workers: 2, Memory: 64 << 20}} {
		if _, x := projected(t, &long, store, o); !mat.Equal(x, want) {
			t.Errorf("%+v: other bits", o)
		}
	}
	if _, err := foldin.Project(t.Context(), r, store, foldin.Options{Memory: 1 << 20, Dir: filepath.Join(t.TempDir(), "x")}); err == nil || !strings.Contains(err.Error(), "memory budget of 1.0 MiB is too small: ") {
		t.Error(err)
	}
}

// TestWhiten: whitened components have variance 1 if the columns of the view have mean 0; otherwise they are rows of U.
func TestWhiten(t *testing.T) {
	store := ingested(t, ratings(50, 20), ingest.OrientAuto)
	r := factorised(t, store, pipeline(t, "pca"), 3)
	_, x := projected(t, r, store, foldin.Options{Whiten: true})
	for c := range 3 {
		s, squares := 0.0, 0.0
		for i := range 50 {
			s += x.At(i, c)
			squares += x.At(i, c) * x.At(i, c)
		}
		if math.Abs(s) > 1e-11 || math.Abs(squares/49-1) > 1e-11 {
			t.Errorf("component %d: sum %g, variance %g", c, s, squares/49)
		}
	}
	for users, view := range map[int]view.Pipeline{50: nil, 20: pipeline(t, "center=rows")} { // as many rows as columns, too
		store := ingested(t, ratings(users, 20), ingest.OrientAuto)
		r = factorised(t, store, view, 3)
		_, x = projected(t, r, store, foldin.Options{Whiten: true})
		u := mat.NewDense(users, 3, nil)
		if err := r.ReadU(0, u); err != nil || off(x, u) > 1e-12 {
			t.Errorf("%v: off by %g, %v", view, off(x, u), err)
		}
	}
	ones := []rating{{"a", "x", 1}, {"a", "y", 1}, {"b", "x", 1}, {"b", "y", 1}}
	r = factorised(t, ingested(t, ones, ingest.OrientAuto), pipeline(t, "pca"), 2)
	_, err := foldin.Project(t.Context(), r, ingested(t, ones, ingest.OrientAuto), foldin.Options{Whiten: true, Dir: filepath.Join(t.TempDir(), "x")})
	if err == nil || !strings.Contains(err.Error(), "has σ = 0, and whitening divides by it") {
		t.Error(err)
	}
}

// TestHistory: with History a row is projected by its entries, or by ones if the view begins with binary.
func TestHistory(t *testing.T) {
	all := ratings(50, 20)
	store := ingested(t, all, ingest.OrientAuto)
	for text, weight := range map[string]func(float64) float64{
		"recsys":                    func(float64) float64 { return 1 },
		"binary>=3 · tfidf":         func(v float64) float64 { return map[bool]float64{true: 1}[v >= 3] },
		"log1p · normalize=columns": func(v float64) float64 { return v },
	} {
		r := factorised(t, store, pipeline(t, text), 2)
		said, x := projected(t, r, store, foldin.Options{History: true})
		v, want := mat.NewDense(20, 2, nil), mat.NewDense(50, 2, nil)
		must.Do(t, r.ReadV(0, v))
		for _, e := range all {
			var i, j int
			fmt.Sscanf(e.User+e.Item, "u%04di%04d", &i, &j)
			for c := range 2 {
				want.Set(i, c, want.At(i, c)+weight(e.Rating)*v.At(j, c))
			}
		}
		if e := off(x, want); e > 1e-13 || said.By != "history" {
			t.Errorf("%s: off by %g", text, e)
		}
	}
}
