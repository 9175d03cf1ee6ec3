package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// hostile holds names that are markup, or that end or change the text around them.
var hostile = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, "</style></title><b>", "&lt;&amp;", "]]><!--",
	"\u202eright to left", "עברית العربية", "a\u0001b\u007f", "\xff\xfe", strings.Repeat("long ", 60), "漢字",
}

// made returns a store of about three quarters of n × m entries, with the given names of rows and columns.
func made(t testing.TB, n, m int, rowName, colName func(i int) string) *csr.Store {
	t.Helper()
	dir := t.TempDir()
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		for j := range m {
			if x := rng.IntN(10); x > 2 || i == j {
				must.Do(t, w.Write([]string{rowName(i), colName(j), strconv.Itoa(x + 1)}))
			}
		}
	}
	w.Flush()
	titles := filepath.Join(dir, "titles.csv")
	var named bytes.Buffer
	w = csv.NewWriter(&named)
	for j := range m {
		must.Do(t, w.Write([]string{colName(j), "title of " + hostile[j%8]}))
	}
	w.Flush()
	must.Do(t, os.WriteFile(titles, named.Bytes(), 0o666))
	path := filepath.Join(dir, "m <b>.csr")
	must.Get(ingest.Ingest(t.Context(), []string{"-"}, path, ingest.Options{Stdin: &text, Memory: 128 << 20, ColTitles: titles}))(t)
	return csrtest.Open(t, path, csr.OpenOptions{})
}

func plainName(word string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%s%03d", word, i) }
}

func hostileName(i int) string { return fmt.Sprintf("%s %d", hostile[i%len(hostile)], i) }

func factorised(t testing.TB, store *csr.Store, o factor.Options) *factor.Result {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "out")
	return must.Get(factor.Run(t.Context(), store, o))(t)
}

// written returns the page of a result.
func written(t testing.TB, r *factor.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Write(t.Context(), &b, r, o))
	return b.String()
}

// parsed holds the parts of a page that a strict XML reader finds.
type parsed struct {
	text     string   // of all elements except style and script
	headings []string // of the elements h2
	rows     [][]string
	pre      string
}

// parse fails unless a page is well-formed, smaller than MaxBytes, and refers to nothing outside of itself.
func parse(t testing.TB, page string) (p parsed) {
	t.Helper()
	if len(page) >= MaxBytes {
		t.Errorf("%d bytes", len(page))
	}
	written := strings.Replace(page, "<script>"+inline()+"</script>", "", 1)
	if len(written) == len(page) || strings.Contains(written, "<script") {
		t.Error("not the script of a page, or more than it")
	}
	for _, word := range []string{"http:", "https:", "//", "url(", "@import", "NaN", "Inf", "%!"} {
		if at := strings.Index(written, word); at >= 0 {
			t.Errorf("%q in …%.80s", word, written[max(0, at-30):])
		}
	}
	d := xml.NewDecoder(strings.NewReader(page)) // the script is valid XML, too
	var open []string
	var text strings.Builder
	element := map[string]*strings.Builder{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%.2000s", err, page)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			if !slices.Contains(strings.Fields("html head meta title style body header main section p h1 h2 h3 bdi b script code span data dl div dt dd nav a details summary circle title figure figcaption svg g path rect text table caption thead tbody tr th td ol li pre"), name) {
				t.Errorf("element %s", name)
			}
			for _, a := range x.Attr {
				if a.Name.Local == "href" && !strings.Contains(page, ` id="`+strings.TrimPrefix(a.Value, "#")+`"`) {
					t.Errorf("a link to %s", a.Value)
				}
				if !slices.Contains(strings.Fields("href cx cy r id lang charset name content http-equiv class value viewBox role aria-label x y d width height style transform text-anchor stroke-opacity stroke-dasharray fill-opacity scope colspan tabindex"), a.Name.Local) {
					t.Errorf("attribute %s of %s", a.Name.Local, name)
				}
			}
			open = append(open, name)
			element[name] = new(strings.Builder)
			if name == "tr" {
				p.rows = append(p.rows, nil)
			}
			if name == "data" && slices.Contains(open, "td") {
				p.rows[len(p.rows)-1] = append(p.rows[len(p.rows)-1], x.Attr[0].Value)
			}
		case xml.CharData:
			if slices.Contains(open, "style") || slices.Contains(open, "script") {
				continue
			}
			text.Write(x)
			for _, name := range open {
				element[name].Write(x)
			}
		case xml.EndElement:
			switch name := x.Name.Local; name {
			case "h2":
				p.headings = append(p.headings, element[name].String())
			case "pre":
				p.pre = element[name].String()
			}
			open = open[:len(open)-1]
		}
	}
	p.text = text.String()
	return p
}

