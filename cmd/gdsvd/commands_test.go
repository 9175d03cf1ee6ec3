package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestInTheWay: if --force would not replace what is at OUT, the error does not suggest it, and nothing is changed.
func TestInTheWay(t *testing.T) {
	file, store := ratings(t, tall), ingested(t, tall)
	result, _ := factorised(t, store, "-k", "2")
	strange := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(strange, "thesis.tex"), []byte("x"), 0o666))
	for _, args := range [][]string{
		{"ingest", file, "-o", file}, {"ingest", file, "-o", strange}, {"ingest", file, "-o", result},
		{"generate", "spectrum", "--rows", "9", "--cols", "9", "-o", result},
		{"svd", store, "-k", "2", "-o", file}, {"svd", store, "-k", "2", "-o", store}, {"svd", store, "-k", "2", "-o", strange, "--resume"},
	} {
		o := fails(t, ui.ExitError, `already exists, not to be replaced: .*(left alone|give another -o)`, args...)
		if strings.Contains(o.stderr, "--force") {
			t.Errorf("%v: --force is offered: %s", args, o.stderr)
		}
		fails(t, ui.ExitError, `left alone`, append(args, "--force", "-q")...)
	}
	fails(t, ui.ExitError, `it is a directory; name a file`, "generate", "ratings", "-o", strange, "--force")
	fails(t, ui.ExitError, `create .*nodir/r.dat: make the directory .*nodir first`, "generate", "ratings", "-o", filepath.Join(strange, "nodir", "r.dat"))
	if left := names(t, strange); !slices.Equal(left, []string{"thesis.tex"}) {
		t.Errorf("there are %v", left)
	}
}

func TestIngestReport(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.csr")
	o := gdsvdIn(t, context.Background(), "u,i,r\n1,1,4\n1,2,3\n1,1,5\nx\n2,2,0.5\n", "ingest", "-", "-o", store,
		"--columns", "u,i,r", "--duplicates", "sum", "--max-bad-lines", "1", "--json")
	if o.code != ui.ExitOK {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	var r ingestResult
	decode(t, o.stdout, &r)
	if r.Rows != 2 || r.Cols != 2 || r.NNZ != 3 || r.BadLines != 1 || len(r.FirstBad) != 1 || r.Duplicates != 1 || r.Lines == 0 || r.Store != store || len(r.Fingerprint) != 64 {
		t.Errorf("%+v", r)
	}
	if !strings.HasPrefix(r.FirstBad[0], "standard input:5") {
		t.Errorf("bad line: %s", r.FirstBad[0])
	}
	text := succeeds(t, "ingest", ratings(t, tall), "-o", filepath.Join(t.TempDir(), "m.csr"))
	for _, want := range []string{"shape       90 × 40, 2400 entries", "MB/s of input", "duplicates  0", "bad lines   0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestResumeOfAFinishedIngest(t *testing.T) {
	file, store := ratings(t, tall), filepath.Join(t.TempDir(), "m.csr")
	args := []string{"ingest", "-q", file, "-o", store, "--resume"}
	succeeds(t, args...)
	resumesNothing(t, store, args...)
	resumesNothing(t, store, append(args, "--memory", "64MiB", "--workers", "1", "--shard-size", "4KiB")...)
	var r ingestResult
	decode(t, succeeds(t, append(args, "--json")...), &r)
	if !r.Finished || r.Rows != 90 || r.NNZ != 2400 || r.Bytes == 0 || len(r.Fingerprint) != 64 {
		t.Errorf("%+v", r)
	}
	fails(t, ui.ExitError, `m.csr: file (already )?exists \(--force replaces it\)`, args[:len(args)-1]...)
	fails(t, ui.ExitError, `m.csr: file (already )?exists: a finished store, but another one: it had options .* \(--force replaces it\)`, append(args, "--duplicates", "sum")...)
	fails(t, ui.ExitError, `m.csr: file (already )?exists: a finished store, but another one: it had input_bytes .*\(--force`, "ingest", ratings(t, wide), "-o", store, "--resume")
	succeeds(t, "check", "-q", store)
}

// TestIngestRefusals: each error is one line that names the input, the place and a remedy.
func TestIngestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"1::2::3\n1::3::x\n":       `:2:7: rating "x": not a number`,
		"1::2::3\n1::2::4\n":       `more than one entry .*1 entry repeats a place, of 2; --duplicates sum adds them up`,
		"1::2::NaN\n":              `not a finite number`,
		"1::2::3\n1::2\n":          `:2.*wrong number of fields`,
		"":                         `no entries`,
		"1::2::3\n1::3::4::5::6\n": `:2.*wrong number of fields`,
	} {
		file := write(t, t.TempDir(), "bad.dat", text)
		work := t.TempDir()
		fails(t, ui.ExitError, want, "ingest", file, "-o", filepath.Join(work, "m.csr"))
		if left := names(t, work); len(left) > 0 {
			t.Errorf("%q leaves %v", text, left)
		}
	}
	work := t.TempDir()
	fails(t, ui.ExitError, "missing.dat: no such file", "ingest", filepath.Join(work, "missing.dat"), "-o", filepath.Join(work, "m.csr"))
	fails(t, ui.ExitError, `read .*\*.dat: no file matches`, "ingest", filepath.Join(work, "*.dat"), "-o", filepath.Join(work, "m.csr"))
	store := ingested(t, tall)
	fails(t, ui.ExitError, `m.csr.*exists.*\(--force replaces it\)`, "ingest", ratings(t, tall), "-o", store)
}

