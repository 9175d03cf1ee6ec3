package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestResultIsTheUsersSVD: in the user's orientation, for both stored orientations, A·V = U·Σ holds for
// the matrix of the input text, Σ is that of a dense decomposition, and V follows the sign rule.
func TestResultIsTheUsersSVD(t *testing.T) {
	for name, g := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		for _, method := range []string{"auto", "gd", "power"} {
			t.Run(name+" "+method, func(t *testing.T) {
				file := ratings(t, g)
				store := stored(t, file)
				dir, r := factorised(t, store, "-k", "5", "--method", method)
				a := denseRatings(t, file)
				rows, cols := a.Dims()
				if r.Rows != int64(rows) || r.Cols != int64(cols) || r.NNZ != g.Ratings || r.K != 5 || r.Method != method && (method != "auto" || r.Choice == nil) {
					t.Errorf("result says %d × %d, %d entries, k %d, method %s", r.Rows, r.Cols, r.NNZ, r.K, r.Method)
				}
				sigma, u, v := loadNPY(t, filepath.Join(dir, factor.SigmaFile)), loadNPY(t, filepath.Join(dir, leftFile)), loadNPY(t, filepath.Join(dir, rightFile))
				checkTriplets(t, a, sigma, u, v, r)
			})
		}
	}
}

func checkTriplets(t *testing.T, a, sigma, u, v *mat.Dense, r factor.Result) {
	t.Helper()
	var dense mat.SVD
	dense.Factorize(a, mat.SVDNone)
	truth := dense.Values(nil)
	k, _ := sigma.Dims()
	var av, atu mat.Dense
	av.Mul(a, v)
	atu.Mul(a.T(), u)
	for i := range k {
		s := sigma.At(i, 0)
		if float64(r.Sigma[i]) != s {
			t.Errorf("value %d is %v in the file and %v in the result", i, s, r.Sigma[i])
		}
		if math.Abs(s-truth[i]) > 1e-12*truth[0] {
			t.Errorf("value %d is %v, want %v", i, s, truth[i])
		}
		var ri, li mat.VecDense
		ri.AddScaledVec(av.ColView(i), -s, u.ColView(i))
		li.AddScaledVec(atu.ColView(i), -s, v.ColView(i))
		residual := max(mat.Norm(&ri, 2), mat.Norm(&li, 2)) / truth[0]
		if residual > 1e-8 || residual > 2*float64(r.Residual[i])+1e-14 {
			t.Errorf("triplet %d: residual %.2g, reported %.2g", i, residual, r.Residual[i])
		}
		col := mat.Col(nil, i, v)
		largest := slices.MaxFunc(col, func(a, b float64) int {
			if math.Abs(a) < math.Abs(b) {
				return -1
			}
			return 1
		})
		if largest < 0 {
			t.Errorf("triplet %d: the largest entry of v is %v", i, largest)
		}
	}
	if !(r.Orthogonality.U < 1e-12 && r.Orthogonality.V < 1e-12) {
		t.Errorf("orthogonality %v", r.Orthogonality)
	}
	frobenius := mat.Norm(a, 2)
	var squares float64
	for i := range k {
		squares += truth[i] * truth[i]
	}
	if want := squares / (frobenius * frobenius); math.Abs(float64(r.Energy)-want) > 1e-12 {
		t.Errorf("energy %v, want %v", r.Energy, want)
	}
}

func TestOutLayout(t *testing.T) {
	store := ingested(t, tall)
	for vectors, want := range map[string][]string{
		"both":  {leftFile, rightFile, "cols.ids", eventsFile, factor.ResultFile, "rows.ids", factor.SigmaFile},
		"left":  {leftFile, eventsFile, factor.ResultFile, "rows.ids", factor.SigmaFile},
		"right": {rightFile, "cols.ids", eventsFile, factor.ResultFile, factor.SigmaFile},
		"none":  {eventsFile, factor.ResultFile, factor.SigmaFile},
	} {
		dir, r := factorised(t, store, "-k", "2", "--vectors", vectors)
		if got := names(t, dir); !slices.Equal(got, want) {
			t.Errorf("--vectors %s writes %v, want %v", vectors, got, want)
		}
		if r.Settings.Vectors != vectors {
			t.Errorf("--vectors %s is recorded as %s", vectors, r.Settings.Vectors)
		}
	}
}