func TestResultPage(t *testing.T) {
	store := made(t, 60, 30, hostileName, hostileName)
	r := factorised(t, store, factor.Options{Rank: 8})
	page := written(t, r, Options{Store: store, Components: 8, Names: []string{hostile[0], "", "Third"}})
	p := parse(t, page)
	if !strings.Contains(p.text, "Component 1: "+hostile[0]) || !strings.Contains(p.text, "Component 2 ") || !strings.Contains(p.text, "Component 3: Third ") {
		t.Error("components are not named")
	}
	want := []string{"Entries", "Spectrum", "Convergence", "Certificate", "The first two components", "Strongest in the components", "Cost", "Command"}
	if !slices.Equal(p.headings, want) {
		t.Errorf("sections %q", p.headings)
	}
	for _, name := range hostile[:7] {
		if !strings.Contains(p.text, name) {
			t.Errorf("%q is not shown as it is", name)
		}
	}
	if strings.Contains(p.text, hostile[10]) {
		t.Error("a long name is not cut")
	}
	if strings.ContainsAny(page, "\x01\x7f") {
		t.Error("control characters")
	}
	for _, without := range []string{"estimates, not certified"} {
		if strings.Contains(p.text, without) {
			t.Errorf("%q of a finished run", without)
		}
	}
	// The numbers of the table equal those of result.json, bit by bit.
	rows := p.rows[1:]
	if len(rows) != r.K {
		t.Fatalf("%d lines of the certificate, k is %d", len(rows), r.K)
	}
	for i, row := range rows {
		for j, want := range []factor.Number{r.Sigma[i], r.Residual[i], r.Floor[i]} {
			if x, err := strconv.ParseFloat(row[j], 64); err != nil || x != float64(want) {
				t.Errorf("line %d, number %d: %s, want %v", i+1, j, row[j], want)
			}
		}
	}
	for workers, budget := range map[int]int64{1: 0, 3: 64 << 20} {
		if again := written(t, r, Options{Store: store, Components: 8, Names: []string{hostile[0], "", "Third"}, Workers: workers, Memory: budget}); again != page {
			t.Errorf("another page with %d workers", workers)
		}
	}
	if p := parse(t, written(t, r, Options{})); slices.Contains(p.headings, "Entries") {
		t.Error("entries without a store")
	}
	err := Write(t.Context(), io.Discard, r, Options{Store: made(t, 10, 5, plainName("r"), plainName("c"))})
	if err == nil || !strings.Contains(err.Error(), "another store") {
		t.Errorf("of another store: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(ctx, io.Discard, r, Options{Store: store}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := Write(t.Context(), io.Discard, r, Options{Store: store, Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "budget") {
		t.Errorf("a budget of 1 MiB: %v", err)
	}
}

func TestKindsOfResults(t *testing.T) {
	store := made(t, 40, 40, plainName("v"), plainName("v"))
	centred := factorised(t, store, factor.Options{Rank: 4, View: pipeline(t, "center=columns")})
	p := parse(t, written(t, centred, Options{}))
	for _, want := range []string{"center=columns", "measured on the view of the matrix", "of the variance of 40 observations"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("view: %q is missing", want)
		}
	}
	if !strings.Contains(p.pre, "--view center=columns") {
		t.Errorf("view: %s", p.pre)
	}

	symmetric := made(t, 1, 1, plainName("v"), plainName("v"))
	pair := factorised(t, symmetric, factor.Options{Rank: 1, Which: solver.LargestMagnitude})
	p = parse(t, written(t, pair, Options{Store: symmetric}))
	if !strings.Contains(p.text, "1 of 1 eigenpairs") || !strings.Contains(p.text, "λ = 1") && !strings.Contains(p.text, "λ = ") || !strings.HasPrefix(p.pre, "gdsvd eigs ") || strings.Contains(p.text, "+ rows") {
		t.Errorf("eigenpairs: %s\n%s", p.pre, p.text)
	}

	z, err := factor.Complete(t.Context(), store, factor.CompleteOptions{Options: factor.Options{Rank: 3, Dir: filepath.Join(t.TempDir(), "out")}, Lambda: 2, Biases: true, Rounds: 4})
	if z == nil {
		t.Fatal(err)
	}
	p = parse(t, written(t, z, Options{Store: store}))
	if !slices.Contains(p.headings, "Fit") || slices.Contains(p.headings, "Certificate") || !strings.Contains(p.text, "Missing entries are predicted") || !strings.Contains(p.pre, "complete ") || !strings.Contains(p.pre, "--lambda 2 --biases") {
		t.Errorf("completion: %q, %s", p.headings, p.pre)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped, err := factor.Run(ctx, store, factor.Options{Rank: 6, Dir: filepath.Join(t.TempDir(), "out"), Pass: func(e solver.Event, _ factor.Outlook) {
		if e.Pass == 3 {
			cancel()
		}
	}})
	if stopped == nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("not interrupted: %v", err)
	}
	p = parse(t, written(t, stopped, Options{Store: store}))
	if !slices.Contains(p.headings, "Estimates") || slices.Contains(p.headings, "Certificate") || !strings.Contains(p.text, "are estimates, not certified") || strings.Contains(p.text, "elbow after") {
		t.Errorf("interrupted: %q", p.headings)
	}

	one := made(t, 1, 1, plainName("r"), plainName("c"))
	p = parse(t, written(t, factorised(t, one, factor.Options{Rank: 1}), Options{Store: one}))
	if slices.Contains(p.headings, "The first two components") || !strings.Contains(p.text, "Every entry is") {
		t.Errorf("one entry: %q", p.headings)
	}
}

