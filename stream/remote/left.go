package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
)

// Left holds the left vectors of a run over a Matrix, in a piece for the rows of each group. Tasks of the finishing
// pass make the pieces, and tasks of sweeps make others from them. The driver gets the sums of these tasks, and the
// rows only where workers do not see the result. A Left is the solver.Settings.Left of its Matrix only.
type Left struct {
	m *Matrix
	// made made the pieces, from those of before, which are kept so that a damaged piece can be made again.
	made, before *pass
}

var (
	_ solver.LeftSweeper = (*Left)(nil)
	_ solver.Resizer     = (*Left)(nil)
)

// Left returns left vectors that have no pieces yet.
func (m *Matrix) Left() *Left { return &Left{m: m} }

// Resize implements solver.Resizer: the number of columns is that of the finishing pass.
func (*Left) Resize(int) error { return nil }

// WriteRows fails: rows are written by tasks.
func (*Left) WriteRows(int64, *mat.Dense) error { return errors.ErrUnsupported }

// ReadRows fails: rows are read by tasks.
func (*Left) ReadRows(int64, *mat.Dense) error { return errors.ErrUnsupported }

// take takes over the Out pieces of a completed pass; the pieces of before, which they were made from, are kept.
func (l *Left) take(r *pass, before *pass) error {
	var err error
	for _, old := range []*pass{l.before, l.made} {
		if old != nil && old != before {
			err = errors.Join(err, old.clear())
		}
	}
	l.before, l.made = before, r
	out := map[string]bool{}
	for i := range r.first {
		t := &r.first[i]
		t.Sum, t.R, out[t.Out] = nil, "", true
	}
	r.release()
	r.want, r.parts, r.second = solver.Pass{}, 0, nil
	return errors.Join(err, r.forget(out))
}

// stages returns the stages that make missing pieces again.
func (l *Left) stages() [][]Task {
	if l.before == nil {
		return [][]Task{l.made.first}
	}
	return [][]Task{l.before.first, l.made.first}
}

func (l *Left) SweepLeft(ctx context.Context, s solver.LeftSweep) (sums *solver.LeftSums, err error) {
	m, k := l.m, l.made.l
	m.pass++
	r := &pass{Matrix: m, l: k}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, r.clear())
		}
	}()
	turn := Turn{Fill: s.Fill}
	if s.By != nil {
		turn.By = r.name("by", 0, 0)
		r.inputs = append(r.inputs, turn.By)
		if err := r.give(turn.By, func() error { return m.run.put(turn.By, s.By, 0, k) }); err != nil {
			return nil, err
		}
	}
	size := int64(k)
	if s.Keep {
		size *= int64(k)
	}
	for i, g := range m.groups {
		t := l.task(r, turn, i, size)
		if s.Keep {
			t.Out = r.makes("out", i, 0, g.rows*int64(k))
		}
		r.first = append(r.first, t)
	}
	err = r.complete(ctx, append(l.stages(), r.first), func(context.Context) error {
		sums = solver.NewLeftSums(s, k)
		for _, t := range r.first {
			next := solver.NewLeftSums(s, k)
			if err := m.run.get(t.Sum[0], next.Numbers()); err != nil {
				return err
			}
			sums.Add(next)
		}
		return nil
	})
	if err == nil && s.Keep {
		kept = true
		err = l.take(r, l.made)
	}
	return sums, err
}

// task returns the task of a sweep over the rows of a group, whose Sum is a piece of the given count of numbers.
func (l *Left) task(r *pass, turn Turn, group int, numbers int64) Task {
	g := l.m.groups[group]
	turn.First = g.first
	return Task{Version: version, Dir: l.m.run.dir, Columns: l.made.l, Rows: int(g.rows), Turn: &turn, In: l.made.first[group].Out,
		Sum: []string{r.makes("part", group, 0, numbers)}}
}

