package solver

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/place"
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
	return &lanczos{
		next: z, want: k.want, block: b, most: min(n, max(k.Basis, 2*b)), v: newPanels(z, b), qr: blockQR{key: z.At(0, 0)},
	}
}

// lanczos is the state of Krylov.
type lanczos struct {
	next     *mat.Dense // X, orthonormal and orthogonal to the basis
	v        panels     // the basis
	most     int        // columns it may have
	size     int        // columns it has
	drift    drift      // what V lacks of being orthonormal
	t        *mat.Dense // VᵀMV, size×size
	coupling *mat.Dense // what M·V has in X, from column fresh of V on; nil if that is not known
	theta    []float64  // Ritz values of T, descending; nil as long as nobody has asked
	ritz     *mat.Dense // Ritz vectors in terms of V, in rows; nil likewise
	tails    *mat.Dense // their last entries, for the last block
	gone     int        // Ritz vectors that have been locked and are not in V any more
	want     int        // triplets of the run
	block    int        // columns of a block, unless there is no room
	fresh    int        // column of V from which M·next has components in it, save for rounding
	started  bool       // next is orthonormal, no longer the start block
	full     bool       // V spans the whole space, next is a part of it
	top      float64    // largest norm of a product, for what is roundoff
	qr       blockQR
	cands    []Candidate
	timing   timing // of the eigenproblem of T
	eigen    eigen.Solver

	first, second, third, fourth, gram sums
}

// avoid implements avoider.
func (r *lanczos) avoid(found *basis) { r.qr.found = found }

// aim implements aimer.
func (r *lanczos) aim(missing func(Candidate) float64) { r.timing.missing = missing }

func (r *lanczos) Next() *mat.Dense {
	if !r.started {
		r.qr.factor(r.next.RawMatrix(), nil, 0)
		r.started = true
	}
	return r.next
}

// kept is how many Ritz vectors survive a restart: those that are wanted and a third
// of the room beyond, in whole panels. More would be formed more often, and with
// fewer passes are lost.
func (r *lanczos) kept() int {
	room := r.most - width(r.next)
	kept := max(min(room, 1), min(room, r.want+(room-r.want)/3))
	return min(room, (kept+r.v.wide-1)/r.v.wide*r.v.wide)
}

// Eigenproblems of up to this order cost nothing compared with a pass.
const cheapEigen = 32

// room is the number of columns that V and its complement have space for.
func (r *lanczos) room() int { return max(0, r.qr.dimension(r.v.n)-r.size) }

