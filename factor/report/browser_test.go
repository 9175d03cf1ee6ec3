//go:build alltests

package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/block"
)

// views are the settings in which each page is checked: desktop, tablet and telephone, light and dark, printed.
var views = []View{{Width: 1280}, {Width: 800}, {Width: 390, Dark: true}, {Width: 720, Print: true, Dark: true}}

// matrix returns a store of the nonzero values of(i, j) of an n × m matrix.
func matrix(t testing.TB, n, m int, of func(i, j int) float64) *csr.Store {
	t.Helper()
	rows := make([][]csrtest.Entry, n)
	for i := range rows {
		for j := range m {
			if x := of(i, j); x != 0 {
				rows[i] = append(rows[i], csrtest.Entry{Col: uint32(j), Val: x})
			}
		}
	}
	return csrtest.Build(t, int64(m), rows, csr.CreateOptions{})
}

// storePage returns the page of a store.
func storePage(t testing.TB, store *csr.Store) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, WriteStore(t.Context(), &b, store, Options{}))
	return b.String()
}

// labelled writes a file of labels of n rows and returns its name.
func labelled(t testing.TB, n int, id, label func(i int) string) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s\t%s\n", id(i), label(i))
	}
	file := filepath.Join(t.TempDir(), "labels.tsv")
	must.Do(t, os.WriteFile(file, []byte(b.String()), 0o666))
	return file
}

// long returns names of about 200 characters in several scripts, with and without places to break a line.
func long(i int) string {
	texts := []string{"W", "word ", "שלום ", "مرحبا", "👩‍👩‍👧‍👦", "<b>&", "漢字", "e\u0301"}
	text := texts[i%len(texts)]
	return fmt.Sprint(i, " ") + strings.Repeat(text, 200/len([]rune(text)))
}

// oddPages are pages of unusual matrices and runs.
var oddPages = map[string]func(t testing.TB) string{
	"hostile": func(t testing.TB) string {
		store := made(t, 60, 30, hostileName, hostileName)
		return written(t, factorised(t, store, factor.Options{Rank: 8}), Options{Store: store, Components: 8})
	},
	"long": func(t testing.TB) string {
		store := made(t, 60, 30, long, long)
		labels := labelled(t, 60, long, func(i int) string { return long(i % 12) })
		return written(t, factorised(t, store, factor.Options{Rank: 8}), Options{Store: store, Labels: labels})
	},
	"store": func(t testing.TB) string { return storePage(t, made(t, 12, 30, hostileName, hostileName)) },
	"view": func(t testing.TB) string {
		store := made(t, 40, 40, plainName("v"), plainName("v"))
		return written(t, factorised(t, store, factor.Options{Rank: 12, Energy: 0.9, View: pipeline(t, "log1p | center=columns")}), Options{Store: store})
	},
	"interrupted": func(t testing.TB) string {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		store := made(t, 300, 200, plainName("r"), plainName("c"))
		r, err := factor.Run(ctx, store, factor.Options{Rank: 20, Method: block.Descent{}, Dir: filepath.Join(t.TempDir(), "out"), Pass: func(e solver.Event, _ factor.Outlook) {
			if e.Pass == 5 {
				cancel()
			}
		}})
		if r == nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("not interrupted: %v", err)
		}
		return written(t, r, Options{Store: store})
	},
	"unconverged": func(t testing.TB) string {
		store := made(t, 300, 200, plainName("r"), plainName("c"))
		r, err := factor.Run(t.Context(), store, factor.Options{Rank: 20, Method: block.Descent{}, MaxPasses: 6, Dir: filepath.Join(t.TempDir(), "out")})
		if r == nil || r.Converged == r.K {
			t.Fatalf("not unconverged: %v", err)
		}
		return written(t, r, Options{Store: store})
	},
	"completion": func(t testing.TB) string {
		store := made(t, 40, 40, plainName("v"), plainName("v"))
		r, err := factor.Complete(t.Context(), store, factor.CompleteOptions{Options: factor.Options{Rank: 3, Dir: filepath.Join(t.TempDir(), "out")}, Biases: true, Rounds: 6})
		if r == nil {
			t.Fatal(err)
		}
		return written(t, r, Options{Store: store})
	},
	"eigenpairs": func(t testing.TB) string {
		store := matrix(t, 60, 60, func(i, j int) float64 { return map[bool]float64{true: 1 + float64(min(i, j)%7)}[i-j == 1 || j-i == 1] })
		return written(t, factorised(t, store, factor.Options{Rank: 12, Which: solver.LargestMagnitude}), Options{Store: store})
	},
	"clusters": func(t testing.TB) string {
		store := matrix(t, 40, 40, func(i, j int) float64 { return map[bool]float64{true: 9 - float64(i/4)}[i == j] })
		return written(t, factorised(t, store, factor.Options{Rank: 14}), Options{Store: store})
	},
	"one-entry": func(t testing.TB) string {
		store := made(t, 1, 1, plainName("r"), plainName("c"))
		return written(t, factorised(t, store, factor.Options{Rank: 1}), Options{Store: store})
	},
	"one-row": func(t testing.TB) string {
		store := matrix(t, 1, 900, func(_, j int) float64 { return float64(j%11) / 3 })
		return written(t, factorised(t, store, factor.Options{Rank: 1}), Options{Store: store})
	},
	"one-column": func(t testing.TB) string {
		store := made(t, 500, 1, plainName("r"), long)
		return written(t, factorised(t, store, factor.Options{Rank: 1}), Options{Store: store})
	},
	"equal": func(t testing.TB) string {
		store := matrix(t, 50, 30, func(int, int) float64 { return 3 })
		return written(t, factorised(t, store, factor.Options{Rank: 4}), Options{Store: store})
	},
	"nothing": func(t testing.TB) string {
		store := matrix(t, 50, 30, func(int, int) float64 { return 0 })
		return written(t, factorised(t, store, factor.Options{Rank: 3}), Options{Store: store})
	},
	"nearly-nothing": func(t testing.TB) string {
		store := matrix(t, 500, 300, func(i, j int) float64 { return map[bool]float64{true: -1}[i == 7 && j == 9] })
		return written(t, factorised(t, store, factor.Options{Rank: 3}), Options{Store: store})
	},
	"extreme": func(t testing.TB) string {
		rng := rand.New(rand.NewPCG(1, 2))
		store := matrix(t, 80, 50, func(int, int) float64 { return rng.NormFloat64() * math.Pow(10, -120*rng.Float64()) * 1e60 })
		return written(t, factorised(t, store, factor.Options{Rank: 10}), Options{Store: store})
	},
	"no-vectors": func(t testing.TB) string {
		store := made(t, 50, 30, plainName("r"), plainName("c"))
		return written(t, factorised(t, store, factor.Options{Rank: 30, Vectors: factor.None}), Options{})
	},
	"many": func(testing.TB) string { return manyTriplets(100_000) },
	"wide": func(t testing.TB) string {
		store := matrix(t, 3, 100_000, func(i, j int) float64 { return map[bool]float64{true: math.Sqrt(float64(j + 1))}[(i+j)%5 < 2] })
		return written(t, factorised(t, store, factor.Options{Rank: 3}), Options{Store: store})
	},
}