// TestVectorsAreTheSameWhateverIsKept: --vectors changes no bit of the vectors that are written.
func TestVectorsAreTheSameWhateverIsKept(t *testing.T) {
	for name, g := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		store := ingested(t, g)
		both, _ := factorised(t, store, "-k", "3")
		left, _ := factorised(t, store, "-k", "3", "--vectors", "left")
		right, _ := factorised(t, store, "-k", "3", "--vectors", "right")
		same(t, name+" U", filepath.Join(both, leftFile), filepath.Join(left, leftFile))
		same(t, name+" V", filepath.Join(both, rightFile), filepath.Join(right, rightFile))
	}
}

// same compares two files byte by byte.
func same(t *testing.T, what, a, b string) {
	t.Helper()
	x := must.Get(os.ReadFile(a))(t)
	y := must.Get(os.ReadFile(b))(t)
	if !bytes.Equal(x, y) {
		t.Errorf("%s: %s and %s differ", what, a, b)
	}
}

// TestResultJSONFields: the documented fields of result.json exist.
func TestResultJSONFields(t *testing.T) {
	dir, r := factorised(t, ingested(t, tall), "-k", "3", "--seed", "7", "--tol", "1e-6", "--max-passes", "100000", "--method", "gd", "--eta", "0.6", "--workers", "2", "--memory", "1GiB")
	data := must.Get(os.ReadFile(filepath.Join(dir, factor.ResultFile)))(t)
	var object map[string]any
	decode(t, string(data), &object)
	for _, key := range strings.Fields(`format rows cols nnz k method status converged sigma residual orthogonality.u orthogonality.v
		energy passes bytes_read seconds.total seconds.multiply seconds.orthogonalise seconds.wait seconds.finish
		peak_rss seed settings store.path store.fingerprint certified`) {
		var v any = object
		for part := range strings.SplitSeq(key, ".") {
			m, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("%s: its parent is no object", key)
			}
			if v, ok = m[part]; !ok {
				t.Errorf("%s is missing", key)
			}
		}
	}
	if r.Format != "gdsvd-result/3" || r.Status != "converged" || r.Converged != 3 || !r.Certified || r.Seed != 7 {
		t.Errorf("format %s, status %s, converged %d, certified %v, seed %d", r.Format, r.Status, r.Converged, r.Certified, r.Seed)
	}
	want := factor.Settings{
		Method: "gd", Operator: "gram", OfMethod: map[string]float64{"eta": 0.6}, Deflation: "projected", Stop: "residual", Tol: 1e-6,
		MaxPasses: 100000, Vectors: "both", Workers: 2, Memory: 1 << 30,
	}
	if diff := cmp.Diff(want, r.Settings); diff != "" {
		t.Errorf("settings: %s", diff)
	}
}

func TestEventsAreOneAPass(t *testing.T) {
	dir, r := factorised(t, ingested(t, tall), "-k", "3")
	data := must.Get(os.ReadFile(filepath.Join(dir, eventsFile)))(t)
	var last event
	n := 0
	for line := range strings.Lines(string(data)) {
		var e event
		decode(t, line, &e)
		n++
		if e.Pass <= last.Pass || e.Locked < last.Locked && e.Phase == last.Phase {
			t.Fatalf("%+v after %+v", e, last)
		}
		last = e
	}
	if last.Phase != "finish" || last.Pass != r.Passes || n > r.Passes {
		t.Errorf("%d events, the last %+v, after %d passes", n, last, r.Passes)
	}
}

func TestJSONIsTheResultFile(t *testing.T) {
	store := ingested(t, tall)
	dir := filepath.Join(t.TempDir(), "out")
	printed := succeeds(t, "svd", "--json", "-q", store, "-k", "2", "-o", dir)
	written := must.Get(os.ReadFile(filepath.Join(dir, factor.ResultFile)))(t)
	printed = strings.Replace(printed, "  \"schema\": \""+ui.Schema+"\",\n", "", 1)
	if printed != string(written) {
		t.Errorf("printed\n%s\nwritten\n%s", printed, written)
	}
}