func (r *lanczos) Absorb(y *mat.Dense) []Candidate {
	w := width(y)
	if r.full {
		r.restart(0, r.size-w)
	} else if r.size+w > r.most {
		r.restart(0, r.kept())
	}
	old := r.size
	r.v.add(r.next)
	r.size += w
	r.drift.grow(w, r.most)
	c, gram, lost := r.orthogonalise(y.RawMatrix(), old)
	if !allFinite(c.Data) {
		return append(r.cands[:0], ritzCandidate(math.Inf(1), 0))
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
	if r.drift.next = nil; r.coupling != nil && width(r.next) == w {
		r.drift.next = over(lost, r.coupling, r.drift.error(r.top))
	}
	r.fresh = old
	if !wait {
		r.report()
		r.timing.solved(r.cands)
	}
	return r.cands
}

// solve brings the Ritz values and vectors up to date with T.
func (r *lanczos) solve() {
	switch {
	case r.ritz != nil:
	case r.theta != nil:
		r.ritz = mat.NewDense(r.size, r.size, r.eigen.Vectors(r.size).Data)
	default:
		r.theta, r.ritz = rayleighRitz(&r.eigen, r.t.RawMatrix(), r.size)
	}
}

// look finds what tells how good the Ritz pairs are, the last w entries of the
// vectors, which takes a fraction of solve.
func (r *lanczos) look(w int) {
	if r.ritz != nil {
		r.tails = r.ritz.Slice(0, r.size, r.size-w, r.size).(*mat.Dense)
		return
	}
	r.theta, r.tails = rayleighRitz(&r.eigen, r.t.RawMatrix(), w)
}

// orthogonalise removes the components in the basis, of which the columns from old
// on are the block that has been multiplied, from the product y, and returns them,
// yᵀV, and the Gram matrix of what is left. The product of a Lanczos block has
// components in the last two blocks only, or in all after a restart: these are
// removed first. What rounding has left there, and elsewhere where that is too
// much, is found while the rows it needs are in the cache, and removed when y is
// read next, by what is left to r.qr.prepare.
//
// It also returns what is left in the basis, as drift.step does.
func (r *lanczos) orthogonalise(y blas64.General, old int) (c, gram blas64.General, lost *mat.Dense) {
	recent := r.v.span(r.fresh, r.size)
	first, short := r.coefficients(y, old)
	lost = r.drift.step(r.t, first, r.fresh)
	from, to := r.unclean(lost, short)
	older, both := r.v.span(from, to), span(nil)
	if r.drift.untidy(y.Cols, from, to) {
		both = older // the last block must be cleaned, too, lest the next ones inherit from it
	}
	clear(lost.RawMatrix().Data[from*y.Cols : to*y.Cols])
	last := recent[len(recent)-1].x
	f := recent.pack(-1, first)
	r.second.reset(y.Rows, y.Cols, recent.columns())
	r.third.reset(y.Rows, y.Cols, older.columns())
	r.fourth.reset(y.Rows, y.Cols, both.columns())
	r.gram.reset(y.Rows, y.Cols, y.Cols)
	sweep(y.Rows, inCache(firstCache, y.Cols), y.Cols*(2*recent.columns()+2*older.columns()+y.Cols), func(_, seg, i, rows int) {
		part := rowsOf(y, i, rows)
		recent.addProduct(part, f, i)
		recent.addCross(r.second.of(seg), part, i)
		older.addCross(r.third.of(seg), part, i)
		both.addCross(r.fourth.of(seg), rowsOf(last, i, rows), i)
		panel.AddCross(r.gram.of(seg), part, part)
	})
	second, third, fourth := r.second.total(), r.third.total(), r.fourth.total()
	r.drift.cleaned(r.t, r.coupling, third, fourth, from, to, r.fresh)
	gram = r.gram.total()
	if negligible(second, gram) {
		// V lacks that much of being orthonormal, then.
		setRows(rowsOf(lost.RawMatrix(), r.fresh, second.Cols), transposed(mat.NewDense(second.Rows, second.Cols, second.Data)))
		second.Cols, recent = 0, nil
	}
	f, g, h := recent.pack(-1, second), older.pack(-1, third), both.pack(-1, fourth)
	r.qr.prepare = func(part blas64.General, i int) {
		recent.addProduct(part, f, i)
		older.addProduct(part, g, i)
		both.addProduct(rowsOf(last, i, part.Rows), h, i)
	}
	if a, b := subtractGram(gram, second), subtractGram(gram, third); a || b {
		r.qr.ready(y)
		gram = cross(&r.gram, y, y)
	}
	// What was found in older columns is no part of T, but what the basis lacks.
	c = zeros(make([]float64, y.Cols*r.size), y.Cols, r.size)
	setRows(columnsFrom(c, r.fresh), first)
	for i := range c.Rows {
		for j := range second.Cols {
			c.Data[i*c.Stride+r.fresh+j] += second.Data[i*second.Stride+j]
		}
	}
	return c, gram, lost
}

// coefficients returns yᵀV for the columns from fresh on and the Gram matrix that y
// will have when these components have been removed. Before the last block they are
// known: M is symmetric, and what its product had in the last block is R.
func (r *lanczos) coefficients(y blas64.General, old int) (c, gram blas64.General) {
	at := r.fresh
	if r.coupling != nil {
		at = old
	}
	s := r.v.span(at, r.size)
	r.first.reset(y.Rows, y.Cols, s.columns())
	r.gram.reset(y.Rows, y.Cols, y.Cols)
	sweep(y.Rows, inCache(firstCache, y.Cols), y.Cols*(s.columns()+y.Cols), func(_, seg, i, rows int) {
		part := rowsOf(y, i, rows)
		s.addCross(r.first.of(seg), part, i)
		panel.AddCross(r.gram.of(seg), part, part)
	})
	found := r.first.total()
	c = zeros(make([]float64, y.Cols*(r.size-r.fresh)), y.Cols, r.size-r.fresh)
	setRows(columnsFrom(c, at-r.fresh), found)
	if at > r.fresh {
		setRows(c, r.coupling.RawMatrix())
	}
	gram = r.gram.total()
	panel.AddProduct(gram, c, panel.Pack(-1, c))
	return c, gram
}

// negligible reports whether a block with this Gram matrix, made orthonormal, has
// components of next to nothing if it has components c, transposed, as it is.
func negligible(c, gram blas64.General) bool {
	const next = tidy / 10
	r, _ := triangle(gram, 0)
	if r == nil || c.Cols == 0 {
		return false
	}
	x := times(mat.DenseCopyOf(inverse(r).T()), mat.DenseCopyOf(mat.NewDense(c.Rows, c.Cols, c.Data).T()))
	return math.Max(mat.Max(x), -mat.Min(x)) <= next
}

// subtractGram takes what has been removed from a block, c, off its Gram matrix. It
// reports whether so little is left that the difference does not tell what.
func subtractGram(gram, c blas64.General) (cancelled bool) {
	const share = 1e-3 // of a squared length
	before := make([]float64, gram.Rows)
	for i := range before {
		before[i] = gram.Data[i*gram.Stride+i]
	}
	panel.AddProduct(gram, c, panel.Pack(-1, c))
	for i, x := range before {
		cancelled = cancelled || !(gram.Data[i*gram.Stride+i] >= (1-share)*x)
	}
	return cancelled
}

// unclean returns the range of columns before the recent ones that the next block
// must be orthogonalised against, what is lost to its product being given with
// an estimate of its Gram matrix. These are all columns before a restart, when
// vectors are going to be locked while the basis goes on, where it soon spans
// everything, and where nothing is known: because the product nearly vanishes, or
// because the last restart has dropped too much of what products were relieved of.
func (r *lanczos) unclean(lost *mat.Dense, gram blas64.General) (from, to int) {
	if r.drift.dropped > tidy*r.top || r.size+gram.Rows > r.most || r.kept() < r.want || r.room() <= 2*gram.Rows {
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
	from, to = unclean(over(lost, coupling, r.drift.error(r.top)))
	to = min(to, r.fresh)
	return min(from, to), to
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

// advance makes what is left of the product y the next block, and R the coupling.
func (r *lanczos) advance(y *mat.Dense, gram blas64.General) {
	n, w := y.Dims()
	room := r.room()
	if r.full = room == 0; r.full {
		// Nothing can be added. Go on with the trailing vectors, so that the
		// driver can look at everything once more.
		b := min(r.block, r.size)
		r.qr.ready(y.RawMatrix())
		r.coupling, r.next = nil, beside(r.next, n, b)
		last := r.ritz.Slice(r.size-b, r.size, 0, r.size).(*mat.Dense).RawMatrix()
		r.v.all().multiply(r.next.RawMatrix(), last)
		return
	}
	if room < w {
		r.qr.ready(y.RawMatrix())
		r.next = beside(r.next, n, room)
		x, q := column(beside(r.next, n, 1)), r.next.RawMatrix()
		defer place.Free(x)
		for j := range room {
			r.qr.replace(x, r.v.all(), spanOf(columnsOf(q, j)))
			setColumn(q, j, x)
		}
		r.coupling = mat.NewDense(room, w, nil)
		r.coupling.Mul(r.next.T(), y)
		return
	}
	r.next = r.v.take(w)
	r.coupling = r.qr.factorGram(r.next.RawMatrix(), y.RawMatrix(), gram, r.v.all(), dropFactor*epsilon*r.top)
}

// report lists the leading Ritz pairs. Those that a restart would not keep, and
// of a basis too small for all that are wanted the last ones, are not yet fit
// to be looked at.
func (r *lanczos) report() {
	r.cands = r.cands[:0]
	count := min(r.size, r.want)
	if p := r.kept(); p < r.want && !r.full {
		count = min(count, max(1, p-p/4))
	}
	for i := range count {
		res := epsilon * r.top
		if r.coupling != nil {
			var d mat.VecDense
			d.MulVec(r.coupling, mat.NewVecDense(width(r.tails), r.tails.RawRowView(i)))
			res = mat.Norm(&d, 2)
		}
		r.cands = append(r.cands, ritzCandidate(r.theta[i], res))
	}
}

// restart makes the Ritz vectors [from, to) the basis.
func (r *lanczos) restart(from, to int) {
	r.solve()
	if to == from {
		r.v.clear()
		r.drift = drift{}
	} else {
		part := r.ritz.Slice(from, to, 0, r.size).(*mat.Dense)
		gone := new(mat.Dense)
		if to < r.size {
			gone = r.ritz.Slice(to, r.size, 0, r.size).(*mat.Dense)
		}
		r.v.turn(part.RawMatrix())
		r.drift.turn(part, gone)
	}
	if r.coupling != nil && to > from {
		// What the products of Ritz vectors have in the next block.
		r.coupling = times(r.coupling, mat.DenseCopyOf(r.ritz.Slice(from, to, r.fresh, r.size)))
	} else {
		r.coupling = nil
	}
	r.size, r.fresh = to-from, 0
	if r.size == 0 {
		r.t = nil
	} else {
		r.t = shrunk(r.t, mat.DenseCopyOf(mat.NewDiagDense(r.size, r.theta[from:to])))
	}
	r.theta, r.ritz, r.tails, r.gone = nil, nil, nil, from
}

// vectors implements jointly.
func (r *lanczos) vectors(dst blas64.General) {
	r.solve()
	s := r.ritz.Slice(0, dst.Cols, 0, r.size).(*mat.Dense)
	r.v.all().multiply(dst, s.RawMatrix())
}

func (r *lanczos) Vector(dst []float64, j int) {
	if j -= r.gone; j < 0 || j >= r.size {
		clear(dst) // locked
		return
	}
	r.solve()
	r.v.all().multiply(single(dst), r.ritz.Slice(j, j+1, 0, r.size).(*mat.Dense).RawMatrix())
}

// Lock takes the first j Ritz vectors out of the basis.
func (r *lanczos) Lock(j int) bool {
	to := min(r.size, r.most-width(r.next))
	if r.full || j >= to {
		return false
	}
	r.restart(j, to)
	return true
}

// Blocks of the state before those of the basis.
const lanczosBlocks = 6

// discard implements discarder.
func (r *lanczos) discard() {
	free(r.next)
	r.v.free()
}

func (r *lanczos) Save() State {
	s := State{
		Blocks: []*mat.Dense{r.next, {}, {}, {}, {}, {}},
		Scalars: []float64{
			r.qr.key, float64(r.qr.drawn), float64(r.most), float64(r.want), float64(r.block), float64(r.fresh), float64(r.gone),
			scalar(r.full), scalar(r.started), r.top, r.drift.dropped,
		},
	}
	s.Scalars = append(s.Scalars, r.timing.save()...)
	for _, c := range r.cands {
		s.Scalars = append(s.Scalars, c.Value, c.Residual)
	}
	if r.size == 0 {
		return s
	}
	for i, b := range []*mat.Dense{r.t, r.drift.basis, r.drift.next, r.drift.removed, r.coupling} {
		if b != nil {
			s.Blocks[i+1] = mat.DenseCopyOf(b)
		}
	}
	for _, b := range r.v.list {
		s.Blocks = append(s.Blocks, b.room.Slice(0, r.v.n, 0, b.x.Cols).(*mat.Dense))
	}
	return s
}

// Restore implements Method.
func (k Krylov) Restore(s State, _ StopRule) (Recurrence, error) {
	k.Width(1) // checks
	const fixed = 11 + timingScalars
	if len(s.Blocks) < lanczosBlocks || len(s.Scalars) < fixed {
		return nil, s.shape(lanczosBlocks, fixed)
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
		next: next, most: counts[1], want: counts[2], block: counts[3], fresh: counts[4], gone: counts[5],
		top: s.Scalars[9], drift: drift{dropped: s.Scalars[10]}, qr: blockQR{key: s.Scalars[0], drawn: counts[0]},
	}
	for i, flag := range []*bool{&r.full, &r.started} {
		if *flag, err = s.flag(7 + i); err != nil {
			return nil, err
		}
	}
	if r.timing, err = s.timing(11); err != nil {
		return nil, err
	}
	rest := s.Scalars[fixed:]
	if !allFinite(s.Scalars[9:]) {
		return nil, errors.New("state has values that are not finite")
	}
	if len(rest)%2 != 0 || r.timing.passes > 0 && len(rest) == 0 {
		return nil, fmt.Errorf("state has %d numbers about its Ritz pairs", len(rest))
	}
	for i := 0; i < len(rest); i += 2 {
		r.cands = append(r.cands, ritzCandidate(rest[i], rest[i+1]))
	}
	if r.want < 1 || r.block < 1 {
		return nil, fmt.Errorf("state is for %d triplets, with blocks of %d", r.want, r.block)
	}
	if err := r.restoreBasis(s); err != nil {
		return nil, err
	}
	if m := r.most; r.size > m || r.fresh > r.size || w > m || r.full && w > r.size || r.fresh > 0 && !r.full && r.coupling == nil {
		return nil, fmt.Errorf("state is of a basis of %d of %d columns with blocks of %d", r.size, m, w)
	}
	return r, nil
}

// restoreBasis takes the basis and what is known about it from s.
func (r *lanczos) restoreBasis(s State) (err error) {
	w := width(r.next)
	r.v = newPanels(r.next, r.block)
	for i := lanczosBlocks; i < len(s.Blocks); i++ {
		if err := r.v.restore(s.Blocks[i]); err != nil {
			return fmt.Errorf("block %d of state %w", i, err)
		}
	}
	if r.size = r.v.size(); r.size == 0 {
		return nil
	}
	if r.t, err = s.block(1, r.size, r.size); err != nil {
		return err
	}
	if r.drift.basis, err = s.block(2, r.size, r.size); err != nil {
		return err
	}
	if !s.Blocks[3].IsEmpty() {
		if r.drift.next, err = s.block(3, r.size, w); err != nil {
			return err
		}
	}
	if r.drift.removed, err = s.block(4, r.size, r.size); err != nil {
		return err
	}
	if !s.Blocks[5].IsEmpty() {
		r.coupling, err = s.block(5, w, r.size-r.fresh)
	}
	return err
}
