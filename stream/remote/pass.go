package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// pass is the state of a pass.
type pass struct {
	*Matrix
	l      int
	want   solver.Pass // with functions for rows; X is nil if A·X is not needed
	x      string
	first  []Task // tasks of the groups, in their order
	second []Task // tasks that add up the pieces of the sum, if any
	parts  int    // pieces of a sum
	done   int    // groups whose rows RowsOut has got
	cost   solver.Cost
	inputs []string          // pieces that the driver has made
	read   func(bytes int64) // gets the bytes read of the store; may be nil
	names  []string          // of the pieces that tasks make
}

// Run implements solver.Matrix. Rows of RowsIn and RowsOut pass through the driver, some at a time, unless they are of
// a Left. Sums of groups are added up by tasks if they are large; the driver combines the factors R of groups.
func (m *Matrix) Run(ctx context.Context, p solver.Pass) (cost solver.Cost, err error) {
	start := time.Now()
	if err := m.share(); err != nil {
		return cost, err
	}
	m.pass++
	r := &pass{Matrix: m, want: p, l: p.Columns(m.Info())}
	left, _ := p.RowsOut.Store.(*Left)
	defer func() {
		if left != nil && err == nil {
			err = left.take(r, nil)
		} else {
			err = errors.Join(err, r.clear())
		}
		cost = r.cost
		cost.Multiply = time.Since(start)
	}()
	r.want.RowsIn, r.want.RowsOut = byFunction(p.RowsIn, (*solver.DenseRows).ReadRows), byFunction(p.RowsOut, (*solver.DenseRows).WriteRows)
	if !p.RowsIn.None() && p.RowsOut.None() && p.R == nil {
		r.want.X = nil // A·X is not needed
	}
	r.plan()
	if left != nil {
		r.want.RowsOut = solver.Rows{} // the rows stay in their pieces
	}
	if err := r.putInputs(ctx); err != nil {
		return cost, err
	}
	stages := [][]Task{r.first, r.second}
	if of, ok := r.want.RowsIn.Store.(*Left); ok {
		stages = append(of.stages(), stages...)
	}
	return cost, r.complete(ctx, stages, r.collect)
}

// byFunction replaces a block by a function.
func byFunction(r solver.Rows, f func(*solver.DenseRows, int64, *mat.Dense) error) solver.Rows {
	if r.Block == nil {
		return r
	}
	d := &solver.DenseRows{Dense: r.Block}
	return solver.Rows{Func: func(first int64, rows *mat.Dense) error { return f(d, first, rows) }}
}

// few is the size in bytes of the sums of all groups up to which the driver adds them up itself. Larger sums are cut into
// parts of about this size over all groups, and a task adds up each part.
const few = 256 << 20

// partsOf is the number of pieces that a sum of a group is cut into.
func partsOf(cols int64, l, groups int, pieceSize int64) int {
	all := 8 * cols * int64(l)
	parts := max((all+pieceSize-1)/pieceSize, min(int64(groups), (all*int64(groups)+few-1)/few))
	return int(min(parts, cols))
}

// plan makes the tasks. Names of pieces begin with the number of the pass.
func (r *pass) plan() {
	info := r.subject.Info
	if r.want.Sum != nil {
		r.parts = partsOf(int64(info.Cols), r.l, len(r.groups), r.opt.PieceSize)
	}
	if r.want.X != nil {
		r.x = r.name("x", 0, 0)
	}
	for i, g := range r.groups {
		t := r.taskOf(i)
		t.Columns, t.X, t.View = r.l, r.x, r.view
		if left, ok := r.want.RowsIn.Store.(*Left); ok {
			t.In = left.made.first[i].Out
		} else if !r.want.RowsIn.None() {
			t.In = r.name("in", i, 0)
		}
		if !r.want.RowsOut.None() {
			t.Out = r.makes("out", i, 0, g.rows*int64(r.l))
		}
		if r.want.R != nil {
			t.R = r.makes("r", i, 0, int64(r.l)*int64(r.l))
		}
		for p := range r.parts {
			t.Sum = append(t.Sum, r.makes("part", i, p, int64(r.rowsOf(p))*int64(r.l)))
		}
		r.first = append(r.first, t)
	}
	for p := 0; r.parts > 1 && p < r.parts; p++ {
		t := Task{Version: version, Dir: r.run.dir, Columns: r.l, Rows: r.rowsOf(p)}
		t.Sum = []string{r.makes("sum", 0, p, int64(t.Rows)*int64(r.l))}
		for _, g := range r.first {
			t.Add = append(t.Add, g.Sum[p])
		}
		r.second = append(r.second, t)
	}
}

// taskOf returns a task of a group that makes no pieces yet.
func (m *Matrix) taskOf(group int) Task {
	g := m.groups[group]
	return Task{Version: version, Dir: m.run.dir, Store: m.store, Fingerprint: m.subject.Store.Fingerprint(), From: g.from, To: g.to}
}

func (m *Matrix) name(kind string, group, part int) string {
	return fmt.Sprintf("%06d-%s-%05d-%05d", m.pass, kind, group, part)
}

// makes names a piece of the given count of float64s that a task of the pass makes.
func (r *pass) makes(kind string, group, part int, numbers int64) string {
	name := r.name(kind, group, part)
	r.names, r.numbers[name] = append(r.names, name), numbers
	return name
}