// TestIngestInputs: files, patterns and standard input, compressed or not, give the same store.
func TestIngestInputs(t *testing.T) {
	file := ratings(t, tall)
	data := must.Get(os.ReadFile(file))(t)
	work := t.TempDir()
	half := bytes.LastIndexByte(data[:len(data)/2], '\n') + 1
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(data)
	z.Close()
	for name, content := range map[string][]byte{"part1.dat": data[:half], "part2.dat": data[half:], "odd[1].dat": data, "all.dat": packed.Bytes()} {
		must.Do(t, os.WriteFile(filepath.Join(work, name), content, 0o666))
	}
	fingerprint := ""
	for i, args := range [][]string{
		{file}, {filepath.Join(work, "part1.dat"), filepath.Join(work, "part2.dat")}, {filepath.Join(work, "part2.dat"), filepath.Join(work, "part1.dat")},
		{filepath.Join(work, "part*.dat")}, {filepath.Join(work, "odd[1].dat")}, {filepath.Join(work, "all.dat")}, {"-"},
	} {
		o := gdsvdIn(t, context.Background(), string(data), append([]string{"ingest", "--json", "-q", "-o", filepath.Join(work, fmt.Sprint(i))}, args...)...)
		if o.code != ui.ExitOK {
			t.Fatalf("%v: exit %d\n%s", args, o.code, o.stderr)
		}
		var r ingestResult
		decode(t, o.stdout, &r)
		if i == 0 {
			fingerprint = r.Fingerprint
		} else if r.Fingerprint != fingerprint {
			t.Errorf("%v gives another store", args)
		}
	}
}

// TestInfoOfAnOrientation: info prints the chosen orientation, and does not name it as a flag of ingest.
func TestInfoOfAnOrientation(t *testing.T) {
	in := ratings(t, tall)
	for side, first := range map[string]string{"rows": "rows first", "cols": "columns first"} {
		store := stored(t, in, "--orient", side)
		text := succeeds(t, "info", store)
		if strings.Contains(text, "--") || !strings.Contains(text, "orientation "+side) || !strings.Contains(text, first+"\n") {
			t.Errorf("--orient %s:\n%s", side, text)
		}
	}
}

