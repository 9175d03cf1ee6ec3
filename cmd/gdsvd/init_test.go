package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/must"
)

// fewer returns a store of the ratings whose numbers keep accepts.
func fewer(t *testing.T, from string, keep func(i int) bool) string {
	t.Helper()
	data := must.Get(os.ReadFile(from))(t)
	var text strings.Builder
	i := 0
	for line := range strings.Lines(string(data)) {
		if keep(i) {
			text.WriteString(line)
		}
		i++
	}
	return storeOf(t, text.String())
}

func storeOf(t *testing.T, ratings string) string {
	t.Helper()
	return stored(t, write(t, t.TempDir(), "ratings.dat", ratings))
}

// TestInit: a result as start saves passes for more triplets, a smaller tolerance, and a store with
// other ratings, for both shapes.
func TestInit(t *testing.T) {
	base := []string{"--method", "power"}
	for name, file := range map[string]string{"tall": ratings(t, tall), "wide": ratings(t, wide)} {
		t.Run(name, func(t *testing.T) {
			whole := fewer(t, file, func(int) bool { return true })
			most := fewer(t, file, func(i int) bool { return i%20 != 7 })
			first, _ := factorised(t, whole, append(base, "-k", "3")...)
			earlier, _ := factorised(t, most, append(base, "-k", "3")...)
			for _, c := range []struct {
				what  string
				init  string
				flags []string
			}{
				{"the same again", first, []string{"-k", "3"}},
				{"fewer", first, []string{"-k", "2"}},
				{"more triplets", first, []string{"-k", "5"}},
				{"smaller tolerance", first, []string{"-k", "3", "--tol", "1e-12"}},
				{"new ratings", earlier, []string{"-k", "3"}},
			} {
				flags := slices.Concat(base, c.flags)
				coldDir, cold := factorised(t, whole, flags...)
				warmDir, warm := factorised(t, whole, append(flags, "--init", c.init)...)
				if warm.Passes >= cold.Passes || warm.Status != "converged" {
					t.Errorf("%s: %d passes, %s; %d from random vectors", c.what, warm.Passes, warm.Status, cold.Passes)
				}
				a, b := loadNPY(t, filepath.Join(coldDir, factor.SigmaFile)), loadNPY(t, filepath.Join(warmDir, factor.SigmaFile))
				if !mat.EqualApprox(a, b, 1e-10*a.At(0, 0)) {
					t.Errorf("%s: other values", c.what)
				}
				if warm.Settings.Init != c.init {
					t.Errorf("%s: init is recorded as %q", c.what, warm.Settings.Init)
				}
			}
		})
	}
}