func TestExistingOutput(t *testing.T) {
	store := ingested(t, tall)
	dir, _ := factorised(t, store, "-k", "2")
	before := must.Get(os.ReadFile(filepath.Join(dir, factor.ResultFile)))(t)
	fails(t, ui.ExitError, `^gdsvd: create .*out.*exists.*\(--force replaces it\)`, "svd", "-q", store, "-k", "3", "-o", dir)
	after, err := os.ReadFile(filepath.Join(dir, factor.ResultFile))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the existing result was touched (%v)", err)
	}
	succeeds(t, "svd", "-q", store, "-k", "3", "-o", dir, "--force", "--vectors", "none")
	if r := resultOf(t, dir); r.K != 3 {
		t.Errorf("after --force k is %d", r.K)
	}
	// No file of the old result is left in the new one.
	if got, want := names(t, dir), []string{eventsFile, factor.ResultFile, factor.SigmaFile}; !slices.Equal(got, want) {
		t.Errorf("after --force %v, want %v", got, want)
	}
	if got := names(t, filepath.Dir(dir)); !slices.Equal(got, []string{"out"}) {
		t.Errorf("beside the result lie %v", got)
	}
}

// TestForceLeavesStrangersAlone: --force does not delete files that gdsvd has not made.
func TestForceLeavesStrangersAlone(t *testing.T) {
	store := ingested(t, tall)
	t.Run("not a result", func(t *testing.T) {
		dir := t.TempDir()
		precious := write(t, dir, "thesis.tex", "x")
		fails(t, ui.ExitError, "left alone", "svd", "-q", store, "-k", "2", "-o", dir, "--force")
		if _, err := os.Stat(precious); err != nil {
			t.Error(err)
		}
	})
	t.Run("a result with more in it", func(t *testing.T) {
		dir, _ := factorised(t, store, "-k", "2")
		precious := write(t, dir, "plot.png", "x")
		fails(t, ui.ExitError, "plot.png.*left alone", "svd", "-q", store, "-k", "2", "-o", dir, "--force")
		if _, err := os.Stat(precious); err != nil {
			t.Error(err)
		}
	})
	t.Run("a store", func(t *testing.T) {
		fails(t, ui.ExitError, "left alone", "svd", "-q", store, "-k", "2", "-o", store, "--force")
		succeeds(t, "check", "-q", store)
	})
}

func TestNotConverged(t *testing.T) {
	store := ingested(t, tall)
	dir := filepath.Join(t.TempDir(), "out")
	o := fails(t, ui.ExitNotConverged, `^gdsvd: pass limit reached before convergence after \d+ passes: \d of 4 triplets are within 1e-08, the worst residual is .*; the result is in .*out; gdsvd svd .*m.csr --method=gd --rank=4 -o .*out --resume goes on from there\n$`,
		"svd", "-q", store, "-k", "4", "-o", dir, "--method", "gd", "--max-passes", "12", "--json")
	r := resultOf(t, dir)
	if r.Status != "pass-limit" || r.Passes > 12 || r.Converged == 4 || len(r.Sigma) != 4 || !r.Certified {
		t.Errorf("status %s, passes %d, converged %d, values %v, certified %v", r.Status, r.Passes, r.Converged, r.Sigma, r.Certified)
	}
	var printed factor.Result
	decode(t, o.stdout, &printed)
	if printed.Status != r.Status {
		t.Errorf("printed status %s", printed.Status)
	}
}

// cancelAfter is a writer that calls cancel when it has written the given number of log lines
// after the first triplet was found.
type cancelAfter struct {
	io.Writer
	lines  int
	cancel func()
}

func (c *cancelAfter) Write(p []byte) (int, error) {
	if found := bytes.Contains(p, []byte(" found=")) && !bytes.Contains(p, []byte(" found=0 ")); found {
		if c.lines--; c.lines == 0 {
			c.cancel()
		}
	}
	return c.Writer.Write(p)
}

// slow returns a store on which svd takes more passes than a test has time for.
func slow(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "%%%%MatrixMarket matrix coordinate real general\n50 50 50\n")
	for i := range 50 {
		fmt.Fprintf(&text, "%d %d %.12f\n", i+1, i+1, 1-1e-9*float64(i)-0.5*float64(min(i, 1)))
	}
	return stored(t, write(t, t.TempDir(), "slow.mtx", text.String()))
}

// interrupt runs a command line and cancels it at the third log line
// after the first triplet was found.
func interrupt(t *testing.T, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return gdsvdAs(t, ctx, func(a *app) { a.stderr, a.interval = &cancelAfter{a.stderr, 3, cancel}, time.Millisecond }, args...)
}

