package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// friends returns the store and the adjacency matrix of an undirected graph: two dense groups with some edges between
// them, and a separate pair.
func friends(t *testing.T) (store string, a *mat.Dense) {
	t.Helper()
	const n = 60
	r := rand.New(rand.NewPCG(8, 9))
	a = mat.NewDense(n, n, nil)
	var text strings.Builder
	befriend := func(i, j int) {
		if i != j && a.At(i, j) == 0 {
			a.Set(i, j, 1)
			a.Set(j, i, 1)
			fmt.Fprintf(&text, "n%02d\tn%02d\n", i, j)
		}
	}
	for range 300 {
		circle := r.IntN(2) * 29
		befriend(circle+r.IntN(29), circle+r.IntN(29))
	}
	for range 12 {
		befriend(r.IntN(29), 29+r.IntN(29))
	}
	befriend(58, 59)
	return graphStore(t, text.String(), "--graph", "undirected"), a
}

func graphStore(t *testing.T, text string, flags ...string) string {
	t.Helper()
	return stored(t, write(t, t.TempDir(), "edges.tsv", text), flags...)
}

// pairsOf runs eigs and returns OUT and the result.
func pairsOf(t *testing.T, store string, flags ...string) (dir string, r factor.Result) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	succeeds(t, slices.Concat([]string{"eigs", "-q", store, "-o", dir}, flags)...)
	return dir, resultOf(t, dir)
}

// exactPairs returns the first k eigenvalues by a dense decomposition, in the order of --which.
func exactPairs(t *testing.T, a *mat.Dense, which string, k int) []float64 {
	t.Helper()
	n, _ := a.Dims()
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(n, mat.DenseCopyOf(a).RawMatrix().Data), false) {
		t.Fatal("no eigenvalues")
	}
	v := e.Values(nil)
	key := map[string]func(float64) float64{"LM": func(x float64) float64 { return -math.Abs(x) }, "LA": func(x float64) float64 { return -x }, "SA": func(x float64) float64 { return x }}[which]
	slices.SortFunc(v, func(x, y float64) int {
		if key(x) < key(y) {
			return -1
		}
		return 1
	})
	return v[:k]
}

func checkEigs(t *testing.T, dir string, r factor.Result, a *mat.Dense, which string) {
	t.Helper()
	want := exactPairs(t, a, which, r.K)
	lambda, v := loadNPY(t, filepath.Join(dir, factor.LambdaFile)), loadNPY(t, filepath.Join(dir, rightFile))
	if r.Status != "converged" || !r.Certified || r.Sigma != nil || r.Settings.Which != which || r.Settings.Operator != "symmetric" || r.IDs.Cols == nil {
		t.Errorf("status %s, certified %t, σ %v, which %s, operator %s", r.Status, r.Certified, r.Sigma, r.Settings.Which, r.Settings.Operator)
	}
	for i, l := range want {
		var x mat.VecDense
		x.MulVec(a, v.ColView(i))
		x.AddScaledVec(&x, -lambda.At(i, 0), v.ColView(i))
		if got := lambda.At(i, 0); math.Abs(got-l) > 1e-12*float64(r.Norm) || got != float64(r.Lambda[i]) || mat.Norm(&x, 2) > (2*float64(r.Residual[i])+1e-14)*float64(r.Norm) || r.Residual[i] > 1e-8 {
			t.Errorf("%s: λ[%d] = %.15g (%v in %s), want %.15g; residual %.2g, said to be %.2g", which, i, got, r.Lambda[i], factor.ResultFile, l, mat.Norm(&x, 2), r.Residual[i])
		}
	}
}

