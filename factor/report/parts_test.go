package report

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/escape"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/stream/view"
)

func pipeline(t testing.TB, text string) view.Pipeline {
	t.Helper()
	return must.Get(view.Parse(text))(t)
}

// TestElbow compares with the maximum of the profile likelihood of Zhu and Ghodsi, by its formula.
func TestElbow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 200 {
		x := make([]float64, 3+rng.IntN(30))
		level := 100.
		for i := range x {
			x[i] = level
			level *= 0.3 + 0.7*rng.Float64()
		}
		best, want := math.Inf(-1), 0
		p := float64(len(x))
		for q := 1; q < len(x); q++ {
			m1, m2 := stat.Mean(x[:q], nil), stat.Mean(x[q:], nil)
			s := 0.
			for i, v := range x {
				m := m1
				if i >= q {
					m = m2
				}
				s += (v - m) * (v - m)
			}
			variance := s / (p - 2)
			likelihood := 0.
			for i, v := range x {
				m := m1
				if i >= q {
					m = m2
				}
				likelihood += -0.5*math.Log(2*math.Pi*variance) - (v-m)*(v-m)/(2*variance)
			}
			if likelihood > best {
				best, want = likelihood, q
			}
		}
		if got := elbow(x); got != want {
			t.Fatalf("trial %d: %v: %d, want %d", trial, x, got, want)
		}
	}
	for _, x := range [][]float64{nil, {1}, {2, 1}, {3, 3, 3, 3}, {0, 0, 0}} {
		if q := elbow(x); q != 0 {
			t.Errorf("%v: %d", x, q)
		}
	}
}

// TestCounts compares with a loop over all entries, for each coding, both orientations and several numbers of workers.
func TestCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, value := range map[string]func() float64{
		"constant": func() float64 { return 3 },
		"ratings":  func() float64 { return float64(1 + rng.IntN(5)) },
		"bytes":    func() float64 { return float64(1 + rng.IntN(200)) },
		"counts":   func() float64 { return math.Floor(math.Exp(5.5 * rng.Float64() * rng.Float64())) },
		"floats":   func() float64 { return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(9)-4)) },
		"huge":     func() float64 { return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(120))) },
	} {
		rows := make([][]csrtest.Entry, longtest.Pick(300, 60))
		want := counts{map[int64]int64{}, map[int64]int64{}, nil}
		cols := make([]int64, 90)
		all := 0
		for i := range rows {
			for j := range cols {
				if rng.IntN(10) < i%7 {
					rows[i] = append(rows[i], csrtest.Entry{Col: uint32(j), Val: value()})
					cols[j]++
				}
			}
			want.rows[int64(len(rows[i]))]++
			all += len(rows[i])
		}
		for _, n := range cols {
			want.cols[n]++
		}
		for _, transposed := range []bool{false, true} {
			o := csr.CreateOptions{Transposed: transposed}
			if name == "counts" {
				o.Values.Coding = csr.Integer
			}
			store := csrtest.Build(t, int64(len(cols)), rows, o)
			for _, workers := range []int{1, 4} {
				got := must.Get(countEntries(t.Context(), store, Options{Workers: workers}.withDefaults()))(t)
				if transposed {
					got.rows, got.cols = got.cols, got.rows
				}
				if !maps.Equal(got.rows, want.rows) || !maps.Equal(got.cols, want.cols) {
					t.Errorf("%s: other lengths", name)
				}
				for _, log := range []bool{false, true} {
					for _, bars := range [][]bar{got.values, joined(got.values, log && got.values[0].lo > 0)} {
						checkBars(t, name, bars, rows, all)
					}
				}
			}
		}
	}
}

