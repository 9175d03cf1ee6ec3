package solver

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/panel"
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
// whatever polynomial another one applies to its start block, the best one is
// in the span of V.
//
// When the basis is full the leading Ritz vectors, more of them than are
// wanted, and X are kept, and it grows again from there. T is then diagonal
// with a border, and nothing else changes (Wu, Simon 2000, "Thick-restart
// Lanczos method for large symmetric eigenvalue problems"): memory is bounded.
//
// Short recurrences lose orthogonality and find values more than once. Here every
// block is orthogonalised twice: against the last two, and against the whole
// basis when what drift knows about it asks for that. Columns of the
// next block that are roundoff are replaced by random ones, so the basis grows
// until it spans everything, and then the Ritz pairs are exact.
//
// Of a repeated value a Krylov space contains as many copies as the block has
// columns. The driver looks for others where there may be any.
type Krylov struct {
	// Columns is the width b of the block; 0 means max(4, k/3) up to 16. Wider
	// blocks take fewer passes and more products.
	Columns int
	// Basis is the largest number m of columns of the basis; 0 means
	// max(2k, k+40) + 4b. It is at least 2b.
	Basis int

	want int // triplets of the whole run, 0 if not known
}

var _ Method = Krylov{}

// Name returns "krylov".
func (Krylov) Name() string { return "krylov" }

// Width returns the number of columns of the block.
func (k Krylov) Width(missing int) int {
	if k.Columns < 0 || k.Basis < 0 {
		panic("solver: negative width of a block or basis")
	}
	if k.Columns > 0 {
		return k.Columns
	}
	return max(4, min(16, missing/3))
}

// fit implements fitter.
func (k Krylov) fit(rank int) Method {
	k.Columns = k.Width(rank)
	if k.Basis == 0 {
		k.Basis = max(2*rank, rank+40) + 4*k.Columns
	}
	k.Basis = max(k.Basis, 2*k.Columns)
	k.want = rank
	return k
}

// copies implements oneSpace.
func (k Krylov) copies() int { return k.Columns }

// probe implements oneSpace: as many as a pass has been planned for, which is one
// for every triplet, and fit the basis.
func (k Krylov) probe(rank int) int { return max(k.Columns, min(rank, k.Basis/2)) }

// Start implements Method.
func (k Krylov) Start(z *mat.Dense, _ StopRule) Recurrence {
	n, b := z.Dims()
	if k.want == 0 {
		k = k.fit(max(1, k.Basis/3)).(Krylov) // not started by a run
	}
	r := &lanczos{next: z, want: k.want, block: b, v: basisBlock(n, max(k.Basis, 2*b)), qr: blockQR{key: z.At(0, 0)}}
	return r
}

// basisBlock returns room for m columns of n rows, at most n.
func basisBlock(n, m int) blas64.General {
	m = min(n, m)
	return blas64.General{Rows: n, Cols: m, Stride: m, Data: make([]float64, n*m)}
}

// lanczos is the state of Krylov.
type lanczos struct {
	next    *mat.Dense     // X, orthonormal and orthogonal to the basis
	v       blas64.General // room for the basis; its columns are n rows of m numbers
	size    int            // columns of the basis
	drift   drift          // what V lacks of being orthonormal
	t       *mat.Dense     // VᵀMV, size×size
	theta   []float64      // Ritz values of it, descending; nil as long as nobody has asked
	ritz    *mat.Dense     // Ritz vectors in terms of V, in rows; nil likewise
	tails   *mat.Dense     // their last entries, for the last block
	turned  bool           // they are the columns of V instead
	gone    int            // Ritz vectors before the first column of V, if turned: locked ones
	want    int            // triplets of the run
	block   int            // columns of a block, unless there is no room
	fresh   int            // column of V from which M·next has components in it, save for rounding
	started bool           // next is orthonormal, no longer the start block
	full    bool           // V spans the whole space, next is a part of it
	cut     bool           // Ritz vectors have been dropped
	top     float64        // largest norm of a product, for what is roundoff
	qr      blockQR
	cands   []Candidate
	timing  timing // of the eigenproblem of T

	first, second, third, gram sums
}

