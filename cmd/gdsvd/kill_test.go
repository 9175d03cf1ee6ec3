//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// spilling does not fit into tightMemory, which is little more than the least budget of ingest.
var spilling = synth.Ratings{Users: 6000, Items: 1000, Ratings: 1200000, Seed: 1}

const tightMemory = "48MiB"

// TestKilledIngestLeavesNothingHalfDone: a killed ingest leaves no store or a complete one; the next removes other files.
func TestKilledIngestLeavesNothingHalfDone(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	file := ratings(t, spilling)
	work := t.TempDir()
	store := filepath.Join(work, "m.csr")
	args := []string{"ingest", "-q", "--json", file, "-o", store, "--memory", tightMemory, "--shard-size", "64KiB", "--force"}

	start := time.Now()
	out := must.Get(process(t, args...).Output())(t)
	whole := time.Since(start)
	var report ingestResult
	if decode(t, string(out), &report); report.SpilledBytes == 0 {
		t.Fatal("the ingest needs no temporary files: the test misses what it is for")
	}
	must.Do(t, os.RemoveAll(store))

	r := rand.New(rand.NewPCG(1, 2))
	kills := 20
	if raceDetector {
		kills = 6 // with the race detector processes are ten times slower
	}
	complete := 0
	for killed := 0; killed < kills; {
		began := time.Now()
		if !killAfter(t, time.Duration(r.Float64()*float64(whole)), args...) {
			whole = min(whole, time.Since(began)) // faster than the run that was timed
			continue
		}
		killed++
		left := names(t, work)
		if slices.Contains(left, "m.csr") {
			complete++
			succeeds(t, "check", "-q", store)
		}
		for _, name := range left {
			// A killed writer may leave its lock and its directory, whose names begin with that of the store.
			if !strings.HasPrefix(name, "m.csr") {
				t.Fatalf("kill %d leaves %v", killed, left)
			}
		}
		if killed%3 != 0 {
			continue
		}
		succeeds(t, args...)
		if left := names(t, work); !slices.Equal(left, []string{"m.csr"}) {
			t.Fatalf("after kill %d the next ingest leaves %v", killed, left)
		}
		// The next kills alternate between a writer that replaces a store and one that does not.
		if killed%2 == 0 {
			must.Do(t, os.RemoveAll(store))
		}
	}
	t.Logf("a complete store was found after %d of %d kills", complete, kills)
	succeeds(t, args...)
	succeeds(t, "check", "-q", store)
	if left := names(t, work); !slices.Equal(left, []string{"m.csr"}) {
		t.Errorf("at the end there are %v", left)
	}
}

// killAfter starts the program and kills it after a time. It reports whether the program was still running.
func killAfter(t *testing.T, after time.Duration, args ...string) bool {
	t.Helper()
	start := time.Now()
	return killWhen(t, func() bool { return time.Since(start) >= after }, args...)
}

