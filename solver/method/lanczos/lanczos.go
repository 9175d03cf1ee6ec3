// Package lanczos is the block Lanczos method with thick restarts.
package lanczos

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Krylov is the block Lanczos method with thick restarts. The basis V grows by
// a block X of b columns a pass,
//
//	M·V = V·T + X·(0 R),  T = VᵀMV,
//
// where X and R come from the QR factorisation of M·X_last less its components
// in V. The eigenpairs (θ, s) of T give Ritz pairs (θ, Vs) with residuals
// ‖R·s_b‖, s_b the last b entries of s, at no cost (Saad, Numerical Methods for
// Large Eigenvalue Problems, §6.3 and 6.4). No method needs fewer products:
// whatever polynomial another method applies to its start block, the result of
// the best polynomial is in the span of V.
//
// When the basis is full, the leading Ritz vectors, more than are wanted, and X
// are kept, and the basis grows again from these. T is then diagonal with a
// border, and nothing else changes (Wu, Simon 2000, "Thick-restart Lanczos
// method for large symmetric eigenvalue problems"). This bounds the memory.
//
// Short recurrences lose orthogonality and find values more than once. Here every
// block is orthogonalised twice: against the last two blocks, and against the
// whole basis when the estimate of its orthogonality requires that. Columns of the
// next block that are roundoff are replaced by random columns, so the basis grows
// until it spans everything, and then the Ritz pairs are exact.
//
// A Krylov space contains as many copies of a repeated value as the block has
// columns. The driver looks for further copies where they are possible.
type Krylov struct {
	// Columns is the width b of the block; 0 means max(4, k/3) up to 16. Wider
	// blocks take fewer passes and more products.
	Columns int
	// Basis is the largest number m of columns of the basis; 0 means
	// max(2k, k+40) + 4b. It is at least 2b.
	Basis int
}

func (k Krylov) Traits(rank int) method.Traits {
	k = k.fit(rank)
	return method.Traits{
		Name: "krylov",
		Settings: []method.Setting{
			{Name: "block", Help: "number of columns of a pass", High: mostColumns, Whole: true, Value: float64(k.Columns)},
			{Name: "basis", Help: "largest number of columns of the basis", High: mostColumns, Whole: true, Value: float64(k.Basis)},
		},
		With:      func(v []float64) method.Method { return Krylov{Columns: int(v[0]), Basis: int(v[1])} },
		Width:     func(int) int { return k.Columns },
		Copies:    k.Columns,
		Probe:     k.probe(rank),
		Guarded:   true,
		Version:   2,
		Footprint: func(n int) int64 { return k.footprint(n, rank) },
		Effort:    k.effort,
		Options:   k.options,
	}
}

// mostColumns bounds Columns and Basis.
const mostColumns = 1e6

// fit returns k with the defaults for a rank filled in.
func (k Krylov) fit(rank int) Krylov {
	k.Columns = cmp.Or(k.Columns, max(4, min(16, rank/3)))
	k.Basis = max(cmp.Or(k.Basis, max(2*rank, rank+40)+4*k.Columns), 2*k.Columns)
	return k
}

// probe returns Traits.Probe: one column for every triplet, the width that passes have been planned for, but at
// most half of the basis and at least Columns.
func (k Krylov) probe(rank int) int { return max(k.Columns, min(rank, k.Basis/2)) }

func (k Krylov) New(r method.Run) method.Recurrence {
	arena := iterate.Arena(r)
	return &lanczos{Block: iterate.NewBlock(arena), method: k.fit(r.Rank), want: r.Rank, orth: orthogonality{arena: arena}}
}

