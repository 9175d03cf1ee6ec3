package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// accumulator holds the partial sums of one pass: lane i mod P of the n×l sums,
// in panels (kernel.Pack), belongs to the blocks i, i+P, i+2P, … See the
// package comment, "Same bits".
type accumulator struct {
	turn  *turnstile
	order []*turnstile // turn, as eachBlock wants it
	lane  [][]float64
	l     int
}

// accumulator prepares the sums of a pass of width l. Its memory is the Matrix's, for reuse.
func (m *Matrix) accumulator(l int) *accumulator {
	p := lanes(m.src.Cols(), l, m.plan.Blocks)
	size := m.Dim() * kernel.Width(l)
	if cap(m.sums) < p*size {
		m.sums = make([]float64, p*size)
	}
	a := &accumulator{turn: newTurnstile(p), lane: make([][]float64, p), l: l}
	a.order = []*turnstile{a.turn}
	for i := range a.lane {
		a.lane[i] = m.sums[i*size : (i+1)*size : (i+1)*size]
	}
	return a
}

// add calls f on the sums of block i's lane when all earlier blocks of the lane have been added.
func (a *accumulator) add(i int, f func(y []float64)) error {
	if !a.turn.enter(i) {
		return context.Canceled // the pass has failed; eachBlock returns the reason
	}
	y := a.lane[i%len(a.lane)]
	if i < len(a.lane) {
		clear(y) // the first of its lane
	}
	f(y)
	a.turn.leave(i)
	return nil
}

// sumInto sets dst to the sum of the lanes, in order.
func (a *accumulator) sumInto(dst *mat.Dense) {
	raw := dst.RawMatrix()
	if a.turn.next[0] == 0 { // a matrix without blocks has no sums
		dst.Zero()
		return
	}
	kernel.Unpack(raw.Data, raw.Stride, a.l, 0, raw.Rows, a.lane...)
}
