package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
	"github.com/gdsvd/gdsvd/solver"
)

// runMain is the variable that makes the test binary run as gdsvd, for tests that
// need another process.
const runMain = "GDSVD_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// process returns a command that runs gdsvd in another process.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), runMain+"=1")
	return cmd
}

// Names of the files in a result directory, from RESULT.md.
const (
	leftFile         = "U.npy"
	rightFile        = "V.npy"
	eventsFile       = "events.jsonl"
	checkpointFile   = "checkpoint"
	checkpointEvents = "checkpoint.jsonl"
	halfSuffix       = ".half" // suffix of a file that is being written
)

// ran is the outcome of a run of gdsvd.
type ran struct {
	code           int
	stdout, stderr string
}

// gdsvd runs a command line in this process.
func gdsvd(t *testing.T, args ...string) ran {
	t.Helper()
	return gdsvdIn(t, context.Background(), "", args...)
}

func gdsvdIn(t *testing.T, ctx context.Context, stdin string, args ...string) ran {
	t.Helper()
	return gdsvdAs(t, ctx, func(a *app) { a.stdin = strings.NewReader(stdin) }, args...)
}

// gdsvdAs runs a command line in this process, after set has changed the program.
func gdsvdAs(t *testing.T, ctx context.Context, set func(a *app), args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := newApp(strings.NewReader(""), &stdout, &stderr)
	a.interval = time.Hour // so that no progress is logged on a slow machine
	set(a)
	code := a.run(ctx, args)
	return ran{code, stdout.String(), stderr.String()}
}

// allCommands returns gdsvd and its commands at every depth.
func allCommands() []*cobra.Command {
	all := []*cobra.Command{newApp(nil, nil, nil).rootCommand()}
	for i := 0; i < len(all); i++ { // all grows
		all = append(all, all[i].Commands()...)
	}
	return all
}

// succeeds runs a command line that must succeed without output on standard error. It returns standard output.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	o := gdsvd(t, args...)
	if o.code != ui.ExitOK || o.stderr != "" {
		t.Fatalf("gdsvd %s: exit %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

// fails runs a command line that must exit with code and one line on standard error that matches pattern.
func fails(t *testing.T, code int, pattern string, args ...string) ran {
	t.Helper()
	o := gdsvd(t, args...)
	if o.code != code {
		t.Errorf("gdsvd %s: exit %d, want %d", strings.Join(args, " "), o.code, code)
	}
	if !strings.HasPrefix(o.stderr, "gdsvd: ") || strings.Count(o.stderr, "\n") != 1 || !regexp.MustCompile(pattern).MatchString(o.stderr) {
		t.Errorf("gdsvd %s: standard error\n%q\nwant one line that matches\n%s", strings.Join(args, " "), o.stderr, pattern)
	}
	return o
}

// resumesNothing runs a command with -q and without: it describes the finished store and that there is nothing to resume.
func resumesNothing(t *testing.T, store string, args ...string) {
	t.Helper()
	quiet := succeeds(t, args...)
	o := gdsvd(t, slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == "-q" })...)
	if o.code != ui.ExitOK || o.stdout != quiet || !strings.Contains(o.stdout, filepath.Base(store)) ||
		!strings.Contains(o.stderr, "the store is finished: there is nothing to resume") {
		t.Errorf("%v: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
	}
}

// Caches of ratings files ([]byte) and their stores (vfstest.Contents), by synth.Ratings.
var madeRatings, madeStores sync.Map

// ratings writes a generated ratings file and returns its name.
func ratings(t testing.TB, g synth.Ratings) string {
	t.Helper()
	made, ok := madeRatings.Load(g)
	if !ok {
		var b bytes.Buffer
		must.Do(t, g.Write(context.Background(), &b, nil))
		made, _ = madeRatings.LoadOrStore(g, b.Bytes())
	}
	name := filepath.Join(t.TempDir(), "ratings.dat")
	must.Do(t, os.WriteFile(name, made.([]byte), 0o666))
	return name
}

var (
	// tall is stored as it is, wide is stored transposed.
	tall = synth.Ratings{Users: 90, Items: 40, Ratings: 2400, Seed: 1}
	wide = synth.Ratings{Users: 40, Items: 90, Ratings: 1800, Seed: 2}
)

// ingested returns a store of a generated ratings file.
func ingested(t *testing.T, g synth.Ratings) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "m.csr")
	if made, ok := madeStores.Load(g); ok {
		vfstest.Restore(t, store, made.(map[string]string))
		return store
	}
	succeeds(t, "ingest", "-q", ratings(t, g), "-o", store)
	madeStores.Store(g, vfstest.Contents(t, store))
	return store
}

