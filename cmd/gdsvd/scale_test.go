package main

import (
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
	"github.com/gdsvd/gdsvd/solver/method/all"
)

// scaledCSV writes a symmetric matrix of small integers times 2^p, which are exact.
func scaledCSV(t *testing.T, p int) string {
	t.Helper()
	const n = 12
	rng := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for i := range n {
		for j := range i + 1 {
			v := float64(rng.IntN(5))
			switch {
			case i == j:
				v = float64(30 + 7*i)
			case v == 0:
				continue
			default:
				fmt.Fprintf(&b, "%d,%d,%g\n", j, i, math.Ldexp(v, p))
			}
			fmt.Fprintf(&b, "%d,%d,%g\n", i, j, math.Ldexp(v, p))
		}
	}
	return write(t, t.TempDir(), "m.csv", b.String())
}

// TestScale: for scales from 10⁻³²³ to 10³⁰⁵ each method and operator finds the values of the unscaled
// matrix times the power of two and, within the tolerance, the same vectors, as start vectors depend
// on the store. Stores, results and output contain no NaN or Inf.
func TestScale(t *testing.T) {
	type run struct {
		factor.Result
		u, v *mat.Dense
	}
	solve := func(t *testing.T, store string, flags ...string) run {
		t.Helper()
		dir, r := factorised(t, store, flags...)
		for _, name := range []string{factor.ResultFile, eventsFile} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || strings.Contains(strings.ReplaceAll(string(data), `"choice": null`, ""), "null") {
				t.Errorf("%s: %v\n%s", name, err, data)
			}
		}
		s, u, v := loadNPY(t, filepath.Join(dir, factor.SigmaFile)), loadNPY(t, filepath.Join(dir, leftFile)), loadNPY(t, filepath.Join(dir, rightFile))
		for i, x := range r.Sigma {
			if s.At(i, 0) != float64(x) {
				t.Errorf("value %d is %v in the file and %v in the result", i, s.At(i, 0), x)
			}
		}
		return run{r, u, v}
	}
	store := func(t *testing.T, p int) string {
		t.Helper()
		path := stored(t, scaledCSV(t, p))
		succeeds(t, "check", "-q", path)
		return path
	}
	plain := store(t, 0)
	var base storeInfo
	decode(t, succeeds(t, "info", "--json", plain), &base)
	powers := longtest.Pick([]int{-1074, 1014, -236, -1063, -1030, -531, 236, 531, 996}, []int{-1074})
	for _, p := range powers {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			scaled := store(t, p)
			var info storeInfo
			decode(t, succeeds(t, "info", "--json", scaled), &info)
			if want := math.Ldexp(float64(base.Norm), p); float64(info.Norm) != want {
				t.Errorf("info: norm %v, want %v", info.Norm, want)
			}
			for _, m := range all.Methods() {
				about := m.Traits(1)
				for _, operator := range []string{"gram", "dilation", "symmetric"} {
					if operator == "dilation" && !about.Indefinite {
						continue
					}
					flags := []string{"-k", "3", "--tol", "1e-7", "--method", about.Name, "--operator", operator}
					want, got := solve(t, plain, flags...), solve(t, scaled, flags...)
					for i, s := range got.Sigma {
						if w := math.Ldexp(float64(want.Sigma[i]), p); math.Abs(float64(s)-w) > 1e-12*w+math.SmallestNonzeroFloat64 {
							t.Errorf("%s, %s: value %d is %v, want %v", about.Name, operator, i, s, w)
						}
					}
					if slices.Max(got.Residual) > 1e-7 || !mat.EqualApprox(got.u, want.u, 1e-5) || !mat.EqualApprox(got.v, want.v, 1e-5) {
						t.Errorf("%s, %s: residuals %v, or the vectors differ", about.Name, operator, got.Residual)
					}
				}
			}
		})
	}
}

// TestFewDigits: a result with values of a few units of the least float64 passes check.
func TestFewDigits(t *testing.T) {
	dir := t.TempDir()
	file, store := filepath.Join(dir, "m.csv"), filepath.Join(dir, "m.csr")
	must.Do(t, os.WriteFile(file, []byte("1,1,3e-322\n2,2,1e-322\n1,2,5e-323\n"), 0o666))
	succeeds(t, "ingest", "-q", file, "-o", store)
	out, _ := factorised(t, store, "-k", "2")
	succeeds(t, "check", "-q", out, "--store", store)
}

// TestScaleRefused: values that are not finite, or whose norm is not, are refused, and no files are left.
func TestScaleRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no norm":        {"1,1,1.7e308\n1,2,1.7e308\n", `‖A‖, the root of the sum of their squares, is more than the largest number`},
		"no sum":         {"a,x,1.7e308\na,y,1\na,x,1.7e308\n", `combine entries at row a, column x: too large for a float64`},
		"no number":      {"1,1,1\n1,2,1.8e308\n", `m\.csv:2:5: .*too large for a float64`},
		"more than that": {"1,1,1\n1,2,inf\n", `m\.csv:2:5: .*not a finite number`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := write(t, dir, "m.csv", c.text)
			fails(t, ui.ExitError, c.want, "ingest", "-q", "--duplicates", "sum", file, "-o", filepath.Join(dir, "m.csr"))
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
