package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/internal/parallel"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
)

// accumulator holds the partial sums of one pass: lane i mod P of the n×l sums,
// in panels (kernel.Pack), belongs to the tasks i, i+P, i+2P, … See the
// package comment, "Same bits".
//
// A worker that is alone at a lane multiplies a task and scatters the products
// in one go. One that is not multiplies before its turn comes. With fewer lanes
// than half the workers, it also scatters in stripes of columns, so that
// several workers follow one another through a lane. None of this changes the
// order in which any number is added to any other.
type accumulator struct {
	m     *Matrix
	l     int
	lane  [][]float64
	low   [][][]float64 // of each lane, the r rows of PᵀY, if the matrix has sides
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

func (m *Matrix) lanes(l int) int { return lanes(m.src.Cols(), l, m.plan.tasks(), m.plan.nnz) }

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

// through returns what products of the task's rows go through on their way to the lane.
func (a *accumulator) through(u *task, c [][]float64) func(kernel.Chunk) {
	if a.m.sides == nil {
		return nil
	}
	low := a.low[u.i%len(a.lane)]
	var of, to [][]float64
	return func(k kernel.Chunk) {
		s := u.sides.rows(k.Row, k.Row+len(k.W)/k.Width, len(low))
		of, to = chunkOf(c, k, of), chunkOf(low, k, to)
		s.finish(k.W, k.Width, of)
		s.back(to, k.W, k.W, k.Width)
	}
}

// transposed adds the task's share of Aᵀ·W, of which w are the task's rows.
func (a *accumulator) transposed(worker int, u *task, w []float64) error {
	b := &u.block
	z := w
	if u.sides.d != nil {
		w = a.m.scaledRows(worker, len(z), a.l)
	}
	low := func() {
		if a.m.sides != nil {
			u.sides.back(a.low[u.i%len(a.lane)], w, z, a.l)
		}
	}
	if len(a.turns) == 1 {
		return a.inTurn(0, u.i, func(y []float64) { low(); kernel.MulTransAdd(y, w, a.l, rowsOf(b)) })
	}
	lo, hi := a.m.cuts(worker, b.Rows())
	copy(lo, b.RowPtr)
	for s, end := range a.ends {
		kernel.Split(hi, lo, rowsOf(b), end)
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
	turn := a.turns[stripe]
	if !turn.enter(i) {
		return context.Canceled // the pass has failed; eachTask returns the reason
	}
	y := a.lane[i%len(a.lane)]
	if stripe == 0 && i < len(a.lane) {
		clear(y) // the first of its lane
		for _, g := range a.lows(i) {
			clear(g)
		}
	}
	f(y)
	turn.leave(i)
	return nil
}

// lows are the sums of PᵀY of a task's lane.
func (a *accumulator) lows(i int) [][]float64 {
	if a.m.sides == nil {
		return nil
	}
	return a.low[i%len(a.lane)]
}

// addLow adds PᵀY of all lanes to that of the first, in order.
func (a *accumulator) addLow() {
	if a.m.sides == nil || !a.turns[0].entered() {
		return
	}
	for _, lane := range a.low[1:] {
		for t, g := range lane {
			for j, v := range g {
				a.low[0][t][j] += v
			}
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

// inParallel has ranges of rows done by the workers, or by fewer if there are few numbers in all.
func (m *Matrix) inParallel(rows, numbers int, f func(from, to int)) {
	const alone = 1 << 16 // numbers that are not worth a goroutine
	parts := min(m.plan.Workers, rows, 1+numbers/alone)
	parallel.Each(parts, parts, func(_, p int) {
		m.keep(m.guard(func() error {
			f(p*rows/parts, (p+1)*rows/parts)
			return nil
		}))
	})
}
