package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// heard is a buffer for standard error that closes come when its text matches line.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
	line *regexp.Regexp
	come chan struct{} // closed at the match
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.text.Write(b)
	select {
	case <-h.come:
	default:
		if h.line.Match(h.text.Bytes()) {
			close(h.come)
		}
	}
	return n, err
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestInterruptionSaysWhatItWaitsFor: after an interruption the run logs the step that it finishes and its bytes;
// the file system waits until it has.
func TestInterruptionSaysWhatItWaitsFor(t *testing.T) {
	store := slow(t)
	for what, c := range map[string]struct {
		op    vfstest.Kind
		file  string
		line  string
		flags []string
	}{
		"checkpoint":        {vfstest.OpWrite, checkpointFile + halfSuffix, `interrupted \S+ ago, still writing the checkpoint of [\d.]+ .iB \(once more to stop at once\)`, nil},
		"checkpoint synced": {vfstest.OpSync, checkpointFile + halfSuffix, `still writing the checkpoint: [\d.]+ .iB are written, waiting for the disk`, nil},
		"copy":              {vfstest.OpSync, filepath.Join("out.partial", checkpointFile), `still copying the checkpoint: [\d.]+ .iB are written, waiting for the disk`, nil},
		"result":            {vfstest.OpSync, filepath.Join("out.partial", rightFile), `still writing the result: [\d.]+ .iB are written, waiting for the disk`, nil},
		"anything":          {vfstest.OpUnmap, "", `still waiting for the step under way to come to its end`, []string{"--checkpoint-every", "0", "--vectors", "none"}},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stderr := &heard{line: regexp.MustCompile(c.line), come: make(chan struct{})}
			var stdout bytes.Buffer
			a := newApp(strings.NewReader(""), &stdout, &cancelAfter{stderr, 3, cancel})
			a.interval, a.patience = time.Millisecond, time.Millisecond
			silent := false
			a.fsys = &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
				if o.Kind == c.op && strings.Contains(o.Name, c.file) && ctx.Err() != nil {
					select {
					case <-stderr.come:
					case <-time.After(time.Minute):
						silent = true
					}
				}
				return nil
			}}
			out := filepath.Join(t.TempDir(), "out")
			code := a.run(ctx, append([]string{"svd", store, "-k", "20", "-o", out, "--tol", "1e-14", "--method", "gd"}, c.flags...))
			if code != ui.ExitInterrupted || silent || !stderr.line.MatchString(stderr.String()) {
				text := stderr.String()
				t.Errorf("exit %d, silent %v:\n%s", code, silent, text[max(0, len(text)-500):])
			}
		})
	}
}

// TestCheckEndsWithItsContext: an interrupted check or svd --init stops after the current chunk.
func TestCheckEndsWithItsContext(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.csr")
	succeeds(t, "generate", "spectrum", "-q", "--rows", "60000", "--cols", "50000", "--rank", "8", "--layers", "1", "-o", store)
	dir, _ := factorised(t, store, "-k", "8", "--tol", "1e-5")
	for _, args := range [][]string{{"check", dir}, {"check", dir, "--store", store}, {"svd", store, "-k", "8", "--init", dir, "-o", dir + "2", "--force"}} {
		reads := func(cancelAt int) (n, bytesAfter, code int) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
				if (o.Kind == vfstest.OpReadAt || o.Kind == vfstest.OpRead) && strings.HasPrefix(o.Name, dir+string(filepath.Separator)) && strings.HasSuffix(o.Name, ".npy") {
					if n++; n == cancelAt {
						cancel()
					}
					if ctx.Err() != nil && n > cancelAt {
						bytesAfter += o.Bytes
					}
				}
				return nil
			}}
			o := gdsvdAs(t, ctx, func(a *app) { a.fsys = fsys }, append(args, "-q")...)
			return n, bytesAfter, o.code
		}
		all, _, code := reads(-1)
		if code != ui.ExitOK || all < 4 {
			t.Fatalf("%v: exit %d after %d reads", args, code, all)
		}
		for at := 1; at <= all; at += max(1, all/longtest.Pick(40, 6)) {
			// One chunk of a file, or the chunks that the workers of a pass have begun.
			if _, more, code := reads(at); more > 1<<20 || code != ui.ExitInterrupted && at < all-1 {
				t.Errorf("%v: cancelled in read %d of %d: %d bytes more, exit %d", args, at, all, more, code)
			}
		}
	}
}

func TestIDsEndWithTheirContext(t *testing.T) {
	for _, g := range []synth.Ratings{tall, {Users: 9000, Items: 100, Ratings: 200_000, Seed: 1}} {
		store := ingested(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if o := gdsvdIn(t, ctx, "", "info", store, "--ids", "rows"); o.code != ui.ExitInterrupted || o.stdout != "" {
			t.Errorf("exit %d, %d bytes of ids", o.code, len(o.stdout))
		}
	}
}
