// Package block is gradient descent on a block of vectors with momentum.
package block

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Descent is gradient descent with momentum on a block of l vectors, all of which improve with every pass:
//
//	Y = M·Q − βP,  Q⁺R = Y,  P⁺ = Q·R⁻¹,  β = λ²/4,
//
// with a Rayleigh–Ritz step inside: Q, and P with it, is rotated such that QᵀMQ is diagonal; λ is the last of
// these diagonal entries, the Ritz values, or up to 5 % more.
//
// Polyak's heavy ball adds a multiple of the last step to the next one. For eigenvectors this is a three-term
// recurrence of Chebyshev polynomials T_t(λ/2√β), which are bounded below 2√β and grow like cosh(t·arcosh(λ/2√β))
// above (Saad, Numerical Methods for Large Eigenvalue Problems, ch. 5, subspace iteration with Chebyshev
// acceleration). With 2√β at the last Ritz value of the block, components beyond the block are damped and
// components in it grow as fast as possible. Ritz values approach from below, so β is never too large, and needs
// no tuning. The factor of a pass for vector i tends to exp(−arcosh(λ_i/λ_{l+1})), where subspace iteration has
// λ_{l+1}/λ_i.
//
// Memory is three n×l blocks, the product of the driver included, whatever the number of passes.
type Descent struct {
	// Columns is the width l of the block; 0 means k + Oversample. A block that
	// is narrower than k finds the vectors in groups.
	Columns int
	// Oversample is the number of columns beyond k when Columns is 0; 0 means
	// max(10, k/4). More columns cost time and memory and save passes.
	Oversample int
}

const mostColumns = 1e6

func (b Descent) Traits(k int) method.Traits {
	return method.Traits{
		Name: "block",
		Settings: []method.Setting{
			{Name: "block", Help: "number of columns of a pass", High: mostColumns, Whole: true, Value: float64(b.Columns)},
			{Name: "oversample", Help: "number of columns beyond K", High: mostColumns, Whole: true, Value: float64(b.Oversample)},
		},
		With:      func(v []float64) method.Method { return Descent{Columns: int(v[0]), Oversample: int(v[1])} },
		Width:     b.width,
		Version:   1,
		Footprint: func(n int) int64 { return b.footprint(n, k) },
		Effort:    b.effort,
		Options:   b.options,
	}
}

func (b Descent) New(r method.Run) method.Recurrence {
	return &descent{Block: iterate.NewBlock(iterate.Arena(r))}
}

func (b Descent) width(missing int) int {
	switch {
	case b.Columns > 0:
		return b.Columns
	case b.Oversample > 0:
		return missing + b.Oversample
	}
	return missing + max(10, missing/4)
}

// footprint returns the bytes of three blocks of the width of the method, and of small matrices for each segment
// of rows.
func (b Descent) footprint(n, k int) int64 {
	l := min(b.width(k), n)
	return tallskinny.Bytes(n, 3*l) + tallskinny.Bytes(l, 2*tallskinny.MaxSegments*tallskinny.ChunkRows) + tallskinny.Bytes(l, (2*tallskinny.Segments(n)+10)*l)
}

// effort derives the passes from the rate of Descent, for eigenvalues that fall like i^-1.4, as those of ratings
// do.
func (b Descent) effort(w method.Workload) method.Effort {
	width, k := b.width(w.Rank), float64(w.Rank)
	l := float64(width)
	ratio := math.Pow(math.Max(1.02, l/k), 1.4)
	passes := 4 + 20*w.Digits/math.Acosh(ratio)
	if w.Linear {
		passes *= math.Sqrt2
	}
	passes = math.Max(passes, 5)
	return method.Effort{
		Width: width, Passes: passes, Flops: float64(w.Order) * passes * 12 * l * l,
		Read: passes*9*l + 16*k, Written: passes*4*l + 12*k,
	}
}

// options returns blocks of three widths.
func (Descent) options(w method.Workload) (all []method.Method) {
	if w.Shifted {
		return nil // the rate depends on ratios of eigenvalues, not on gaps
	}
	for _, l := range []int{Descent{}.width(w.Rank), 2 * w.Rank, 3 * w.Rank} {
		if l > w.Rank {
			all = append(all, Descent{Columns: l})
		}
	}
	return all
}

// descent is the state of Descent. P is not stored: it is last·momentum, and is
// multiplied out chunk by chunk where it is needed.
type descent struct {
	iterate.Block            // Q
	last          *mat.Dense // the Q that was multiplied last
	momentum      *mat.Dense // W·R⁻¹ of the step from last to next, l×l
	vectors       *mat.Dense // Ritz vectors in terms of last, in rows
	ahead         extrapolation
	small         tallskinny.Sums
	pairs         []method.RitzPair
}