func TestForceReplacesAStore(t *testing.T) {
	store := ingested(t, tall)
	succeeds(t, "ingest", "-q", ratings(t, wide), "-o", store, "--force")
	var i storeInfo
	if text := succeeds(t, "info", store); strings.ContainsAny(text, "{[") || !strings.Contains(text, "made from") {
		t.Errorf("info is not for people:\n%s", text)
	}
	decode(t, succeeds(t, "info", store, "--json"), &i)
	if i.Rows != int64(wide.Users) || i.Cols != int64(wide.Items) {
		t.Errorf("after --force the store is %d × %d", i.Rows, i.Cols)
	}
	if left := names(t, filepath.Dir(store)); !slices.Equal(left, []string{"m.csr"}) {
		t.Errorf("beside the store lie %v", left)
	}
	fails(t, ui.ExitError, "not a gdsvd store", "ingest", "-q", ratings(t, tall), "-o", filepath.Dir(store), "--force")
}

// TestInfoIDs: info prints the ids of the user's rows and columns in ascending order, for both stored orientations.
func TestInfoIDs(t *testing.T) {
	for name, g := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		file := ratings(t, g)
		data := must.Get(os.ReadFile(file))(t)
		users, items := map[int]bool{}, map[int]bool{}
		for line := range strings.Lines(string(data)) {
			var user, item int
			fmt.Sscanf(strings.ReplaceAll(line, "::", " "), "%d %d", &user, &item)
			users[user], items[item] = true, true
		}
		store := stored(t, file)
		for side, set := range map[string]map[int]bool{"rows": users, "cols": items} {
			order := ranks(set)
			want := make([]string, len(set))
			for id, i := range order {
				want[i] = fmt.Sprint(id)
			}
			if got := strings.Fields(succeeds(t, "info", store, "--ids", side)); !slices.Equal(got, want) {
				t.Errorf("%s: ids of %s\n%v\nwant\n%v", name, side, got, want)
			}
		}
	}
	result, _ := factorised(t, ingested(t, tall), "-k", "1")
	fails(t, ui.ExitUsage, "--ids wants the STORE", "info", result, "--ids", "rows")
}

func TestInfoIDsThatAreText(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.csr")
	if o := gdsvdIn(t, context.Background(), "ann,\"x, \"\"y\"\"\",1\nbob,z,2\n", "ingest", "-", "-o", store, "-q"); o.code != ui.ExitOK {
		t.Fatal(o.stderr)
	}
	if got := succeeds(t, "info", store, "--ids", "rows"); got != "ann\nbob\n" {
		t.Errorf("rows %q", got)
	}
	var ids []string
	decode(t, succeeds(t, "info", store, "--ids", "cols", "--json"), &ids)
	if !slices.Equal(ids, []string{`x, "y"`, "z"}) {
		t.Errorf("columns %q", ids)
	}
}

// An id with a line break would make two lines of one row: the list is not printed as lines.
func TestInfoIDsWithLineBreaks(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.csr")
	if o := gdsvdIn(t, context.Background(), `{"user":"ann","item":1,"rating":3}`+"\n"+`{"user":"bob\ncy","item":2,"rating":4}`+"\n", "ingest", "-", "-o", store, "-q"); o.code != ui.ExitOK {
		t.Fatal(o.stderr)
	}
	fails(t, ui.ExitError, `"bob\\ncy", number 1 from 0, has a line break, .*: --json prints them`, "info", store, "--ids", "rows")
	var ids []string
	decode(t, succeeds(t, "info", store, "--ids", "rows", "--json"), &ids)
	if !slices.Equal(ids, []string{"ann", "bob\ncy"}) {
		t.Errorf("rows %q", ids)
	}
}

func TestInfoIDsThatAreIndices(t *testing.T) {
	file := write(t, t.TempDir(), "m.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 2 1\n2 1\n")
	store := stored(t, file)
	if got := succeeds(t, "info", store, "--ids", "rows"); got != "0\n1\n2\n" {
		t.Errorf("rows %q", got)
	}
	if text := succeeds(t, "info", store); !strings.Contains(text, "3 × 2, 1 entries") || !strings.Contains(text, "rows index") {
		t.Errorf("info:\n%s", text)
	}
}