// avoid implements avoider.
func (r *lanczos) avoid(found *basis) { r.qr.found = found }

// aim implements aimer.
func (r *lanczos) aim(missing func(Candidate) float64) { r.timing.missing = missing }

func (r *lanczos) Next() *mat.Dense {
	if !r.started {
		r.qr.factor(r.next.RawMatrix(), none(r.v.Rows), 0)
		r.started = true
	}
	return r.next
}

// basis is V.
func (r *lanczos) basis() blas64.General { return columnsOf(r.v, r.size) }

// kept is how many Ritz vectors survive a restart: those that are wanted and
// half of the room beyond.
func (r *lanczos) kept() int {
	room := r.v.Cols - width(r.next)
	return max(min(room, 1), min(room, r.want+(room-r.want)/2))
}

// Eigenproblems of up to this order cost nothing compared with a pass.
const cheapEigen = 32

// room is the number of columns that V and its complement have space for.
func (r *lanczos) room() int { return max(0, r.qr.dimension(r.v.Rows)-r.size) }

func (r *lanczos) Absorb(y *mat.Dense) []Candidate {
	w := width(y)
	if r.full {
		r.restart(0, r.size-w)
	} else if r.size+w > r.v.Cols {
		r.restart(0, r.kept())
	}
	old := r.size
	r.size += w
	r.drift.grow(w)
	c, gram, lost := r.orthogonalise(y.RawMatrix(), old)
	if !allFinite(c.Data) {
		return append(r.cands[:0], ritzCandidate(math.Inf(1), 0))
	}
	r.border(c, old)
	r.theta, r.ritz, r.turned, r.gone = nil, nil, false, 0
	// The eigenproblem must be solved before a restart and at the end.
	must := r.size+w > r.v.Cols || r.room() == 0
	wait := r.timing.wait(must || r.size <= cheapEigen)
	if !wait {
		if must {
			r.solve()
		}
		r.look(w)
		r.top = max(r.top, math.Abs(r.theta[0]))
	}
	coupling := r.advance(y, gram)
	if r.drift.next = nil; coupling != nil && width(r.next) == w {
		r.drift.next = over(lost, coupling, roundoff*r.top)
	}
	r.fresh = old
	if !wait {
		r.report(coupling)
		r.timing.solved(r.cands)
	}
	return r.cands
}

// solve brings the Ritz values and vectors up to date with T.
func (r *lanczos) solve() {
	if r.ritz == nil && !r.turned {
		r.theta, r.ritz = rayleighRitz(r.t.RawMatrix(), r.size)
	}
}

// look finds what tells how good the Ritz pairs are, the last w entries of the
// vectors, which takes a fraction of solve.
func (r *lanczos) look(w int) {
	if r.ritz != nil {
		r.tails = r.ritz.Slice(0, r.size, r.size-w, r.size).(*mat.Dense)
		return
	}
	r.theta, r.tails = rayleighRitz(r.t.RawMatrix(), w)
}