// checkBars checks that each bar counts the values between its ends, and that all bars count all values.
func checkBars(t *testing.T, name string, bars []bar, rows [][]csrtest.Entry, all int) {
	t.Helper()
	sum := 0
	for i, b := range bars {
		n := 0
		for _, row := range rows {
			for _, e := range row {
				// The last of joined bars includes its upper end, and bars of single values have no width.
				if e.Val >= b.lo && (e.Val < b.hi || e.Val == b.hi && (b.lo == b.hi || i == len(bars)-1)) {
					n++
				}
			}
		}
		if b.n > 0 && int(b.n) != n {
			t.Errorf("%s: bar %d from %v to %v has %d, want %d", name, i, b.lo, b.hi, b.n, n)
		}
		sum += int(b.n)
	}
	if sum != all {
		t.Errorf("%s: bars have %d entries of %d", name, sum, all)
	}
}

func TestFineBins(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 10000 {
		x := math.Float64frombits(rng.Uint64())
		if x-x != 0 {
			continue
		}
		k := fine(x)
		if lo, hi := fineEdge(k), fineEdge(k+1); !(lo <= x && x <= hi) || x > 0 && x == hi {
			t.Fatalf("%v is in bin %d, from %v to %v", x, k, lo, hi)
		}
		if y := math.Nextafter(x, math.Inf(1)); fine(y) < k {
			t.Fatalf("bins descend at %v", x)
		}
	}
}

func TestQuantiles(t *testing.T) {
	lengths := map[int64]int64{0: 3, 2: 4, 9: 3}
	for share, want := range map[float64]int64{0: 0, 0.3: 0, 0.31: 2, 0.5: 2, 0.7: 2, 0.71: 9, 1: 9} {
		if got := look.Quantiles(lengths, share); len(got) != 1 || got[0].Length != want {
			t.Errorf("%v: %v, want %d", share, got, want)
		}
	}
}

