package ingest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// within reports whether estimate and truth differ by at most the given factor.
func within(estimate, truth int64, factor float64) bool {
	return math.Abs(math.Log(float64(estimate)/float64(truth))) <= math.Log(factor)
}

// TestSniffEstimates: on real data the estimates of entries (5 %), store (25 %), shape and memory for all entries hold.
func TestSniffEstimates(t *testing.T) {
	dir := dataDir(t)
	for _, c := range []struct {
		file  string
		exact bool
	}{
		{"movielens/ml-100k/u.data", true},
		{"movielens/ml-latest-small/ratings.csv", true},
		{"movielens/ml-1m/ratings-notimestamp.dat.gz", false},
		{"snap/soc-Slashdot0902.mtx.gz", true},
		{"svmlight/a9a.t", true},
		{"mnist/train-images-idx3-ubyte.gz", false},
	} {
		if !longtest.On() && strings.HasPrefix(c.file, "mnist") {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(c.file))
		d := must.Get(Sniff(t.Context(), []string{path}, Options{}))(t)
		r := must.Get(Ingest(t.Context(), []string{path}, target(t), Options{Memory: d.Memory}))(t)
		t.Logf("%s: %d entries estimated, %d true; store %d, %d; memory %d, spilled %d; %.2g s, %.2g", c.file,
			d.Entries, r.NNZ, d.Store, r.Bytes, d.Memory, r.SpilledBytes, d.Seconds, r.Seconds.Total)
		if !within(d.Entries, r.NNZ, 1.05) || d.Exact != c.exact || d.Exact && d.Entries != r.NNZ || !within(d.Store, r.Bytes, 1.25) || d.Spool != 0 || r.SpilledBytes != 0 {
			t.Errorf("%s: %+v", c.file, d)
		}
		if r.Rows < d.RowRange.Low || r.Rows > d.RowRange.High || r.Cols < d.ColRange.Low || r.Cols > d.ColRange.High || !within(d.Likely[0], r.Rows, 1.1) || !within(d.Likely[1], r.Cols, 1.1) {
			t.Errorf("%s: %v × %v, likely %v, is %d × %d", c.file, d.RowRange, d.ColRange, d.Likely, r.Rows, r.Cols)
		}
		if d.ShapeKnown && (d.Rows != r.Rows || d.Cols != r.Cols) || d.Rows > r.Rows || d.Cols > r.Cols {
			t.Errorf("%s: %d × %d, known %v, is %d × %d", c.file, d.Rows, d.Cols, d.ShapeKnown, r.Rows, r.Cols)
		}
	}
}

// TestSniffGraph: Sniff reports the shape, the entries and the size of the store (25 %) of a graph, whose rows and columns are
// all nodes, also those that occur on one side of the edges only.
func TestSniffGraph(t *testing.T) {
	var b strings.Builder
	r := rand.New(rand.NewPCG(3, 3))
	node := func(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 } // ids without common prefixes
	for i := range 12_000 {
		fmt.Fprintf(&b, "%016x %016x\n", node(i/2), node(6000+r.IntN(900)))
	}
	for name, edges := range map[string]string{"few": "a b\na c\nd b\ne f\nh a\n", "many": b.String()} {
		in := write(t, "in", edges)
		for _, graph := range []Graph{Directed, Undirected} {
			o := Options{Graph: graph, Duplicates: Sum}
			r := must.Get(Ingest(t.Context(), []string{in}, target(t), o))(t)
			d := must.Get(Sniff(t.Context(), []string{in}, o))(t)
			entries := r.NNZ + r.Duplicates
			if graph == Undirected {
				entries += r.Duplicates // each edge has two entries
			}
			if !d.ShapeKnown || d.Rows != r.Rows || d.Cols != r.Cols || !d.Exact || d.Entries != entries || name == "many" && !within(d.Store, r.Bytes, 1.25) {
				t.Errorf("%s edges, %v: %d × %d, %v, %d entries, %v, %d bytes; ingested %+v", name, graph, d.Rows, d.Cols, d.ShapeKnown, d.Entries, d.Exact, d.Store, r)
			}
		}
	}
}