// WriteTo writes the rows into an array: each task its own, or the driver all if a worker does not see the file.
func (l *Left) WriteTo(ctx context.Context, a *npy.Array) error {
	path, err := filepath.Abs(a.Name())
	if err != nil {
		return err
	}
	m, k := l.m, int64(l.made.l)
	m.pass++
	r := &pass{Matrix: m, l: int(k)}
	last := m.groups[len(m.groups)-1]
	turn := Turn{Into: &Into{Path: path, Rows: last.first + last.rows, Mark: r.name(filepath.Base(m.run.dir), 0, 0)}}
	if err := a.Share(turn.Into.Mark); err != nil {
		return err
	}
	end := int64(len(npy.HeaderOf("<f8", turn.Into.Rows, k)))
	for i, g := range m.groups {
		begin := end
		if i == 0 {
			begin = 0 // with the header
		}
		end += 8 * k * g.rows
		r.first = append(r.first, l.task(r, turn, i, (end-1)/crc.Piece-begin/crc.Piece+1))
	}
	var sums []crc.Pieces
	err = r.complete(ctx, append(l.stages(), r.first), func(context.Context) error {
		sums = make([]crc.Pieces, len(r.first))
		for i, t := range r.first {
			x := make([]float64, r.numbers[t.Sum[0]])
			if err := m.run.get(t.Sum[0], x); err != nil {
				return err
			}
			for _, v := range x {
				sums[i] = append(sums[i], crc.Sum(v))
			}
		}
		return nil
	})
	unseen := errors.Is(err, errUnseen)
	if err = errors.Join(err, r.clear()); unseen {
		m.opt.Log.Info("workers do not see the result: the driver writes the left vectors", "path", path)
		if err := a.Join(0, nil); err != nil {
			return err
		}
		l.made.want.RowsOut.Func, l.made.done = a.WriteRows, 0
		return l.made.complete(ctx, l.stages(), l.made.collect)
	}
	for i, g := range m.groups {
		if err == nil {
			err = a.Join(g.first+g.rows, sums[i])
		}
	}
	return err
}

// writeInto writes the task's rows into the file that all tasks share, and puts the checksums of its bytes into a piece.
func (w *Worker) writeInto(f folder, t Task) error {
	to := t.Turn.Into
	a, err := npy.OpenPart(cmp.Or(w.FS, vfs.OS()), to.Path, to.Mark, t.Turn.First, to.Rows, int64(t.Columns))
	if err != nil {
		return unseen{err}
	}
	in := rowReader{folder: f, name: t.In, numbers: int64(t.Rows) * int64(t.Columns)}
	defer in.close()
	if err = f.verify(t.In, in.numbers); err == nil { // never overwrite finished rows with a damaged piece
		err = blocks{first: t.Turn.First, rows: int64(t.Rows)}.portions(t.Columns, func(first int64, rows *mat.Dense) error {
			if err := in.read(first-t.Turn.First, rows); err != nil {
				return err
			}
			return a.WriteRows(first, rows)
		})
	}
	if err != nil {
		return errors.Join(err, a.Discard())
	}
	sum, err := a.FinishPart()
	numbers := make([]float64, len(sum.Pieces))
	for i, s := range sum.Pieces {
		numbers[i] = float64(s)
	}
	return cmp.Or(err, f.putNumbers(t.Sum[0], numbers))
}

func (w *Worker) turn(ctx context.Context, f folder, t Task) error {
	switch {
	case t.Rows < 1:
		return refusal{fmt.Errorf("a sweep over %d rows", t.Rows)}
	case t.Turn.Into != nil:
		return w.writeInto(f, t)
	}
	s := solver.LeftSweep{Fill: t.Turn.Fill, Keep: t.Out != ""}
	if t.Turn.By != "" {
		s.By = mat.NewDense(t.Columns, t.Columns, nil)
		if err := f.get(t.Turn.By, s.By.RawMatrix().Data); err != nil {
			return err
		}
	}
	in := rowReader{folder: f, name: t.In, numbers: int64(t.Rows) * int64(t.Columns)}
	defer in.close()
	rows := solver.LeftRows{First: t.Turn.First, N: int64(t.Rows), K: t.Columns, Read: in.read}
	workers := cmp.Or(w.Workers, runtime.GOMAXPROCS(0))
	if w.Memory > 0 { // half of the budget is for the matrices of the step and the chunks that are written
		workers = int(max(1, min(int64(workers), (w.Memory-w.Reserve)/2/solver.SweepFootprint(t.Columns))))
	}
	var sums *solver.LeftSums
	over := func(out *writer) (err error) {
		if out != nil {
			rows.Write = out.all
		}
		sums, err = s.Over(ctx, workers, rows)
		return err
	}
	var err error
	if s.Keep {
		err = f.make(t.Out, over)
	} else {
		err = over(nil)
	}
	if err != nil {
		return err
	}
	for _, name := range t.Sum {
		err = errors.Join(err, f.putNumbers(name, sums.Numbers()))
	}
	return err
}