func TestEigs(t *testing.T) {
	store, a := friends(t)
	for _, which := range []string{"LM", "LA", "SA"} {
		dir, r := pairsOf(t, store, "-k", "5", "--which", which)
		checkEigs(t, dir, r, a, which)
		if got, want := names(t, dir), []string{rightFile, "cols.ids", eventsFile, factor.LambdaFile, factor.ResultFile}; !slices.Equal(got, want) {
			t.Errorf("files %v, want %v", got, want)
		}
		fails(t, ui.ExitError, `holds no U.npy: eigenvectors are in V.npy alone`, "export", dir, "--what", "U", "-o", filepath.Join(t.TempDir(), "u.csv"))
		// The bits do not depend on the number of workers, and check measures the result.
		other, _ := pairsOf(t, store, "-k", "5", "--which", which, "--workers", "3")
		same(t, which, filepath.Join(dir, factor.LambdaFile), filepath.Join(other, factor.LambdaFile))
		same(t, which, filepath.Join(dir, rightFile), filepath.Join(other, rightFile))
		m := measuredOf(t, ui.ExitOK, dir, "--store", store)
		if len(m.Measured.Lambda) != 5 || len(m.Measured.Misses) != 0 || m.Measured.Implied != "" || m.Measured.Residual[4] > 1e-8 {
			t.Errorf("%s: measured %+v", which, m.Measured)
		}
		if out := succeeds(t, "info", dir); !strings.Contains(out, "lambda") || !strings.Contains(out, "5 of 5 eigenpairs within 1e-08 of the norm") || !strings.Contains(out, "no other eigenvalue is ") && !strings.Contains(out, " eigenvalue is missing is not shown") {
			t.Errorf("info prints\n%s", out)
		}
		if o := gdsvd(t, "eigs", store, "-k", "5", "-o", dir, "--which", which, "--resume"); o.code != ui.ExitOK || !strings.Contains(o.stderr, "the result is finished: there is nothing to resume") {
			t.Errorf("exit %d\n%s", o.code, o.stderr)
		}
	}
	dir, r := pairsOf(t, store, "-k", "2")
	values := filepath.Join(t.TempDir(), "values.csv")
	succeeds(t, "export", dir, "--what", "sigma", "-o", values)
	text, err := os.ReadFile(values)
	if want := fmt.Sprintf("component,sigma\n1,%v\n2,%v\n", r.Lambda[0], r.Lambda[1]); err != nil || string(text) != want {
		t.Errorf("exported\n%s\nwant\n%s%v", text, want, err)
	}
	reseal(t, dir, func(text []byte) []byte { return bytes.Replace(text, []byte(`"k": 2`), []byte(`"k": 3`), 1) })
	fails(t, ui.ExitCorrupt, "lambda, residual: 2 and 2 numbers, k is 3: the file is damaged", "export", dir, "--what", "sigma", "-o", values, "--force")
	fails(t, ui.ExitCorrupt, "problem", "check", dir)
	dir, r = pairsOf(t, store, "-k", "3", "--vectors", "none")
	if got := names(t, dir); slices.Contains(got, rightFile) || r.IDs.Cols != nil {
		t.Errorf("--vectors none writes %v", got)
	}
	var e factor.Explanation
	decode(t, succeeds(t, "eigs", "-q", store, "-k", "5", "--which", "SA", "--explain", "--json"), &e)
	if e.K != 5 || e.Which != "SA" || e.Plan.Flags[1] != "krylov" || !e.Plan.Fits {
		t.Errorf("plan %+v", e.Plan)
	}
	all := filepath.Join(t.TempDir(), "all")
	succeeds(t, "eigs", "-q", store, "-k", "60", "-o", all)
	fails(t, ui.ExitError, `no ids of its rows, nor their vectors: eigenvectors are of its cols, with --vectors right;`, "similar", all, "--row", "1")
}

// TestEigsRefuses: a square matrix that is not symmetric is refused, with the ids of the entries that differ.
func TestEigsRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct{ pattern, text, flags string }{
		{`row "(a" has 1 in column "b", and row "b" has 0 in column "a|b" has 0 in column "a", and row "a" has 1 in column "b)"; eigenpairs are of a symmetric matrix`, "a b\nb c\nc b\n", "--graph directed"},
		{`row 0 is "?u1"? and column 0 is "?m1"?, counted from 0: eigenvectors are of a matrix whose rows and columns have the same ids`, "u1 m1\nu2 m2\n", ""},
		{`a 3 × 2 matrix has no eigenpairs`, "u1 m1\nu2 m2\nu3 m1\n", ""},
	} {
		store := graphStore(t, c.text, strings.Fields(c.flags)...)
		fails(t, ui.ExitError, c.pattern, "eigs", "-q", store, "-k", "1", "-o", out)
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s: OUT is there: %v", c.pattern, err)
		}
	}
	store, _ := friends(t)
	fails(t, ui.ExitError, `the shift 0\.1 is too small: the matrix has an eigenvalue of at most -.*; take a larger --shift, or none, which is always enough`,
		"eigs", "-q", store, "-k", "1", "-o", out, "--which", "LA", "--shift", "0.1")
	fails(t, ui.ExitError, `the shift 1e\+300 is too large: ‖A‖ is .*; take a --shift of ‖A‖, or none, which is always enough`,
		"eigs", "-q", store, "-k", "1", "-o", out, "--which", "SA", "--shift", "1e300")
	fails(t, ui.ExitError, `take --operator gram, which works for any matrix, or a --shift for its largest eigenvalues`,
		"svd", "-q", store, "-k", "1", "-o", out, "--operator", "symmetric")
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a checkpoint is left where none helps: %v", err)
	}
	fails(t, ui.ExitUsage, `-k 61: a 60 × 60 matrix has only 60 eigenvalues`, "eigs", "-q", store, "-k", "61", "-o", out)
	fails(t, ui.ExitUsage, `how many eigenpairs`, "eigs", "-q", store, "-o", out)
	fails(t, ui.ExitUsage, `at least 1 eigenpair`, "eigs", "-q", store, "-k", "0", "-o", out)
	fails(t, ui.ExitUsage, `--shift is for --which LA and SA`, "eigs", "-q", store, "-k", "1", "-o", out, "--shift", "3")
	fails(t, ui.ExitUsage, `want a finite number`, "eigs", "-q", store, "-k", "1", "-o", out, "--which", "LA", "--shift", "NaN")
	fails(t, ui.ExitUsage, `--shift 3 is for --operator symmetric`, "svd", "-q", store, "-k", "1", "-o", out, "--shift", "3")
}

