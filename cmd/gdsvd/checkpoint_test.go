package main

import (
	"bytes"
	"errors"
	"html"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
	"github.com/gdsvd/gdsvd/solver/method/all"
)

// partFiles are the files whose bytes do not depend on interruptions.
var partFiles = []string{factor.SigmaFile, leftFile, rightFile}

// stopped runs svd up to its limit of passes and returns OUT, which holds a checkpoint.
func stopped(t *testing.T, store string, flags ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	fails(t, ui.ExitNotConverged, "; gdsvd svd .* --resume goes on from there", slices.Concat([]string{"svd", "-q", store, "-o", dir}, flags)...)
	return dir
}

// TestStoppedIsWatchedByItsResult: the state of a stopped run is that of its result; Checkpoint says if it can be resumed.
func TestStoppedIsWatchedByItsResult(t *testing.T) {
	store := ingested(t, tall)
	dir := stopped(t, store, "-k", "2", "--method", "power", "--max-passes", "3")
	reader := live.NewReader(vfs.OS(), dir)
	for _, checkpoint := range []bool{true, false} {
		r, s := must.Get(factor.Open(dir))(t), must.Get(reader.State(t.Context()))(t)
		if s.Status != live.Finished || s.Checkpoint != checkpoint || s.Result == nil || s.Rank != 2 || s.NNZ != r.NNZ || s.Last.Pass != r.Passes || s.Last.Worst != max(r.Residual[0], r.Residual[1]) {
			t.Errorf("%+v", s)
		}
		must.Do(t, os.RemoveAll(filepath.Join(dir, "checkpoint"))) // the reader of the first turn must notice
	}
}

// TestResume: a run that was stopped and resumed writes the files of an uninterrupted one, for each method.
func TestResume(t *testing.T) {
	for name, g := range map[string]struct {
		store string
	}{"tall": {ingested(t, tall)}, "wide": {ingested(t, wide)}} {
		for _, m := range all.Methods() {
			method := m.Traits(1).Name
			t.Run(name+" "+method, func(t *testing.T) {
				flags := []string{"-k", "4", "--method", method, "--seed", "5"}
				want, _ := factorised(t, g.store, flags...)
				got := stopped(t, g.store, append(flags, "--max-passes", "6")...)
				succeeds(t, slices.Concat([]string{"svd", "-q", g.store, "-o", got, "--resume"}, flags)...)
				for _, f := range partFiles {
					same(t, f, filepath.Join(want, f), filepath.Join(got, f))
				}
				if a, b := names(t, want), names(t, got); !slices.Equal(a, b) {
					t.Errorf("files %v, without a break %v", b, a)
				}
				w, r := resultOf(t, want), resultOf(t, got)
				if r.Passes != w.Passes || r.Products != w.Products || r.Status != "converged" {
					t.Errorf("%d passes, %d products, %s; without a break %d, %d", r.Passes, r.Products, r.Status, w.Passes, w.Products)
				}
				if a, b := events(t, want), events(t, got); !slices.Equal(a, b) {
					t.Errorf("the events differ:\n%v\n%v", b, a)
				}
			})
		}
	}
}

// event is a line of events.jsonl.
type event struct {
	Phase     string         `json:"phase"`
	Pass      int            `json:"pass"`
	Triplet   int            `json:"triplet"`
	Locked    int            `json:"locked"`
	Sigma     factor.Number  `json:"sigma"`
	Residual  factor.Number  `json:"residual"`
	Open      int            `json:"open"`
	Worst     factor.Number  `json:"worst"`
	Goal      factor.Number  `json:"goal"`
	BytesRead int64          `json:"bytes_read"`
	Seconds   factor.Seconds `json:"seconds"`
}

// events returns the lines of events.jsonl without times and bytes read.
func events(t *testing.T, dir string) []event {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, eventsFile)))(t)
	var all []event
	for line := range strings.Lines(string(data)) {
		var e event
		decode(t, line, &e)
		e.BytesRead, e.Seconds = 0, factor.Seconds{}
		all = append(all, e)
	}
	return all
}

