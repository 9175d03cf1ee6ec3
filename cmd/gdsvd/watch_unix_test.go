//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// watching runs gdsvd watch in another process until the test ends and returns its address.
func watching(t *testing.T, path string) string {
	t.Helper()
	cmd := process(t, "watch", "--json", path, "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Do(t, err)
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("watch that was interrupted: %v", err)
		}
	})
	var said struct {
		URL string `json:"url"`
	}
	must.Do(t, json.NewDecoder(bufio.NewReader(out)).Decode(&said))
	return said.URL
}

// states requests the states of all runs from a server.
func states(t *testing.T, url string) (all []live.State) {
	t.Helper()
	resp := must.Get(http.Get(url + "api/runs"))(t)
	body, err := io.ReadAll(resp.Body)
	if bad := resp.Body.Close(); err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return all
}

// TestWatchAnotherProcess: watch shows a run of another process while it runs, after it was killed, and at its end.
func TestWatchAnotherProcess(t *testing.T) {
	t.Parallel()
	store := stored(t, ratings(t, synth.Ratings{Users: 400, Items: 200, Ratings: 20000, Seed: 3}))
	folder := t.TempDir()
	out := filepath.Join(folder, "out.svd")
	slow := []string{"svd", "-q", store, "-k", "150", "-o", out, "--method", "gd", "--tol", "1e-14", "--workers", "1"}
	run := process(t, slow...)
	must.Do(t, run.Start())
	url := watching(t, folder)
	await := func(want func(live.State) bool) live.State {
		t.Helper()
		for {
			if all := states(t, url); len(all) == 1 && want(all[0]) {
				return all[0]
			}
			select {
			case <-t.Context().Done():
				t.Fatal("it does not come")
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	s := await(func(s live.State) bool { return s.Last != nil })
	if s.Status != live.Running || s.Name != "out.svd" || s.Rank != 150 || s.PID != run.Process.Pid || s.Workers != 1 || s.Rows != 400 {
		t.Errorf("%+v", s)
	}
	must.Do(t, run.Process.Kill())
	_ = run.Wait() // the run was killed
	if s := await(func(s live.State) bool { return s.Status != live.Running }); s.Status != live.Died || s.Last == nil {
		t.Errorf("%+v", s)
	}
	succeeds(t, "svd", "-q", store, "-k", "2", "-o", out, "--force")
	if s := await(func(s live.State) bool { return s.Status != live.Died && s.Status != live.Running }); s.Status != live.Finished || s.Last.Locked != 2 {
		t.Errorf("%+v", s)
	}
	for _, name := range names(t, folder) {
		if strings.Contains(name, live.Suffix) {
			t.Errorf("a run that finished leaves %s", name)
		}
	}
}

// TestMetricsAreLost: a run that is complete does not fail because its file of metrics cannot be written at the end.
func TestMetricsAreLost(t *testing.T) {
	store, folder := ingested(t, tall), filepath.Join(t.TempDir(), "metrics")
	must.Do(t, os.Mkdir(folder, 0o777))
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	a := newApp(strings.NewReader(""), &stdout, &stderr)
	a.fsys = &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpRename {
			return os.RemoveAll(folder)
		}
		return nil
	}}
	code := a.run(t.Context(), []string{"svd", store, "-k", "2", "-o", out, "--metrics-file", filepath.Join(folder, "x.prom")})
	if code != ui.ExitOK || !strings.Contains(stderr.String(), "--metrics-file could not be written at the end") {
		t.Errorf("exit %d\n%s", code, stderr.String())
	}
	resultOf(t, out)
}

// TestWatchRefuses: addresses that cannot be served are errors of one line before the command begins.
func TestWatchRefuses(t *testing.T) {
	work := t.TempDir()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	store, out := filepath.Join(t.TempDir(), "m.csr"), filepath.Join(work, "out")
	file := ratings(t, synth.Ratings{Users: 20, Items: 60, Ratings: 500, Seed: 3})
	succeeds(t, "ingest", "-q", file, "-o", store)
	fails(t, ui.ExitError, "listen on "+l.Addr().String()+": .*address already in use", "watch", work, "--listen", l.Addr().String())
	fails(t, ui.ExitError, "address already in use", "svd", "-q", store, "-k", "2", "-o", out, "--listen", l.Addr().String())
	fails(t, ui.ExitError, "address already in use", "ingest", "-q", file, "-o", out, "--listen", l.Addr().String())
	fails(t, ui.ExitError, "address already in use", "complete", "-q", store, "-k", "2", "-o", out, "--listen", l.Addr().String())
	metrics := filepath.Join(t.TempDir(), "run.prom")
	fails(t, ui.ExitError, "address already in use", "svd", "-q", store, "-k", "2", "-o", out, "--listen", l.Addr().String(), "--metrics-file", metrics)
	if text := string(must.Get(os.ReadFile(metrics))(t)); !strings.Contains(text, `status="failed"} 1`) || strings.Contains(text, `status="running"} 1`) {
		t.Errorf("the metrics of a run that did not begin:\n%s", text)
	}
	fails(t, ui.ExitUsage, "others reach this address: it needs a token: give one with --token", "watch", work, "--listen", "0.0.0.0:0")
	fails(t, ui.ExitUsage, "others reach this address", "svd", "-q", store, "-k", "2", "-o", out, "--listen", ":0")
	fails(t, ui.ExitUsage, "--token is for --listen", "svd", "-q", store, "-k", "2", "-o", out, "--token", "correct horse")
	fails(t, ui.ExitError, "no run, result or store", "watch", filepath.Join(work, "none"))
	fails(t, ui.ExitError, "no run, result or store: it is a file", "watch", file)
	if left := names(t, work); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	succeeds(t, "svd", "-q", store, "-k", "2", "-o", out, "--listen", "127.0.0.1:0")
}