func TestInfoOfAResult(t *testing.T) {
	dir, _ := factorised(t, ingested(t, tall), "-k", "2")
	if text := succeeds(t, "info", dir); !strings.Contains(text, "converged: 2 of 2 triplets") {
		t.Errorf("info:\n%s", text)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, factor.ResultFile), []byte(`{"format":"gdsvd-result/9"}`), 0o666))
	fails(t, ui.ExitCorrupt, `result.json: format "gdsvd-result/9", want "gdsvd-result/3": it is damaged, or of another version or program`, "info", dir)
	fails(t, ui.ExitError, "neither a store nor a result", "info", t.TempDir())
	fails(t, ui.ExitError, "no such file", "info", filepath.Join(t.TempDir(), "nothing"))
}

// TestCorruptStore: each command that reads a store reports damage before it prints a result.
func TestCorruptStore(t *testing.T) {
	flip := func(name string, at int) func(t *testing.T, store string) {
		return func(t *testing.T, store string) {
			file := filepath.Join(store, name)
			data := must.Get(os.ReadFile(file))(t)
			data[(at+len(data))%len(data)] ^= 0x10
			must.Do(t, os.WriteFile(file, data, 0o666))
		}
	}
	cut := func(t *testing.T, store string) {
		must.Do(t, os.Truncate(filepath.Join(store, "shard-000000.csr"), 500))
	}
	for name, damage := range map[string]func(t *testing.T, store string){
		"block": flip("shard-000000.csr", 400), "footer": flip("shard-000000.csr", -40), "manifest": flip("MANIFEST.json", 100), "truncated": cut,
	} {
		t.Run(name, func(t *testing.T) {
			store := ingested(t, tall)
			damage(t, store)
			o := fails(t, ui.ExitCorrupt, "problems found: corrupt store", "check", store)
			if !strings.Contains(o.stdout, store) || strings.Contains(o.stdout, "is sound") {
				t.Errorf("check prints\n%s", o.stdout)
			}
			o = gdsvd(t, "check", store, "--json", "-q")
			var r storeReport
			decode(t, o.stdout, &r)
			if o.code != ui.ExitCorrupt || r.OK || len(r.Problems) == 0 {
				t.Errorf("exit %d, %+v", o.code, r)
			}
			work := t.TempDir()
			fails(t, ui.ExitCorrupt, `^gdsvd: .*m\.csr`, "svd", store, "-k", "2", "-o", filepath.Join(work, "out"))
			if left := names(t, work); len(left) > 0 {
				t.Errorf("svd leaves %v", left)
			}
		})
	}
	t.Run("newer version", func(t *testing.T) {
		store := ingested(t, tall)
		file := filepath.Join(store, "MANIFEST.json")
		data := must.Get(os.ReadFile(file))(t)
		must.Do(t, os.WriteFile(file, bytes.Replace(data, []byte(`"version": 1`), []byte(`"version": 2`), 1), 0o666))
		fails(t, ui.ExitCorrupt, "version", "info", store)
		fails(t, ui.ExitCorrupt, "version", "svd", store, "-k", "2", "-o", filepath.Join(t.TempDir(), "out"))
	})
	t.Run("stray file", func(t *testing.T) {
		store := ingested(t, tall)
		must.Do(t, os.WriteFile(filepath.Join(store, "notes.txt"), nil, 0o666))
		if text := succeeds(t, "check", store, "--quick"); !strings.Contains(text, "warning: ") || !strings.Contains(text, "notes.txt") || !strings.Contains(text, "is sound") {
			t.Errorf("check prints\n%s", text)
		}
	})
}

