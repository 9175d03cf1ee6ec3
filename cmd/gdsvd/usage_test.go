package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/ingest/format/all"
)

// TestWrongUsage: wrong uses of the command line exit with 2 and one line that names a
// remedy, print nothing on standard output and write no files.
func TestWrongUsage(t *testing.T) {
	store := ingested(t, tall)
	file := ratings(t, tall)
	work := t.TempDir()
	out := filepath.Join(work, "out")
	svd := func(args ...string) []string { return append([]string{"svd", store, "-o", out}, args...) }
	ingest := func(args ...string) []string { return append([]string{"ingest", file, "-o", out}, args...) }
	formatNames := []string{"auto"}
	for _, f := range all.Formats(all.Options{}) {
		if f.Name != "" {
			formatNames = append(formatNames, f.Name)
		}
	}
	formats := strings.Join(formatNames[:len(formatNames)-1], ", ") + " or " + formatNames[len(formatNames)-1]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"svdd"}, `unknown command "svdd"; did you mean svd? (see gdsvd -h)`},
		{[]string{"frobnicate"}, `unknown command "frobnicate" (see gdsvd -h)`},
		{[]string{"--nonsense"}, `unknown flag: --nonsense (see gdsvd -h)`},
		{[]string{"recommend", "--row=u"}, `unknown flag: --row; did you mean --rows? (see gdsvd recommend -h)`},
		{[]string{"svd", "-K", "3"}, `unknown shorthand flag: 'K' in -K; did you mean --rank? (see gdsvd svd -h)`},
		{[]string{"version", "x"}, `"x": no argument is wanted (see gdsvd version -h)`},
		{[]string{"version", "--log-level", "loud"}, `invalid argument "loud" for "--log-level" flag: choose debug, info, warn or error (see gdsvd version -h)`},

		{[]string{"svd"}, `want one STORE, not 0 arguments (see gdsvd svd -h)`},
		{[]string{"svd", store, store}, `want one STORE, not 2 arguments (see gdsvd svd -h)`},
		{svd(), `the number of triplets is missing: give it with -k, or the share of the energy to capture, such as -k 0.9 (see gdsvd svd -h)`},
		{[]string{"svd", store, "-k", "2"}, `no OUT to write: give one with -o (see gdsvd svd -h)`},
		{svd("-k", "0"), `-k 0: at least 1 triplet is wanted (see gdsvd svd -h)`},
		{svd("-k", "two"), `invalid argument "two" for "-k, --rank" flag: want a whole number of triplets, or the share of the energy to capture, such as 0.9 or 90% (see gdsvd svd -h)`},
		{svd("-k", "99999999999999999999"), `invalid argument "99999999999999999999" for "-k, --rank" flag: want a smaller number (see gdsvd svd -h)`},
		{svd("-k", "1.0"), `invalid argument "1.0" for "-k, --rank" flag: it may be one triplet, which is -k 1, or all of the energy, which takes every triplet whose value is not 0: give their number, or a share below 1, such as 0.9999 (see gdsvd svd -h)`},
		{svd("-k", "100%"), `invalid argument "100%" for "-k, --rank" flag: all of the energy takes every triplet whose value is not 0: give their number, or a share below 100%, such as 99.99% (see gdsvd svd -h)`},
		{svd("-k", "2.5"), `invalid argument "2.5" for "-k, --rank" flag: it is neither a whole number of triplets nor a share of the energy, which is between 0 and 1 (see gdsvd svd -h)`},
		{svd("-k", "NaN"), `invalid argument "NaN" for "-k, --rank" flag: it is neither a whole number of triplets nor a share of the energy, which is between 0 and 1 (see gdsvd svd -h)`},
		{svd("-k", "120%"), `invalid argument "120%" for "-k, --rank" flag: it is neither a whole number of triplets nor a share of the energy, which is between 0 and 100 (see gdsvd svd -h)`},
		{svd("-k", "3", "--max-k", "9"), `--max-k 9 is for a share of the energy, such as -k 0.9; -k 3 is the number of triplets (see gdsvd svd -h)`},
		{svd("-k", "0.5", "--max-k", "0"), `--max-k 0: at least 1 triplet is wanted (see gdsvd svd -h)`},
		{svd("-k", "2", "--tol", "small"), `invalid argument "small" for "--tol" flag: want a number (see gdsvd svd -h)`},
		{svd("-k", "41"), `-k 41: a 90 × 40 matrix has only 40 singular values (see gdsvd svd -h)`},
		{svd("-k", "2", "--method", "lanczos"), `invalid argument "lanczos" for "--method" flag: choose auto, gd, polyak, nesterov, nesterov-general, block, krylov or power (see gdsvd svd -h)`},
		{svd("-k", "2", "--deflation", "x"), `invalid argument "x" for "--deflation" flag: choose projected or plain (see gdsvd svd -h)`},
		{svd("-k", "2", "--stop", "x"), `invalid argument "x" for "--stop" flag: choose residual or paper (see gdsvd svd -h)`},
		{svd("-k", "2", "--vectors", "x"), `invalid argument "x" for "--vectors" flag: choose both, left, right or none (see gdsvd svd -h)`},
		{svd("-k", "2", "--eta", "1", "--method", "gd"), `--eta 1: the step size lies between 0 and 1, both excluded (see gdsvd svd -h)`},
		{svd("-k", "2", "--eta", "NaN", "--method", "gd"), `--eta NaN: the step size lies between 0 and 1, both excluded (see gdsvd svd -h)`},
		{svd("-k", "2", "--eta", "0.3", "--method", "power"), `--eta is the step size of gd, polyak and nesterov; --method power has none (see gdsvd svd -h)`},
		{svd("-k", "2", "--beta", "0.3"), `--beta is the momentum of polyak and nesterov; --method auto finds what it needs: name the method (see gdsvd svd -h)`},
		{svd("-k", "2", "--beta", "0.3", "--method", "gd"), `--beta is the momentum of polyak and nesterov; --method gd has none (see gdsvd svd -h)`},
		{svd("-k", "2", "--beta", "1", "--method", "nesterov"), `--beta 1: the momentum lies between 0 and 1, both excluded (see gdsvd svd -h)`},
		{svd("-k", "2", "--eta", "0.9", "--beta", "0.5", "--method", "nesterov"), `--eta 0.9 --beta 0.5: too large together for nesterov, which needs (2η−1)(1+2β) < 1 (see gdsvd svd -h)`},
		{svd("-k", "2", "--operator", "dilation", "--method", "krylov"), `--operator dilation has negative eigenvalues, which --method krylov cannot work with; take one that finds one vector at a time (see gdsvd svd -h)`},
		{svd("-k", "2", "--rho", "1", "--method", "nesterov-general"), `--rho 1: the condition number of the accelerated scheme lies between 1 and +Inf, both excluded (see gdsvd svd -h)`},
		{svd("-k", "2", "--tol", "0"), `--tol 0: want a tolerance between 0 and 1, both excluded (see gdsvd svd -h)`},
		{svd("-k", "2", "--tol", "-1e-8"), `--tol -1e-08: want a tolerance between 0 and 1, both excluded (see gdsvd svd -h)`},
		{svd("-k", "2", "--checkpoint-every", "-1s"), `--checkpoint-every -1s: want a time, or 0 for never (see gdsvd svd -h)`},
		{svd("-k", "2", "--time-limit", "-1s"), `--time-limit -1s: want a time, or 0 for no limit (see gdsvd svd -h)`},
		{svd("-k", "2", "--max-passes", "-1"), `--max-passes -1: want a number of passes, or 0 for no limit (see gdsvd svd -h)`},
		{svd("-k", "2", "--workers", "-1"), `--workers -1: want 1 or more, or 0 for all processors (see gdsvd svd -h)`},
		{svd("-k", "2", "--keep-cols", "hvg:0"), `--keep-cols hvg:0: byte 18, "0": the number of columns is a whole number above 0; want keep=columns|rows,FILE or keep=columns|rows,hvg:N[,flavor:seurat|cell_ranger] (see gdsvd svd -h)`},
		{svd("-k", "2", "--memory", "lots"), `invalid argument "lots" for "--memory" flag: size "lots" is not understood (write 800MB, 512MiB, 1.5GiB or a number of bytes) (see gdsvd svd -h)`},
		{svd("-k", "2", "--seed", "-1"), `invalid argument "-1" for "--seed" flag: want a whole number, 0 or more (see gdsvd svd -h)`},

		{[]string{"export", "out.svd", "-o", out}, `give what to export with --what (see gdsvd export -h)`},
		{[]string{"export", "out.svd", "--what", "W", "-o", out}, `invalid argument "W" for "--what" flag: choose U, V, US, VS, sigma, X, matrix or recs (see gdsvd export -h)`},
		{[]string{"export", "out.svd", "--what", "U"}, `no FILE to write: give one with -o; nothing is exported to standard output (see gdsvd export -h)`},
		{[]string{"export", "out.svd", "--what", "U", "-o", "-"}, `no FILE to write: give one with -o; nothing is exported to standard output (see gdsvd export -h)`},
		{[]string{"export", "out.svd", "--what", "U", "-o", out + ".xls"}, `-o ` + out + `.xls: its extension is not that of a format: want one of npy, npy32, npz, csv, tsv, parquet, mtx; --format names it (see gdsvd export -h)`},
		{[]string{"align", store, "-o", out}, `the old result is missing: give it with --to (see gdsvd align -h)`},
		{[]string{"align", store, "--to", store}, `no X to write: give one with -o (see gdsvd align -h)`},
		{[]string{"align", store, "--to", store, "-o", out, "--sample", "0"}, `--neighbours 10 --sample 0: want 1 or more (see gdsvd align -h)`},
		{[]string{"project", store, "-o", out}, `want a result OUT and at least one NEW (see gdsvd project -h)`},
		{[]string{"project", store, file}, `no X to write: give one with -o (see gdsvd project -h)`},
		{[]string{"project", store, file, "-o", out, "--workers", "-1"}, `--workers -1: want 1 or more, or 0 for all processors (see gdsvd project -h)`},
		{[]string{"project", store, file, "-o", out, "--side", "x"}, `invalid argument "x" for "--side" flag: choose rows or columns (see gdsvd project -h)`},

		{[]string{"ingest", "-o", out}, `no INPUT: name files, or - for standard input (see gdsvd ingest -h)`},
		{[]string{"ingest", file}, `no STORE to write: give one with -o (see gdsvd ingest -h)`},
		{ingest("--format", "xml"), `invalid argument "xml" for "--format" flag: choose ` + formats + ` (see gdsvd ingest -h)`},
		{ingest("--duplicates", "x"), `invalid argument "x" for "--duplicates" flag: choose error, sum, mean, first, last or max (see gdsvd ingest -h)`},
		{ingest("--orient", "x"), `invalid argument "x" for "--orient" flag: choose auto, rows or cols (see gdsvd ingest -h)`},
		{ingest("--header", "x"), `invalid argument "x" for "--header" flag: choose auto, yes or no (see gdsvd ingest -h)`},
		{ingest("--index-base", "2"), `invalid argument "2" for "--index-base" flag: choose auto, 0 or 1 (see gdsvd ingest -h)`},
		{ingest("--features", "-1"), `--features -1: want 0 or more (see gdsvd ingest -h)`},
		{ingest("--columns", "user"), `--columns user: want user,item or user,item,value or user,item,value,time (see gdsvd ingest -h)`},
		{ingest("--max-bad-lines", "-1"), `--max-bad-lines -1: want 0 or more (see gdsvd ingest -h)`},
		{ingest("--workers", "-2"), `--workers -2: want 1 or more, or 0 for all processors (see gdsvd ingest -h)`},
		{ingest("--memory", "auto"), `invalid argument "auto" for "--memory" flag: size "auto" is not understood (write 800MB, 512MiB, 1.5GiB or a number of bytes) (see gdsvd ingest -h)`},

		{[]string{"info"}, `want one STORE or OUT, not 0 arguments (see gdsvd info -h)`},
		{[]string{"info", store, "--ids", "both"}, `invalid argument "both" for "--ids" flag: choose rows or cols (see gdsvd info -h)`},
		{[]string{"check"}, `want one STORE or OUT, not 0 arguments (see gdsvd check -h)`},
		{[]string{"generate", "movies"}, `unknown command "movies" (see gdsvd generate -h)`},
		{[]string{"generate", "rating"}, `unknown command "rating"; did you mean ratings? (see gdsvd generate -h)`},
		{[]string{"generate", "ratings"}, `no FILE to write: give one with -o, - for standard output (see gdsvd generate ratings -h)`},
		{[]string{"generate", "ratings", "-o", out, "--users", "10", "--ratings", "199"}, `generate ratings: 199 ratings are too few: each of 10 users has at least 20 (see gdsvd generate ratings -h)`},
		{[]string{"generate", "kron", "-o", out}, `no STORE to expand: give one with --base (see gdsvd generate kron -h)`},
		{[]string{"generate", "kron", "--base", store}, `no STORE to write: give one with -o (see gdsvd generate kron -h)`},
		{[]string{"generate", "kron", "--base", store, "-o", out, "--rows", "2", "--cols", "2"}, `factor of 2 × 2 with 0 entries: want 2 to 4, no row or column empty (see gdsvd generate kron -h)`},
		{[]string{"generate", "spectrum", "--rows", "9", "--cols", "9"}, `no STORE to write: give one with -o (see gdsvd generate spectrum -h)`},
		{[]string{"generate", "spectrum", "-o", out}, `matrix of 0 × 0: want at least 1 × 1 (see gdsvd generate spectrum -h)`},
		{[]string{"generate", "spectrum", "-o", out, "--rows", "9", "--cols", "9", "--values", "flat"}, `invalid argument "flat" for "--values" flag: choose exponential, polynomial, linear, gap, clustered or repeated (see gdsvd generate spectrum -h)`},
		{[]string{"generate", "spectrum", "-o", out, "--rows", "9", "--cols", "9", "--decay", "2"}, `decay of 2: want more than 0 and less than 1 (see gdsvd generate spectrum -h)`},
		{[]string{"demo", "--keep", work}, fmt.Sprintf(`--keep %s: it exists already (see gdsvd demo -h)`, work)},
	} {
		o := gdsvd(t, c.args...)
		if o.code != ui.ExitUsage || o.stdout != "" || o.stderr != "gdsvd: "+c.want+"\n" {
			t.Errorf("gdsvd %s: exit %d\n got %s%swant gdsvd: %s", strings.Join(c.args, " "), o.code, o.stdout, o.stderr, c.want)
		}
	}
	if left := names(t, work); len(left) > 0 {
		t.Errorf("wrong usage has written %v", left)
	}
}

