package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// work is a command that makes something, with what it makes without an attack.
type work struct {
	name    string
	args    []string // without -o and --resume
	saves   []string // flags for frequent checkpoints
	resume  bool     // the command can be resumed
	compare []string // files that have the same bytes every time; nil: all
	long    bool     // only for -long

	want string        // path of what the command makes without an attack
	took time.Duration // time that it then takes
}

// vectors are the files of a result that have the same bytes every time.
var vectors = []string{"sigma.npy", "U.npy", "V.npy"}

// inputs makes the files that the commands read, and returns their directory.
func (t *Trial) inputs() string {
	return t.fixture("inputs", func(t *Trial) {
		for _, args := range [][]string{
			{"generate", "ratings", "-q", "-o", t.path("r.dat"), "--users", "1500", "--items", "600", "--ratings", "150000", "--seed", "1"},
			{"generate", "ratings", "-q", "-o", t.path("big.dat"), "--users", "6000", "--items", "1000", "--ratings", "1200000", "--seed", "1"},
			{"generate", "ratings", "-q", "-o", t.path("small.dat"), "--users", "400", "--items", "300", "--ratings", "30000", "--seed", "1"},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("m.csr"), "--shard-size", "16KiB"},
			{"ingest", "-q", t.path("small.dat"), "-o", t.path("base.csr")},
		} {
			t.must(gdsvd(args...))
		}
		split(t.path("r.dat"), t.path("part"), 12)
	})
}

// split cuts a file of lines into parts, every second of them compressed.
func split(file, prefix string, parts int) {
	lines := bytes.SplitAfter(need(os.ReadFile(file)), []byte("\n"))
	for i := range parts {
		part := bytes.Join(lines[i*len(lines)/parts:(i+1)*len(lines)/parts], nil)
		name := fmt.Sprintf("%s%02d.dat", prefix, i)
		if i%2 == 1 {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			need(w.Write(part))
			check(w.Close())
			part, name = z.Bytes(), name+".gz"
		}
		check(os.WriteFile(name, part, 0o666))
	}
}

// works returns the commands to attack.
func (t *Trial) works(long bool) []work {
	in := t.inputs()
	at := func(name string) string { return filepath.Join(in, name) }
	often := []string{"--checkpoint-every", "1ms"}
	all := []work{
		{name: "ingest", args: []string{"ingest", at("r.dat")}, saves: often, resume: true},
		{name: "ingest of 12 files", args: []string{"ingest", at("part*")}, saves: often, resume: true},
		{name: "ingest that sorts on the disk", args: []string{"ingest", at("big.dat"), "--memory", "48MiB"}, saves: often, resume: true},
		{name: "generate kron", args: []string{"generate", "kron", "--base", at("base.csr"), "--rows", "8", "--cols", "8", "--nnz", "40", "--shard-size", "128KiB"}},
		{name: "generate spectrum", args: []string{"generate", "spectrum", "--rows", "50000", "--cols", "3000", "--shard-size", "512KiB"}},
		{name: "generate ratings", args: []string{"generate", "ratings", "--users", "2000", "--items", "500", "--ratings", "300000"}},
	}
	for _, flags := range []string{"auto", "power", "nesterov", "polyak", "block", "krylov", "krylov --block 8 --basis 30"} {
		args := slices.Concat([]string{"svd", at("m.csr"), "-k", "6", "--tol", "1e-12", "--method"}, strings.Fields(flags))
		all = append(all, work{name: "svd " + flags, args: args, saves: often, resume: true, compare: vectors})
	}
	if !long {
		return all
	}
	files := t.fixture("files", func(t *Trial) {
		t.must(gdsvd("generate", "spectrum", "-q", "--rows", "400000", "--cols", "350000", "--layers", "2", "--rank", "12", "-o", t.path("m.csr")))
	})
	return append(all, work{
		name: "svd with vectors in files", saves: often, resume: true, compare: vectors, long: true,
		args: []string{"svd", filepath.Join(files, "m.csr"), "-k", "3", "--method", "krylov", "--block", "1", "--basis", "12", "--memory", "64MiB"},
	})
}

// command returns the job of the work with its output at out.
func (w *work) command(out string, more ...string) job {
	return gdsvd(slices.Concat(w.args, []string{"-q", "-o", out}, more)...)
}

// saved returns the job with frequent checkpoints, resumed if the command supports it, else with --force.
func (w *work) saved(out string) job {
	if w.resume {
		return w.command(out, append(slices.Clone(w.saves), "--resume")...)
	}
	return w.command(out, append(slices.Clone(w.saves), "--force")...)
}

// refer makes what the work makes without an attack and measures the time.
func (t *Trial) refer(w work) *work {
	dir := t.fixture("want-"+strings.ReplaceAll(w.name, " ", "-"), func(t *Trial) {
		t.must(w.command(t.path("out"), w.saves...))
		// The second run is timed: the first has to read everything from the disk.
		p := t.must(w.command(t.path("again"), w.saves...))
		check(os.WriteFile(t.path("took"), []byte(p.took.String()), 0o666))
		check(os.RemoveAll(t.path("again")))
	})
	w.want = filepath.Join(dir, "out")
	w.took = need(time.ParseDuration(string(need(os.ReadFile(filepath.Join(dir, "took"))))))
	return &w
}

// same checks that out is what the work makes without an attack, and that nothing is beside it.
func (w *work) same(out string) {
	if beside := names(filepath.Dir(out)); !slices.Equal(beside, []string{filepath.Base(out)}) {
		check(wrongf("%s: at the end there are %v", w.name, beside))
	}
	if info, err := os.Stat(w.want); err != nil || !info.IsDir() {
		check(sameFile(w.want, out))
		return
	}
	sameFiles(w.want, out, w.compare...)
}

// finish resumes the work until it is done and checks what it has made.
func (t *Trial) finish(w *work, out string) {
	t.must(w.saved(out))
	w.same(out)
}

// draw picks a work and a directory for its output, and adds its name to the kind of the trial.
func (t *Trial) draw(kind string) (w *work, out string) {
	all := t.works(t.Long)
	w = &all[t.IntN(len(all))]
	t.Kind = kind + " " + w.name
	w = t.refer(*w)
	check(os.Mkdir(t.path("work"), 0o777))
	return w, filepath.Join(t.path("work"), "out")
}