func TestDemo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	text := succeeds(t, "demo", "-q")
	for _, want := range []string{"960 users × 320 items, 232800 ratings", "All 10 values agree with the known ones.", "gdsvd ingest ratings.dat -o ratings.csr", "gdsvd svd ratings.csr -k 10 -o ratings.svd"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if left := names(t, os.TempDir()); len(left) > 0 {
		t.Errorf("the demo leaves %v", left)
	}
	if raceDetector {
		return // one run is enough with the race detector
	}
	keep := filepath.Join(t.TempDir(), "demo")
	var d demoResult
	decode(t, succeeds(t, "demo", "-q", "--keep", keep, "--json"), &d)
	if !(d.Worst <= demoMaxError) || len(d.Sigma) != demoRank {
		t.Errorf("%+v", d)
	}
	if got, want := names(t, keep), []string{"ratings.csr", "ratings.dat", "ratings.svd"}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

// TestDemoValuesAreSeparate: neighbouring values of the demonstration differ by 5 %, enough for gd.
func TestDemoValuesAreSeparate(t *testing.T) {
	s := synth.NewKronecker(demoUsers, demoItems, demoSeed).Singular(demoRank + 1)
	for i := range demoRank {
		if s[i+1] > 0.95*s[i] {
			t.Errorf("values %d and %d are %v and %v", i+1, i+2, s[i], s[i+1])
		}
	}
}

func TestGenerate(t *testing.T) {
	work := t.TempDir()
	file := filepath.Join(work, "r.dat")
	args := []string{"generate", "ratings", "--users", "30", "--items", "40", "--ratings", "700", "-o"}
	succeeds(t, append(args, file)...)
	written := must.Get(os.ReadFile(file))(t)
	if got := succeeds(t, append(args, "-")...); got != string(written) {
		t.Error("standard output and the file differ")
	}
	fails(t, ui.ExitError, `r.dat: file (already )?exists \(--force replaces it\)`, append(args, file)...)
	succeeds(t, append(args, file, "--force", "--seed", "5")...)
	again := must.Get(os.ReadFile(file))(t)
	if bytes.Equal(written, again) {
		t.Error("another seed gives the same file")
	}
	if left := names(t, work); !slices.Equal(left, []string{"r.dat"}) {
		t.Errorf("beside the file lie %v", left)
	}
}

// TestGenerateKron: the values of an expansion are those recorded as its truth.
func TestGenerateKron(t *testing.T) {
	base, out := ingested(t, wide), filepath.Join(t.TempDir(), "k.csr")
	args := []string{"generate", "kron", "--base", base, "--rows", "2", "--cols", "3", "--nnz", "4", "-o", out}
	succeeds(t, args...)
	fails(t, ui.ExitError, `k.csr: file (already )?exists`, args...)
	succeeds(t, append(args, "--force", "--seed", "7")...)
	succeeds(t, "check", out)
	s := must.Get(csr.Open(out, csr.OpenOptions{}))(t)
	defer s.Close()
	truth := must.Get(s.Truth())(t)
	rows, cols := factor.Dims(s)
	if rows != int64(2*wide.Users) || cols != int64(3*wide.Items) || s.NNZ() != 4*wide.Ratings {
		t.Errorf("%d × %d with %d entries", rows, cols, s.NNZ())
	}
	_, r := factorised(t, out, "-k", "6", "--method", "krylov")
	for i, sigma := range r.Sigma {
		if want := truth.Sigma[i]; math.Abs(float64(sigma)-want) > 1e-8*truth.Sigma[0] {
			t.Errorf("value %d is %v, the truth %v", i+1, sigma, want)
		}
	}
}

// TestGenerateSpectrum: the values of a generated matrix are those recorded as its truth, for each kind of spectrum.
func TestGenerateSpectrum(t *testing.T) {
	for kind, flags := range map[string][]string{
		"exponential": {"--decay", "0.8"},
		"polynomial":  {"--power", "0.7"},
		"linear":      {"--rank", "20"},
		"gap":         {"--gap", "0.05"},
		"clustered":   {"--decay", "0.6", "--group", "3", "--width", "1e-7"},
		"repeated":    {"--decay", "0.6", "--group", "2"},
	} {
		out := filepath.Join(t.TempDir(), "s.csr")
		args := slices.Concat([]string{"generate", "spectrum", "--rows", "300", "--cols", "400", "--values", kind, "-o", out}, flags)
		if text := succeeds(t, args...); !strings.Contains(text, "300 × 400, ") {
			t.Errorf("%s prints %s", kind, text)
		}
		fails(t, ui.ExitError, `s.csr: file (already )?exists`, args...)
		succeeds(t, append(args, "--force", "--seed", "7")...)
		succeeds(t, "check", out)
		s := must.Get(csr.Open(out, csr.OpenOptions{}))(t)
		truth, err := s.Truth()
		must.Do(t, errors.Join(err, s.Close()))
		_, r := factorised(t, out, "-k", "6")
		for i, sigma := range r.Sigma {
			want := 0.0
			if i < len(truth.Sigma) {
				want = truth.Sigma[i]
			}
			if math.Abs(float64(sigma)-want) > 1e-8*truth.Sigma[0] {
				t.Errorf("%s: value %d is %v, the truth %v", kind, i+1, sigma, want)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if text := succeeds(t, "version"); !strings.HasPrefix(text, "gdsvd ") || !strings.Contains(text, "store format 1") {
		t.Errorf("version prints\n%s", text)
	} else if first, _, _ := strings.Cut(text, "\n"); succeeds(t, "--version") != first+"\n" {
		t.Errorf("--version does not print %s", first)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("standard output is broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// TestBrokenStandardOutput: a command whose output cannot be written fails.
func TestBrokenStandardOutput(t *testing.T) {
	store := ingested(t, tall)
	for _, args := range [][]string{
		{"info", store}, {"info", store, "--json"}, {"info", store, "--ids", "rows"}, {"check", store}, {"version"},
		{"svd", "-q", store, "-k", "1", "-o", filepath.Join(t.TempDir(), "out")},
		{"ingest", "-q", ratings(t, tall), "-o", filepath.Join(t.TempDir(), "m.csr")},
	} {
		var stderr bytes.Buffer
		code := newApp(strings.NewReader(""), brokenWriter{}, &stderr).run(context.Background(), args)
		if code != ui.ExitError || !strings.Contains(stderr.String(), errBroken.Error()) {
			t.Errorf("%v: exit %d, %s", args, code, &stderr)
		}
	}
}

// TestWithoutEntries: a matrix without entries, rows or columns is described without NaN and Inf.
func TestWithoutEntries(t *testing.T) {
	for _, sides := range []string{"0 0", "3 4", "0 5", "5 0"} {
		file, store := filepath.Join(t.TempDir(), "m.mtx"), filepath.Join(t.TempDir(), "m.csr")
		must.Do(t, os.WriteFile(file, []byte("%%MatrixMarket matrix coordinate real general\n"+sides+" 0\n"), 0o666))
		made := []string{"ingest", "-q", file, "-o", store, "--force"}
		for _, args := range [][]string{made, append(slices.Clone(made[:5]), "--resume"), {"info", store}, {"check", "-q", store}} {
			for _, form := range []string{"--json=false", "--json"} {
				if said := succeeds(t, append(slices.Clone(args), form)...); strings.Contains(said, "NaN") || strings.Contains(said, "Inf") {
					t.Errorf("%s: %v says\n%s", sides, args, said)
				}
			}
		}
	}
	// A clock that returns the same time twice.
	var out bytes.Buffer
	a := newApp(strings.NewReader(""), &out, io.Discard)
	for _, a.json = range []bool{false, true} {
		must.Do(t, a.printIngest(&ingest.Report{Store: "m.csr", InputBytes: 52}))
	}
	if said := out.String(); strings.Contains(said, "NaN") || !strings.Contains(said, "0.00 s\n") {
		t.Errorf("without time:\n%s", said)
	}
}
