package stream

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/parallel"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
)

func (r *reading) visit(worker int, u *task) error {
	own := r.pass.RowsIn.None() // Sum takes the rows of A·X, not of RowsIn
	if own && r.x != nil && !r.wantsRows() {
		return r.sums.gram(worker, u, r.x, columnsOf(r.low, r.first, r.end, nil))
	}
	var w, y []float64 // rows of A·X: the columns of this strip, and all
	if r.whole() || r.wantsRows() && len(r.strips) > 1 {
		y = r.rowsOut(worker, &u.block)
	}
	if r.x != nil {
		w = r.multiply(worker, u, y)
	}
	// Before RowsOut gets the rows, which it may change.
	if own {
		if err := r.add(worker, u, w); err != nil {
			return err
		}
	}
	if r.factors != nil && r.whole() {
		if err := r.factors.add(worker, u.i, y); err != nil {
			return err
		}
	}
	z, err := r.exchange(worker, u, y)
	if err == nil && !own {
		err = r.add(worker, u, r.some(worker, z))
	}
	r.evict(&u.block)
	return err
}

// add adds the task's share of Aᵀ·W to the sums, if there are any.
func (r *reading) add(worker int, u *task, w []float64) error {
	if r.sums == nil {
		return nil
	}
	return r.sums.transposed(worker, u, w)
}

// multiply computes the columns of this strip of a task's rows of A·X and returns them. If
// y, the memory for all columns, is not nil, they are in y as well.
func (r *reading) multiply(worker int, u *task, y []float64) []float64 {
	b, l := &u.block, r.columns()
	w := y
	switch {
	case r.earlier != nil && !r.whole():
		w = r.earlierRows(r.first, b)
	case l < r.l || y == nil:
		w = r.part(worker, b.Rows()*l)
	}
	kernel.Mul(w, r.x, l, rowsOf(b))
	u.sides.finish(w, l, columnsOf(r.low, r.first, r.end, nil))
	if l < r.l && y != nil {
		setColumns(y, r.first, r.l, w, l)
	}
	return w
}

func (r *reading) some(worker int, z []float64) []float64 {
	l := r.columns()
	if l == r.l {
		return z
	}
	w := r.part(worker, len(z)/r.l*l)
	for i := range len(z) / r.l {
		copy(w[i*l:(i+1)*l], z[i*r.l+r.first:])
	}
	return w
}

// setColumns copies the row-major block w of width columns to those of y, of stride l, from first on.
func setColumns(y []float64, first, l int, w []float64, width int) {
	for i := range len(w) / width {
		copy(y[i*l+first:], w[i*width:(i+1)*width])
	}
}

// rowsOut returns the memory for the rows of A·X of a task: in r.rows, in RowsOut.Block or in scratch. The columns of
// earlier reads are there already.
func (r *reading) rowsOut(worker int, b *csr.Block) []float64 {
	if r.rows != nil {
		return r.rows[int(b.FirstRow-r.above)*r.l:][:b.Rows()*r.l]
	}
	y := inPlace(r.pass.RowsOut.Block, b)
	if y == nil {
		y = r.products(worker, b.Rows(), r.l)
	}
	for first := 0; r.earlier != nil && first < r.first; first += r.group {
		w := r.earlierRows(first, b)
		if len(w) == 0 {
			continue
		}
		r.opt.Space.Fetch(w)
		setColumns(y, first, r.l, w, r.group)
		r.drop(w)
	}
	return y
}

// earlierRows returns the rows of a task in the block of r.earlier for the read of the columns from first on.
func (r *reading) earlierRows(first int, b *csr.Block) []float64 {
	at := int64(first)*r.src.Rows() + b.FirstRow*int64(r.group)
	return r.earlier[at : at+int64(b.Rows()*r.group)]
}

func inPlace(x *mat.Dense, b *csr.Block) []float64 {
	if x == nil {
		return nil
	}
	raw := x.RawMatrix()
	return raw.Data[int(b.FirstRow)*raw.Cols:][:b.Rows()*raw.Cols]
}