// lanczos is the state of Krylov.
type lanczos struct {
	iterate.Block                   // X, orthogonal to the basis
	method        Krylov            // with all defaults filled in
	v             tallskinny.Panels // the basis V
	most          int               // largest number of columns of V
	size          int               // columns of V
	orth          orthogonality     // estimates how far V is from orthonormal
	t             *mat.Dense        // VᵀMV, size×size
	coupling      *mat.Dense        // components of M·V in X, from column fresh of V on; nil: not known
	theta         []float64         // Ritz values of T, descending; nil: not computed
	ritz          *mat.Dense        // Ritz vectors in terms of V, in rows; nil: not computed
	tails         *mat.Dense        // entries of the Ritz vectors for the last block, in rows
	gone          int               // Ritz vectors that have been locked and are not in V any more
	want          int               // triplets of the run
	block         int               // columns of a block, unless there is no room for that
	fresh         int               // first column of V in which M·X has components above rounding
	full          bool              // V spans the whole space, and X is in the span of V
	origin        int               // columns of the start block
	lead          int               // columns that V began with, X included, at the start or the last restart
	past          []method.Cycle    // cycles since the start
	steps         int               // products since the start; −1: no evidence any more
	top           float64           // largest norm of a product; roundoff is relative to it
	pairs         []method.RitzPair
	timing        timing // of the eigenproblem of T

	first, second, third, fourth, gram tallskinny.Sums
}

func (r *lanczos) Start(z *mat.Dense) {
	n, b := z.Dims()
	r.Block.Start(z)
	r.block, r.origin, r.lead, r.most = b, b, b, min(n, max(r.method.Basis, 2*b))
	r.v = r.Arena.NewPanels(n, b)
}

func (r *lanczos) Aim(missing func([]method.RitzPair) float64) { r.timing.missing = missing }

// cheapEigen is the order up to which eigenproblems cost nothing compared with a pass.
const cheapEigen = 32

// room returns the number of columns that V can still grow by.
func (r *lanczos) room() int { return max(0, r.QR.Dimension(r.v.N)-r.size) }

func (r *lanczos) Absorb(y *mat.Dense) []method.RitzPair {
	w := tallskinny.Width(y)
	if r.full {
		r.restart(0, r.size-w)
	} else if r.size+w > r.most {
		r.restart(0, r.kept())
	}
	old := r.size
	r.v.Add(r.X)
	r.size += w
	if r.steps >= 0 {
		r.steps++
	}
	r.orth.grow(w, r.most)
	c, gram, lost := r.orthogonalise(y.RawMatrix(), old)
	if !tallskinny.AllFinite(c.Data) {
		return append(r.pairs[:0], method.NewRitzPair(math.Inf(1), 0))
	}
	r.border(c, old)
	r.theta, r.ritz, r.gone = nil, nil, 0
	// The eigenproblem must be solved before a restart and at the end.
	must := r.size+w > r.most || r.room() == 0
	wait := r.timing.wait(must || r.size <= cheapEigen)
	if !wait {
		if must {
			r.solve()
		}
		r.look(w)
		r.top = max(r.top, math.Abs(r.theta[0]))
	}
	r.advance(y, gram)
	if r.QR.Lossy { // a space that lacks a direction gives no evidence about eigenvalues outside
		r.steps, r.past = -1, nil
	}
	r.orth.next = nil
	if r.coupling != nil && tallskinny.Width(r.X) == w {
		r.orth.next = r.orth.over(lost, r.coupling, r.orth.error(r.top))
	}
	r.fresh = old
	if !wait {
		r.report()
		r.timing.solved(r.pairs)
	}
	return r.pairs
}

// solve brings the Ritz values and vectors up to date with T.
func (r *lanczos) solve() {
	switch {
	case r.ritz != nil:
	case r.theta != nil:
		r.ritz = mat.NewDense(r.size, r.size, r.Eigen.Vectors(r.size).Data)
	default:
		r.theta, r.ritz = tallskinny.RayleighRitz(&r.Eigen, r.t.RawMatrix(), r.size)
	}
}

// look computes the Ritz values and the last w entries of the Ritz vectors, which give the residuals. It takes a
// fraction of the time of solve.
func (r *lanczos) look(w int) {
	if r.ritz != nil {
		r.tails = r.ritz.Slice(0, r.size, r.size-w, r.size).(*mat.Dense)
		return
	}
	r.theta, r.tails = tallskinny.RayleighRitz(&r.Eigen, r.t.RawMatrix(), w)
}

