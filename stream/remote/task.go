package remote

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	objects "github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// version is the version of Task and Answer. Programs of different versions do not work together.
const version = 4

// Task is a part of a pass, for one worker. It has names of pieces and no numbers. Running it twice, even at the same
// time, has the same result as running it once.
type Task struct {
	Version int    `json:"version"`
	Dir     string `json:"dir"` // folder of the pieces of the run
	Columns int    `json:"columns"`

	// Of a group: blocks From … To−1 of the store, and of its view.
	Store       string `json:"store,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // fingerprint that the store must have
	View        *View  `json:"view,omitempty"`
	From        int    `json:"from,omitempty"`
	To          int    `json:"to,omitempty"`

	// Pieces of the pass, as the blocks of a solver.Pass: X and In are read, Out, R and Sum made, if they have names.
	X   string `json:"x,omitempty"`
	In  string `json:"in,omitempty"`
	Out string `json:"out,omitempty"`
	R   string `json:"r,omitempty"`
	// Sum are pieces of about equal numbers of rows, in their order.
	Sum []string `json:"sum,omitempty"`

	// Settled are the pieces of the reads so far for the statistics of the view, with the sums over all rows. Sum is
	// one piece, the sums of the next read over the group. View.Measured is "" in such a task.
	Settled []string `json:"settled,omitempty"`

	// Turn is a sweep over Rows rows of left vectors, in the piece In. The new rows go to Out, if it has a name, and
	// the sums to Sum, which is one piece. Such a task has no store.
	Turn *Turn `json:"turn,omitempty"`

	// Job describes Rows rows that the program of the worker makes and puts into Out. Such a task has no store.
	Job *Job `json:"job,omitempty"`

	// Add are pieces of Rows rows that are added up, in this order, into Sum, one piece. Such a task has no store.
	Add  []string `json:"add,omitempty"`
	Rows int      `json:"rows,omitempty"`
}

// Turn is a solver.LeftSweep.
type Turn struct {
	First int64            `json:"first"`        // number of the first row
	By    string           `json:"by,omitempty"` // piece with solver.LeftSweep.By
	Fill  *solver.LeftFill `json:"fill,omitempty"`
	Into  *Into            `json:"into,omitempty"` // the rows are written there unchanged, and their checksums into Sum, one piece
}

// Into is the file of all left vectors, of Rows rows; each task writes its own. It begins with Mark: see npy.Array.Share.
type Into struct {
	Path string `json:"path"`
	Rows int64  `json:"rows"`
	Mark string `json:"mark"`
}

// View is the view of the store whose blocks make up a group.
type View struct {
	Pipeline string `json:"pipeline"`
	Measured string `json:"measured,omitempty"` // piece with the statistics of the view; "": the task is to measure them
}

// Answer is how a task has ended.
type Answer struct {
	ID    int    `json:"id"`              // id of the task
	Error string `json:"error,omitempty"` // why the task failed; absent if it succeeded
	// kind of an error that every other worker would meet too: "corrupt" (the store is damaged), "memory" (`--memory` is too small), "value" (a step of the view makes a value that is not a number), "unseen" (the directory of the result is not on this machine) or "refused" (the task cannot be done); absent if the task may be tried again
	Kind   Kind             `json:"kind,omitempty"`
	Entry  *view.ValueError `json:"entry,omitempty"`  // the entry, where the kind of the error is "value"
	Piece  string           `json:"piece,omitempty"`  // name of a file of the shared folder that is damaged and has to be made again
	Kernel string           `json:"kernel,omitempty"` // instruction set that the worker computes with; all workers of a run use the same
	Read   int64            `json:"read,omitempty"`   // bytes of the store that the task read
	Worker string           `json:"worker,omitempty"` // host and process that ran the task
}

// Kind is the kind of an error that every other worker would meet, too.
type Kind string

const (
	Corrupt Kind = "corrupt" // the store is damaged: csr.ErrCorrupt
	Memory  Kind = "memory"  // the budget of a worker cannot work
	Value   Kind = "value"   // a step of the view makes a value NaN or infinite
	Refused Kind = "refused" // the store or the task is not what this worker is for
	Unseen  Kind = "unseen"  // the file that rows are written into is not on this machine
)

var errUnseen = errors.New("the worker does not see the file")

// unseen is an error of the kind Unseen.
type unseen struct{ error }

// refusal is an error of the kind Refused.
type refusal struct{ error }

// kindOf returns the Kind of the error of a task; "": the task may be tried again.
func kindOf(err error) Kind {
	switch {
	case errors.Is(err, csr.ErrCorrupt):
		return Corrupt
	case errors.As(err, new(*stream.BudgetError)):
		return Memory
	case errors.As(err, new(*view.ValueError)):
		return Value
	case errors.As(err, new(unseen)):
		return Unseen
	case errors.As(err, new(refusal)), errors.Is(err, csr.ErrVersion), errors.Is(err, csr.ErrNotStore):
		return Refused
	}
	return ""
}

// kernelOf names a set of instructions that round alike: see package stream.
func kernelOf(kernel string) string {
	if kernel == "avx512" {
		kernel = "avx2"
	}
	return runtime.GOARCH + " " + kernel
}

// cut returns the first row of part i when rows are shared out evenly over n parts.
func cut(rows, i, n int) int { return int(int64(rows) * int64(i) / int64(n)) }

// Do runs a task. The Answer has no ID.
func (w *Worker) Do(ctx context.Context, t Task) (a Answer) {
	host, _ := os.Hostname() // without a name the process number alone tells workers apart
	a.Worker = fmt.Sprintf("%s:%d", host, os.Getpid())
	err := w.do(ctx, t, &a)
	if err != nil {
		a.Error, a.Kind = err.Error(), kindOf(err)
		a.Entry, _ = errors.AsType[*view.ValueError](err)
	}
	if bad, ok := errors.AsType[*badPiece](err); ok {
		a.Piece = bad.name
	} else if errors.Is(err, objects.ErrChanged) { // the next try opens the store as it is then
		w.mu.Lock()
		w.key, w.named = "", ""
		w.mu.Unlock()
	}
	return a
}

func (w *Worker) do(ctx context.Context, t Task, a *Answer) error {
	f, before := folder{w.shelf(ctx, t.Dir), t.Dir}, cmp.Or(w.last.Swap(nil), new(group))
	defer before.drop()
	switch {
	case t.Version != version:
		return refusal{fmt.Errorf("a task of version %d, but this worker knows version %d: driver and workers need the same gdsvd", t.Version, version)}
	case t.Columns < 1:
		return refusal{fmt.Errorf("a task with %d columns", t.Columns)}
	case len(t.Add) > 0:
		return f.addUp(t)
	case t.Job != nil:
		a.Kernel = kernelOf(stream.Kernel())
		return w.rows(ctx, f, t)
	case t.Turn != nil:
		a.Kernel = kernelOf(stream.Kernel())
		return w.turn(ctx, f, t)
	}
	src, err := w.source(f, t)
	if err != nil {
		return err
	}
	if t.From < 0 || t.From > t.To || t.To > src.NumBlocks() {
		return refusal{fmt.Errorf("a task of blocks %d to %d of %d", t.From, t.To, src.NumBlocks())}
	}
	if t.View != nil && t.View.Measured == "" {
		for i := t.From; i < t.To; i++ {
			a.Read += src.Block(i).Size
		}
		return w.measure(ctx, f, src.(*csr.Store), t)
	}
	// The plan has room for X and for the sum of the task.
	m, err := stream.NewFrom(stream.Range(src, t.From, t.To), stream.Options{
		Memory: w.Memory, Reserve: w.Reserve, Workers: w.Workers, Width: t.Columns, Rank: t.Columns, Once: true,
	})
	if err != nil {
		return err
	}
	a.Kernel = kernelOf(m.Plan().Kernel)
	g := &group{folder: f, Task: t, m: m}
	defer g.end()
	if err = g.begin(before); err == nil {
		var cost solver.Cost
		cost, err = m.Run(ctx, g.pass)
		a.Read = cost.BytesRead
	}
	if err == nil {
		err = g.publish()
	}
	if err == nil {
		g = w.last.Swap(g)
	}
	g.drop()
	return err
}

func (f folder) addUp(t Task) error {
	x := make([]float64, t.Rows*t.Columns)
	for i, name := range t.Add {
		if err := f.add(name, int64(len(x)), i == 0, func(at int64) []float64 { return x[at:min(int64(len(x)), at+portion)] }); err != nil {
			return err
		}
	}
	return f.putNumbers(t.Sum[0], x)
}

// Worker runs tasks; any worker may run any task. For the next task it keeps the last store open with its view, and the
// sum and the mapped X of the last task. It is safe for concurrent use by tasks of one store.
type Worker struct {
	FS      vfs.FS          // nil: the operating system's
	Memory  int64           // budget of a task in bytes, of which Reserve is taken; 0: no limit
	Reserve int64           // not of a task that measures a view: the vectors of the driver come later
	Workers int             // goroutines of a task; 0: all processors
	Make    map[string]Make // by Job.Kind; other kinds are refused

	mu    sync.Mutex
	key   string        // of src
	src   stream.Source // the store or its view
	named string        // of the store
	store *csr.Store

	client *objects.Client       // nil: no piece has been in a bucket yet
	last   atomic.Pointer[group] // last group that has ended; the next task reuses its memory
}

// shelf returns the shelf of a folder.
func (w *Worker) shelf(ctx context.Context, dir string) shelf {
	if !inBucket(dir) {
		return disk{cmp.Or(w.FS, vfs.OS())}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client == nil {
		w.client = objects.New(objects.Options{})
	}
	return newBucket(ctx, w.client)
}

// source returns the store or the view that the group of a task is cut from.
func (w *Worker) source(f folder, t Task) (_ stream.Source, err error) {
	named := fmt.Sprintf("%q %q", t.Store, t.Fingerprint)
	key, seen := named, t.View != nil && t.View.Measured != ""
	if seen {
		key += fmt.Sprintf(" %q %q", t.Dir, *t.View)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.key == key {
		return w.src, nil
	}
	if w.named != named { // the same store stays open, with the parts of a bucket that it keeps
		if err = w.close(); err == nil {
			w.store, err = csr.Open(t.Store, csr.OpenOptions{FS: w.FS, Missing: true})
		}
		if err == nil && w.store.Fingerprint() != t.Fingerprint {
			err = refusal{fmt.Errorf("store %s is another one than the driver's: %.16s…, not %.16s…", t.Store, w.store.Fingerprint(), t.Fingerprint)}
		}
		if err != nil {
			return nil, err
		}
		w.named = named
	}
	if w.key, w.src = "", w.store; seen {
		if w.src, err = w.seen(f, t); err != nil {
			return nil, err
		}
	}
	w.key = key
	return w.src, nil
}

// seen returns the view of a task, with the statistics that the driver has measured.
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

// pipelineOf parses the text of a pipeline for a worker, which has no lists of columns or rows.
func pipelineOf(text string) (view.Pipeline, error) {
	p, err := view.Parse(text)
	if err != nil {
		return nil, err
	}
	return p.Resolve(func(step int, _ string) (*view.Mask, error) {
		return nil, fmt.Errorf("%v: a run with an engine takes no list of columns or rows", p[step])
	})
}

func (w *Worker) Close() error {
	w.last.Swap(nil).drop()
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
	w.key, w.named, w.store, w.src = "", "", nil, nil
	return err
}

// request is a line that a program at the other end of a pipe reads. The program answers with a line, an Answer.
type request struct {
	ID   int  `json:"id"`
	Task Task `json:"task"`
}

// longestLine bounds the lines of a pipe: a task names the pieces of all groups.
const longestLine = 64 << 20

// Serve runs the tasks that come as lines of JSON, one after the other, and answers each with a line, until in ends.
func (w *Worker) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	// Waiting for a task ends with ctx; the goroutine ends when its read of in returns.
	tasks, to := io.Pipe()
	defer tasks.Close()
	go func() { _, err := io.Copy(to, in); to.CloseWithError(err) }()
	defer context.AfterFunc(ctx, func() { to.CloseWithError(context.Cause(ctx)) })()
	lines := bufio.NewScanner(tasks)
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
