package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestComplete checks the flags and the output of complete.
func TestComplete(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.csr")
	input := filepath.Join(t.TempDir(), "r.dat")
	succeeds(t, "generate", "ratings", "-o", input, "--users", "80", "--items", "30", "--ratings", "1700")
	succeeds(t, "ingest", input, "-o", store)
	out := filepath.Join(t.TempDir(), "out")
	text := succeeds(t, "complete", store, "-k", "3", "--biases", "-o", out)
	for _, want := range []string{"held out to choose λ", "no matrix of any rank has less than", "written to " + out} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if again := succeeds(t, "info", out); again != text {
		t.Errorf("info prints\n%s\ncomplete\n%s", again, text)
	}
	if said := succeeds(t, "info", out, "--json"); !strings.Contains(said, `"energy": null`) || !strings.Contains(said, `"residual": []`) || !strings.Contains(said, `"bound": null`) {
		t.Errorf("what a completion cannot know is stated:\n%s", said)
	}
	succeeds(t, "check", out)
	succeeds(t, "recommend", out, "--store", store, "--rows", "1,2", "-n", "3")
	succeeds(t, "similar", out, "--col", "1", "-n", "2")
	succeeds(t, "export", out, "--what", "V", "--format", "csv", "-o", filepath.Join(t.TempDir(), "v.csv"))
	for pattern, args := range map[string][]string{
		"the largest rank is missing":                   {},
		"--lambda much: want a number above 0, or auto": {"-k", "2", "--lambda", "much"},
		"--lambda 3x: want a number above 0, or auto":   {"-k", "2", "--lambda", "3x"},
		"--holdout 1: want a share":                     {"-k", "2", "--holdout", "1"},
		"--tol 0: want a tolerance":                     {"-k", "2", "--tol", "0"},
		"no OUT to write":                               {"-k", "2", "-o", ""},
		"-k 31: a 80 × 30 matrix has only 30":           {"-k", "31"},
		"--holdout is for --lambda auto":                {"-k", "2", "--lambda", "5", "--holdout", "0.1"},
		"--damping for --biases":                        {"-k", "2", "--damping", "9"},
		"--max-rounds 0: want 1 or more":                {"-k", "2", "--max-rounds", "0"},
	} {
		fails(t, 2, pattern, append([]string{"complete", store, "-o", filepath.Join(t.TempDir(), "x")}, args...)...)
	}
	fails(t, 1, "out", "complete", store, "-k", "3", "-o", out)
	fails(t, 1, "is a completion", "check", out, "--store", store)
	fails(t, 1, "budget", "complete", store, "-k", "3", "--memory", "1MiB", "-o", filepath.Join(t.TempDir(), "x"))
}

// TestCompleteMovieLens bounds the error of a completion of MovieLens 1M on a held-out fifth, and that of its biases.
func TestCompleteMovieLens(t *testing.T) {
	data := os.Getenv("GDSVD_DATA")
	if data == "" {
		t.Skip("GDSVD_DATA does not name a directory of real data")
	}
	if raceDetector || !longtest.On() {
		t.Skip("too large for the race detector, and a long form: set GDSVD_TEST_LONG")
	}
	path := filepath.Join(t.TempDir(), "m.csr")
	succeeds(t, "ingest", filepath.Join(data, "movielens/ml-1m/ratings-notimestamp.dat.gz"), "--holdout", "random:0.2", "-o", path)
	out := filepath.Join(t.TempDir(), "out")
	succeeds(t, "complete", path, "-k", "20", "--biases", "-o", out)
	r := must.Get(factor.Open(out))(t)
	u, v := mat.NewDense(int(r.Rows), r.K, nil), mat.NewDense(int(r.Cols), r.K, nil)
	must.Do(t, r.ReadU(0, u))
	must.Do(t, r.ReadV(0, v))
	rows := must.Get(r.RowBiases(t.Context()))(t)
	cols := must.Get(r.ColBiases(t.Context()))(t)
	for s, sigma := range r.Sigma {
		for i := range v.RawMatrix().Rows {
			v.Set(i, s, v.At(i, s)*float64(sigma))
		}
	}
	test := must.Get(csr.Open(path+".test", csr.OpenOptions{}))(t)
	defer test.Close()
	n, ofModel, ofBiases := 0, 0.0, 0.0
	b := test.Scratch()
	vector := func(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
	for block := range test.NumBlocks() {
		must.Do(t, test.DecodeBlock(block, b))
		for i := range b.Rows() {
			at := b.FirstRow + int64(i)
			for col, a := range b.Row(i) {
				e := a - float64(r.Completion.Mean) - rows[at] - cols[col]
				ofBiases += e * e
				e -= blas64.Dot(vector(u.RawRowView(int(at))), vector(v.RawRowView(int(col))))
				ofModel += e * e
				n++
			}
		}
	}
	rmse, biases := math.Sqrt(ofModel/float64(n)), math.Sqrt(ofBiases/float64(n))
	t.Logf("RMSE %.4f, biases %.4f, %d entries", rmse, biases, n)
	if rmse > .862 || biases > .912 {
		t.Errorf("RMSE %.4f, of the biases %.4f", rmse, biases)
	}
}
