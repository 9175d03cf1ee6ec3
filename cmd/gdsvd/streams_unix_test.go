//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// shell runs a shell script in which gdsvd is the test binary.
func shell(t *testing.T, script string, args ...string) (stderr string, code int) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	return shellOf(t, self, script, args...)
}

// built compiles the program: packages that only tests import open files before main begins.
func built(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "gdsvd")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return name
}

// shellOf runs a shell script in which gdsvd is the program self.
func shellOf(t *testing.T, self, script string, args ...string) (stderr string, code int) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `gdsvd() { "$self" "$@"; }; ` + script, "sh"}, args...)...)
	cmd.Env = append(os.Environ(), runMain+"=1", "self="+self)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return errs.String(), cmd.ProcessState.ExitCode()
}

// TestOutputIsLost: a command whose output cannot be written fails: with one line and exit 1
// on a full disk, without a message if the reader has closed the pipe.
func TestOutputIsLost(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	store := ingested(t, tall)
	done, _ := factorised(t, store, "-k", "2")
	work := t.TempDir()
	in := ratings(t, wide)
	full := "gdsvd: standard output: no space left on device\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"info", store}, full},
		{[]string{"info", done}, full},
		{[]string{"info", store, "--ids", "cols"}, full},
		{[]string{"info", store, "--json"}, full},
		{[]string{"check", store}, full},
		{[]string{"version"}, full},
		{[]string{"--version"}, full},
		{[]string{"--help"}, full},
		{[]string{"help", "svd"}, full},
		{[]string{"svd", "-h"}, full},
		{[]string{"completion", "bash"}, full},
		{[]string{"generate", "ratings", "-q", "-o", "-"}, full},
		{[]string{"svd", store, "-k", "2", "--explain"}, full},
		{[]string{"ingest", "-q", in, "-o", filepath.Join(work, "m.csr")}, full},
		{[]string{"svd", "-q", store, "-k", "2", "-o", filepath.Join(work, "out")},
			"gdsvd: the result is in " + filepath.Join(work, "out") + ", but could not be printed: standard output: no space left on device\n"},
	} {
		if stderr, code := shell(t, `gdsvd "$@" > /dev/full`, c.args...); code != ui.ExitError || stderr != c.want {
			t.Errorf("gdsvd %s > /dev/full: exit %d, %q\nwant %q", strings.Join(c.args, " "), code, stderr, c.want)
		}
		if c.args[0] != "info" {
			continue
		}
		// The reader closes the pipe before the first write.
		fifo := `mkfifo "$0.p"; { : < "$0.p"; } & exec 3> "$0.p"; wait; `
		script := strings.ReplaceAll(fifo, "$0.p", filepath.Join(t.TempDir(), "p")) + `gdsvd "$@" >&3`
		if stderr, code := shell(t, script, c.args...); code == ui.ExitOK || stderr != "" {
			t.Errorf("gdsvd %s to a reader that has gone: exit %d, %q", strings.Join(c.args, " "), code, stderr)
		}
	}
	resultOf(t, filepath.Join(work, "out"))
}

// TestClosedOutput: a command that prints a list fails if standard output is closed.
func TestClosedOutput(t *testing.T) {
	store := ingested(t, tall)
	for script, want := range map[string]int{
		`gdsvd info --ids rows "$1" >&-`:           ui.ExitError,
		`gdsvd info --ids rows --json "$1" >&-`:    ui.ExitError,
		`gdsvd generate ratings -q -o - >&-`:       ui.ExitError,
		`gdsvd info --ids rows "$1" >&- 2>&- <&-`:  ui.ExitError,
		`gdsvd info --ids rows "$1" > /dev/null`:   ui.ExitOK,
		`gdsvd info "$1" > /dev/null 2> /dev/null`: ui.ExitOK,
	} {
		if stderr, code := shell(t, script, store); code != want || code != ui.ExitOK && !strings.Contains(script, "2>&-") && !strings.Contains(stderr, "standard output: it is closed") {
			t.Errorf("%s: exit %d, %q", script, code, stderr)
		}
	}
}

// TestFewOpenFiles: shards are mapped, not kept open, so their number is not limited by that of
// open files. A limit that is too small is refused before the command begins.
func TestFewOpenFiles(t *testing.T) {
	longtest.Only(t)
	store := filepath.Join(t.TempDir(), "many.csr")
	succeeds(t, "generate", "spectrum", "-q", "--rows", "2000000", "--cols", "60", "--layers", "1", "--rank", "4", "--shard-size", "1KiB", "-o", store)
	if shards := len(names(t, store)); shards < 30 {
		t.Fatalf("%d files are not many", shards)
	}
	out, program := filepath.Join(t.TempDir(), "out"), built(t)
	for script, want := range map[string]string{
		`ulimit -n 24; gdsvd check "$1"`:                       "",
		`ulimit -n 24; gdsvd info "$1"`:                        "",
		`ulimit -n 24; gdsvd svd -q "$1" -k 2 -o "$2" --force`: "",
		`ulimit -n 16; gdsvd svd -q "$1" -k 2 -o "$2" --force`: "",
		`ulimit -n 15; gdsvd svd -q "$1" -k 2 -o "$2" --force`: "gdsvd: this process may have 15 files open at a time, it needs 16: raise the limit (ulimit -n)\n",
		`ulimit -n 7; gdsvd info "$1"`:                         "gdsvd: this process may have 7 files open at a time, it needs 16: raise the limit (ulimit -n)\n",
	} {
		stderr, code := shellOf(t, program, script, store, out)
		if want == "" && code != ui.ExitOK || want != "" && code != ui.ExitError || stderr != want {
			t.Errorf("%s: exit %d, %q, want %q", script, code, stderr, want)
		}
	}
}