func TestResumeRefused(t *testing.T) {
	store, other := ingested(t, tall), ingested(t, wide)
	base := []string{"svd", "-q", "-k", "4", "--method", "power", "--seed", "5"}
	dir := stopped(t, store, append(base[2:], "--max-passes", "6")...)
	before := names(t, dir)
	with := func(store string, flags ...string) []string {
		return slices.Concat(base, []string{store, "-o", dir}, flags)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{`^gdsvd: .*out holds the checkpoint of an unfinished run: --resume goes on from it, --force begins anew\n$`, with(store)},
		{`^gdsvd: .*checkpoint was made with seed 5, this run has seed 6 \(--force begins anew\)\n$`, with(store, "--resume", "--seed", "6")},
		{`was made with rank 4, this run has rank 3 \(`, with(store, "--resume", "-k", "3")},
		{`was made with method power, this run has method gd \(`, with(store, "--resume", "--method", "gd")},
		{`was made with tolerance 1e-08, this run has tolerance 1e-06 \(`, with(store, "--resume", "--tol", "1e-6")},
		{`was made with deflation projected, this run has deflation plain \(`, with(store, "--resume", "--deflation", "plain")},
		{`^gdsvd: .*checkpoint is of another store or view: its fingerprint is [0-9a-f]+, that of this one is [0-9a-f]+ \(--force begins anew\)\n$`, with(other, "--resume")},
	} {
		fails(t, ui.ExitError, c.want, c.args...)
		if got := names(t, dir); !slices.Equal(got, before) {
			t.Fatalf("after %v there are %v", c.args, got)
		}
	}
	// Other limits, workers, budgets and kept vectors do not prevent a resume.
	succeeds(t, with(store, "--resume", "--workers", "1", "--memory", "100MiB", "--vectors", "right")...)

	// A finished run resumed reports its result; with other options there is nothing to resume.
	finished := must.Get(os.ReadFile(filepath.Join(dir, factor.ResultFile)))(t)
	if text := succeeds(t, with(store, "--resume")...); !strings.Contains(text, "converged: 4 of 4") {
		t.Errorf("a finished run resumed prints\n%s", text)
	}
	if o := gdsvd(t, slices.Concat([]string{"svd"}, base[2:], []string{store, "-o", dir, "--resume"})...); o.code != ui.ExitOK || !strings.Contains(o.stderr, "the result is finished: there is nothing to resume") {
		t.Errorf("a finished run resumed: exit %d\n%s", o.code, o.stderr)
	}
	if now, err := os.ReadFile(filepath.Join(dir, factor.ResultFile)); err != nil || !bytes.Equal(now, finished) {
		t.Errorf("resuming a finished run has changed it (%v)", err)
	}
	// A run killed after publishing its result, before it removed the old checkpoint, has left
	// that checkpoint.
	leftover := dir + vfs.PartialSuffix
	must.Do(t, os.Mkdir(leftover, 0o777))
	must.Do(t, os.WriteFile(filepath.Join(leftover, checkpointFile), []byte("old"), 0o666))
	succeeds(t, with(store, "--resume")...)
	if _, err := os.Stat(leftover); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there (%v)", leftover, err)
	}
	nothing := `^gdsvd: .*out holds no checkpoint to go on from: --force begins anew, --init .*out with its vectors\n$`
	for _, other := range [][]string{{"--tol", "1e-10"}, {"-k", "5"}, {"--stop", "paper"}} {
		fails(t, ui.ExitError, nothing, with(store, append(other, "--resume")...)...)
	}
	fails(t, ui.ExitError, `file already exists \(--force replaces it\)`, with(store)...)
}

