package factor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// TestResumeRecallsView: a resumed run takes the statistics of the view from the file beside its checkpoint. If it is
// missing, damaged or of another view, they are measured again, with the same bits.
func TestResumeRecallsView(t *testing.T) {
	store := random(t, 3000, 900, 12)
	o := factor.Options{
		Rank: 4, View: pipeline(t, "bm25 · bias=both · center=columns"), Method: lanczos.Krylov{Columns: 2, Basis: 16},
		CheckpointEvery: 1, CheckpointShare: 1e9, Workers: 2,
	}
	whole := o
	whole.Dir = filepath.Join(t.TempDir(), "whole")
	want := run(t, store, whole)
	const name = "checkpoint.view"
	other := func(t *testing.T) []byte {
		o, dir := o, filepath.Join(t.TempDir(), "other")
		o.Dir, o.View, o.MaxPasses = dir, pipeline(t, "bm25=50,0.5 · bias=both · center=columns"), 5
		run(t, store, o)
		return must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	}
	for what, c := range map[string]struct {
		change func(t *testing.T, b []byte) []byte // nil bytes: the file is removed
		again  bool
		said   string
	}{
		"as it is":     {func(_ *testing.T, b []byte) []byte { return b }, false, ""},
		"missing":      {func(*testing.T, []byte) []byte { return nil }, true, ""},
		"cut short":    {func(_ *testing.T, b []byte) []byte { return b[:len(b)/2] }, true, "are measured again"},
		"damaged":      {func(_ *testing.T, b []byte) []byte { b[len(b)/2] ^= 1; return b }, true, "are measured again"},
		"another view": {func(t *testing.T, _ []byte) []byte { return other(t) }, true, "of another store or view"},
	} {
		t.Run(what, func(t *testing.T) {
			o, said := o, bytes.Buffer{}
			o.Dir = filepath.Join(t.TempDir(), "out")
			o.Log = slog.New(slog.NewTextHandler(&said, nil))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o.Pass = func(e solver.Event, _ factor.Outlook) {
				if e.Pass == 6 {
					cancel()
				}
			}
			if _, err := factor.Run(ctx, store, o); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			file := filepath.Join(o.Dir, name)
			b, err := os.ReadFile(file)
			must.Do(t, err)
			if b = c.change(t, b); b == nil {
				err = os.Remove(file)
			} else {
				err = os.WriteFile(file, b, 0o666)
			}
			must.Do(t, err)
			report, err := check.Result(t.Context(), o.Dir, check.Options{})
			if err == nil {
				err = report.Err()
			}
			if damaged := what == "cut short" || what == "damaged"; errors.Is(err, csr.ErrCorrupt) != damaged {
				t.Errorf("check says %v", err)
			}
			o.Pass, o.Resume = nil, true
			var read atomic.Int64
			o.Measuring = func(int64, int64) { read.Add(1) }
			r := run(t, store, o)
			if blocks := int64(r.View.Reads) * int64(store.NumBlocks()); read.Load() != 0 && !c.again || c.again && read.Load() != blocks {
				t.Errorf("%d blocks were read for statistics, %d are in %d reads", read.Load(), blocks, r.View.Reads)
			}
			if !strings.Contains(said.String(), c.said) || c.said == "" && strings.Contains(said.String(), "measured again") {
				t.Errorf("said %q", said.String())
			}
			if !slices.Equal(r.Sigma, want.Sigma) || r.Passes != want.Passes || r.View.Norm != want.View.Norm {
				t.Error("the resumed run has other bits")
			}
			if left, err := filepath.Glob(filepath.Join(o.Dir, "checkpoint*")); err != nil || len(left) > 0 {
				t.Errorf("%v is left behind, %v", left, err)
			}
		})
	}
}

// TestLimitKeepsView: a run that a limit has ended keeps the statistics of the view beside its checkpoint.
func TestLimitKeepsView(t *testing.T) {
	store := random(t, 3000, 900, 13)
	o := factor.Options{
		Rank: 4, Dir: filepath.Join(t.TempDir(), "out"), View: pipeline(t, "tfidf"), Method: lanczos.Krylov{Columns: 2, Basis: 16},
		CheckpointEvery: 1, CheckpointShare: 1e9, MaxPasses: 5,
	}
	for range 2 { // also after a run that recalled them
		if r := run(t, store, o); r.Status != "pass-limit" {
			t.Fatal(r.Status)
		}
		if _, err := os.Stat(filepath.Join(o.Dir, "checkpoint.view")); err != nil {
			t.Error(err)
		}
		o.Resume, o.MaxPasses = true, o.MaxPasses+2
		o.Measuring = func(int64, int64) { t.Error("the store is read for statistics once more") }
	}
}