// TestInitFollowsIDs: the entries of start vectors are matched by id, not by position.
func TestInitFollowsIDs(t *testing.T) {
	full := ratings(t, tall)
	data := must.Get(os.ReadFile(full))(t)
	// Without the items 1, 2 and 3, the positions of the other items change.
	item := func(line string) string { return strings.Split(line, "::")[1] }
	lines := slices.Collect(strings.Lines(string(data)))
	without := fewer(t, full, func(i int) bool { return !slices.Contains([]string{"1", "2", "3"}, item(lines[i])) })
	whole := fewer(t, full, func(int) bool { return true })
	small, r := factorised(t, without, "-k", "3", "--method", "power")
	if r.Cols >= int64(tall.Items) {
		t.Fatalf("%d items: none is missing", r.Cols)
	}
	must.Do(t, os.RemoveAll(without)) // the result holds the ids itself
	dir := filepath.Join(t.TempDir(), "out")
	o := gdsvd(t, "svd", whole, "-k", "3", "--method", "power", "-o", dir, "--init", small)
	if o.code != ui.ExitOK || strings.Contains(o.stderr, "no ids") || !strings.Contains(o.stderr, "entries=37 of=40") {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	// The first pass, over the start vectors alone, measures them.
	if a := events(t, dir)[0]; a.Phase != "finish" || float64(a.Sigma) < 0.9*float64(r.Sigma[0]) {
		t.Errorf("%+v", a)
	}
}

// TestInitOfIntegersThatBecameTexts: the ids of a result are found by their texts where an append has made texts of integers.
func TestInitOfIntegersThatBecameTexts(t *testing.T) {
	store := ingested(t, wide)
	first, _ := factorised(t, store, "-k", "3")
	late, more := filepath.Join(t.TempDir(), "late.dat"), filepath.Join(t.TempDir(), "more.csr")
	lines := strings.SplitAfterN(string(must.Get(os.ReadFile(ratings(t, wide)))(t)), "\n", 6)
	must.Do(t, os.WriteFile(late, []byte("late-"+strings.Join(lines[:5], "late-")), 0o644))
	succeeds(t, "append", "-q", store, late, "-o", more)
	o := gdsvd(t, "svd", more, "-k", "3", "-o", filepath.Join(t.TempDir(), "out"), "--init", first)
	if o.code != ui.ExitOK || !regexp.MustCompile(`entries=40 of=4[1-5]\b`).MatchString(o.stderr) {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
}

func TestInitRefused(t *testing.T) {
	store := ingested(t, tall)
	long, _ := factorised(t, store, "-k", "2", "--vectors", "left")
	of := func(init string) []string {
		return []string{"svd", "-q", store, "-k", "2", "-o", filepath.Join(t.TempDir(), "out"), "--init", init}
	}
	fails(t, ui.ExitError, `--init .*no such file`, of(filepath.Join(t.TempDir(), "none"))...)
	fails(t, ui.ExitError, `there is no V.npy, whose vectors this store needs: the result was made with --vectors left or interrupted`, of(long)...)
	bad, _ := factorised(t, store, "-k", "2")
	must.Do(t, os.Truncate(filepath.Join(bad, rightFile), 300))
	fails(t, ui.ExitCorrupt, `--init: .*V.npy: byte 300: it ends there, not at 768: the file is damaged`, of(bad)...)
}

// TestInitAndResume: a run from start vectors that was stopped and resumed has the files of an uninterrupted one.
func TestInitAndResume(t *testing.T) {
	store := ingested(t, tall)
	first, _ := factorised(t, store, "-k", "3")
	flags := []string{"-k", "6", "--method", "power", "--init", first}
	want, _ := factorised(t, store, flags...)
	dir := stopped(t, store, append(flags, "--max-passes", "9")...)
	succeeds(t, slices.Concat([]string{"svd", "-q", store, "-o", dir, "--resume"}, flags)...)
	for _, f := range partFiles {
		same(t, f, filepath.Join(want, f), filepath.Join(dir, f))
	}
}

// TestInitFindsWhatIsNew: if a store has grown by a larger, unrelated block, its old vectors are still singular
// but not leading; each method finds the new leading vectors.
func TestInitFindsWhatIsNew(t *testing.T) {
	const old = "1,1,2\n1,2,1\n2,1,1\n2,2,2\n"
	before := storeOf(t, old)
	after := storeOf(t, old+"3,3,200\n3,4,100\n4,3,100\n4,4,200\n")
	init, _ := factorised(t, before, "-k", "2")
	for _, method := range []string{"auto", "gd", "power", "polyak", "nesterov", "nesterov-general", "block", "krylov"} {
		_, r := factorised(t, after, "-k", "2", "--method", method, "--init", init)
		if r.Status != "converged" || math.Abs(float64(r.Sigma[0])-300) > 1e-5 || math.Abs(float64(r.Sigma[1])-100) > 1e-5 {
			t.Errorf("%s: %s, σ = %v, want 300, 100", method, r.Status, r.Sigma)
		}
		if bound := float64(r.Outside.Bound); bound < 3-1e-9 || bound > 100 {
			t.Errorf("%s: bound %g for what is left, which is 3", method, bound)
		}
	}
	// After one pass it is known only that the vectors are singular.
	out := filepath.Join(t.TempDir(), "out")
	fails(t, ui.ExitNotConverged, `pass limit reached`, "svd", "-q", after, "-k", "2", "-o", out, "--method", "power", "--init", init, "--max-passes", "1")
	if r, err := factor.Open(out); err != nil || r.Converged != 2 || r.Status != "pass-limit" || r.Outside.Bound < 300 {
		t.Errorf("after one pass: %+v, %v", r, err)
	}
}

// TestNegativeEigenvalue: the error about a negative eigenvalue does not suggest --resume.
func TestNegativeEigenvalue(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "%d,%d,%d\n", i+1, i+1, 1)
	}
	fmt.Fprint(&text, "31,31,-5\n")
	store := storeOf(t, text.String())
	o := fails(t, ui.ExitError, `matrix is not positive semidefinite`,
		"svd", "-q", store, "-k", "1", "-o", filepath.Join(t.TempDir(), "out"), "--method", "power", "--operator", "symmetric")
	if !strings.Contains(o.stderr, "--operator gram") || strings.Contains(o.stderr, "--resume") {
		t.Errorf("stderr:\n%s", o.stderr)
	}
}

// TestClusterOfOneVector: values that a method of one vector cannot separate are an error that names a remedy.
func TestClusterOfOneVector(t *testing.T) {
	dir := t.TempDir()
	file, store := filepath.Join(dir, "close.mtx"), filepath.Join(dir, "close.csr")
	const text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 0.99999998\n3 3 0.5\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o666))
	succeeds(t, "ingest", "-q", file, "-o", store)
	out := filepath.Join(dir, "out")
	fails(t, ui.ExitNotConverged, `residuals stagnated above the tolerance.*the method krylov, or a run for more triplets, tells apart`,
		"svd", "-q", store, "-k", "1", "--method", "gd", "--tol", "1e-10", "-o", out)
	succeeds(t, "svd", "-q", store, "-k", "2", "--method", "gd", "--tol", "1e-10", "-o", out, "--force")
	succeeds(t, "svd", "-q", store, "-k", "1", "--method", "krylov", "--tol", "1e-10", "-o", out, "--force")
}