// saved writes a page to a file, and to GDSVD_PICTURES if set, and returns its name.
func saved(t testing.TB, page string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	must.Do(t, os.WriteFile(file, []byte(page), 0o666))
	if folder := os.Getenv("GDSVD_PICTURES"); folder != "" {
		name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestBrowser"), "/", "-")
		must.Do(t, errors.Join(os.MkdirAll(folder, 0o777), os.WriteFile(filepath.Join(folder, name+".html"), []byte(page), 0o666)))
	}
	return file
}

// looked checks a page in all views and takes pictures of it.
func looked(t *testing.T, b *Browser, name, page string) {
	if len(page) >= MaxBytes {
		t.Errorf("%d bytes", len(page))
	}
	p := b.Open(t, saved(t, page), views[0])
	for _, v := range views {
		p.Show(v)
		p.Check()
		p.Picture(name)
	}
	// Without scripts the page has the same text.
	text := Value[string](p, "document.querySelector('main').innerText")
	p.Show(View{Width: 1280, NoScripts: true})
	p.Load()
	p.Check()
	p.Show(views[len(views)-1])
	if without := Value[string](p, "document.querySelector('main').innerText"); without != text || len(text) < 200 {
		t.Errorf("without scripts the text is another one: %d bytes, not %d", len(without), len(text))
	}
}

// TestBrowserOddPages: odd pages pass the audit, make no requests, and run no script but their own.
func TestBrowserOddPages(t *testing.T) {
	b := Start(t)
	for name, page := range oddPages {
		t.Run(name, func(t *testing.T) { looked(t, b, name, page(t)) })
	}
}