// exchange hands a task's rows of A·X to RowsOut and returns those of RowsIn. Functions
// are called in the order of the tasks.
func (r *reading) exchange(worker int, u *task, y []float64) (z []float64, err error) {
	b, in, out := &u.block, r.pass.RowsIn.Func, r.pass.RowsOut.Func
	z = inPlace(r.pass.RowsIn.Block, b)
	if in != nil {
		z = r.rowsIn(worker, b.Rows(), r.l)
	}
	if !r.whole() {
		out = nil
	}
	if in == nil && out == nil {
		return z, nil
	}
	return z, r.turn.inTurn(u.i, func() (err error) {
		if b.Rows() > 0 && in != nil {
			err = in(b.FirstRow, mat.NewDense(b.Rows(), r.l, z))
		}
		if b.Rows() > 0 && out != nil && err == nil {
			err = out(b.FirstRow, mat.NewDense(b.Rows(), r.l, y))
		}
		return err
	})
}

// evict tells the Space that the rows of a task need not stay in memory.
func (r *reading) evict(b *csr.Block) {
	if r.opt.Space == nil {
		return
	}
	r.drop(inPlace(r.pass.RowsIn.Block, b))
	r.drop(inPlace(r.pass.RowsOut.Block, b))
	if r.earlier != nil && !r.whole() {
		r.drop(r.earlierRows(r.first, b))
	}
}

// accumulator holds the partial sums of one pass: lane i mod P of the n×l sums,
// in panels (kernel.Pack), belongs to the tasks i, i+P, i+2P, … See the
// package comment, "Same bits".
//
// A worker that is alone at a lane multiplies a task and scatters the products
// in one go. A worker that shares its lane multiplies before its turn comes. With fewer lanes
// than half the workers, it also scatters in stripes of columns, so that
// several workers follow one another through a lane. None of this changes the
// order in which any number is added to any other.
type accumulator struct {
	m     *Matrix
	l     int
	lane  [][]float64
	low   [][][]float64 // of each lane, the r rows of PᵀZ (see rowSides.back), if the matrix has sides
	turns []*sequencer  // one for each stripe
	ends  []uint32      // first column after each stripe
	ahead bool          // multiply before the turn comes
}

// stripes is the number of stripes that keep the workers of each of p lanes from queueing.
func stripes(workers, p int, n int64) int {
	if workers <= 2*p {
		return 1 // one scatters while the other multiplies
	}
	return int(min(int64(4*(workers+p-1)/p), max(1, n/64)))
}

// accumulator prepares the sums of a pass of width l, in p lanes, in the given memory.
func (m *Matrix) accumulator(memory []float64, l, p int) *accumulator {
	size := m.info.Cols * kernel.Width(l)
	a := &accumulator{m: m, l: l, lane: make([][]float64, p), ahead: m.plan.Workers > p}
	for i := range a.lane {
		a.lane[i] = memory[i*size : (i+1)*size : (i+1)*size]
	}
	if m.sides != nil {
		a.low = make([][][]float64, p)
		for i := range a.low {
			a.low[i] = make([][]float64, len(m.sides.q))
			for t := range a.low[i] {
				a.low[i][t] = make([]float64, l)
			}
		}
	}
	s := int64(stripes(m.plan.Workers, p, m.src.Cols()))
	for i := range s {
		a.turns = append(a.turns, newSequencer(p))
		a.ends = append(a.ends, uint32((i+1)*m.src.Cols()/s))
	}
	return a
}

// gram adds the task's share of AᵀA·x; c is QᵀX.
func (a *accumulator) gram(worker int, u *task, x []float64, c [][]float64) error {
	b := &u.block
	if !a.ahead && !u.shared {
		return a.inTurn(0, u.i, func(y []float64) { kernel.GramThrough(y, x, a.l, rowsOf(b), a.through(u, c)) })
	}
	w := a.m.products(worker, b.Rows(), a.l)
	kernel.Mul(w, x, a.l, rowsOf(b))
	u.sides.finish(w, a.l, c)
	return a.transposed(worker, u, w)
}