func (r *descent) Start(z *mat.Dense) {
	n, l := z.Dims()
	r.Block.Start(z)
	r.last = r.Arena.Dense(n, l)
	r.momentum, r.vectors = mat.NewDense(l, l, nil), mat.NewDense(l, l, nil)
}

func (r *descent) State(s *method.State) {
	if !r.Block.State(s) {
		return
	}
	n, l := r.X.Dims()
	s.Tall("last", &r.last, l)
	s.Small("momentum", &r.momentum, l, l)
	s.Small("vectors", &r.vectors, l, l)
	s.Floats("residuals", &r.ahead.last)
	s.Floats("extrapolation", &r.ahead.ratio)
	s.Floats("gain", &r.ahead.gain)
	if c := len(r.ahead.last); c != len(r.ahead.ratio) || c != len(r.ahead.gain) || c > 0 && c != reported(l, n) || r.momentum == nil || r.vectors == nil {
		s.Refuse("has residuals of %d vectors, want %d", c, reported(l, n))
	}
}

func (r *descent) Free() { r.Arena.Free(r.X, r.last) }

func (r *descent) Absorb(y *mat.Dense) []method.RitzPair {
	h := r.Arena.Cross(&r.small, r.X.RawMatrix(), y.RawMatrix())
	r.pairs = r.pairs[:0]
	if !tallskinny.AllFinite(h.Data) {
		return append(r.pairs, method.NewRitzPair(math.Inf(1), 0))
	}
	theta, wt := tallskinny.RayleighRitz(&r.Eigen, h, h.Rows)
	edge := damped(theta, reported(len(theta), r.X.RawMatrix().Rows))
	var back mat.Dense // βP = last·backᵀ in the basis of Ritz vectors
	back.Mul(wt, r.momentum.T())
	for j, v := range theta {
		limit(back.RawRowView(j), edge*edge/4, max(v, 0)/2)
	}
	residuals, gram := r.step(y, theta, wt, &back)
	r.last, r.X, r.vectors = r.X, r.last, wt
	for j, res := range r.ahead.observe(residuals) {
		r.pairs = append(r.pairs, method.NewRitzPair(theta[j], res))
	}
	top := math.Hypot(theta[0], residuals[0])
	next := r.X.RawMatrix()
	f := r.QR.FactorGram(next, y.RawMatrix(), gram, nil, tallskinny.DropFactor*tallskinny.Epsilon*top)
	r.momentum.Mul(wt.T(), tallskinny.Inverse(f))
	return r.pairs
}

// reported returns how many of l columns are reported as Ritz pairs. The last columns converge slowly: they are
// there to speed up the others.
func reported(l, n int) int {
	if l == n || l == 1 {
		return l // no columns to spare
	}
	return l - min(max(1, l/4), 10)
}

// damped returns 2√β, the edge of the damped interval, for the Ritz values of a block of which the first c are
// reported. The edge is a little more than the last Ritz value, as far as the gap permits: exactly at the edge
// the polynomials still grow, if only like t; inside they oscillate. For the same reason the edge keeps away from
// the reported values, in case one of them is repeated more often than the block is wide. Without columns to
// spare no value tells where the edge is: damped returns 0, for no momentum.
func damped(theta []float64, c int) float64 {
	last, wanted := theta[len(theta)-1], theta[c-1]
	if c == len(theta) || last <= 0 {
		return 0
	}
	return min(1.05*last, math.Sqrt(math.Sqrt(wanted/last))*last, 0.98*wanted)
}

// limit scales x by factor, or by less if its norm would exceed most. With a constant β no column of βP is longer
// than half of its Ritz value. When β grows faster than P can follow, a longer column could cancel the wanted
// part of Y.
func limit(x []float64, factor, most float64) {
	if norm := (*tallskinny.Arena)(nil).Norm2(x); norm*factor > most {
		factor = most / norm
	}
	blas64.Scal(factor, tallskinny.Vector(x))
}

