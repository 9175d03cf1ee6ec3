package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestRealViews compares singular values of views of real data with those that LAPACK and ARPACK compute
// from matrices made by numpy, scanpy and scipy.
func TestRealViews(t *testing.T) {
	data := os.Getenv("GDSVD_DATA")
	if data == "" {
		t.Skip("GDSVD_DATA does not name a directory of real data")
	}
	centred := func(t *testing.T) []float64 {
		return referenceValues(t, filepath.Join(data, "reference"), "ml-1m-centred.txt")[:10]
	}
	values := func(v ...float64) func(*testing.T) []float64 { return func(*testing.T) []float64 { return v } }
	for _, d := range []struct {
		name, input, view string
		want              func(*testing.T) []float64
		within            float64 // relative accuracy of the reference values
		large             bool
	}{
		{"MovieLens 1M, PCA", "movielens/ml-1m/ratings-notimestamp.dat.gz", "pca", centred, 1e-12, true},
		// In this file the rows are genes.
		{"10x, cells", "10x/v3.matrix.mtx.gz", "normalize=columns,total:10000 | log1p | center=rows", values(186.96433213, 124.06588057, 110.7896033), 1e-10, false},
		{"Slashdot, normalised adjacency", "", "spectral", values(1, .98277202, .98230445, .96930671), 1e-8, true},
	} {
		t.Run(d.name, func(t *testing.T) {
			if d.large && (raceDetector || !longtest.On()) {
				t.Skip("too large for the race detector, and a long form: set GDSVD_TEST_LONG")
			}
			input := filepath.Join(data, d.input)
			if d.input == "" {
				input = symmetrised(t, filepath.Join(data, "snap/soc-Slashdot0902.mtx.gz"), 1008460)
			}
			store := stored(t, input)
			want := d.want(t)
			_, r := factorised(t, store, "-k", fmt.Sprint(len(want)), "--view", d.view, "--tol", "1e-7")
			if r.Status != "converged" || r.Converged != len(want) || !r.Certified {
				t.Errorf("status %s, converged %d, certified %v", r.Status, r.Converged, r.Certified)
			}
			for i, v := range want {
				if e := math.Abs(float64(r.Sigma[i])-v) / v; !(e <= d.within) {
					t.Errorf("value %d is %.15g, want %.15g: relative error %.2g", i, r.Sigma[i], v, e)
				}
			}
		})
	}
}

// symmetrised writes the pattern of A + Aᵀ without its diagonal, of a square Matrix Market file. entries
// is the expected number of entries.
func symmetrised(t *testing.T, path string, entries int) string {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	var pattern [][2]int
	n := 0
	for s := bufio.NewScanner(z); s.Scan(); {
		a, rest, _ := strings.Cut(s.Text(), " ")
		b, _, size := strings.Cut(rest, " ")
		i, bad := strconv.Atoi(a)
		j, worse := strconv.Atoi(b)
		switch {
		case bad != nil || worse != nil:
		case size:
			n = i
		case i != j:
			pattern = append(pattern, [2]int{i, j}, [2]int{j, i})
		}
	}
	slices.SortFunc(pattern, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	pattern = slices.Compact(pattern)
	if len(pattern) != entries {
		t.Fatalf("%d entries, want %d", len(pattern), entries)
	}
	text := fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n", n, n, entries)
	for _, e := range pattern {
		text = append(strconv.AppendInt(append(strconv.AppendInt(text, int64(e[0]), 10), ' '), int64(e[1]), 10), '\n')
	}
	name := filepath.Join(t.TempDir(), "symmetric.mtx")
	must.Do(t, os.WriteFile(name, text, 0o666))
	return name
}

// TestViewFlag: errors in a pipeline are reported with their place before a file is opened; --view @FILE
// reads the pipeline from a file.
func TestViewFlag(t *testing.T) {
	file := write(t, t.TempDir(), "cells.view", "# cells\nbinary\nnormalise=rows\n")
	for text, want := range map[string]string{
		"bm52":         `gdsvd: --view: byte 1, "bm52": there is no such step; steps: binary clip log1p`,
		"log1p | |":    `gdsvd: --view: byte 9, "": a step is missing; steps: `,
		"":             `gdsvd: --view: byte 1, "": there are no steps; steps: `,
		"pca | log1p":  `gdsvd: --view: byte 1, "center=columns · log1p": log1p cannot follow center=columns`,
		"@" + file:     "gdsvd: " + file + `: line 3, byte 1, "normalise": there is no such step`,
		"@" + t.Name(): "gdsvd: --view @" + t.Name() + ": ",
	} {
		o := gdsvd(t, "svd", "none.csr", "-k", "2", "-o", "none.svd", "--view", text)
		if o.code != 2 || !strings.HasPrefix(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %s, want %s", text, o.code, o.stderr, want)
		}
	}
}
