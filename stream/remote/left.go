package remote

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// Left is the left vectors of a run over a Matrix: pieces of the rows of a group each, which the tasks of the finishing pass
// make, and tasks of sweeps turn into others. The driver sees what they sum up, and the rows once, in Copy. It is the
// solver.Settings.Left of that Matrix alone.
type Left struct {
	m *Matrix
	// made has made the pieces, from those of before, which are kept so that one that turns out to be damaged is made again.
	made, before *pass
}

var (
	_ solver.LeftSweeper = (*Left)(nil)
	_ solver.Resizer     = (*Left)(nil)
)

// Left returns left vectors that are nowhere yet.
func (m *Matrix) Left() *Left { return &Left{m: m} }

// Resize implements solver.Resizer: there are as many columns as the finishing pass has.
func (*Left) Resize(int) error { return nil }

// WriteRows fails: rows are written by tasks.
func (*Left) WriteRows(int64, *mat.Dense) error { return errors.ErrUnsupported }

// ReadRows fails: rows are read by tasks, and by Copy.
func (*Left) ReadRows(int64, *mat.Dense) error { return errors.ErrUnsupported }

// take takes the pieces Out of a pass that has been completed over; what made them stays beside them.
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

// stages are those that make the pieces again of which some are missing.
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
		turn.First = g.first
		own := turn
		t := Task{Version: version, Dir: m.run.dir, Columns: k, Rows: int(g.rows), Turn: &own, In: l.made.first[i].Out}
		t.Sum = []string{r.makes("part", i, 0, size)}
		if s.Keep {
			t.Out = r.makes("out", i, 0, g.rows*int64(k))
		}
		r.first = append(r.first, t)
	}
	err = r.complete(ctx, append(l.stages(), r.first), func(context.Context) error {
		sums = solver.NewLeftSums(s, k)
		for _, t := range r.first {
			next := solver.NewLeftSums(s, k)
			if err := m.run.get(t.Sum[0], numbersIn(next)); err != nil {
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

// numbersIn are the numbers of sums, where they lie.
func numbersIn(s *solver.LeftSums) []float64 {
	if s.Gram != nil {
		return s.Gram.RawMatrix().Data
	}
	return s.Largest
}

// Copy hands the rows to write, in ascending order, some at a time, from files whose checksums are compared on the way.
func (l *Left) Copy(ctx context.Context, write func(first int64, rows *mat.Dense) error) error {
	l.made.want.RowsOut.Func, l.made.done = write, 0
	return l.made.complete(ctx, l.stages(), l.made.collect)
}

func (f folder) turn(ctx context.Context, workers int, t Task) error {
	if t.Rows < 1 {
		return refusal{fmt.Errorf("a sweep over %d rows", t.Rows)}
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
	var out *writer
	if s.Keep {
		var err error
		if out, err = f.create(t.Out); err != nil {
			return err
		}
		defer out.discard()
		rows.Write = func(_ int64, x *mat.Dense) error {
			n, _ := x.Dims()
			return out.rows(x, 0, n)
		}
	}
	sums, err := s.Over(ctx, workers, rows)
	if err != nil {
		return err
	}
	if s.Keep {
		if err := out.commit(); err != nil {
			return err
		}
	}
	for _, name := range t.Sum {
		err = errors.Join(err, f.putNumbers(name, numbersIn(sums)))
	}
	return err
}