// orthogonalise puts the next block into the basis from column old on, removes the
// components in the basis from y, and returns them, yᵀV, and the Gram matrix of what is left. The product of a Lanczos block has
// components in the last two blocks only, or in all after a restart: these are
// removed first. What rounding has left there, and elsewhere where that is too
// much, is removed then. Each product is formed while the rows it needs are in
// the cache from the last.
//
// It also returns what is left in the basis, as drift.step does.
func (r *lanczos) orthogonalise(y blas64.General, old int) (c, gram blas64.General, lost *mat.Dense) {
	v := r.basis()
	recent := columnsFrom(v, r.fresh)
	first, short := r.project(y, recent, old-r.fresh)
	lost = r.drift.step(r.t, first, r.fresh)
	from, to := r.unclean(lost, short)
	older := columnsFrom(columnsOf(v, to), from)
	clear(lost.RawMatrix().Data[from*y.Cols : to*y.Cols])
	f := panel.Pack(-1, first)
	r.second.reset(y.Rows, y.Cols, recent.Cols)
	r.third.reset(y.Rows, y.Cols, older.Cols)
	eachChunk(y.Rows, func(seg, i, rows int) {
		part := rowsOf(y, i, rows)
		panel.AddProduct(part, rowsOf(recent, i, rows), f)
		panel.AddCross(r.second.of(seg), part, rowsOf(recent, i, rows))
		panel.AddCross(r.third.of(seg), part, rowsOf(older, i, rows))
	})
	second := r.second.total()
	f = panel.Pack(-1, second)
	g := panel.Pack(-1, r.third.total())
	r.gram.reset(y.Rows, y.Cols, y.Cols)
	eachChunk(y.Rows, func(seg, i, rows int) {
		part := rowsOf(y, i, rows)
		panel.AddProduct(part, rowsOf(recent, i, rows), f)
		panel.AddProduct(part, rowsOf(older, i, rows), g)
		panel.AddCross(r.gram.of(seg), part, part)
	})
	// What was found in older columns is no part of T, but what the basis lacks.
	c = zeros(make([]float64, y.Cols*v.Cols), y.Cols, v.Cols)
	for i := range c.Rows {
		for j := range recent.Cols {
			c.Data[i*c.Stride+r.fresh+j] = first.Data[i*first.Stride+j] + second.Data[i*second.Stride+j]
		}
	}
	return c, r.gram.total(), lost
}

// project returns yᵀv and the Gram matrix that y will have when the components
// have been removed, for orthonormal v, of which the columns from at on are set to
// the next block first.
func (r *lanczos) project(y, v blas64.General, at int) (c, gram blas64.General) {
	r.first.reset(y.Rows, y.Cols, v.Cols)
	r.gram.reset(y.Rows, y.Cols, y.Cols)
	last, next := columnsFrom(v, at), r.next.RawMatrix()
	eachChunk(y.Rows, func(seg, i, rows int) {
		part := rowsOf(y, i, rows)
		setRows(rowsOf(last, i, rows), rowsOf(next, i, rows))
		panel.AddCross(r.first.of(seg), part, rowsOf(v, i, rows))
		panel.AddCross(r.gram.of(seg), part, part)
	})
	c, gram = r.first.total(), r.gram.total()
	panel.AddProduct(gram, c, panel.Pack(-1, c))
	return c, gram
}

// unclean returns the range of columns before the recent ones that the next block
// must be orthogonalised against, what is lost to its product being given with
// an estimate of its Gram matrix. These are all columns when vectors are going to
// be locked while the basis goes on, where it soon spans everything, and where
// nothing is known because the product nearly vanishes. And they are all columns
// of the last block before a restart that drops Ritz vectors, and of all blocks
// after: what has been removed from products, and is no part of T, may lie in
// those that are gone, where drift does not see it, and M·V is then V·T, and the
// next block, to that only and not to rounding.
func (r *lanczos) unclean(lost *mat.Dense, gram blas64.General) (from, to int) {
	if r.cut || r.size+gram.Rows > r.v.Cols || r.kept() < r.want || r.room() <= 2*gram.Rows {
		return 0, r.fresh
	}
	const cancelled = 1e6 // times the roundoff of a squared length
	for i := range gram.Rows {
		if gram.Data[i*gram.Stride+i] < cancelled*epsilon*r.top*r.top {
			return 0, r.fresh
		}
	}
	coupling, pivot := triangle(gram, 0)
	if coupling == nil || pivot <= twice {
		return 0, r.fresh
	}
	from, to = unclean(over(lost, coupling, roundoff*r.top))
	to = min(to, r.fresh)
	return min(from, to), to
}

// border adds the rows and columns of the new block to T.
func (r *lanczos) border(c blas64.General, old int) {
	t := mat.NewDense(r.size, r.size, nil)
	if old > 0 {
		t.Slice(0, old, 0, old).(*mat.Dense).Copy(r.t)
	}
	for i := range c.Rows {
		for j := range r.size {
			x := c.Data[i*c.Stride+j]
			t.Set(old+i, j, x)
			if j < old {
				t.Set(j, old+i, x)
			}
		}
	}
	r.t = t
}

