package live

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestTextfile: the file is complete at any time, is updated while the run goes on, and ends with the last state.
func TestTextfile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gdsvd.prom")
	var passes atomic.Int64
	var finished atomic.Bool
	state := func() *State {
		status := Running
		if finished.Load() {
			status = Finished
		}
		return &State{Name: "a.svd", Status: status, Last: &factor.Event{Pass: int(passes.Add(1))}}
	}
	end := must.Get(Textfile(vfs.OS(), name, time.Microsecond, state))(t)
	read := func() map[string]float64 {
		text := must.Get(os.ReadFile(name))(t)
		return parsed(t, text)
	}
	last := 0.0
	for last < 5 {
		samples := read()
		if pass := samples["gdsvd_passes|run=a.svd"]; pass < last || pass == 0 || samples["gdsvd_run_status|run=a.svd|status=running"] != 1 {
			t.Fatalf("%v after pass %v", samples, last)
		} else {
			last = pass
		}
	}
	finished.Store(true)
	must.Do(t, end())
	if samples := read(); samples["gdsvd_passes|run=a.svd"] != float64(passes.Load()) || samples["gdsvd_run_status|run=a.svd|status=finished"] != 1 {
		t.Errorf("at the end: %v", samples)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestTextfileOfTwoRuns: a run does not take away the half-written file of another run with the same file of metrics.
func TestTextfileOfTwoRuns(t *testing.T) {
	state := func() *State { return &State{Name: "x", Status: Running} }
	name := filepath.Join(t.TempDir(), "x.prom")
	tried := false
	fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpWrite && !tried {
			tried = true
			if _, err := Textfile(vfs.OS(), name, time.Hour, state); !errors.Is(err, vfs.ErrLocked) {
				t.Errorf("the second run: %v", err)
			}
		}
		return nil
	}}
	end := must.Get(Textfile(fsys, name, time.Hour, state))(t)
	if must.Do(t, end()); !tried {
		t.Error("nothing was written")
	}
}

// TestTextfileFails: a name that cannot be written is refused at once; a disk full for a while delays the updates.
func TestTextfileFails(t *testing.T) {
	state := func() *State { return &State{Name: "x", Status: Running} }
	if _, err := Textfile(vfs.OS(), filepath.Join(t.TempDir(), "none", "x.prom"), time.Hour, state); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	var full atomic.Bool
	tried := make(chan struct{}, 100)
	fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind != vfstest.OpCreate || !full.Load() {
			return nil
		}
		select {
		case tried <- struct{}{}:
		default:
		}
		return vfstest.ErrInjected
	}}
	name := filepath.Join(t.TempDir(), "x.prom")
	end := must.Get(Textfile(fsys, name, time.Microsecond, state))(t)
	full.Store(true)
	<-tried
	<-tried
	if text, err := os.ReadFile(name); err != nil || len(parsed(t, text)) == 0 {
		t.Errorf("%s, %v", text, err)
	}
	full.Store(false)
	if err := end(); err != nil {
		t.Error(err)
	}
}
