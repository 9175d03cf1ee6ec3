package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gdsvd/gdsvd/csr"
	objects "github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
	"github.com/gdsvd/gdsvd/vfs"
)

// Worker does tasks. It keeps the last store that it was asked for open, with its view, and nothing else between tasks: any
// worker may do any task. It is safe for concurrent use by tasks of one store.
type Worker struct {
	FS      vfs.FS // nil: the operating system's
	Memory  int64  // budget of a task in bytes, of which Reserve is taken; 0: no limit
	Reserve int64
	Workers int // goroutines of a task; 0: all processors

	mu    sync.Mutex
	key   string
	store *csr.Store
	src   stream.Source // the store or its view

	client *objects.Client // nil: no piece has been in a bucket yet
}

// shelf is where the pieces in a folder are.
func (w *Worker) shelf(ctx context.Context, dir string) shelf {
	if !inBucket(dir) {
		if w.FS == nil {
			return disk{vfs.OS()}
		}
		return disk{w.FS}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client == nil {
		w.client = objects.New(objects.Options{})
	}
	return bucket{w.client, ctx}
}

// source is what the groups of a task are of.
func (w *Worker) source(f folder, t Task) (stream.Source, error) {
	key := fmt.Sprintf("%q %q", t.Store, t.Fingerprint)
	seen := t.View != nil && t.View.Measured != ""
	if seen {
		key += fmt.Sprintf(" %q %q", t.Dir, *t.View)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.key == key {
		return w.src, nil
	}
	if err := w.close(); err != nil {
		return nil, err
	}
	store, err := csr.Open(t.Store, csr.OpenOptions{FS: w.FS, Missing: true})
	if err != nil {
		return nil, err
	}
	w.store = store
	if store.Fingerprint() != t.Fingerprint {
		return nil, refusal{fmt.Errorf("store %s is another one than the driver's: %.16s…, not %.16s…", t.Store, store.Fingerprint(), t.Fingerprint)}
	}
	w.src = store
	if seen {
		if w.src, err = w.seen(f, t); err != nil {
			return nil, err
		}
	}
	w.key = key
	return w.src, nil
}

// seen is the view of the store that a task is of, with what the driver has measured for it.
func (w *Worker) seen(f folder, t Task) (stream.Source, error) {
	p, err := pipelineOf(t.View.Pipeline)
	if err != nil {
		return nil, refusal{err}
	}
	v := view.Plan(w.store, p, w.store.Transposed())
	parts, all := make([][]float64, len(v.Lengths())), int64(0)
	for i, n := range v.Lengths() {
		parts[i] = make([]float64, n)
		all += n
	}
	r, err := f.open(t.View.Measured, all)
	if err != nil {
		return nil, err
	}
	defer r.close()
	for _, part := range parts {
		if err := r.read(part); err != nil {
			return nil, err
		}
	}
	return v, v.Recall(parts)
}

// pipelineOf is what a worker can make of the text of a pipeline.
func pipelineOf(text string) (view.Pipeline, error) {
	p, err := view.Parse(text)
	if err != nil {
		return nil, err
	}
	return p.Resolve(func(step int, _ string) (*view.Mask, error) {
		return nil, fmt.Errorf("%v: a run with an engine takes no list of columns or rows", p[step])
	})
}

// Close closes the store.
func (w *Worker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client != nil {
		w.client.Close()
	}
	return w.close()
}

func (w *Worker) close() (err error) {
	if w.store != nil {
		err = w.store.Close()
	}
	w.key, w.store, w.src = "", nil, nil
	return err
}

// request is a line that a program at the other end of a pipe gets. It answers with a line, an Answer.
type request struct {
	ID   int  `json:"id"`
	Task Task `json:"task"`
}

// longestLine bounds the lines of a pipe: a task names the pieces of all groups.
const longestLine = 64 << 20

// Serve does the tasks that come as lines of JSON, one after the other, and answers each with a line, until in ends.
func (w *Worker) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("a line on standard input is no task: %w", err)
		}
		a := w.Do(ctx, r.Task)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.ID = r.ID
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), w.Close())
}
