package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// realData lists real data sets with singular values computed by LAPACK or ARPACK.
var realData = []struct {
	name       string
	input      string
	reference  string // name of a file of values, or a key of others.json
	rows, cols int64
	nnz        int64
	large      bool
}{
	{"MovieLens 100K", "movielens/ml-100k/u.data", "ml-100k.txt", 943, 1682, 100000, false},
	{"MovieLens 1M", "movielens/ml-1m/ratings-notimestamp.dat.gz", "ml-1m.txt", 6040, 3706, 1000209, true},
	{"MovieLens latest-small", "movielens/ml-latest-small/ratings.csv", "ml-latest-small.txt", 610, 9724, 100836, false},
	{"MNIST", "mnist/train-images-idx3-ubyte.gz", "mnist-train.txt", 60000, 784, 8994156, true},
	{"west0479", "suitesparse/west0479.mtx", "west0479.mtx", 479, 479, 1910, false},
	{"lp_e226", "suitesparse/lp_e226.mtx", "lp_e226.mtx", 223, 472, 2768, false},
	{"lp_e226 transposed", "suitesparse/lp_e226_transposed.mtx", "lp_e226_transposed.mtx", 472, 223, 2768, false},
	{"karate", "suitesparse/karate.mtx", "karate.mtx", 34, 34, 156, false},
}

// TestRealData compares shape, values, residuals and status of ingest and svd on real data with the reference.
func TestRealData(t *testing.T) {
	data := os.Getenv("GDSVD_DATA")
	if data == "" {
		t.Skip("GDSVD_DATA does not name a directory of real data")
	}
	for _, d := range realData {
		t.Run(d.name, func(t *testing.T) {
			if d.large && (raceDetector || !longtest.On()) {
				t.Skip("too large for the race detector, and a long form: set GDSVD_TEST_LONG")
			}
			store := filepath.Join(t.TempDir(), "m.csr")
			var r ingestResult
			decode(t, succeeds(t, "ingest", "-q", "--json", filepath.Join(data, d.input), "-o", store), &r)
			if r.Rows != d.rows || r.Cols != d.cols || r.NNZ != d.nnz {
				t.Fatalf("%d × %d, %d entries, want %d × %d, %d", r.Rows, r.Cols, r.NNZ, d.rows, d.cols, d.nnz)
			}
			if d.name == "MovieLens 1M" && r.BytesPerEntry > 1.7 {
				t.Errorf("%.3f bytes a rating, want at most 1.7", r.BytesPerEntry)
			}
			truth := referenceValues(t, filepath.Join(data, "reference"), d.reference)
			for _, method := range []string{"auto", "gd", "power"} {
				k := 10
				if d.large && method != "auto" {
					k = 3 // these methods find one vector after the other, in a thousand passes each
				}
				t.Run(method, func(t *testing.T) { checkRealData(t, store, method, truth[:k]) })
			}
		})
	}
}

func checkRealData(t *testing.T, store, method string, truth []float64) {
	const tol = 1e-8
	k := len(truth)
	_, r := factorised(t, store, "-k", strconv.Itoa(k), "--method", method, "--tol", "1e-8")
	if r.Status != "converged" || r.Converged != k || !r.Certified {
		t.Errorf("status %s, converged %d, certified %v", r.Status, r.Converged, r.Certified)
	}
	for i := range k {
		if e := math.Abs(float64(r.Sigma[i])-truth[i]) / truth[i]; !(e <= 1e-9) {
			t.Errorf("value %d is %.15g, want %.15g: relative error %.2g", i, r.Sigma[i], truth[i], e)
		}
		if !(r.Residual[i] <= tol) {
			t.Errorf("residual %d is %.2g", i, r.Residual[i])
		}
	}
	t.Logf("%d passes, %.2f s", r.Passes, r.Seconds.Total)
}

// referenceValues reads a file with a comment and one value per line, or an entry of others.json.
func referenceValues(t *testing.T, dir, name string) (values []float64) {
	t.Helper()
	if !strings.HasSuffix(name, ".txt") {
		data := must.Get(os.ReadFile(filepath.Join(dir, "others.json")))(t)
		var all map[string]struct {
			SV []float64 `json:"sv"`
		}
		must.Do(t, json.Unmarshal(data, &all))
		return all[name].SV
	}
	f := must.Get(os.Open(filepath.Join(dir, name)))(t)
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		v := must.Get(strconv.ParseFloat(strings.TrimSpace(sc.Text()), 64))(t)
		values = append(values, v)
	}
	return values
}

// TestWarmPasses: with the vectors of 99 % of the ratings as start, a run on all ratings needs no more products.
func TestWarmPasses(t *testing.T) {
	data := os.Getenv("GDSVD_DATA")
	if data == "" || raceDetector || !longtest.On() {
		t.Skip("takes MovieLens 1M, and is too large for the race detector, and a long form: set GDSVD_TEST_LONG")
	}
	f := must.Get(os.Open(filepath.Join(data, "movielens/ml-1m/ratings-notimestamp.dat.gz")))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	text := must.Get(io.ReadAll(z))(t)
	file := filepath.Join(t.TempDir(), "ratings.dat")
	must.Do(t, os.WriteFile(file, text, 0o666))
	most, whole := fewer(t, file, func(i int) bool { return i%100 != 7 }), fewer(t, file, func(int) bool { return true })
	for _, tol := range []string{"1e-4", "1e-8"} {
		before, _ := factorised(t, most, "-k", "10", "--tol", tol)
		_, cold := factorised(t, whole, "-k", "10", "--tol", tol)
		_, warm := factorised(t, whole, "-k", "10", "--tol", tol, "--init", before)
		saved := cold.Products - warm.Products
		if warm.Status != "converged" || warm.Passes > cold.Passes || saved < 0 || tol == "1e-8" && saved == 0 {
			t.Errorf("tolerance %s: %s after %d passes and %d products, %d and %d from random vectors", tol, warm.Status, warm.Passes, warm.Products, cold.Passes, cold.Products)
		}
		t.Logf("tolerance %s: %s, %d and %d passes, %d and %d products; outside %+v and %+v, σ_k %.6g", tol, cold.Method,
			warm.Passes, cold.Passes, warm.Products, cold.Products, warm.Outside, cold.Outside, cold.Sigma[9])
	}
}