// killWhen starts the program and kills it when ready returns true. It reports whether the program was still running.
func killWhen(t *testing.T, ready func() bool, args ...string) bool {
	t.Helper()
	cmd := process(t, args...)
	must.Do(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !ready() {
		select {
		case <-ended:
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	_ = cmd.Process.Kill() // fails only if the process has ended
	var exit *exec.ExitError
	return errors.As(<-ended, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
}

// waiting is a buffer that sends on wrote when it is written to.
type waiting struct {
	text  bytes.Buffer // not embedded: its ReadFrom would bypass Write
	wrote chan struct{}
}

func (w *waiting) Write(p []byte) (int, error) {
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

func (w *waiting) String() string { return w.text.String() }

// endlessIngest starts an ingest of a pipe into work and returns when it has created a file.
// The ingest runs until feed is closed.
func endlessIngest(t *testing.T, work string) (cmd *exec.Cmd, stderr *waiting, feed *os.File) {
	t.Helper()
	in, feed, err := os.Pipe()
	must.Do(t, err)
	defer in.Close()
	cmd = process(t, "ingest", "-", "-o", filepath.Join(work, "m.csr"), "--format", "movielens")
	stderr = &waiting{wrote: make(chan struct{}, 1)}
	cmd.Stdin, cmd.Stderr = in, stderr
	must.Do(t, cmd.Start())
	for len(names(t, work)) == 0 {
		time.Sleep(time.Millisecond)
	}
	return cmd, stderr, feed
}

// TestSignalStopsIngest: SIGINT and SIGTERM end an ingest with exit 130 and leave no files.
func TestSignalStopsIngest(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		work := t.TempDir()
		cmd, stderr, feed := endlessIngest(t, work)
		must.Get(feed.WriteString("1::2::3\n"))(t)
		must.Do(t, cmd.Process.Signal(signal))
		<-stderr.wrote // the signal was received
		feed.Close()   // ends the input
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != ui.ExitInterrupted {
			t.Errorf("%v: exit %d\n%s", signal, code, stderr)
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "gdsvd: interrupted, cleaning up") || lines[1] != "gdsvd: interrupted; nothing is written" {
			t.Errorf("%v: standard error\n%s", signal, stderr)
		}
		if left := names(t, work); len(left) > 0 {
			t.Errorf("%v leaves %v", signal, left)
		}
	}
}

// TestSecondSignalStopsAtOnce: a second signal ends the process although cleaning up waits.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	cmd, stderr, feed := endlessIngest(t, t.TempDir())
	defer feed.Close() // open until the end: cleaning up may wait for it
	must.Do(t, cmd.Process.Signal(os.Interrupt))
	<-stderr.wrote // the first signal was received
	if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != ui.ExitInterrupted {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// TestSecondSignalDespiteFullPipe: a second signal ends the process although nothing reads standard error, a full pipe.
func TestSecondSignalDespiteFullPipe(t *testing.T) {
	unread, full, err := os.Pipe()
	must.Do(t, err)
	defer unread.Close()
	must.Do(t, full.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
	for err == nil {
		_, err = full.Write(make([]byte, 1<<16))
	}
	work := t.TempDir()
	in, feed, err := os.Pipe()
	must.Do(t, err)
	defer feed.Close()
	cmd := process(t, "ingest", "-", "-o", filepath.Join(work, "m.csr"), "--format", "movielens")
	cmd.Stdin, cmd.Stderr = in, full
	must.Do(t, cmd.Start())
	must.Do(t, errors.Join(in.Close(), full.Close()))
	for len(names(t, work)) == 0 {
		time.Sleep(time.Millisecond)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 2 {
		must.Do(t, cmd.Process.Signal(os.Interrupt))
		time.Sleep(100 * time.Millisecond) // two equal signals at a time may arrive as one
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("two signals have not ended the process")
		_ = cmd.Process.Kill()
		<-ended
	}
	if code := cmd.ProcessState.ExitCode(); code != ui.ExitInterrupted {
		t.Errorf("exit %d", code)
	}
}

func TestSignalStopsSVD(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cmd := process(t, "svd", slow(t), "-k", "20", "-o", dir, "--tol", "1e-14", "--method", "gd")
	stderr := &waiting{wrote: make(chan struct{}, 1)}
	cmd.Stderr = stderr
	must.Do(t, cmd.Start())
	for _, err := os.Stat(dir + ".partial"); err != nil; _, err = os.Stat(dir + ".partial") {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // lets some passes run
	must.Do(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != ui.ExitInterrupted {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	if r := resultOf(t, dir); r.Status != "cancelled" || r.Certified {
		t.Errorf("status %s, certified %v", r.Status, r.Certified)
	}
	if left := names(t, filepath.Dir(dir)); !slices.Equal(left, []string{"out"}) {
		t.Errorf("beside the result lie %v", left)
	}
}

// TestKilledSVDGoesOn: a run that is killed and resumed repeatedly writes the files of an
// uninterrupted one.
func TestKilledSVDGoesOn(t *testing.T) {
	t.Parallel()
	store := stored(t, ratings(t, synth.Ratings{Users: 1500, Items: 600, Ratings: 150000, Seed: 1}))
	r := rand.New(rand.NewPCG(3, 4))
	kills := map[string]int{"auto": 4, "power": 10, "nesterov": 4, "block": 4, "krylov": 4}
	if raceDetector || !longtest.On() {
		kills = map[string]int{"block": 1} // with the race detector processes are much slower
	}
	for method, kills := range kills {
		flags := []string{"-q", store, "-k", "6", "--tol", "1e-12", "--method", method}
		want := filepath.Join(t.TempDir(), "want")
		start := time.Now()
		if out, err := process(t, slices.Concat([]string{"svd", "-o", want}, flags)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		whole := time.Since(start)

		work := t.TempDir()
		dir := filepath.Join(work, "out")
		args := slices.Concat([]string{"svd", "-o", dir, "--resume", "--checkpoint-every", "1ms"}, flags)
		further, last := 0, 0
		killed := 0
		for killed < kills || further == 0 && killed < 50 { // until one kill follows a new checkpoint
			if killed < kills {
				_ = killAfter(t, time.Duration(r.Float64()*float64(whole)), args...)
			} else {
				_ = killWhen(t, func() bool { saved, err := savedPasses(dir); return err == nil && saved > last }, args...)
			}
			if _, err := os.Stat(filepath.Join(dir, factor.ResultFile)); err == nil { // the run finished before the kill
				sameResult(t, method, want, dir)
				must.Do(t, os.RemoveAll(dir))
				last = 0
				continue
			}
			killed++
			if saved, err := savedPasses(dir); err == nil {
				if saved > last {
					further++
				}
				last = saved
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if out, err := process(t, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", method, err, out)
		}
		sameResult(t, method, want, dir)
		if got := names(t, work); !slices.Equal(got, []string{"out"}) {
			t.Errorf("%s: at the end there are %v", method, got)
		}
		t.Logf("%s: %d of %d kills came after further progress; %v without them", method, further, killed, whole)
		if further == 0 {
			t.Errorf("%s: no kill met a run that had been saved: the test does not test", method)
		}
	}
}

// sameResult compares two results: arrays byte by byte, the other files without
// measurements of the process.
func sameResult(t *testing.T, what, want, got string) {
	t.Helper()
	for _, f := range partFiles {
		same(t, what, filepath.Join(want, f), filepath.Join(got, f))
	}
	volatile := func(r factor.Result) factor.Result {
		r.BytesRead, r.Seconds, r.PeakRSS, r.Settings.Memory = 0, factor.Seconds{}, 0, 0
		if r.Choice != nil {
			r.Choice.Why, r.Choice.Reason = "", "" // a resumed run has the choice of its checkpoint
		}
		r.CRC = 0
		r.Files = slices.DeleteFunc(r.Files, func(p factor.File) bool { return p.Name == eventsFile }) // holds times
		return r
	}
	if diff := cmp.Diff(volatile(resultOf(t, want)), volatile(resultOf(t, got)), cmpopts.IgnoreUnexported(factor.Result{})); diff != "" {
		t.Errorf("%s: results differ:\n%s", what, diff)
	}
	if a, b := events(t, want), events(t, got); !slices.Equal(a, b) {
		t.Errorf("%s: %d events, %d without breaks, or others", what, len(b), len(a))
	}
	if a, b := names(t, want), names(t, got); !slices.Equal(a, b) {
		t.Errorf("%s: files %v, want %v", what, b, a)
	}
}

// said returns the error of a process with its standard error.
func said(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}

// TestKilledIngestGoesOn: an ingest that is killed and resumed repeatedly makes the bytes of an
// uninterrupted one.
func TestKilledIngestGoesOn(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	file := ratings(t, spilling)
	args := func(store string) []string {
		return []string{"ingest", "-q", file, "-o", store, "--memory", tightMemory, "--checkpoint-every", "1ms", "--resume"}
	}
	want := filepath.Join(t.TempDir(), "m.csr")
	start := time.Now()
	succeeds(t, args(want)...)
	whole := time.Since(start)

	r := rand.New(rand.NewPCG(7, 8))
	rounds := 6
	if raceDetector {
		rounds = 2 // with the race detector processes are ten times slower
	}
	resumes := 0
	// The first ingest may take many times longer than the others, so the kills come
	// earlier from round to round until they precede the end.
	span := float64(whole) / 4
	for round := 0; round < rounds || resumes == 0 && round < 10*rounds; round++ {
		work := t.TempDir()
		store := filepath.Join(work, "m.csr")
		for i := range 4 {
			saved, after := "", time.Duration(r.Float64()*span)
			if i%2 == 1 { // soon after the journal was written; the last time at once
				saved = filepath.Join(store+ingest.SpoolSuffix, "journal")
			}
			if i == 3 {
				after = 0
			}
			killSaved(t, saved, after, args(store)...)
		}
		_, published := os.Stat(store)
		if published == nil {
			span /= 2
		}
		out, err := process(t, append(args(store), "--json")...).Output()
		switch {
		case err == nil:
			var report ingestResult
			decode(t, string(out), &report)
			resumes += report.Resumes
		case published != nil: // otherwise it was killed after publishing the store
			t.Fatal(said(err))
		}
		if left := names(t, work); !slices.Equal(left, []string{"m.csr"}) {
			t.Fatalf("at the end there are %v", left)
		}
		for _, name := range names(t, want) {
			same(t, name, filepath.Join(want, name), filepath.Join(store, name))
		}
	}
	t.Logf("resumed %d times in %d rounds", resumes, rounds)
	if resumes == 0 {
		t.Error("no kill met an ingest that had been saved: the test does not test")
	}
}

// killSaved starts gdsvd and kills it some time after file exists, unless it has ended.
func killSaved(t *testing.T, file string, after time.Duration, args ...string) {
	t.Helper()
	cmd := process(t, args...)
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	for there := file == ""; !there; {
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
		_, err := os.Stat(file)
		there = err == nil
	}
	select {
	case <-ended:
	case <-time.After(after):
		_ = cmd.Process.Kill() // fails only if the process has ended
		<-ended
	}
}

// TestUnfinishedIngest: the files of an unfinished ingest are kept, and are not used by an ingest with other options.
func TestUnfinishedIngest(t *testing.T) {
	file := ratings(t, spilling)
	work := t.TempDir()
	store := filepath.Join(work, "m.csr")
	args := []string{"ingest", "-q", file, "-o", store, "--memory", tightMemory, "--checkpoint-every", "1ms"}
	cmd := process(t, args...)
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	must.Do(t, cmd.Start())
	journal := filepath.Join(store+".spool", "journal")
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(journal); err == nil {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal("nothing is saved")
		}
	}
	must.Do(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != ui.ExitInterrupted || !strings.Contains(stderr.String(), "--resume goes on from there") {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	fails(t, ui.ExitError, "--resume goes on from it, --force begins anew", args...)
	fails(t, ui.ExitError, "cannot be resumed: it had duplicates \"error\"", append(args, "--resume", "--duplicates", "sum")...)
	succeeds(t, append(args, "--resume")...)
	if left := names(t, work); !slices.Equal(left, []string{"m.csr"}) {
		t.Errorf("at the end there are %v", left)
	}
}
