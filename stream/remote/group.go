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

// group is a task of a group that is being done.
type group struct {
	folder
	Task
	m    *stream.Matrix
	pass solver.Pass
	x    vfs.Mapping // with X; nil: it is in memory, or of no use
	in   rowReader
	out  *writer
}

// begin makes the pass, in the memory of a group that has ended, unless that is nil.
func (g *group) begin(before *group) (err error) {
	info, l := g.m.Info(), g.Columns
	if before == nil || before.m.Info().Cols != info.Cols || before.Columns != l {
		before = &group{m: g.m}
	}
	g.m.Inherit(before.m)
	switch {
	case g.X == "":
	case g.X == before.X && g.dir == before.dir: // names are those of one content
		g.pass.X, g.x, before.x = before.pass.X, before.x, nil
	default:
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

// drop lets go of a group that has ended; nil: none has.
func (g *group) drop() {
	if g != nil && g.x != nil {
		_ = g.x.Close() // it was only read
		g.x = nil
	}
}

// publish makes the pieces of what the pass has made.
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

// Options of New.
type Options struct {
	Engine Engine
	Shared string        // the folder that driver and workers see under this path, made if it is not there; or s3://BUCKET/PREFIX
	Groups int           // parts of the matrix, at most one a block; 2 to 4 a worker, so that a slow one is waited for little
	Tries  int           // of the tasks of a pass; 0: 5
	Wait   time.Duration // before the second try, twice as long before every other; 0: 200 ms
	FS     vfs.FS        // nil: the operating system's
	Log    *slog.Logger  // nil: nothing is logged
	Told   func(Stats)   // is called when a task has ended, one call at a time; nil: nothing is

	// PieceSize bounds the pieces of a sum, in bytes; 0: 32 MiB. The bits do not depend on it.
	PieceSize int64
}

// Local gives tasks of this process their budget, unless they have one.
func (o *Options) Local(memory, reserve int64, workers int) {
	if e, ok := o.Engine.(*Local); ok && e.Memory == 0 {
		e.Memory, e.Reserve, e.Workers = memory, reserve, workers
	}
}

const usualPiece = 32 << 20

// Subject is what is factorised.
type Subject struct {
	Store    *csr.Store
	View     *view.View  // nil: the store itself. It has been measured, or is by Matrix.Measure.
	Pipeline string      // of the view
	Info     solver.Info // of a view that has not been measured: see Matrix.Describe
}

// Stats is what the tasks of a run have come to.
type Stats struct {
	Tasks   int   // that were given to the engine
	Retries int   // of them, again
	Workers int   // that have ended tasks of this pass or the one before
	Read    int64 // bytes of the store
}

// Matrix is a solver.Matrix whose passes are tasks. Its methods must not be called concurrently with one another.
type Matrix struct {
	subject Subject
	opt     Options
	groups  []blocks
	run     folder
	lock    io.Closer
	client  *objects.Client // of a shared folder in a bucket
	view    *View           // of the tasks
	store   string          // its path for workers
	kernel  string          // that workers compute with, "" as long as none has said
	pass    int
	numbers map[string]int64        // of each piece that tasks make
	puts    map[string]func() error // that make pieces of the driver
	spoilt  map[string]bool         // pieces that have turned out to be damaged
	stats   Stats
	workers map[string]int // the last pass of each
}

// blocks are those of a group, and their rows.
type blocks struct {
	from, to    int
	first, rows int64
}

var _ solver.Matrix = (*Matrix)(nil)

// New begins a run. There is one at a time in a shared folder; what earlier ones have left there is removed, unless that is in a bucket. The engine
// stays the caller's.
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
	if s.Store != nil { // Rows has none
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

// split cuts the blocks of a source into groups with about as many entries and rows each: a function of the source and the
// number alone, which is that of the blocks if they are fewer.
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

// Describe gives the matrix the Info that it has on one machine, before the first pass.
func (m *Matrix) Describe(i solver.Info) { m.subject.Info = i }

// share publishes what has been measured of the view, once.
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

// Stats is what the tasks have come to so far.
func (m *Matrix) Stats() Stats { return m.stats }
