package ingest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// explicit returns o with the flags of a description set.
func explicit(t *testing.T, o Options, flags []format.Flag) Options {
	t.Helper()
	for _, f := range flags {
		switch f.Name {
		case "format":
			o.Format = f.Value
		case "sep":
			o.Separator = strings.ReplaceAll(f.Value, `\t`, "\t")
		case "header":
			o.Header = map[string]format.Header{"yes": format.HeaderYes, "no": format.HeaderNo}[f.Value]
		case "columns":
			o.Columns = strings.Split(f.Value, ",")
		default:
			t.Fatalf("flag %+v is not known here", f)
		}
	}
	return o
}

// TestSniffEveryFormat: for each format, and those of Options.Formats, the number of entries is exact, the
// first entries are the first of the input, and an ingest with the flags of the description makes the
// same store.
func TestSniffEveryFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var records [][3]int64
	for i := range 300 {
		records = append(records, [3]int64{int64(i), int64(r.IntN(50)), int64(1 + r.IntN(5))})
	}
	text := func(line string) string {
		var b strings.Builder
		for _, e := range records {
			fmt.Fprintf(&b, line+"\n", e[0], e[1], e[2])
		}
		return b.String()
	}
	entries := func(from int64) (all []triple) {
		for _, e := range records {
			all = append(all, triple{fmt.Sprint(e[0] + from), fmt.Sprint(e[1] + from), float64(e[2])})
		}
		return all
	}
	matrix := mmReal + "300 50 300\n"
	for _, e := range entries(1) {
		matrix += fmt.Sprintln(e.Row, e.Col, e.Val)
	}
	archive, _ := randomNPZ(200, 40)
	table := must.Get(os.ReadFile(filepath.Join("testdata", "parquet", "dictionary.parquet")))(t)
	o := Options{Formats: []format.Format{footed, arrows}}
	for _, c := range []struct {
		format, data string
		want         []triple
	}{
		{"movielens", text("%d::%d::%d"), entries(0)},
		{"delimited", "value\tcol\trow\n" + text("%[3]d\t%[2]d\t%[1]d"), entries(0)},
		{"mtx", matrix, entries(1)},
		{"jsonl", text(`{"item": %[2]d, "stars": %[3]d, "user": %[1]d}`), entries(0)},
		{"parquet", string(table), nil},
		{"svmlight", text("%[3]d %[2]d:%[3]d 51:1"), nil},
		{"footed", footedFile(records, 17), entries(0)},
		{"arrows", text("%[2]d <- %[1]d %[3]d"), entries(0)},
		{"csr-stream", string(streamOf(t, streamHeader{colKeys: "u4", values: "f8", rows: 300, cols: 50}, entries(0))), entries(1)},
		{"npy", string(npyFile("<f8", false, "(2, 3)", float64s(0, 1, 2, 3, 0, 5)...)), []triple{{"1", "2", 1}, {"1", "3", 2}, {"2", "1", 3}, {"2", "3", 5}}},
		{"npz", string(archive.bytes(t, 8)), nil},
	} {
		in := write(t, "in", c.data)
		d, err := Sniff(t.Context(), []string{in}, o)
		if err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		out, again := target(t), target(t)
		r, err := Ingest(t.Context(), []string{in}, out, o)
		if err != nil {
			t.Fatalf("%s: %v", c.format, err)
		}
		if d.Inputs[0].Format != c.format || d.Entries != r.NNZ || !d.Exact || d.Rows != r.Rows || d.Cols != r.Cols || len(d.First) == 0 || len(d.Warnings) > 0 {
			t.Errorf("%s: %+v, ingested %+v", c.format, d, r)
		}
		for i, e := range d.First {
			if c.want != nil && (triple{e.Row, e.Col, e.Value}) != c.want[i] {
				t.Errorf("%s: %v, want %v", c.format, d.First, c.want[:len(d.First)])
				break
			}
		}
		same, err := Ingest(t.Context(), []string{in}, again, explicit(t, o, d.Flags))
		if err != nil || same.Fingerprint != r.Fingerprint || !slices.Equal(contents(t, out), contents(t, again)) {
			t.Errorf("%s with %v: %+v, %v, not %+v", c.format, d.Flags, same, err, r)
		}
	}
}

// FuzzSniff: Sniff describes any input that Ingest reads, with the exact number of entries, and an
// ingest with the flags of the description makes the same store.
func FuzzSniff(f *testing.F) {
	for i, c := range slices.Concat(intakeCases, headerCases) {
		if i%4 == 0 && !strings.Contains(c.files, "----\n") {
			f.Add(c.files)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		in := write(t, "in", src)
		o := Options{Duplicates: Sum}
		out, again := target(t), target(t)
		r, err := Ingest(t.Context(), []string{in}, out, o)
		if err != nil {
			return
		}
		d, err := Sniff(t.Context(), []string{in}, o)
		if err != nil || !d.Exact || d.Entries != r.NNZ+r.Duplicates || !d.ShapeKnown || d.Rows != r.Rows || d.Cols != r.Cols || len(d.Warnings) > 0 {
			t.Fatalf("%+v, %v, ingested %+v", d, err, r)
		}
		same, err := Ingest(t.Context(), []string{in}, again, explicit(t, o, d.Flags))
		if err != nil || same.Fingerprint != r.Fingerprint {
			t.Fatalf("with %q: %+v, %v, not %+v", d.Flags, same, err, r)
		}
	})
}