// TestShiftedSVD: svd with --operator symmetric and a shift finds the largest eigenvalues, as eigs --which LA does.
func TestShiftedSVD(t *testing.T) {
	store, a := friends(t)
	dir, r := factorised(t, store, "-k", "4", "--operator", "symmetric", "--shift", "20")
	checkEigs(t, dir, r, a, "LA")
	other, _ := pairsOf(t, store, "-k", "4", "--which", "LA", "--shift", "20")
	same(t, "λ", filepath.Join(dir, factor.LambdaFile), filepath.Join(other, factor.LambdaFile))
}

// TestEigsResume: a run that was stopped and resumed writes the files of an uninterrupted one; it is not resumed for the
// other end of the spectrum.
func TestEigsResume(t *testing.T) {
	store, _ := friends(t)
	for _, flags := range []string{"--which LM --method krylov --block 1 --basis 9", "--which SA --method krylov --block 2", "--which LA --method block --shift 12"} {
		args := append(strings.Fields(flags), "-k", "4")
		want, _ := pairsOf(t, store, args...)
		got := filepath.Join(t.TempDir(), "out")
		fails(t, ui.ExitNotConverged, `of 4 eigenpairs are within .*; gdsvd eigs .* --resume goes on from there`,
			slices.Concat([]string{"eigs", "-q", store, "-o", got, "--max-passes", "6", "--checkpoint-every", "1ns"}, args)...)
		succeeds(t, slices.Concat([]string{"eigs", "-q", store, "-o", got, "--resume"}, args)...)
		same(t, flags, filepath.Join(want, factor.LambdaFile), filepath.Join(got, factor.LambdaFile))
		same(t, flags, filepath.Join(want, rightFile), filepath.Join(got, rightFile))
		other := "SA"
		if strings.Contains(flags, other) {
			other = "LA"
		}
		fails(t, ui.ExitError, "holds no checkpoint", slices.Concat([]string{"eigs", "-q", store, "-o", got, "--resume"}, args, []string{"--which", other})...)
	}
}

// TestEigsOfRankBelowK: an eigenvalue 0 in the middle of the others is not called the last one.
func TestEigsOfRankBelowK(t *testing.T) {
	store := graphStore(t, "a b\nb c\nc d\nd e\ne a\na c\n", "--graph", "undirected") // eigenvalues 2.48, 0.69, 0, -1.17 and -2
	for _, which := range []string{"LA", "SA"} {
		out, _ := pairsOf(t, store, "-k", "5", "--which", which)
		said, page := succeeds(t, "info", out), pageOf(t, out)
		if !strings.Contains(said, "numerical rank 4: 1 eigenvalue within rounding of 0\n") || strings.Contains(said, "the last") || strings.Contains(page, "the last") {
			t.Errorf("--which %s:\n%s", which, said)
		}
	}
}

// TestEigsOfZero: the bound of the eigenvalues of a matrix that is 0 is printed without a sign.
func TestEigsOfZero(t *testing.T) {
	store := stored(t, write(t, t.TempDir(), "zero.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n1 1 0\n"))
	out, _ := pairsOf(t, store, "-k", "1", "--which", "SA")
	if said := succeeds(t, "info", out); !strings.Contains(said, "no other eigenvalue is below 0\n") {
		t.Errorf("%s", said)
	}
}