// TestResumeWithoutARunBegins: --resume without a checkpoint begins a run.
func TestResumeWithoutARunBegins(t *testing.T) {
	store := ingested(t, tall)
	want, _ := factorised(t, store, "-k", "3")
	got := filepath.Join(t.TempDir(), "out")
	succeeds(t, "svd", "-q", store, "-k", "3", "-o", got, "--resume")
	same(t, "V", filepath.Join(want, rightFile), filepath.Join(got, rightFile))
}

func TestDamagedCheckpoint(t *testing.T) {
	store := ingested(t, tall)
	flags := []string{"-k", "4", "--method", "gd", "--max-passes", "6"}
	dir := stopped(t, store, flags...)
	name := filepath.Join(dir, checkpointFile)
	good := must.Get(os.ReadFile(name))(t)
	args := append([]string{"svd", "-q", store, "-o", dir, "--resume"}, flags...)
	for what, bad := range map[string][]byte{
		"empty": {}, "cut": good[:len(good)-1], "a byte changed": append(slices.Clone(good[:len(good)-1]), good[len(good)-1]^1),
		"header changed": append([]byte("x"), good[1:]...), "more": append(slices.Clone(good), 0),
	} {
		must.Do(t, os.WriteFile(name, bad, 0o666))
		o := fails(t, ui.ExitCorrupt, `^gdsvd: .*checkpoint is damaged: .* \(--force begins anew\)\n$`, args...)
		if strings.Contains(o.stderr, "goes on from there") {
			t.Errorf("%s: %s", what, o.stderr)
		}
	}
	// A damaged record of events is only a warning.
	record := filepath.Join(dir, checkpointEvents)
	lines := must.Get(os.ReadFile(record))(t)
	flags = []string{"-k", "4", "--method", "gd"}
	want, _ := factorised(t, store, flags...)
	flipped := slices.Clone(lines)
	flipped[bytes.Index(flipped, []byte(`"pass":2`))+len(`"pass":`)] ^= 1
	for what, bad := range map[string][]byte{
		"a bit changed": flipped, "cut": lines[:len(lines)-1], "no checksum": lines[:len(lines)-len("{\"crc\":\"00000000\"}\n")], "empty": {}, "not events": []byte("?"),
	} {
		must.Do(t, errors.Join(os.WriteFile(name, good, 0o666), os.WriteFile(record, bad, 0o666)))
		copied := filepath.Join(t.TempDir(), "out")
		must.Do(t, os.CopyFS(copied, os.DirFS(dir)))
		o := gdsvd(t, slices.Concat([]string{"svd", store, "-o", copied, "--resume"}, flags)...)
		if o.code != ui.ExitOK || !strings.Contains(o.stderr, "events.jsonl will lack passes before this") || !strings.Contains(o.stderr, "checkpoint.jsonl is damaged: byte") {
			t.Errorf("%s: exit %d\n%s", what, o.code, o.stderr)
		}
		for _, f := range partFiles {
			same(t, f, filepath.Join(want, f), filepath.Join(copied, f))
		}
		succeeds(t, "check", copied)
	}
}