func TestInterruptedSVD(t *testing.T) {
	store := slow(t)
	dir := filepath.Join(t.TempDir(), "out")
	args := []string{"svd", store, "-k", "20", "-o", dir, "--tol", "1e-14", "--method", "gd"}
	o := interrupt(t, args...)
	if o.code != ui.ExitInterrupted || !strings.Contains(o.stderr, "gdsvd: interrupted after ") || !strings.HasSuffix(o.stderr, "not certified, are in "+dir+"; gdsvd svd "+store+" --method=gd --rank=20 --tol=1e-14 -o "+dir+" --resume goes on from there\n") {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	r := resultOf(t, dir)
	if r.Status != "cancelled" || r.Certified || math.Abs(float64(r.Sigma[0])-1) > 1e-6 {
		t.Errorf("status %s, certified %v, values %v", r.Status, r.Certified, r.Sigma)
	}
	if got, want := names(t, dir), []string{rightFile, checkpointFile, checkpointEvents, eventsFile, factor.ResultFile, factor.SigmaFile}; !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	if !strings.Contains(o.stdout, "residual (estimated)") {
		t.Errorf("the estimates are not called so:\n%s", o.stdout)
	}
	fails(t, ui.ExitError, `holds no U.npy: the run was interrupted before it was made`, "export", dir, "--what", "U", "-o", filepath.Join(t.TempDir(), "u.csv"))

	// An interrupted run does not replace a finished result.
	succeeds(t, "svd", "-q", store, "-k", "1", "-o", dir, "--force")
	o = interrupt(t, append(args, "--force")...)
	if o.code != ui.ExitInterrupted || !strings.Contains(o.stderr, "is left as it was, with a checkpoint: gdsvd svd") {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
	if r := resultOf(t, dir); r.Status != "converged" {
		t.Errorf("the finished result was replaced by one that is %s", r.Status)
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	store, file := ingested(t, tall), ratings(t, tall)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	work := t.TempDir()
	out := filepath.Join(work, "out")
	for _, args := range [][]string{
		{"svd", store, "-k", "2", "-o", out},
		{"ingest", file, "-o", out},
		{"check", store},
		{"generate", "ratings", "-o", out},
		{"demo", "--keep", filepath.Join(t.TempDir(), "demo")},
	} {
		o := gdsvdIn(t, ctx, "", args...)
		if o.code != ui.ExitInterrupted || !strings.HasPrefix(o.stderr, "gdsvd: interrupted") || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d\n%s", args, o.code, o.stderr)
		}
		if left := names(t, work); len(left) > 0 {
			t.Errorf("%v leaves %v", args, left)
		}
	}
}

func TestRankBelowK(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ones.txt")
	var text strings.Builder
	for i := range 5 {
		for j := range 6 {
			fmt.Fprintf(&text, "%d,%d,1\n", i, j)
		}
	}
	must.Do(t, os.WriteFile(name, []byte(text.String()), 0o666))
	store := stored(t, name)
	dir := filepath.Join(t.TempDir(), "out")
	printed := succeeds(t, "svd", "-q", store, "-k", "3", "-o", dir)
	r := resultOf(t, dir)
	if math.Abs(float64(r.Sigma[0])-math.Sqrt(30)) > 1e-12 || r.Sigma[1] != 0 || r.Sigma[2] != 0 || r.Rank != 1 || r.Status != "converged" {
		t.Errorf("values %v, rank %d, status %s", r.Sigma, r.Rank, r.Status)
	}
	if !strings.Contains(printed, "numerical rank 1: the last 2 values are zero") {
		t.Errorf("printed\n%s", printed)
	}
}

// TestProgressIsLogged: without -q and a terminal, standard error consists of log lines.
func TestProgressIsLogged(t *testing.T) {
	o := gdsvdAs(t, t.Context(), func(a *app) { a.interval = time.Nanosecond }, "svd", ingested(t, tall), "-k", "2", "-o", filepath.Join(t.TempDir(), "out"))
	if o.code != ui.ExitOK {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	if len(lines) < 5 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		for _, part := range []string{"level=INFO msg=svd", " pass=", " found=", " sigma=", " residual="} {
			if !strings.Contains(line, part) {
				t.Fatalf("%q has no %q", line, part)
			}
		}
	}
}

func TestNumberJSON(t *testing.T) {
	data, err := json.Marshal([]factor.Number{1.5, factor.Number(math.NaN()), factor.Number(math.Inf(-1)), 0})
	if err != nil || string(data) != "[1.5,null,null,0]" {
		t.Fatalf("%s, %v", data, err)
	}
	var back []factor.Number
	if err := json.Unmarshal(data, &back); err != nil || back[0] != 1.5 || !math.IsNaN(float64(back[1])) {
		t.Errorf("%v, %v", back, err)
	}
}