// TestBrowserSorts: the certificate is sorted by clicks and keys; the Tab key reaches all controls and shows the focus.
func TestBrowserSorts(t *testing.T) {
	b := Start(t)
	p := b.Open(t, saved(t, manyTriplets(400)), View{Width: 1280})
	Value[bool](p, "document.querySelector('details').open = true")
	before := Value[[]string](p, "[...document.querySelectorAll('nav a, summary')].map(e => e.innerText)")
	heads := Value[[]string](p, "[...document.querySelectorAll('th')].map(e => e.innerText)")
	focus := p.Focus()
	for i, head := range heads {
		heads[i] = strings.TrimRight(head, "\u2009↑") // the mark of the present order
	}
	if !slices.Equal(focus, slices.Concat(before, []string{"Values and residuals"}, heads)) {
		t.Errorf("the focus reaches %q; the headings are %q", focus, heads)
	}
	// state returns the heading sorted by, the direction, and the first and last cells of its column.
	state := func() string {
		return Value[string](p, `(() => {
			const on = [...document.querySelectorAll('[aria-sort]')], rows = [...document.querySelectorAll('tbody tr')];
			const cell = row => row.cells[on[0].cellIndex]?.textContent ?? 'none';
			return [on.length, on[0].textContent, on[0].ariaSort, cell(rows[0]), cell(rows[1]), cell(rows.at(-1))].join(' ');
		})()`)
	}
	is := func(did, want string) {
		t.Helper()
		if got := state(); got != want {
			t.Errorf("%s: %q, want %q", did, got, want)
		}
	}
	is("at first", "1 i ascending 1 2 400")
	p.Click("th:nth-child(2) button")
	is("a click on σ", "1 σ ascending 1 2 80 more are in sigma.npy")
	p.Click("th:nth-child(2) button")
	is("a second click", "1 σ descending 400 399 80 more are in sigma.npy")
	p.Press("\t\r")
	is("Tab and Enter", "1 residual ascending 1.0e-12 2.0e-12 none")
	p.Press(" ")
	is("Space", "1 residual descending 4.0e-10 4.0e-10 none")
	p.Click("th:nth-child(1) button")
	is("a click on i", "1 i ascending 1 2 400")
	if got := Value[string](p, "document.querySelectorAll('tbody tr')[300].innerText"); !strings.HasPrefix(got, "301…") {
		t.Errorf("what is left out is not where it was: %q", got)
	}
	p.Picture("sorted")
}

// digits writes the labels of MNIST, the digit of each image by its number, as a file of labels.
func digits(t testing.TB, path string) string {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	z := must.Get(gzip.NewReader(f))(t)
	all, err := io.ReadAll(z)
	if err := errors.Join(err, f.Close()); err != nil || len(all) < 8 {
		t.Fatalf("%s: %d bytes, %v", path, len(all), err)
	}
	all = all[8:]
	return labelled(t, len(all), strconv.Itoa, func(i int) string { return fmt.Sprint("digit ", all[i]) })
}

// TestBrowserRealData: pages of real data sets pass the audit; pictures of them are taken.
func TestBrowserRealData(t *testing.T) {
	data := os.Getenv("GDSVD_DATA")
	if data == "" {
		t.Skip("GDSVD_DATA is not set: it names the folder of real data sets")
	}
	b := Start(t)
	for name, of := range map[string]struct {
		input, titles, view string
		rank                int
	}{
		"movielens-1m": {"movielens/ml-1m/ratings-notimestamp.dat.gz", "movielens/ml-1m/movies.dat", "recsys", 20},
		"10x":          {"10x/v3.matrix.mtx.gz", "", "single-cell", 20},
		"slashdot":     {"snap/soc-Slashdot0902.mtx.gz", "", "", 30},
		"franz6":       {"suitesparse/Franz6_id1959_aug.mtx.gz", "", "", 30},
		"mnist":        {"mnist/train-images-idx3-ubyte.gz", "", "pca", 8},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name+".csr")
			from := ingest.Options{Memory: 512 << 20}
			if of.titles != "" {
				from.ColTitles = filepath.Join(data, of.titles)
			}
			must.Get(ingest.Ingest(t.Context(), []string{filepath.Join(data, of.input)}, path, from))(t)
			store := csrtest.Open(t, path, csr.OpenOptions{})
			f := factor.Options{Rank: of.rank, Tol: 1e-6}
			if of.view != "" {
				f.View = pipeline(t, of.view)
			}
			o := Options{Store: store}
			if name == "mnist" {
				o.Labels = digits(t, filepath.Join(data, "mnist/train-labels-idx1-ubyte.gz"))
			}
			looked(t, b, name, written(t, factorised(t, store, f), o))
		})
	}
}