// TestSniffExact: the declared number of entries is exact only if no entry behind the sample can be mirrored or left out.
func TestSniffExact(t *testing.T) {
	const n = sniffChunks * format.ChunkBytes / 12 // lines have 16 bytes: the last ones are behind the sample
	diagonal := strings.Join(slices.Collect(func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("%d %[1]d 1", 100_000+i)) {
				return
			}
		}
	}), "\n")
	for _, c := range []struct {
		symmetry string
		o        Options
		exact    bool
	}{
		{"general", Options{}, true},
		{"general", Options{MaxBadLines: 1}, false},
		{"general", Options{Graph: Undirected}, false},
		{"symmetric", Options{}, false},
	} {
		in := write(t, "in.mtx", fmt.Sprintf("%%%%MatrixMarket matrix coordinate real %s\n%d %[2]d %d\n%s\n2 1 1\n", c.symmetry, 100_000+n, n+1, diagonal))
		if d, err := Sniff(t.Context(), []string{in}, c.o); err != nil || d.Exact != c.exact || d.Sampled == n+1 {
			t.Errorf("%s, %+v: exact %v, %d of %d entries, %v", c.symmetry, c.o, d.Exact, d.Sampled, d.Entries, err)
		}
	}
}

// TestMedian: a few chunks that took longer than the others do not change the estimate of time.
func TestMedian(t *testing.T) {
	for want, x := range map[float64][]float64{1: {40, 1, 1, 1, 7}, 2: {3, 2, 1}, 5: {5}} {
		if got := median(x); got != want {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}

// TestSniffsSpool: Sniff says that entries in row order take no temporary files. For entries in random order it estimates
// their size, and in both cases the size of the store, within 25 %.
func TestSniffsSpool(t *testing.T) {
	const cols, each = 5000, 20
	const rows = 24_000
	r := rand.New(rand.NewPCG(1, 1))
	body := make([]string, 0, rows*each)
	for i := range rows {
		for j := range each {
			body = append(body, fmt.Sprintf("%d %d\n", i+1, 1+j*cols/each+r.IntN(cols/each)))
		}
	}
	head := fmt.Sprintf("%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n", rows, cols, len(body))
	o := Options{Memory: 46 << 20, Workers: 1}
	for _, sorted := range []bool{true, false} {
		if !sorted {
			r.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
		}
		path := write(t, "in.mtx", head+strings.Join(body, ""))
		d := must.Get(Sniff(t.Context(), []string{path}, o))(t)
		rep := must.Get(Ingest(t.Context(), []string{path}, target(t), o))(t)
		t.Logf("sorted %v: spool %d, %d true in arrival order; store %d, %d", sorted, d.Spool, rep.SpilledBytes-rep.Spool, d.Store, rep.Bytes)
		if !within(d.Store, rep.Bytes, 1.25) || sorted != (d.Spool == 0) || sorted != (rep.Spool == 0) || !sorted && !within(d.Spool, rep.SpilledBytes-rep.Spool, 1.25) || rep.Estimate.Spool > 0 == sorted {
			t.Errorf("sorted %v: %+v, was %+v", sorted, d, rep)
		}
	}
}

func zipped(t *testing.T, s string) string { return string(gzipped(t, []byte(s))) }

func TestSniff(t *testing.T) {
	const src = "rating;MovieTitle;When;who\n4;Heat;2020-01-01;ann\n3.5;Jaws;2020-01-02;bob\n"
	o := Options{Columns: []string{"who", "MovieTitle", "rating"}}
	path := write(t, "in", zipped(t, src))
	d := must.Get(Sniff(t.Context(), []string{path}, o))(t)
	in := d.Inputs[0]
	if in.Format != "delimited" || in.Compression != "gzip" || in.Separator != "semicolons" || in.Header != "yes" || in.Bytes != int64(len(zipped(t, src))) {
		t.Errorf("got %+v", in)
	}
	var said []string
	for _, c := range in.Columns {
		said = append(said, c.Name+" "+c.Role+" "+c.Why)
	}
	if want := []string{"rating value chosen by --columns", "MovieTitle column chosen by --columns", `When time named "when": a time is no value`, "who row chosen by --columns"}; !slices.Equal(said, want) {
		t.Errorf("got %q", said)
	}
	if want := []Triple{{"ann", "Heat", 4}, {"bob", "Jaws", 3.5}}; !slices.Equal(d.First, want) {
		t.Errorf("got %v", d.First)
	}
	if want := []format.Flag{{Name: "format", Value: "delimited"}, {Name: "sep", Value: ";"}, {Name: "header", Value: "yes"}, {Name: "columns", Value: "who,MovieTitle,rating"}}; !slices.Equal(d.Flags, want) {
		t.Errorf("got %v", d.Flags)
	}
	if d.Entries != 2 || !d.Exact || !d.ShapeKnown || d.Rows != 2 || d.Cols != 2 || len(d.Warnings) != 0 {
		t.Errorf("got %+v", d)
	}
}

func TestSniffWarns(t *testing.T) {
	long := lines(40_000, func(i int) string { return fmt.Sprintf("%d,%d,1", i, i%1000) })
	for _, c := range []struct {
		name  string
		files []string
		o     Options
		says  []string
	}{
		{"nothing wrong", []string{"user,item\n1,2\n"}, Options{}, nil},
		{"a bad line", []string{"user,item,rating\n1,2,3\n2,3,x\n"}, Options{}, []string{`:3:5: rating "x": not a number`}},
		{"repeated pairs", []string{"user,item\na,b\na,b\na,b\n"}, Options{}, []string{"2 of 3 entries repeat a pair: --duplicates sum"}},
		{"repeated pairs that are wanted", []string{"user,item\na,b\na,b\na,b\n"}, Options{Events: true}, nil},
		{"filters", []string{"user,item\n1,2\n1,3\n2,2\n"}, Options{Filter: Filter{MinPerRow: 2}}, []string{"--min-per-row"}},
		{"hold-out", []string{"user,item\n1,2\n1,3\n2,2\n"}, Options{Holdout: Holdout{Random: .5}}, []string{"--holdout leave fewer"}},
		{"other separators", []string{"user,item\na,b\n", "user;item\nc;d\n"}, Options{}, []string{"the inputs differ in --sep"}},
		{"another order", []string{"user,item,r\na,b,1\n", "r,item,user\n2,d,c\n"}, Options{}, nil},
		{"many", slices.Repeat([]string{"user,item\na,b\n"}, 70), Options{Events: true}, []string{"64 of 70 inputs have been looked at"}},
		{"more than memory", []string{strings.Repeat(zipped(t, long), 50)}, Options{Memory: 48 << 20, Duplicates: Sum}, []string{"temporary files"}},
	} {
		var names []string
		for i, s := range c.files {
			names = append(names, write(t, fmt.Sprintf("in%d", i), s))
		}
		d, err := Sniff(t.Context(), names, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(d.Warnings) != len(c.says) {
			t.Errorf("%s: %q", c.name, d.Warnings)
			continue
		}
		for i, s := range c.says {
			if !strings.Contains(d.Warnings[i], s) {
				t.Errorf("%s: %q does not say %q", c.name, d.Warnings[i], s)
			}
		}
	}
}

// TestSniffRefuses: Sniff returns the error of Ingest for ambiguous and unreadable inputs.
func TestSniffRefuses(t *testing.T) {
	for src, want := range map[string]error{
		"foo,bar,baz\n1,2,3\n":             errAmbiguous,
		"":                                 format.ErrEmpty,
		"one\n":                            text.ErrFields,
		mmReal + "2 2 2\n1 1 5\n":          format.ErrCount,
		zipped(t, "user,item\n1,2\n")[:20]: format.ErrTruncated,
	} {
		_, err := Sniff(t.Context(), []string{write(t, "in", src)}, Options{})
		if err == nil || errors.As(err, new(*format.AmbiguityError)) != (want == errAmbiguous) || want != errAmbiguous && !errors.Is(err, want) {
			t.Errorf("%q: %v", src, err)
		}
	}
	if _, err := Sniff(t.Context(), []string{filepath.Join(t.TempDir(), "none")}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestSniffStandardInput: Sniff describes standard input by its first bytes, and counts entries if it ends there.
func TestSniffStandardInput(t *testing.T) {
	d, err := Sniff(t.Context(), []string{"-"}, Options{Stdin: strings.NewReader("user,item\nann,x\n")})
	if err != nil || d.Entries != 1 || !d.Exact || d.Inputs[0].Name != "standard input" || d.Inputs[0].Bytes != -1 {
		t.Errorf("got %+v, %v", d, err)
	}
	endless := strings.Repeat("1,2,3\n", 3<<20)
	d, err = Sniff(t.Context(), []string{"-"}, Options{Stdin: strings.NewReader(endless), Duplicates: Sum})
	if err != nil || d.Entries != 0 || d.Exact || d.Sampled == 0 || len(d.Warnings) != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestSniffCountsBadLines: the number of bad lines in all chunks is compared with MaxBadLines, as by Ingest.
func TestSniffCountsBadLines(t *testing.T) {
	chunk := "1,2,x\n" + strings.Repeat("1,2,3\n", format.ChunkBytes/6)
	for most, warned := range map[int64]bool{1: true, 2: false} {
		o := Options{Columns: []string{"1", "2", "3"}, MaxBadLines: most, Duplicates: Sum}
		d, err := Sniff(t.Context(), []string{write(t, "in", "5,6,7\n"+chunk+chunk)}, o)
		if err != nil || warned != slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "--max-bad-lines") }) {
			t.Errorf("%d bad lines tolerated: %v, %v", most, d, err)
		}
	}
}