// advance makes what is left of the product y the next block and returns R.
func (r *lanczos) advance(y *mat.Dense, gram blas64.General) (coupling *mat.Dense) {
	n, w := y.Dims()
	room := r.room()
	if r.full = room == 0; r.full {
		// Nothing can be added. Go on with the trailing vectors, so that the
		// driver can look at everything once more.
		b := min(r.block, r.size)
		r.next = mat.NewDense(n, b, nil)
		last := r.ritz.Slice(r.size-b, r.size, 0, r.size).(*mat.Dense).RawMatrix()
		panel.AddProduct(r.next.RawMatrix(), r.basis(), panel.Pack(1, last))
		return nil
	}
	if room < w {
		r.next = mat.NewDense(n, room, nil)
		x, coef := make([]float64, n), make([]float64, r.size+room)
		q := r.next.RawMatrix()
		for j := range room {
			r.qr.replace(x, r.basis(), columnsOf(q, j), coef)
			setColumn(q, j, x)
		}
		coupling = mat.NewDense(room, w, nil)
		coupling.Mul(r.next.T(), y)
		return coupling
	}
	return r.qr.factorGram(r.next.RawMatrix(), y.RawMatrix(), gram, r.basis(), dropFactor*epsilon*r.top)
}

// report lists the leading Ritz pairs. Those that a restart would not keep, and
// of a basis too small for all that are wanted the last ones, are not yet fit
// to be looked at.
func (r *lanczos) report(coupling *mat.Dense) {
	r.cands = r.cands[:0]
	count := min(r.size, r.want)
	if p := r.kept(); p < r.want && !r.full {
		count = min(count, max(1, p-p/4))
	}
	for i := range count {
		res := epsilon * r.top
		if coupling != nil {
			var d mat.VecDense
			d.MulVec(coupling, mat.NewVecDense(width(r.tails), r.tails.RawRowView(i)))
			res = mat.Norm(&d, 2)
		}
		r.cands = append(r.cands, ritzCandidate(r.theta[i], res))
	}
}

// restart makes the Ritz vectors [from, to) the basis. It goes over all of it;
// to form Ritz vectors one by one would do so for each.
func (r *lanczos) restart(from, to int) {
	b := r.basis()
	r.solve()
	r.cut = r.cut || to < r.size
	if to == from || r.turned {
		if to > from && from > 0 {
			shift(b, from)
		}
		r.drift.cut(from, to)
	} else {
		part := r.ritz.Slice(from, to, 0, r.size).(*mat.Dense)
		turn(b, part.RawMatrix())
		r.drift.turn(part)
	}
	r.theta = r.theta[from:to]
	r.size, r.fresh = to-from, 0
	r.t = mat.NewDense(max(r.size, 1), max(r.size, 1), nil)
	for i, v := range r.theta {
		r.t.Set(i, i, v)
	}
	r.ritz, r.tails, r.turned, r.gone = nil, nil, true, from
}

// Vector makes the Ritz vectors the basis when it is first asked for one.
func (r *lanczos) Vector(dst []float64, j int) {
	if !r.turned {
		r.restart(0, min(r.size, max(r.want, r.v.Cols-width(r.next))))
	}
	if j -= r.gone; j < 0 || j >= r.size {
		clear(dst) // locked
		return
	}
	columnOf(dst, r.v, j)
}

// Lock takes the first j Ritz vectors out of the basis.
func (r *lanczos) Lock(j int) bool {
	to := min(r.size, r.v.Cols-width(r.next))
	if r.full || j >= to {
		return false
	}
	r.restart(j, to)
	return true
}

func (r *lanczos) Save() State {
	s := State{
		Blocks: []*mat.Dense{r.next, {}, {}, {}, {}, {}},
		Scalars: []float64{
			r.qr.key, float64(r.qr.drawn), float64(r.v.Cols), float64(r.want), float64(r.block), float64(r.fresh), float64(r.gone),
			scalar(r.full), scalar(r.turned), scalar(r.started), r.top, float64(r.size), scalar(r.cut),
		},
	}
	s.Scalars = append(s.Scalars, r.timing.save()...)
	if r.size == 0 {
		return s
	}
	s.Blocks[1] = mat.NewDense(r.v.Rows, r.v.Cols, r.v.Data).Slice(0, r.v.Rows, 0, r.size).(*mat.Dense)
	s.Blocks[2] = r.t
	s.Blocks[4] = r.drift.basis
	if r.drift.next != nil {
		s.Blocks[5] = r.drift.next
	}
	for _, c := range r.cands {
		s.Scalars = append(s.Scalars, c.Value, c.Residual)
	}
	if r.turned {
		s.Scalars = append(s.Scalars, r.theta...)
	}
	return s
}