// through returns the function that applies D, P and Q to products of the task's rows before the lane gets them, or nil.
func (a *accumulator) through(u *task, c [][]float64) func(kernel.Chunk) {
	if a.m.sides == nil {
		return nil
	}
	low := a.low[u.i%len(a.lane)]
	var of, to [][]float64
	return func(k kernel.Chunk) {
		s := u.sides.rows(k.Row, k.Row+len(k.W)/k.Width, len(low))
		of, to = columnsOf(c, k.First, k.First+k.Cols, of), columnsOf(low, k.First, k.First+k.Cols, to)
		s.finish(k.W, k.Width, of)
		s.back(to, k.W, k.W, k.Width)
	}
}

// transposed adds the task's share of Aᵀ·W; w holds the task's rows of W.
func (a *accumulator) transposed(worker int, u *task, w []float64) error {
	b := &u.block
	z := w
	if u.sides.d != nil {
		w = sized(&a.m.scratch[worker].scaled, len(z), a.m.plan.rows*a.l)
	}
	low := func() {
		if a.m.sides != nil {
			u.sides.back(a.low[u.i%len(a.lane)], w, z, a.l)
		}
	}
	if len(a.turns) == 1 {
		return a.inTurn(0, u.i, func(y []float64) { low(); kernel.MulTransAdd(y, w, a.l, rowsOf(b)) })
	}
	cuts := sized(&a.m.scratch[worker].cuts, 2*b.Rows(), 2*a.m.plan.rows)
	lo, hi := cuts[:b.Rows()], cuts[b.Rows():]
	copy(lo, b.RowPtr)
	for s, end := range a.ends {
		kernel.Split(hi, lo, b.RowPtr[1:], rowsOf(b), end)
		err := a.inTurn(s, u.i, func(y []float64) {
			if s == 0 {
				low()
			}
			kernel.MulTransAddSome(y, w, a.l, rowsOf(b), lo, hi)
		})
		if err != nil {
			return err
		}
		lo, hi = hi, lo
	}
	return nil
}

// inTurn calls f on the sums of task i's lane when all earlier tasks of the
// lane have been added to the stripe.
func (a *accumulator) inTurn(stripe, i int, f func(y []float64)) error {
	return a.turns[stripe].inTurn(i, func() error {
		y := a.lane[i%len(a.lane)]
		if stripe == 0 && i < len(a.lane) {
			clear(y) // the first of its lane
			if a.m.sides != nil {
				for _, g := range a.low[i] {
					clear(g)
				}
			}
		}
		f(y)
		return nil
	})
}

// addLow adds PᵀZ of all lanes to that of the first, in order.
func (a *accumulator) addLow() {
	if a.m.sides == nil || !a.turns[0].entered() {
		return
	}
	for _, lane := range a.low[1:] {
		for t, g := range lane {
			floats.Add(a.low[0][t], g)
		}
	}
}

// unpack sets rows [from, to) of the row-major dst to the sum of the lanes, in order.
func (a *accumulator) unpack(dst []float64, stride, from, to int) {
	if !a.turns[0].entered() { // a matrix without tasks has no sums
		for i := from; i < to; i++ {
			clear(dst[i*stride:][:a.l])
		}
		return
	}
	kernel.Unpack(dst[from*stride:], stride, a.l, from, to-from, a.lane...)
}

// inParallel calls f for ranges of rows in as many goroutines as workers, or in fewer if there are few numbers in all.
func (m *Matrix) inParallel(rows, numbers int, f func(from, to int)) {
	const alone = 1 << 16 // numbers that are not worth a goroutine
	parts := min(m.plan.Workers, rows, 1+numbers/alone)
	parallel.Each(parts, parts, func(_, p int) {
		f(p*rows/parts, (p+1)*rows/parts)
	})
}