// TestKilledRunIsDescribed: the error about a directory with only a checkpoint names the command that resumes the run.
func TestKilledRunIsDescribed(t *testing.T) {
	store := ingested(t, tall)
	from, dir := stopped(t, store, "-k", "3", "--max-passes", "4"), filepath.Join(t.TempDir(), "out")
	must.Do(t, os.Mkdir(dir, 0o777))
	for _, name := range []string{checkpointFile, checkpointEvents} {
		b := must.Get(os.ReadFile(filepath.Join(from, name)))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	want := `^gdsvd: .*out holds no result: gdsvd svd was interrupted after pass 3; gdsvd svd .*m.csr --max-passes=4 --rank=3 -o .*out --resume goes on from the checkpoint\n$`
	for _, args := range [][]string{{"info", dir}, {"report", dir, "-o", filepath.Join(t.TempDir(), "x.html")}, {"export", dir, "--what", "V", "-o", filepath.Join(t.TempDir(), "v.npy")}, {"recommend", dir, "--rows", "1"}} {
		fails(t, ui.ExitError, want, args...)
	}
}

// TestStoppedRunIsDescribed: info, check and report of a stopped run print the command that resumes it, which works from
// any folder. For a converged run they do not.
func TestStoppedRunIsDescribed(t *testing.T) {
	store := ingested(t, tall)
	view := "log1p # of counts\n\n  center=columns"
	whole, _ := factorised(t, store, "-k", "3", "--seed", "5", "--view", view)
	t.Chdir(filepath.Dir(store))
	here := must.Get(os.Getwd())(t)
	dir := stopped(t, filepath.Base(store), "-k", "3", "--seed", "5", "--view", view, "--max-passes", "4", "--memory", "70000001", "--force", "--listen", "127.0.0.1:0", "--token", "not-to-be-told")
	command := "gdsvd svd m.csr --memory=70000001 --rank=3 --seed=5 '--view=log1p · center=columns' -o " + dir + " --resume"
	want := "a checkpoint is in " + dir + ": " + command + " goes on from there\n"
	if out := succeeds(t, "info", dir); !strings.Contains(out, want) {
		t.Errorf("info: %s\nwant %s", out, want)
	}
	if out := gdsvd(t, "check", dir); !strings.Contains(out.stdout, want) {
		t.Errorf("check: %+v\nwant %s", out, want)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	succeeds(t, "report", dir, "-q", "-o", page)
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(html.UnescapeString(string(text)), strings.TrimSpace(want)) {
		t.Errorf("report: %v, it does not say that %s", err, want)
	}
	t.Chdir(t.TempDir())
	command = "cd " + here + " && " + command
	if out := succeeds(t, "info", dir); !strings.Contains(out, ": "+command+" goes on from there\n") {
		t.Errorf("info in another folder: %s\nwant %s", out, command)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	words := must.Get(exec.Command(sh, "-c", `gdsvd() { pwd; printf '%s\n' "$@"; }; `+command).Output())(t)
	at := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
	t.Chdir(at[0])
	succeeds(t, append(at[1:], "-q")...)
	for _, f := range partFiles {
		same(t, f, filepath.Join(whole, f), filepath.Join(dir, f))
	}
	for _, command := range []string{"info", "check"} {
		if out := succeeds(t, command, whole); strings.Contains(out, "checkpoint") {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// TestForceAndCheckpoints: a run over an old result writes its checkpoint beside the result; --force
// begins anew whatever is there.
func TestForceAndCheckpoints(t *testing.T) {
	store := slow(t)
	dir := filepath.Join(t.TempDir(), "out")
	succeeds(t, "svd", "-q", store, "-k", "1", "-o", dir)
	args := []string{"svd", store, "-k", "20", "-o", dir, "--tol", "1e-14", "--method", "gd"}
	if o := interrupt(t, append(args, "--force")...); o.code != ui.ExitInterrupted {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	if r := resultOf(t, dir); r.K != 1 || r.Status != "converged" {
		t.Errorf("the old result was replaced by one of %d triplets, %s", r.K, r.Status)
	}
	if !slices.Contains(names(t, dir), checkpointFile) {
		t.Fatalf("no checkpoint in %v", names(t, dir))
	}
	if o := interrupt(t, append(args, "--resume")...); o.code != ui.ExitInterrupted || !strings.Contains(o.stderr, "going on") {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	succeeds(t, "svd", "-q", store, "-k", "1", "-o", dir, "--force")
	if got := names(t, dir); slices.Contains(got, checkpointFile) {
		t.Errorf("after --force there are %v", got)
	}
}

func TestTimeLimit(t *testing.T) {
	store := slow(t)
	dir := filepath.Join(t.TempDir(), "out")
	args := []string{"svd", "-q", store, "-k", "20", "-o", dir, "--tol", "1e-14", "--method", "gd"}
	fails(t, ui.ExitNotConverged, `^gdsvd: time limit reached before convergence after \d+ passes: .*; the result is in .*out`, append(args, "--time-limit", "400ms")...)
	r := resultOf(t, dir)
	if r.Status != "time-limit" || !r.Certified || r.Settings.TimeLimit != 0.4 {
		t.Errorf("status %s, certified %v, limit %v", r.Status, r.Certified, r.Settings.TimeLimit)
	}
	passes := r.Passes
	fails(t, ui.ExitNotConverged, "time limit", append(args, "--time-limit", "400ms", "--resume")...)
	if r := resultOf(t, dir); r.Passes < passes {
		t.Errorf("%d passes after %d", r.Passes, passes)
	}
}

// withFaults runs a command line on the file system fsys, with a checkpoint
// after each pass.
func withFaults(t *testing.T, fsys vfs.FS, args ...string) ran {
	t.Helper()
	return gdsvdAs(t, t.Context(), func(a *app) { a.fsys, a.share = fsys, math.Inf(1) }, append(args, "--checkpoint-every", "1ns")...)
}

// onCheckpoint reports whether an operation belongs to saving a checkpoint in dir.
func onCheckpoint(o vfstest.Op, dir string) bool {
	return strings.Contains(o.Name, filepath.Join(dir, checkpointFile)) || o.Name == dir && (o.Kind == vfstest.OpMkdir || o.Kind == vfstest.OpSyncDir)
}

// TestCheckpointFaults: if an operation on a checkpoint fails, the run continues with
// a warning and writes the same result.
func TestCheckpointFaults(t *testing.T) {
	store := ingested(t, tall)
	flags := []string{"-k", "2", "--method", "power", "--tol", "1e-3"}
	want, _ := factorised(t, store, flags...)
	for n := 0; n < 40; n += longtest.Pick(1, 19) { // the operations of several checkpoints
		dir := filepath.Join(t.TempDir(), "out")
		count, hit := 0, false
		f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if !onCheckpoint(o, dir) {
				return nil
			}
			count++
			if count-1 != n {
				return nil
			}
			hit = true
			return &fs.PathError{Op: string(o.Kind), Path: o.Name, Err: syscall.ENOSPC}
		}}
		o := withFaults(t, f, append([]string{"svd", store, "-o", dir}, flags...)...)
		if o.code != ui.ExitOK {
			t.Fatalf("fault %d: exit %d\n%s", n, o.code, o.stderr)
		}
		for _, file := range partFiles {
			same(t, file, filepath.Join(want, file), filepath.Join(dir, file))
		}
		if a, b := names(t, want), names(t, dir); !slices.Equal(a, b) {
			t.Errorf("fault %d leaves %v", n, b)
		}
		if !hit {
			t.Fatalf("there is no operation %d", n)
		}
		if !strings.Contains(o.stderr, "no checkpoint could be written; the run continues") {
			t.Errorf("fault %d: no warning in\n%s", n, o.stderr)
		}
	}
}

// TestFullDiskAtEvents: if events.jsonl cannot be written for a while, no event is
// lost; if the disk stays full, the run fails with a checkpoint.
func TestFullDiskAtEvents(t *testing.T) {
	longtest.Only(t)
	store := ingested(t, tall)
	flags := []string{"-k", "5", "--method", "gd", "--tol", "1e-5"}
	want, _ := factorised(t, store, flags...)
	for _, good := range []int{3, math.MaxInt} { // number of the first write that succeeds
		dir := filepath.Join(t.TempDir(), "out")
		writes := 0
		f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if o.Kind != vfstest.OpWrite || !strings.HasSuffix(o.Name, eventsFile) {
				return nil
			}
			if writes++; writes >= good {
				return nil
			}
			return &fs.PathError{Op: "write", Path: o.Name, Err: syscall.ENOSPC}
		}}
		o := withFaults(t, f, append([]string{"svd", "-q", store, "-o", dir}, flags...)...)
		if good == math.MaxInt {
			if o.code != ui.ExitError || !strings.Contains(o.stderr, "no space left on device; a checkpoint is in") {
				t.Errorf("on a full disk: exit %d\n%s", o.code, o.stderr)
			}
			continue
		}
		if o.code != ui.ExitOK || writes <= good {
			t.Fatalf("exit %d after %d writes\n%s", o.code, writes, o.stderr)
		}
		if a, b := events(t, want), events(t, dir); !slices.Equal(a, b) {
			t.Errorf("%d events, want %d", len(b), len(a))
		}
	}
}

// TestFullDiskAtCopy: a run at its limit of passes that cannot copy its checkpoint beside the result says where the checkpoint is.
func TestFullDiskAtCopy(t *testing.T) {
	store, dir := ingested(t, tall), filepath.Join(t.TempDir(), "out")
	f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpCreate && o.Name == filepath.Join(dir+vfs.PartialSuffix, checkpointFile) {
			return syscall.ENOSPC
		}
		return nil
	}}
	o := withFaults(t, f, "svd", "-q", store, "-k", "3", "-o", dir, "--method", "power", "--max-passes", "6")
	if o.code != ui.ExitError || !strings.Contains(o.stderr, "no space left on device; a checkpoint is in "+dir) {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
}

// TestDeathInCheckpoint kills a run at operations on its checkpoints: a resumed
// run writes the files of an uninterrupted one.
func TestDeathInCheckpoint(t *testing.T) {
	store := ingested(t, tall)
	flags := []string{"-k", "3", "--method", "power"}
	want, _ := factorised(t, store, flags...)
	for n := 0; n < 60; n += longtest.Pick(1, 20) + n/12 {
		work := t.TempDir()
		dir := filepath.Join(work, "out")
		count := 0

		f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if onCheckpoint(o, dir) {
				if count++; count > n {
					return vfstest.ErrDead
				}
			} else if count > n {
				return vfstest.ErrDead
			}
			return nil
		}}
		args := append([]string{"svd", "-q", store, "-o", dir}, flags...)
		if o := withFaults(t, f, args...); o.code == ui.ExitOK {
			t.Fatalf("death %d: exit %d", n, o.code)
		}
		succeeds(t, append(args, "--resume")...)
		for _, file := range partFiles {
			same(t, file, filepath.Join(want, file), filepath.Join(dir, file))
		}
		if got := names(t, work); !slices.Equal(got, []string{"out"}) {
			t.Errorf("death %d: in the end there are %v", n, got)
		}
	}
}

// TestFaultLeavesCheckpoint: the error of a run that a fault ends names the command that resumes it.
func TestFaultLeavesCheckpoint(t *testing.T) {
	store := ingested(t, tall)
	flags := []string{"-k", "3", "--method", "power"}
	want, _ := factorised(t, store, flags...)
	dir := filepath.Join(t.TempDir(), "out")
	f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpWriteAt && strings.HasSuffix(o.Name, leftFile) && o.Bytes > 1000 {
			return &fs.PathError{Op: "write", Path: o.Name, Err: syscall.ENOSPC}
		}
		return nil
	}}
	args := append([]string{"svd", "-q", store, "-o", dir}, flags...)
	o := withFaults(t, f, args...)
	if o.code != ui.ExitError || !strings.HasSuffix(o.stderr, "no space left on device; a checkpoint is in "+dir+": gdsvd svd "+store+" --checkpoint-every=1ns --method=power --rank=3 -o "+dir+" --resume goes on from there\n") {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	succeeds(t, append(args, "--resume")...)
	for _, file := range partFiles {
		same(t, file, filepath.Join(want, file), filepath.Join(dir, file))
	}
}
