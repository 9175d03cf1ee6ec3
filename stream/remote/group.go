package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	objects "github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// group is the state of the task of a group.
type group struct {
	folder
	Task
	m    *stream.Matrix
	pass solver.Pass
	x    vfs.Mapping // map of X; nil: X is in memory, or not used
	in   rowReader
	out  *writer
}

// begin prepares the pass. It reuses the memory of before, a group that has ended or the zero value.
func (g *group) begin(before *group) (err error) {
	info, l := g.m.Info(), g.Columns
	if before.m == nil || before.m.Info().Cols != info.Cols || before.Columns != l {
		before.m, before.pass, before.Task = g.m, solver.Pass{}, Task{} // frees what g has no use for
	}
	g.m.Inherit(before.m)
	switch {
	case g.X == "":
	case g.X == before.X && g.dir == before.dir: // equal names in one folder have equal contents
		g.pass.X, g.x, before.x = before.pass.X, before.x, nil
	default:
		before.drop()
		if g.pass.X, g.x, err = g.mapped(g.X, info.Cols, l); err != nil {
			return err
		}
	}
	if g.In != "" {
		g.in = rowReader{folder: g.folder, name: g.In, numbers: info.Rows * int64(l)}
		g.pass.RowsIn.Func = g.in.read
	}
	if g.Out != "" {
		if g.out, err = g.create(g.Out); err != nil {
			return err
		}
		g.pass.RowsOut.Func = g.out.all
	}
	if g.R != "" {
		g.pass.R = mat.NewDense(l, l, nil)
	}
	if len(g.Sum) > 0 {
		if g.pass.Sum = before.pass.Sum; g.pass.Sum == nil {
			g.pass.Sum = mat.NewDense(info.Cols, l, nil)
		}
	}
	return nil
}

// drop unmaps X of a group that has ended; g may be nil.
func (g *group) drop() {
	if g != nil && g.x != nil {
		_ = g.x.Close() // it was only read
		g.x = nil
	}
}