// TestFewOpenFilesForVectors: a run with vectors in files, each of which is a descriptor, is
// refused with a limit that might not suffice, and runs with the limit that the refusal names.
func TestFewOpenFilesForVectors(t *testing.T) {
	longtest.Only(t)
	store := long(t, 130000, 110000)
	flags := []string{"-k", "3", "--method", "krylov", "--block", "1", "--basis", "10", "--max-passes", "14"}
	memory, _ := tightly(t, store, flags)
	out, program := filepath.Join(t.TempDir(), "out"), built(t)
	run := ` gdsvd svd -q "$1" -o "$2" --force --memory "$3" ` + strings.Join(flags, " ")
	if stderr, code := shellOf(t, program, `ulimit -n 63;`+run, store, out, memory); code != ui.ExitError ||
		stderr != "gdsvd: this process may have 63 files open at a time, it needs 64: raise the limit (ulimit -n)\n" {
		t.Errorf("with 63: exit %d, %q", code, stderr)
	}
	if stderr, code := shellOf(t, program, `ulimit -n 64;`+run, store, out, memory); code != ui.ExitNotConverged || strings.Contains(stderr, "open files") {
		t.Errorf("with 64: exit %d, %q", code, stderr)
	}
	again := filepath.Join(t.TempDir(), "again")
	wider, _ := tightly(t, store, append(flags, "--init", out)) // with start vectors blocks are wider
	if stderr, code := shellOf(t, program, `ulimit -n 64;`+run+` --init "$4"`, store, again, wider, out); code != ui.ExitOK && code != ui.ExitNotConverged {
		t.Errorf("with 64 and start vectors: exit %d, %q", code, stderr)
	}
}

// TestJSONErrors: with --json an error is one JSON object on standard output, in addition to
// the line on standard error, also for errors of the command line. An incomplete
// result is printed as a result.
func TestJSONErrors(t *testing.T) {
	store := ingested(t, tall)
	broken := ingested(t, tall)
	must.Do(t, os.Truncate(filepath.Join(broken, "shard-000000.csr"), 100))
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"svdd", "--json"}, ui.ExitUsage},
		{[]string{"--json", "svd"}, ui.ExitUsage},
		{[]string{"svd", "--nonsense", "--json"}, ui.ExitUsage},
		{[]string{"svd", "--nonsense", "--json=true"}, ui.ExitUsage},
		{[]string{"svd", "--json", store, "-k", "0", "-o", "x"}, ui.ExitUsage},
		{[]string{"--json", "--config", "nowhere", "info", store}, ui.ExitUsage},
		{[]string{"info", "--json", "nowhere"}, ui.ExitError},
		{[]string{"check", "--json", "nowhere"}, ui.ExitError},
		{[]string{"ingest", "--json", "nowhere", "-o", "x"}, ui.ExitError},
		{[]string{"generate", "kron", "--json", "--base", "nowhere", "--rows", "2", "--cols", "2", "--nnz", "3", "-o", "x"}, ui.ExitError},
		{[]string{"info", "--json", broken}, ui.ExitCorrupt},
		{[]string{"info", "--json", "--ids", "rows", broken}, ui.ExitCorrupt},
	} {
		o := gdsvd(t, c.args...)
		var f failure
		if err := json.Unmarshal([]byte(o.stdout), &f); err != nil {
			t.Errorf("%v: %v in\n%s", c.args, err, o.stdout)
		}
		if o.code != c.code || f.Exit != c.code || f.Error == "" || o.stderr != "gdsvd: "+f.Error+"\n" {
			t.Errorf("%v: exit %d\n%s%s", c.args, o.code, o.stdout, o.stderr)
		}
	}
	for _, args := range [][]string{
		{"svd", "--nonsense"}, {"svd", "--json=false", "--nonsense"}, {"info", "nowhere", "--nonsense", "--", "--json"},
	} {
		if o := gdsvd(t, args...); o.stdout != "" {
			t.Errorf("%v: %s", args, o.stdout)
		}
	}
	var r factor.Result
	o := gdsvd(t, "svd", "-q", "--json", store, "-k", "2", "-o", filepath.Join(t.TempDir(), "out"), "--max-passes", "2", "--tol", "1e-12")
	if decode(t, o.stdout, &r); o.code != ui.ExitNotConverged || r.K != 2 {
		t.Errorf("a result that falls short: exit %d\n%s", o.code, o.stdout)
	}
	var checked storeReport
	o = gdsvd(t, "check", "--json", broken)
	if decode(t, o.stdout, &checked); o.code != ui.ExitCorrupt || checked.OK {
		t.Errorf("a damaged store: exit %d\n%s", o.code, o.stdout)
	}
}

// TestTinyStores: the bytes per entry of a store of a few entries are not printed: they are those of the headers.
func TestTinyStores(t *testing.T) {
	few := write(t, t.TempDir(), "few.csv", "1,1,2\n1,2,1\n2,1,1\n2,2,2\n")
	store := filepath.Join(t.TempDir(), "few.csr")
	if out := succeeds(t, "ingest", "-q", few, "-o", store) + succeeds(t, "info", store); strings.Contains(out, "per entry") {
		t.Errorf("of four entries:\n%s", out)
	}
	if out := succeeds(t, "info", ingested(t, synth.Ratings{Users: 400, Items: 200, Ratings: 12000, Seed: 1})); !strings.Contains(out, "bytes per entry") {
		t.Errorf("of many:\n%s", out)
	}
}