// stored ingests a file with flags and returns the store.
func stored(t *testing.T, file string, flags ...string) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "m.csr")
	succeeds(t, append([]string{"ingest", "-q", file, "-o", store}, flags...)...)
	return store
}

// factorised runs svd and returns OUT and its result.
func factorised(t *testing.T, store string, flags ...string) (dir string, r factor.Result) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	succeeds(t, append([]string{"svd", "-q", store, "-o", dir}, flags...)...)
	return dir, resultOf(t, dir)
}

func resultOf(t *testing.T, dir string) (r factor.Result) {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, factor.ResultFile)))(t)
	decode(t, string(data), &r)
	return r
}

// savedPasses returns the number of passes of the checkpoint in dir.
func savedPasses(dir string) (int, error) {
	f, err := os.Open(filepath.Join(dir, checkpointFile))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	c, err := solver.ReadCheckpoint(f, info.Size())
	if err != nil {
		return 0, err
	}
	return c.Passes(), nil
}

// decode parses one JSON value and refuses fields that v does not have.
func decode(t *testing.T, text string, v any) {
	t.Helper()
	// The field schema of a printed result is not a field of v; see TestJSONDocuments.
	d := json.NewDecoder(strings.NewReader(strings.Replace(text, "\n  \"schema\": \""+ui.Schema+"\",", "", 1)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if d.More() {
		t.Fatalf("more than one JSON value:\n%s", text)
	}
}

// loadNPY reads a NumPy matrix, or a vector as one column.
func loadNPY(t *testing.T, name string) *mat.Dense {
	t.Helper()
	b := must.Get(os.ReadFile(name))(t)
	head := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	shape := regexp.MustCompile(`'shape': \((\d+),(?: (\d+))?\)`).FindSubmatch(b[:head])
	if shape == nil {
		t.Fatalf("%s: header %q", name, b[:head])
	}
	rows, cols := 0, 1
	fmt.Sscan(string(shape[1]), &rows)
	if len(shape[2]) > 0 {
		fmt.Sscan(string(shape[2]), &cols)
	}
	data := make([]float64, rows*cols)
	if len(b)-head != 8*len(data) {
		t.Fatalf("%s: %d bytes of data for %d×%d", name, len(b)-head, rows, cols)
	}
	for i := range data {
		data[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[head+8*i:]))
	}
	return mat.NewDense(rows, cols, data)
}

// denseRatings reads a ratings file into a matrix with rows and columns in ascending order of the ids.
func denseRatings(t *testing.T, name string) *mat.Dense {
	t.Helper()
	data := must.Get(os.ReadFile(name))(t)
	type entry struct {
		user, item int
		value      float64
	}
	var all []entry
	users, items := map[int]bool{}, map[int]bool{}
	for line := range strings.Lines(string(data)) {
		var e entry
		var time int64
		must.Get(fmt.Sscanf(strings.ReplaceAll(line, "::", " "), "%d %d %g %d", &e.user, &e.item, &e.value, &time))(t)
		all = append(all, e)
		users[e.user], items[e.item] = true, true
	}
	row, col := ranks(users), ranks(items)
	a := mat.NewDense(len(row), len(col), nil)
	for _, e := range all {
		a.Set(row[e.user], col[e.item], e.value)
	}
	return a
}

// ranks returns the rank of each member of a set in ascending order.
func ranks(set map[int]bool) map[int]int {
	r := map[int]int{}
	for x := range set {
		for y := range set {
			if y < x {
				r[x]++
			}
		}
		r[x] += 0 // adds the smallest member, too
	}
	return r
}

// names returns the names of the files in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