// Restore implements Method.
func (k Krylov) Restore(s State, _ StopRule) (Recurrence, error) {
	k.Width(1) // checks
	const fixed = 13 + timingScalars
	if len(s.Scalars) < fixed {
		return nil, s.shape(6, fixed)
	}
	if err := s.shape(6, len(s.Scalars)); err != nil {
		return nil, err
	}
	next, err := s.block(0, -1, -1)
	if err != nil {
		return nil, err
	}
	n, w := next.Dims()
	var counts [6]int
	for i, limit := range [...]int{math.MaxInt32, n, math.MaxInt32, n, n, n} {
		if counts[i], err = s.count(i+1, limit); err != nil {
			return nil, err
		}
	}
	r := &lanczos{
		next: next, want: counts[2], block: counts[3], fresh: counts[4], gone: counts[5],
		top: s.Scalars[10], qr: blockQR{key: s.Scalars[0], drawn: counts[0]},
	}
	for i, flag := range []*bool{&r.full, &r.turned, &r.started} {
		if *flag, err = s.flag(7 + i); err != nil {
			return nil, err
		}
	}
	if r.size, err = s.count(11, n); err != nil {
		return nil, err
	}
	if r.cut, err = s.flag(12); err != nil {
		return nil, err
	}
	if r.timing, err = s.timing(13); err != nil {
		return nil, err
	}
	m := counts[1]
	if !allFinite(s.Scalars[10:]) {
		return nil, errors.New("state has values that are not finite")
	}
	if r.want < 1 || r.block < 1 || r.size > m || r.fresh > r.size || w > m || r.full && w > r.size || !r.full && r.size > 0 && r.turned && r.size+w > m {
		return nil, fmt.Errorf("state is of a basis of %d of %d columns for %d triplets, with blocks of %d", r.size, m, r.want, w)
	}
	rest := s.Scalars[fixed:]
	if r.turned {
		if len(rest) < r.size {
			return nil, fmt.Errorf("state has %d Ritz values, want %d", len(rest), r.size)
		}
		r.theta, rest = slices.Clone(rest[len(rest)-r.size:]), rest[:len(rest)-r.size]
	}
	if len(rest)%2 != 0 || r.timing.passes > 0 && len(rest) == 0 {
		return nil, fmt.Errorf("state has %d numbers about its Ritz pairs", len(rest))
	}
	for i := 0; i < len(rest); i += 2 {
		r.cands = append(r.cands, ritzCandidate(rest[i], rest[i+1]))
	}
	r.v = basisBlock(n, m)
	return r, r.restoreBasis(s)
}

// restoreBasis takes the basis and its Ritz vectors from s.
func (r *lanczos) restoreBasis(s State) error {
	if r.size == 0 {
		return nil
	}
	n, m := r.v.Rows, r.v.Cols
	v := s.Blocks[1] // part of a larger block if it was not written to a file
	if rows, cols := v.Dims(); rows != n || cols != r.size {
		return fmt.Errorf("block 1 of state is %d×%d, want %d×%d", rows, cols, n, r.size)
	}
	mat.NewDense(n, m, r.v.Data).Slice(0, n, 0, r.size).(*mat.Dense).Copy(v)
	var err error
	if r.t, err = s.block(2, r.size, r.size); err != nil {
		return err
	}
	if r.drift.basis, err = s.block(4, r.size, r.size); err != nil {
		return err
	}
	if rows, _ := s.Blocks[5].Dims(); rows > 0 {
		r.drift.next, err = s.block(5, r.size, width(r.next))
	}
	return err
}