// TestWholeBars: bars of integers count the values between their ends, and all have the same width.
func TestWholeBars(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		lengths := map[int64]int64{}
		for range 2 + rng.IntN(60) {
			lengths[1+rng.Int64N(1+rng.Int64N(500))]++
		}
		bars, x := wholeBars(lengthBins(lengths))
		if len(bars) > mostBars || x.lo != bars[0].lo || x.hi != bars[len(bars)-1].hi {
			t.Fatalf("%d bars from %v to %v", len(bars), x.lo, x.hi)
		}
		for i, b := range bars {
			n := int64(0)
			for length, lines := range lengths {
				if l := float64(length); l > b.lo && l < b.hi {
					n += lines
				}
			}
			if b.n != n || b.hi-b.lo != bars[0].hi-bars[0].lo || i > 0 && b.lo != bars[i-1].hi {
				t.Fatalf("%v: bar %d is %v, want %d", lengths, i, b, n)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		lo := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
		for _, a := range []axis{linear("", lo, lo+math.Abs(rng.NormFloat64()*lo)), logarithmic("", math.Abs(lo), math.Abs(lo)*math.Pow(10, rng.Float64()*30))} {
			a.from, a.to = 0, 100
			ticks := a.ticks()
			if len(ticks) > 9 || !a.log && len(ticks) < 2 {
				t.Fatalf("from %v to %v: %v", a.lo, a.hi, ticks)
			}
			for i, x := range ticks {
				if at := a.at(x); !(at >= 0 && at <= 100) || i > 0 && !(x > ticks[i-1]) {
					t.Fatalf("from %v to %v: %v", a.lo, a.hi, ticks)
				}
				if s := tickText(x); len([]rune(s)) > 10 {
					t.Fatalf("%v is %q", x, s)
				}
				if i > 0 && a.text(x) == a.text(ticks[i-1]) {
					t.Fatalf("from %v to %v: %v and %v are both %q", a.lo, a.hi, ticks[i-1], x, a.text(x))
				}
			}
		}
	}
	for x, want := range map[float64]string{0: "0", -5000: "−5000", 12000: "1.2e4", 1e-9: "1e−9", 0.25: "0.25", -3e7: "−3e7", 1e100: "1e100"} {
		if got := tickText(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

// TestQuoted: a shell reads quoted words back unchanged.
func TestQuoted(t *testing.T) {
	words := []string{"plain", "", "two words", `it's "x" $HOME \ *`, "log1p | center=columns", "é;rm", "--view"}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh to read them with")
	}
	out, err := exec.Command(sh, "-c", `printf '%s\n' `+escape.Command(words...)).Output()
	if err != nil || string(out) != strings.Join(words, "\n")+"\n" {
		t.Errorf("%v: %q", err, out)
	}
}

// Numbers whose ratio is more than a float64 can be, such as p-values beside a 1, have places on a logarithmic axis, and bars.
func TestWideLogarithmicAxis(t *testing.T) {
	numbers := []float64{5e-324, 1e-300, 1e-150, 1, 1e299}
	a := logarithmic("", numbers[0], numbers[4])
	a.from, a.to = 0, 100
	before := -1.
	for _, x := range numbers {
		at := a.at(x)
		if !(at > before && at >= 0 && at <= 100) {
			t.Errorf("%g is at %g, behind %g", x, at, before)
		}
		before = at
	}
	var bins []bar
	for _, x := range numbers {
		bins = append(bins, bar{x, x, 1})
	}
	some := 0
	for _, b := range joined(bins, true) {
		if b.n > 0 {
			some++
		}
	}
	if some != len(numbers) {
		t.Errorf("%d bars for %d numbers that are far apart", some, len(numbers))
	}
}

// The command of a result of an engine makes its bits only with as many groups, which the note says.
func TestNoteOnEngine(t *testing.T) {
	note := string(noteOn(&factor.Result{Engine: &factor.Engine{Name: "local", Groups: 3}}))
	if !strings.Contains(note, "--groups 3") || strings.Contains(note, "any number of threads") {
		t.Error(note)
	}
}

// TestLabels: labels are matched by id; files that are no labels are refused with the line.
func TestLabels(t *testing.T) {
	store := made(t, 20, 6, plainName("r"), plainName("c"))
	r := factorised(t, store, factor.Options{Rank: 3})
	file := filepath.Join(t.TempDir(), "labels")
	label := func(text string) error {
		must.Do(t, os.WriteFile(file, []byte(text), 0o666))
		return Write(t.Context(), new(bytes.Buffer), r, Options{Labels: file})
	}
	must.Do(t, label("id,label\nr003,<b>one\r\nr004,\"two\"\n\nr019,three, too\n"))
	p := parse(t, written(t, r, Options{Labels: file}))
	for _, want := range []string{"<b>one", "two", "three, too", "no label"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	must.Do(t, label("\uFEFFr003,zeta\r\nr004,two\r\n"))
	if p = parse(t, written(t, r, Options{Labels: file})); !strings.Contains(p.text, "zeta") {
		t.Error("the first line of a file with a byte order mark is lost")
	}
	must.Do(t, label(" r003,blanks that are not of the id\n"))
	must.Do(t, os.WriteFile(file, []byte(" r003,blanks of the id\n"), 0o666))
	written(t, factorised(t, made(t, 20, 6, plainName(" r"), plainName("c")), factor.Options{Rank: 3}), Options{Labels: file})
	var many strings.Builder
	for i := range mostLabels + 1 {
		fmt.Fprintf(&many, "r%03d,label %d\n", i%20, i)
	}
	for text, want := range map[string]string{
		"":                         "no line begins with the id",
		"x,1\ny,2\n":               "no line begins with the id",
		"r001\n":                   "line 1: \"r001\": want an id, a comma or tab and a label",
		"r001,a\nr001,b\n":         `line 2: row "r001" has the labels "a" and "b"`,
		"r001\ta\nr002,b\n":        "line 2: \"r002,b\": want an id, a tab and a label",
		"r001,a\nx,b\ny,b\nz,b\n":  `3 of 4 ids, such as "x" in line 2`,
		strings.Repeat("x", 1<<21): "is longer than",
	} {
		if err := label(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if err := Write(t.Context(), new(bytes.Buffer), r, Options{Labels: file + "?"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	none := factorised(t, store, factor.Options{Rank: 2, Vectors: factor.None})
	if err := Write(t.Context(), new(bytes.Buffer), none, Options{Labels: file}); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Errorf("without vectors: %v", err)
	}
}

func FuzzEscaped(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var p page
		p.open("x", s)
		p.f("<p class=\"%s\">%s</p>", s, nameOf(factor.Name{ID: s, Title: s}))
		p.close()
		lower := strings.ToLower(string(escaped(s)))
		if strings.ContainsAny(lower, "<>\"'\x00\x01") {
			t.Errorf("%q", lower)
		}
		parseText(t, p.String())
	})
}

func FuzzLabels(f *testing.F) {
	store := made(f, 12, 5, plainName("r"), plainName("c"))
	v := must.Get(openVectors(f.Context(), factorised(f, store, factor.Options{Rank: 2}), true, 2))(f)
	f.Cleanup(func() {
		if err := v.names.Close(); err != nil {
			f.Error(err)
		}
	})
	file := filepath.Join(f.TempDir(), "labels")
	f.Add("r001,a\nr002,b\n")
	f.Add("r001\ta\n\xff\t\"")
	f.Fuzz(func(t *testing.T, text string) {
		must.Do(t, os.WriteFile(file, []byte(text), 0o666))
		l, err := readLabels(t.Context(), Options{Labels: file}.withDefaults(), v)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("several lines: %q", err)
			}
			return
		}
		for i := range v.N {
			if c := l.colour(i); c < 0 || c >= len(l.names) || l.colours[c] > 10 {
				t.Fatalf("row %d has the colour %d of %d", i, c, len(l.names))
			}
		}
		parseText(t, "<p>"+string(l.key())+"</p>")
	})
}

func FuzzEvents(f *testing.F) {
	f.Add(`{"phase":"iterate","pass":1,"triplet":0,"residual":1e-3,"open":3,"worst":0.5,"seconds":{"total":0.1}}`+"\n", false)
	f.Add(`{"phase":"path","pass":1,"objective":1e300,"rmse":1,"held_out_rmse":null}`+"\n{}\n", true)
	f.Add(`{"phase":"iterate","pass":-9,"residual":-1,"worst":null,"open":2,"seconds":{"total":-1e308}}`+"\n", false)
	f.Fuzz(func(t *testing.T, text string, completion bool) {
		events, _, err := live.ReadEvents(t.Context(), strings.NewReader(text))
		if err != nil {
			return
		}
		r := &factor.Result{K: 1, Sigma: []factor.Number{1}, Residual: []factor.Number{1e-9}, Certified: true}
		if completion {
			r.Completion = new(factor.Completion)
		}
		var p page
		p.open("x", "y")
		p.convergence(r, events)
		p.close()
		parse(t, p.String())
	})
}

// TestTopicsWithoutErrors checks that rows and columns whose entries in a vector are errors are not among the strongest of a
// component: the first triplets of a matrix of two blocks belong to the larger block.
func TestTopicsWithoutErrors(t *testing.T) {
	const n, m = 300, 80 // shape of the larger block
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([][]csrtest.Entry, n+40)
	for i := range rows {
		first, cols := 0, m
		if i >= n {
			first, cols = m, 20
		}
		for j := range cols {
			if rng.IntN(12) == 0 || j == i%cols {
				rows[i] = append(rows[i], csrtest.Entry{Col: uint32(first + j), Val: float64(1 + rng.IntN(3))})
			}
		}
	}
	store := csrtest.Build(t, m+20, rows, csr.CreateOptions{})
	for _, method := range all.Methods() {
		name := method.Traits(2).Name
		page := written(t, factorised(t, store, factor.Options{Rank: 2, Method: method, Tol: 1e-3}), Options{})
		_, page, _ = strings.Cut(page, "<h3>Component 1 ")
		page, _, _ = strings.Cut(page, "<h3>Component 2 ")
		lists := strings.Split(page, "<ol>")[1:]
		if len(lists) < 2 {
			t.Errorf("%s: %d lists in %s", name, len(lists), page)
		}
		for _, list := range lists {
			if strings.Contains(list, "0.000") {
				t.Errorf("%s: %s", name, list)
			}
		}
	}
}