// border adds the rows and columns of the new block to T.
func (r *lanczos) border(c blas64.General, old int) {
	r.t = grown(r.t, c.Rows, r.most)
	t := r.t.RawMatrix()
	for i := range c.Rows {
		row := c.Data[i*c.Stride:][:r.size]
		copy(t.Data[(old+i)*t.Stride:], row)
		for j, x := range row[:old] {
			t.Data[j*t.Stride+old+i] = x
		}
	}
}

// advance makes the rest of the product y the next block, and R the coupling.
func (r *lanczos) advance(y *mat.Dense, gram blas64.General) {
	n, w := y.Dims()
	room := r.room()
	r.full = room == 0
	if r.full {
		// No column can be added. Go on with the trailing Ritz vectors, so that the
		// driver can look at all Ritz pairs once more.
		b := min(r.block, r.size)
		r.QR.Ready(y.RawMatrix())
		r.coupling, r.X = nil, r.Arena.Dense(n, b)
		last := r.ritz.Slice(r.size-b, r.size, 0, r.size).(*mat.Dense).RawMatrix()
		r.v.All().Multiply(r.Arena, r.X.RawMatrix(), last)
		return
	}
	if room < w {
		r.QR.Ready(y.RawMatrix())
		r.X = r.Arena.Dense(n, room)
		x, q := r.Arena.Planes(n, 1, 1), r.X.RawMatrix()
		defer r.Arena.Release(x)
		for j := range room {
			r.QR.Replace(x, r.v.All(), tallskinny.SpanOf(tallskinny.ColumnsOf(q, j)))
			r.Arena.SetColumn(q, j, x)
		}
		r.coupling = mat.NewDense(room, w, nil)
		r.coupling.Mul(r.X.T(), y)
		return
	}
	r.X = r.v.Take(w)
	r.coupling = r.QR.FactorGram(r.X.RawMatrix(), y.RawMatrix(), gram, r.v.All(), tallskinny.DropFactor*tallskinny.Epsilon*r.top)
}

// report lists the leading Ritz pairs. If a restart cannot keep all wanted pairs, it lists the first three
// quarters of the pairs that a restart keeps: the others are not accurate enough yet.
func (r *lanczos) report() {
	r.pairs = r.pairs[:0]
	count := min(r.size, r.want)
	if p := r.kept(); p < r.want && !r.full {
		count = min(count, max(1, p-p/4))
	}
	for i := range count {
		res := tallskinny.Epsilon * r.top
		if r.coupling != nil {
			var d mat.VecDense
			d.MulVec(r.coupling, mat.NewVecDense(tallskinny.Width(r.tails), r.tails.RawRowView(i)))
			res = mat.Norm(&d, 2)
		}
		r.pairs = append(r.pairs, method.NewRitzPair(r.theta[i], res))
	}
}

// timing decides in which passes Ritz pairs are computed, from the pace at which their residuals fell: after a
// third of the passes that they would take at that pace, since the convergence may speed up.
type timing struct {
	missing func([]method.RitzPair) float64
	passes  int     // passes still to wait
	since   int     // passes since the last look
	gap     float64 // log₂ of missing at the last look; 0: not known
}

// maxWait is the largest number of passes to wait: events report nothing new in the meantime.
const maxWait = 8

// wait counts a pass and reports whether its Ritz pairs need not be computed.
func (t *timing) wait(must bool) bool {
	t.since++
	if must || t.passes == 0 || t.missing == nil {
		return false
	}
	t.passes--
	return true
}

// solved takes the Ritz pairs computed in a pass and sets the number of passes to wait.
func (t *timing) solved(pairs []method.RitzPair) {
	t.passes = 0
	if t.missing == nil {
		return
	}
	gap := math.Log2(t.missing(pairs))
	if pace := (t.gap - gap) / float64(t.since); t.gap > 0 && gap > 0 && pace > 0 && !math.IsInf(pace, 1) {
		t.passes = int(min(maxWait, max(0, gap/(3*pace)-1)))
	}
	if math.IsNaN(gap) || math.IsInf(gap, 0) {
		gap = 0
	}
	t.gap, t.since = gap, 0
}