// publish writes the results of the pass as pieces.
func (g *group) publish() error {
	if g.out != nil {
		if err := g.out.commit(); err != nil {
			return err
		}
	}
	if g.pass.R != nil {
		if err := g.put(g.R, g.pass.R, 0, g.Columns); err != nil {
			return err
		}
	}
	for i, name := range g.Sum {
		cols := g.m.Info().Cols
		if err := g.put(name, g.pass.Sum, cut(cols, i, len(g.Sum)), cut(cols, i+1, len(g.Sum))); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) end() {
	g.in.close()
	if g.out != nil {
		g.out.discard()
	}
}

// Options are the options of New.
type Options struct {
	Engine Engine
	Shared string        // the folder that driver and workers see under this path, made if it is not there; or s3://BUCKET/PREFIX
	Groups int           // parts of the matrix, at most one for each block; 2 to 4 for each worker, so that a slow worker delays little
	Tries  int           // tries of the tasks of a pass; 0: 5
	Wait   time.Duration // wait before the second try, doubled before every further try; 0: 200 ms
	FS     vfs.FS        // nil: the operating system's
	Log    *slog.Logger  // nil: nothing is logged
	Told   func(Stats)   // is called when a task has ended, one call at a time; may be nil

	// PieceSize bounds the pieces of a sum, in bytes; 0: 32 MiB. The bits do not depend on it.
	PieceSize int64
}

// Local sets the budget of a Local engine, unless it has one.
func (o *Options) Local(memory, reserve int64, workers int) {
	if e, ok := o.Engine.(*Local); ok && e.Memory == 0 {
		e.Memory, e.Reserve, e.Workers = memory, reserve, workers
	}
}

const usualPiece = 32 << 20

// Subject is the matrix to be factorised.
type Subject struct {
	Store    *csr.Store
	View     *view.View  // nil: the store itself. It has been measured, or Matrix.Measure measures it.
	Pipeline string      // of the view
	Info     solver.Info // of a view that has not been measured: see Matrix.Describe
}

// Stats counts the tasks of a run and what they have read.
type Stats struct {
	Tasks   int   // tasks given to the engine, repeated ones included
	Retries int   // tasks given to the engine again
	Workers int   // workers that have ended tasks of this pass or the one before
	Read    int64 // bytes of the store
}

// Matrix is a solver.Matrix whose passes are tasks. Its methods must not be called concurrently with one another.
type Matrix struct {
	subject Subject
	opt     Options
	groups  []blocks
	run     folder
	lock    io.Closer
	client  *objects.Client // nil unless the shared folder is in a bucket
	view    *View           // of the tasks
	store   string          // path of the store for workers
	kernel  string          // instructions that workers compute with; "": no answer has named them yet
	pass    int
	numbers map[string]int64        // float64s of each piece that tasks make
	puts    map[string]func() error // functions that make the driver's pieces again
	spoilt  map[string]bool         // pieces that have been found damaged
	stats   Stats
	workers map[string]int // last pass of each worker
}

// blocks are blocks from … to−1 of a source, which make a group, and their rows.
type blocks struct {
	from, to    int
	first, rows int64
}

var _ solver.Matrix = (*Matrix)(nil)

// New begins a run. A shared folder has one run at a time; New removes what earlier runs have left there, unless it is
// in a bucket. The engine stays the caller's.
func New(s Subject, o Options) (_ *Matrix, err error) {
	if o.Groups < 1 {
		return nil, fmt.Errorf("remote: %d groups: want one or more", o.Groups)
	}
	o.FS, o.Log = cmp.Or(o.FS, vfs.OS()), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if s.View != nil {
		if _, err := pipelineOf(s.Pipeline); err != nil {
			return nil, err
		}
	}
	o.Tries, o.Wait, o.PieceSize = cmp.Or(o.Tries, 5), cmp.Or(o.Wait, 200*time.Millisecond), cmp.Or(o.PieceSize, usualPiece)
	m := &Matrix{subject: s, opt: o, numbers: map[string]int64{}, puts: map[string]func() error{}, spoilt: map[string]bool{}, workers: map[string]int{}}
	if s.Store != nil { // nil in Rows
		m.groups = split(s.Store, o.Groups)
		if m.store, err = objects.Abs(s.Store.Path()); err != nil {
			return nil, err
		}
	}
	m.run.shelf = disk{o.FS}
	if inBucket(o.Shared) {
		m.client = objects.New(objects.Options{Log: o.Log})
		m.run.shelf = newBucket(context.Background(), m.client)
	}
	if m.run.dir, m.lock, err = m.run.begin(o.Shared); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// split cuts the blocks of a source into groups with about equal numbers of entries and rows. The result is a function of
// the source and the number of groups alone; there are no more groups than blocks.
func split(src stream.Source, groups int) (all []blocks) {
	n := src.NumBlocks()
	weight := func(i int) int64 { return int64(src.Block(i).NNZ) + int64(src.Block(i).Rows) }
	var total, seen int64
	for i := range n {
		total += weight(i)
	}
	groups = max(1, min(groups, n))
	from := 0
	for i := range n {
		seen += weight(i)
		more := groups - len(all) - 1 // groups behind this one
		if i == n-1 || more > 0 && (float64(seen)*float64(groups) >= float64(total)*float64(len(all)+1) || n-1-i == more) {
			first, last := src.Block(from), src.Block(i)
			all = append(all, blocks{from, i + 1, first.FirstRow, last.FirstRow + int64(last.Rows) - first.FirstRow})
			from = i + 1
		}
	}
	return all
}

// Describe sets the Info that the matrix has on one machine. It is called before the first pass.
func (m *Matrix) Describe(i solver.Info) { m.subject.Info = i }

// share publishes the measured statistics of the view, once.
func (m *Matrix) share() error {
	if m.subject.View == nil || m.view != nil {
		return nil
	}
	m.view = &View{m.subject.Pipeline, "view"}
	return m.give(m.view.Measured, func() error { return m.run.putNumbers(m.view.Measured, m.subject.View.Measured()...) })
}

// Close removes the pieces of the run.
func (m *Matrix) Close() (err error) {
	if m.run.dir != "" {
		err = m.run.clear(m.run.dir)
	}
	if m.client != nil {
		m.client.Close()
	}
	if m.lock != nil {
		err = errors.Join(err, m.lock.Close())
		m.lock = nil
	}
	return err
}

func (m *Matrix) Info() solver.Info {
	i := m.subject.Info
	i.ID = fmt.Sprintf("%s in %d groups", i.ID, len(m.groups))
	return i
}

// Groups is the number of groups.
func (m *Matrix) Groups() int { return len(m.groups) }

// Stats returns the counts of tasks so far.
func (m *Matrix) Stats() Stats { return m.stats }