// TestEigsInit: eigenvectors as start save passes, also of a store that has the columns as its rows, and of a graph with more nodes.
func TestEigsInit(t *testing.T) {
	path := func(n int, flags ...string) string {
		var text strings.Builder
		for i := range n - 1 {
			fmt.Fprintf(&text, "%d %d\n", i, i+1)
		}
		return graphStore(t, text.String(), append(flags, "--graph", "undirected")...)
	}
	for _, orient := range []string{"rows", "cols"} {
		store, longer := path(60, "--orient", orient), path(61, "--orient", orient)
		flags := []string{"-k", "3", "--which", "LA", "--method", "krylov", "--block", "1", "--basis", "9"}
		first, cold := pairsOf(t, store, flags...)
		if _, warm := pairsOf(t, store, append(flags, "--init", first)...); warm.Passes >= cold.Passes || warm.Status != "converged" {
			t.Errorf("--orient %s: %d passes, %s; %d from random vectors", orient, warm.Passes, warm.Status, cold.Passes)
		}
		_, warm := pairsOf(t, longer, append(flags, "--init", first)...)
		_, cold = pairsOf(t, longer, flags...)
		if math.Abs(float64(warm.Lambda[0]-cold.Lambda[0])) > 1e-8 {
			t.Errorf("--orient %s: λ of the longer path is %v, not %v", orient, warm.Lambda[0], cold.Lambda[0])
		}
	}
}

// TestEigsInFiles: if the vectors do not fit into the budget they are in files, with the same bits.
func TestEigsInFiles(t *testing.T) {
	n := longtest.Pick(60000, 25000)
	var text strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&text, "%d %d\n", i, i+1)
		if i%3 == 0 {
			fmt.Fprintf(&text, "%d %d\n", i/7, i)
		}
	}
	store := graphStore(t, text.String(), "--graph", "undirected", "--duplicates", "max", "--self-loops", "drop")
	for _, which := range []string{"LM", "SA"} {
		flags := []string{"-k", "3", "--which", which, "--method", "krylov", "--block", "2", "--basis", "12", "--max-passes", "9", "--tol", "1e-3"}
		budget := tightBudget(t, store, append([]string{"eigs"}, flags...))
		var e factor.Explanation
		decode(t, succeeds(t, slices.Concat([]string{"eigs", "-q", store, "--memory", budget, "--explain", "--json"}, flags)...), &e)
		if e.Files == 0 {
			t.Fatalf("with %s no vectors are in files", budget)
		}
		run := func(more ...string) string {
			dir := filepath.Join(t.TempDir(), "out")
			if o := gdsvd(t, slices.Concat([]string{"eigs", "-q", store, "-o", dir}, flags, more)...); o.code != ui.ExitOK && o.code != ui.ExitNotConverged {
				t.Fatalf("exit %d: %s", o.code, o.stderr)
			}
			return dir
		}
		want, got := run(), run("--memory", budget)
		same(t, which, filepath.Join(want, factor.LambdaFile), filepath.Join(got, factor.LambdaFile))
		same(t, which, filepath.Join(want, rightFile), filepath.Join(got, rightFile))
	}
}

// TestRealEigs compares the eigenvalues of a real graph with those of ARPACK.
func TestRealEigs(t *testing.T) {
	data := os.Getenv("GDSVD_DATA")
	if data == "" {
		t.Skip("GDSVD_DATA does not name a directory of real data")
	}
	if raceDetector || !longtest.On() {
		t.Skip("too large for the race detector, and a long form: set GDSVD_TEST_LONG")
	}
	var reference struct {
		Entries   int64                `json:"entries"`
		Adjacency map[string][]float64 `json:"adjacency"`
		Laplacian map[string][]float64 `json:"laplacian"`
	}
	text, err := os.ReadFile("testdata/eigs/slashdot.json")
	if err == nil {
		err = json.Unmarshal(text, &reference)
	}
	must.Do(t, err)
	store := stored(t, filepath.Join(data, "snap/soc-Slashdot0902.mtx.gz"), "--graph", "undirected", "--self-loops", "drop", "--duplicates", "max")
	check := func(values map[string][]float64, most int, flags ...string) {
		for which, want := range values {
			want = want[:min(most, len(want))]
			_, r := pairsOf(t, store, append(flags, "-k", fmt.Sprint(len(want)), "--which", which, "--tol", "1e-6")...)
			if r.NNZ != reference.Entries || r.Converged != len(want) {
				t.Errorf("%d entries, %d converged", r.NNZ, r.Converged)
			}
			for i, l := range want {
				if math.Abs(float64(r.Lambda[i])-l) > 2e-9*math.Abs(want[0]) {
					t.Errorf("%s: λ[%d] = %.15g, want %.15g", which, i, r.Lambda[i], l)
				}
			}
		}
	}
	check(reference.Adjacency, 4)
	check(reference.Laplacian, 3, "--view", "laplacian", "--shift", "1")
}
