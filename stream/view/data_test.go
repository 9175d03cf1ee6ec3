package view

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// table reads the numbers of each line of a file and skips other fields.
func table(t *testing.T, path, separators string) (lines [][]float64) {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	if strings.HasSuffix(path, ".gz") {
		z := must.Get(gzip.NewReader(bytes.NewReader(b)))(t)
		b = must.Get(io.ReadAll(z))(t)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		var line []float64
		for _, f := range strings.FieldsFunc(s.Text(), func(c rune) bool { return strings.ContainsRune(separators, c) }) {
			if x, err := strconv.ParseFloat(f, 64); err == nil {
				line = append(line, x)
			}
		}
		if len(line) > 0 && !strings.HasPrefix(s.Text(), "%") {
			lines = append(lines, line)
		}
	}
	return lines
}

// ratings100K returns MovieLens 100K.
func ratings100K(t *testing.T) *mat.Dense {
	t.Helper()
	data := os.Getenv("GDSVD_DATA")
	if data == "" {
		t.Skip("GDSVD_DATA does not name a directory of real data")
	}
	if !longtest.On() {
		t.Skip("dense matrices of millions of numbers")
	}
	ratings := mat.NewDense(943, 1682, nil)
	for _, l := range table(t, filepath.Join(data, "movielens/ml-100k/u.data"), "\t") {
		ratings.Set(int(l[0])-1, int(l[1])-1, l[2])
	}
	return ratings
}

// TestEnergyOfRatings compares the number of triplets that capture a share of the energy with that by the eigenvalues
// of the dense BBᵀ.
func TestEnergyOfRatings(t *testing.T) {
	ratings := ratings100K(t)
	store := stored(t, ratings, true)
	p := must.Get(Parse("bm25"))(t)
	b := reference(p, ratings)
	var gram mat.SymDense
	gram.SymOuterK(1, b)
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, false) {
		t.Fatal("no eigenvalues")
	}
	sigma := eigen.Values(nil)
	slices.Reverse(sigma)
	for i, v := range sigma {
		sigma[i] = math.Sqrt(max(v, 0))
	}
	_, m := matrixOf(t, store, "bm25", stream.Options{Workers: 2, Width: 16, Rank: 250})
	for _, share := range []float64{0.3, 0.6} {
		res := must.Get(solver.SVD(t.Context(), m, solver.Settings{Rank: 250, Energy: share}))(t)
		if k := fewest(sigma, share); len(res.Sigma) != k || !res.Target.Smallest {
			t.Errorf("%d triplets for %v, %+v; by all eigenvalues %d", len(res.Sigma), share, res.Target, k)
		}
	}
}

// TestRealData compares products of views of real matrices with those of dense ones, in both orientations.
func TestRealData(t *testing.T) {
	ratings, data := ratings100K(t), os.Getenv("GDSVD_DATA")
	cells := mat.NewDense(507, 1107, nil)
	for _, l := range table(t, filepath.Join(data, "10x/v3.matrix.mtx.gz"), " ")[1:] {
		cells.Set(int(l[0])-1, int(l[1])-1, l[2])
	}
	adults := mat.NewDense(2000, 123, nil) // the first 2000 of 16281 rows
	for i, l := range table(t, filepath.Join(data, "svmlight/a9a.t"), " :")[:2000] {
		for j := 1; j < len(l); j += 2 {
			adults.Set(i, int(l[j])-1, l[j+1])
		}
	}
	for _, c := range []struct {
		name  string
		a     *mat.Dense
		views []string
	}{
		{"MovieLens 100K", ratings, []string{"recsys", "bm25", "bias=both,damping:5", "pca", "binary>=4 · ppmi"}},
		{"10x", cells, []string{"normalize=columns,total:10000 · log1p · center=rows", "single-cell · scale=columns,ddof:1", "center=both", "correspondence"}},
		{"a9a", adults, []string{"lsi", "pca-scaled", "laplacian=3", "normalize=columns,max · weight=rows,norm:-1"}},
	} {
		for i, text := range c.views {
			p := must.Get(Parse(text))(t)
			transposed := i%2 == 1
			want := mat.Matrix(reference(p, c.a))
			store := stored(t, c.a, transposed)
			_, m := matrixOf(t, store, text, stream.Options{Workers: 2, Width: 6})
			if transposed {
				want = want.T()
			}
			rows, cols := want.Dims()
			x := solvertest.Random(cols, 6, 1)
			var bx, gx mat.Dense
			bx.Mul(want, x)
			gx.Mul(want.T(), &bx)
			w, y := mat.NewDense(rows, 6, nil), mat.NewDense(cols, 6, nil)
			must.Get(m.Run(t.Context(), solver.Pass{X: x, RowsOut: solver.Rows{Block: w}, Sum: y}))(t)
			if e, f := relative(w, &bx), relative(y, &gx); !(e < 1e-12) || !(f < 1e-12) {
				t.Errorf("%s, %s: B·X is off by %g, BᵀB·X by %g", c.name, text, e, f)
			}
		}
	}
}

// TestFingerprint pins the fingerprint of a view: results and checkpoints store it.
func TestFingerprint(t *testing.T) {
	store := stored(t, denseOf(oracleMatrix), false)
	names := map[string]string{}
	for _, text := range []string{"bm25", "bm25=100,0.7", "lsi", "tfidf", "pca", "center=columns"} {
		p := must.Get(Parse(text))(t)
		name := Plan(store, p, false).Fingerprint()
		if other, ok := names[name]; ok && other != p.String() || name == store.Fingerprint() || len(name) != 64 {
			t.Errorf("%s and %s are both %s", text, other, name)
		}
		names[name] = p.String()
	}
	if len(names) != 4 {
		t.Errorf("%d names for 4 views", len(names))
	}
	p := must.Get(Parse("bm25"))(t)
	const want = "3a24d9ae170e3919ff7dfe63f38199b19287a8777fd5c426028fe9c9415d5458"
	if got := Plan(store, p, false).Fingerprint(); got != want {
		t.Errorf("bm25 is %s, want %s", got, want)
	}
}