func TestHelp(t *testing.T) {
	for _, cmd := range allCommands() {
		path := strings.Fields(cmd.CommandPath())[1:]
		text := succeeds(t, append(path, "-h")...)
		if !strings.Contains(text, "Examples:\n  gdsvd") && !strings.Contains(text, "Examples:\n  zcat") {
			t.Errorf("gdsvd %s -h shows no example", strings.Join(path, " "))
		}
	}
	if succeeds(t) != succeeds(t, "-h") {
		t.Error("gdsvd alone does not print its help")
	}
}

// TestExamplesAreValid: the command lines in the examples of help can be parsed.
func TestExamplesAreValid(t *testing.T) {
	for _, cmd := range allCommands() {
		for line := range strings.Lines(cmd.Example) {
			for command := range strings.SplitSeq(line, "|") {
				command, _, _ = strings.Cut(command, ">")
				words := strings.Fields(command)
				if words[0] != "gdsvd" {
					continue
				}
				found, rest, err := newApp(nil, nil, nil).rootCommand().Find(words[1:])
				if err != nil {
					t.Errorf("%s: %v", line, err)
				} else if err := found.ParseFlags(rest); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	if text := succeeds(t, "completion", "bash"); !strings.Contains(text, "__start_gdsvd") {
		t.Error("no bash completion")
	}
	formats := []string{"auto"}
	for _, f := range all.Formats(all.Options{}) {
		if f.Name != "" {
			formats = append(formats, f.Name)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"svd", "--method", ""}, "auto\ngd\npolyak\nnesterov\nnesterov-general\nblock\nkrylov\npower\n:4\n"},
		{[]string{"ingest", "--format", ""}, strings.Join(formats, "\n") + "\n:4\n"},
		{[]string{"svd", ""}, ":16\n"},   // completes directories
		{[]string{"ingest", ""}, ":0\n"}, // completes files
	} {
		o := gdsvd(t, append([]string{"__complete"}, c.args...)...)
		if o.code != ui.ExitOK || o.stdout != c.want {
			t.Errorf("completion of %q:\n%s\nwant\n%s", c.args, o.stdout, c.want)
		}
	}
}

// TestEndedRunIsFreed: the process keeps no reference to a finished run, such as its flags in a table of a library.
func TestEndedRunIsFreed(t *testing.T) {
	run := func() weak.Pointer[app] {
		a := newApp(strings.NewReader(""), io.Discard, io.Discard)
		a.run(t.Context(), []string{"svd", "--help"})
		return weak.Make(a)
	}
	ended := run()
	runtime.GC()
	if ended.Value() != nil {
		t.Error("a run that has ended is still in memory")
	}
}

func TestConfig(t *testing.T) {
	store := ingested(t, tall)
	config := func(text string) string {
		return write(t, t.TempDir(), "gdsvd.json", text)
	}
	run := func(text string, flags ...string) factor.Result {
		_, r := factorised(t, store, append(flags, "--config", config(text))...)
		return r
	}
	const text = `{"rank": 3, "tol": 1e-6, "method": "power", "force": true, "columns": ["u", "i"], "duplicates": "sum", "seed": 18446744073709551615}`
	if r := run(text); r.K != 3 || r.Settings.Tol != 1e-6 || r.Method != "power" || r.Seed != 1<<64-1 || r.Settings.Vectors != "both" {
		t.Errorf("the file is not obeyed: %+v", r)
	}
	if r := run(text, "-k", "2", "--tol", "1e-7"); r.K != 2 || r.Settings.Tol != 1e-7 || r.Method != "power" {
		t.Errorf("flags do not win: k %d, tol %v, method %s", r.K, r.Settings.Tol, r.Method)
	}
	// A step size in the configuration file applies to gd and is ignored by other methods.
	if r := run(`{"eta": 0.3}`, "-k", "2", "--method", "power"); len(r.Settings.OfMethod) != 0 {
		t.Errorf("power ran with %v", r.Settings.OfMethod)
	}
	if r := run(`{"eta": 0.3}`, "-k", "2", "--method", "gd"); r.Settings.OfMethod["eta"] != 0.3 {
		t.Errorf("gd ran with %v", r.Settings.OfMethod)
	}
	for text, want := range map[string]string{
		`{"rnak": 3}`:         `unknown key "rnak": keys are the long names of flags`,
		`{"k": 3}`:            `unknown key "k"`,
		`{"config": "x"}`:     `unknown key "config"`,
		`{"tol": "tight"}`:    `invalid argument "tight" for "--tol" flag`,
		`{"tol": {"a": 1}}`:   `key "tol": want a text, a number, true, false or a list of them`,
		`{"tol": null}`:       `key "tol": want a text`,
		`[1]`:                 `want one JSON object`,
		`{"tol": 1e-6} extra`: `want one JSON object and nothing after it`,
		``:                    `want one JSON object`,
	} {
		o := gdsvd(t, "svd", "-q", store, "-k", "2", "-o", filepath.Join(t.TempDir(), "out"), "--config", config(text))
		if o.code != ui.ExitUsage || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit %d\n%s\nwant %s", text, o.code, o.stderr, want)
		}
	}
	fails(t, ui.ExitUsage, "read configuration: open .*missing.json", "version", "--config", filepath.Join(t.TempDir(), "missing.json"))
	// Common flags may be set in the configuration file, too.
	var v ui.Version
	decode(t, succeeds(t, "version", "--config", config(`{"json": true}`)), &v)
}

// TestJSON: with --json each command with a result prints exactly one JSON value (TestDemo checks one more command).
func TestJSON(t *testing.T) {
	store, work := ingested(t, wide), t.TempDir()
	result, _ := factorised(t, store, "-k", "2")
	for _, args := range [][]string{
		{"version"},
		{"ingest", ratings(t, tall), "-o", filepath.Join(work, "a.csr")},
		{"svd", store, "-k", "2", "-o", filepath.Join(work, "a.svd")},
		{"info", store},
		{"info", result},
		{"check", store},
		{"generate", "ratings", "--users", "30", "--items", "40", "--ratings", "700", "-o", filepath.Join(work, "a.dat")},
		{"generate", "kron", "--base", store, "--rows", "2", "--cols", "2", "--nnz", "3", "-o", filepath.Join(work, "k.csr")},
		{"generate", "spectrum", "--rows", "20", "--cols", "30", "-o", filepath.Join(work, "s.csr")},
	} {
		var object map[string]any
		decode(t, succeeds(t, append(args, "--json")...), &object)
		if len(object) == 0 {
			t.Errorf("%v: an empty object", args)
		}
	}
	var ids []int64
	decode(t, succeeds(t, "info", store, "--ids", "rows", "--json"), &ids)
	if len(ids) != wide.Users {
		t.Errorf("%d row ids, want %d", len(ids), wide.Users)
	}
}

// TestAmbiguousInput: an input that can be read in two ways is refused; the error names the flag
// for each reading, and the flags work.
func TestAmbiguousInput(t *testing.T) {
	for _, c := range []struct {
		text, want string
		flags      [2][]string
	}{
		{"0,1,2\n1,10,3.5\n", `"0,1,2": ambiguous: the first line is the numbers of columns (--header yes), or it is an entry (--header no)`,
			[2][]string{{"--header", "yes"}, {"--header", "no"}}},
		{"who,what,when,age\n1,10,2020-01-01,3\n", `"who,what,when,age": ambiguous: the value is "age" (--columns who,what,age), or there is none and every entry is 1 (--columns who,what)`,
			[2][]string{{"--columns", "who,what,age"}, {"--columns", "who,what"}}},
		{"1;3,5\n", `"1;3,5": ambiguous: fields are separated by commas (--sep ','), or fields are separated by semicolons (--sep ';')`,
			[2][]string{{"--sep", ",", "--header", "no"}, {"--sep", ";"}}},
	} {
		file := write(t, t.TempDir(), "in", c.text)
		out := filepath.Join(t.TempDir(), "m.csr")
		o := gdsvd(t, "ingest", file, "-o", out)
		if want := fmt.Sprintf("gdsvd: %s:1: %s (see gdsvd ingest -h)\n", file, c.want); o.code != ui.ExitUsage || o.stdout != "" || o.stderr != want {
			t.Errorf("exit %d\n got %s%swant %s", o.code, o.stdout, o.stderr, want)
		}
		for _, flags := range c.flags {
			succeeds(t, append([]string{"ingest", "-q", file, "--force", "-o", out}, flags...)...)
		}
	}
}