func TestStorePage(t *testing.T) {
	store := made(t, 12, 30, hostileName, hostileName) // stored transposed
	var b bytes.Buffer
	must.Do(t, WriteStore(t.Context(), &b, store, Options{}))
	p := parse(t, b.String())
	if !slices.Equal(p.headings, []string{"Entries", "Next step"}) || !strings.Contains(p.text, "12 × 30") || !strings.Contains(p.text, store.Fingerprint()) || !strings.Contains(p.pre, " -k 10 ") {
		t.Errorf("%q: %s", p.headings, p.text)
	}
}

// TestSize: the page of 300 triplets with long names and labels is smaller than MaxBytes.
func TestSize(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%03d%s", i, strings.Repeat("<&\"'漢", 40)) }
	store := made(t, 330, 310, long, long)
	r := factorised(t, store, factor.Options{Rank: 300, Tol: 1e-4})
	var text strings.Builder
	for i := range 330 {
		fmt.Fprintf(&text, "%s\t%s\n", long(i), long(i%11))
	}
	labels := filepath.Join(t.TempDir(), "labels")
	must.Do(t, os.WriteFile(labels, []byte(text.String()), 0o666))
	page := written(t, r, Options{Store: store, Components: MaxComponents, Top: MaxTop, Labels: labels})
	if p := parse(t, page); len(p.rows) != 301 {
		t.Errorf("%d lines", len(p.rows))
	}
	t.Logf("%d bytes", len(page))
}

// TestManyTriplets: the table and curves of a result of many triplets are cut.
func TestManyTriplets(t *testing.T) {
	const k = 100_000
	page := manyTriplets(k)
	if x := parse(t, page); len(x.rows) > mostLines+2 || !strings.Contains(x.text, count(k-mostLines)+" more are in sigma.npy") {
		t.Errorf("%d lines", len(x.rows))
	}
	if len(page) > 100<<10 {
		t.Errorf("%d bytes", len(page))
	}
}

// TestDamage: damaged files are errors, except that a page without events has no curves.
func TestDamage(t *testing.T) {
	store := made(t, 30, 20, plainName("r"), plainName("c"))
	r := factorised(t, store, factor.Options{Rank: 3})
	name := filepath.Join(r.Dir(), layout.Events)
	sound := must.Get(os.ReadFile(name))(t)
	for what, bytes := range map[string][]byte{
		"a changed digit": regexp.MustCompile(`"pass":1`).ReplaceAll(sound, []byte(`"pass":2`)),
		"a missing line":  sound[:bytes.LastIndexByte(sound[:len(sound)-1], '\n')+1],
		"no JSON":         append([]byte("{"), sound...),
		"a long line":     append(make([]byte, layout.LongestEvent+1), sound...),
	} {
		must.Do(t, os.WriteFile(name, bytes, 0o666))
		if err := Write(t.Context(), io.Discard, r, Options{}); !errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), layout.Events) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must.Do(t, os.Remove(name))
	if p := parse(t, written(t, r, Options{})); slices.Contains(p.headings, "Convergence") {
		t.Error("curves without events")
	}
	r.Sigma = r.Sigma[:2]
	if err := Write(t.Context(), io.Discard, r, Options{}); !errors.Is(err, csr.ErrCorrupt) {
		t.Errorf("two values, k is 3: %v", err)
	}
}

// parseText fails unless a page is well-formed.
func parseText(t testing.TB, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%v in %q", err, page)
		}
	}
}