// step sets y, the product M·Q, to y·W − last·backᵀ, where wt = Wᵀ has the Ritz vectors in its rows. It returns
// the residuals of the Ritz pairs to be reported and the Gram matrix of the new y. It is one sweep over the three
// blocks.
func (r *descent) step(y *mat.Dense, theta []float64, wt, back *mat.Dense) (residuals []float64, gram blas64.General) {
	n, l := y.Dims()
	c := reported(l, n)
	w, leading := panel.Pack(1, wt.RawMatrix()), panel.Pack(1, wt.Slice(0, c, 0, l).(*mat.Dense).RawMatrix())
	d := panel.Pack(-1, back.RawMatrix())
	buf := new(tallskinny.Scratch).Each(r.Arena, n, tallskinny.ChunkRows*2*l)
	r.small.Reset(n, 1, c)
	r.QR.Gram.Reset(n, l, l)
	unit := cmp.Or(r.Arena.Largest(y.RawMatrix()), 1)
	r.Arena.Sweep(n, tallskinny.ChunkRows, 8*l*l, tallskinny.Reads(y.RawMatrix(), r.X.RawMatrix(), r.last.RawMatrix()).Writes(y.RawMatrix()), func(worker, seg, first, rows int) {
		b := buf(worker)
		yw, qw := tallskinny.Zeros(b, rows, l), tallskinny.Zeros(b[tallskinny.ChunkRows*l:], rows, c)
		part := tallskinny.RowsOf(y.RawMatrix(), first, rows)
		panel.AddProduct(yw, part, w)
		panel.AddProduct(qw, tallskinny.RowsOf(r.X.RawMatrix(), first, rows), leading)
		sum := r.small.Of(seg).Data
		for i := range rows {
			a, q := yw.Data[i*l:][:c], qw.Data[i*c:][:c]
			for j, v := range a {
				e := (v - theta[j]*q[j]) / unit
				sum[j] += e * e
			}
		}
		panel.AddProduct(yw, tallskinny.RowsOf(r.last.RawMatrix(), first, rows), d)
		panel.AddCross(r.QR.Gram.Of(seg), yw, yw)
		copy(part.Data[:rows*l], yw.Data)
	})
	residuals = r.small.Total().Data
	for j, v := range residuals {
		residuals[j] = unit * math.Sqrt(v)
	}
	return residuals, r.QR.Gram.Total()
}

// Vector stores column j of the next block, made from Ritz vector j, if its residual is expected to be smaller,
// or if a Lock has dropped the other vectors. Otherwise, or if that column was roundoff and has been replaced, it
// stores the Ritz vector itself.
func (r *descent) Vector(dst []float64, j int) {
	if (j >= len(r.ahead.gain) || r.ahead.gain[j] < 1) && mat.Norm(r.momentum.ColView(j), 1) > 0 {
		r.Arena.ColumnOf(dst, r.X.RawMatrix(), j)
		return
	}
	last, w := r.last.RawMatrix(), tallskinny.Vector(r.vectors.RawRowView(j))
	r.Arena.EachTile(last.Rows, tallskinny.Reads(last).Writing(dst), func(from, to int) {
		blas64.Gemv(blas.NoTrans, 1, tallskinny.RowsOf(last, from, to-from), w, 0, tallskinny.Vector(dst[from:to]))
	})
}

// Lock drops the leading j columns of Q and P, which span the accepted vectors to within their residuals. It
// fills the block up with random columns, which may find more copies of a repeated value than the block is wide.
func (r *descent) Lock(j int) bool {
	n, l := r.X.Dims()
	if j >= l || l > r.QR.Dimension(n) {
		return false
	}
	q := r.X.RawMatrix()
	r.ahead = extrapolation{}
	r.Arena.Shift(q, j)
	r.Arena.Shift(r.momentum.RawMatrix(), j)
	x := r.Arena.Planes(n, 1, 1)
	defer r.Arena.Release(x)
	for c := l - j; c < l; c++ {
		r.QR.Replace(x, nil, tallskinny.SpanOf(tallskinny.ColumnsOf(q, c)))
		r.Arena.SetColumn(q, c, x)
	}
	return true
}

// extrapolation predicts the residuals of the next block from the decay of the residuals known so far, those of
// the last block included. It assumes the slower of the last two factors. It predicts no decay before two factors
// are known, since the factors of a three-term recurrence fall to their limit ρ from above. The momentum of the
// recurrence is of the order of ρ²: after a faster step it brings back a part of what the step has removed, and
// no decay is predicted either.
type extrapolation struct {
	last  []float64 // residuals of the last block
	ratio []float64 // the factors by which they have changed, at most 1
	gain  []float64 // predicted factors from the last block to the next; 1: no better
}

// observe takes the residuals of a block and returns the predicted residuals of the next.
func (c *extrapolation) observe(residuals []float64) []float64 {
	if len(c.last) != len(residuals) {
		c.last = slices.Clone(residuals)
		c.ratio = slices.Repeat([]float64{1}, len(residuals))
		c.gain = slices.Clone(c.ratio)
		return residuals
	}
	c.gain = slices.Repeat([]float64{1}, len(residuals))
	next := make([]float64, len(residuals))
	for j, res := range residuals {
		ratio := 1.0
		if res < c.last[j] {
			ratio = res / c.last[j]
		}
		if before := c.ratio[j]; ratio > before*before/4 {
			c.gain[j] = max(ratio, before)
		}
		next[j] = res * c.gain[j]
		c.last[j], c.ratio[j] = res, ratio
	}
	return next
}