// rowsOf is the number of rows of part p of a sum.
func (r *pass) rowsOf(p int) int {
	n := r.subject.Info.Cols
	return cut(n, p+1, r.parts) - cut(n, p, r.parts)
}

func (t Task) made() []string {
	return slices.DeleteFunc(slices.Concat(t.Sum, []string{t.Out, t.R}), func(name string) bool { return name == "" })
}

func (r *pass) putInputs(ctx context.Context) error {
	if r.x != "" {
		r.inputs = append(r.inputs, r.x)
		if err := r.give(r.x, func() error { return r.run.put(r.x, r.want.X, 0, r.subject.Info.Cols) }); err != nil {
			return err
		}
	}
	if _, ok := r.want.RowsIn.Store.(*Left); ok || r.want.RowsIn.None() {
		return nil
	}
	for i, g := range r.groups {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := r.first[i].In
		r.inputs = append(r.inputs, name)
		err := r.give(name, func() error {
			return r.run.make(name, func(w *writer) error {
				return g.portions(r.l, func(first int64, rows *mat.Dense) error {
					if err := r.want.RowsIn.Func(first, rows); err != nil {
						return err
					}
					return w.all(first, rows)
				})
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// portions calls f with room for the rows of a group, some at a time, in ascending order.
func (g blocks) portions(l int, f func(first int64, rows *mat.Dense) error) error {
	each := min(g.rows, max(1, int64(portion/l)))
	room := make([]float64, each*int64(l))
	for at := int64(0); at < g.rows; at += each {
		n := min(each, g.rows-at)
		if err := f(g.first+at, mat.NewDense(int(n), l, room[:n*int64(l)])); err != nil {
			return err
		}
	}
	return nil
}

// collect sets the blocks of the pass to the contents of the pieces. It may be called again after an error.
func (r *pass) collect(ctx context.Context) error {
	for p := range r.parts {
		from := r.first
		if r.parts > 1 {
			from = r.second[p : p+1]
		}
		for i, t := range from {
			if err := r.addSum(t.Sum[0], p, i == 0); err != nil {
				return err
			}
		}
	}
	if r.want.R != nil {
		if err := r.factor(); err != nil {
			return err
		}
	}
	for ; !r.want.RowsOut.None() && r.done < len(r.groups); r.done++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.handOut(r.done); err != nil {
			return err
		}
	}
	return nil
}

// addSum adds a piece to part p of Sum or, if set, sets the part to the piece.
func (r *pass) addSum(name string, p int, set bool) error {
	raw, from, each := r.want.Sum.RawMatrix(), cut(r.subject.Info.Cols, p, r.parts), r.l
	if raw.Stride == r.l {
		each *= max(1, portion/r.l) // rows are contiguous
	}
	return r.run.add(name, r.numbers[name], set, func(at int64) []float64 {
		return raw.Data[(from+int(at)/r.l)*raw.Stride:][:min(int64(each), r.numbers[name]-at)]
	})
}

// factor sets R to the R factor of the factors of all groups, which it stacks one after the other.
func (r *pass) factor() error {
	l := r.l
	both := mat.NewDense(2*l, l, nil)
	for _, t := range r.first {
		next := make([]float64, l*l)
		if err := r.run.get(t.R, next); err != nil {
			return err
		}
		both.Slice(l, 2*l, 0, l).(*mat.Dense).Copy(mat.NewDense(l, l, next))
		var qr mat.QR
		qr.Factorize(both)
		var top mat.Dense
		qr.RTo(&top)
		both.Copy(top.Slice(0, l, 0, l))
	}
	r.want.R.Copy(both.Slice(0, l, 0, l))
	for i := r.subject.Info.Rows; i < int64(l); i++ {
		clear(r.want.R.RawRowView(int(i)))
	}
	return nil
}

// handOut gives the rows of a group to RowsOut, after it has verified the whole piece.
func (r *pass) handOut(i int) error {
	name := r.first[i].Out
	if err := r.run.verify(name, r.numbers[name]); err != nil {
		return err
	}
	from, err := r.run.open(name, r.numbers[name])
	if err != nil {
		return err
	}
	defer from.close()
	in := make([]float64, 0)
	return r.groups[i].portions(r.l, func(first int64, rows *mat.Dense) error {
		raw := rows.RawMatrix()
		if f := r.want.RowsIn.Func; f != nil {
			n := len(raw.Data)
			in = slices.Grow(in[:0], n)[:n]
			if err := f(first, mat.NewDense(raw.Rows, raw.Cols, in)); err != nil {
				return err
			}
		}
		if err := from.read(raw.Data); err != nil {
			return errors.New(err.Error()) // rows have been handed out: there is no second try
		}
		return r.want.RowsOut.Func(first, rows)
	})
}

// give makes a piece of the driver with put. Until release, put makes it again if it is found damaged.
func (m *Matrix) give(name string, put func() error) error {
	m.puts[name] = put
	return put()
}

// release forgets the functions that make the inputs.
func (r *pass) release() {
	for _, name := range r.inputs {
		delete(r.puts, name)
	}
}

func (r *pass) clear() (err error) {
	r.release()
	for _, name := range r.inputs {
		err = errors.Join(err, r.run.take(name))
	}
	return errors.Join(err, r.forget(nil))
}

func (r *pass) forget(but map[string]bool) (err error) {
	r.names = slices.DeleteFunc(r.names, func(name string) bool {
		if but[name] {
			return false
		}
		delete(r.numbers, name)
		err = errors.Join(err, r.run.take(name))
		return true
	})
	return err
}
