package complete

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/jacobi"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream"
)

func (f *fit) model() *model {
	s := f.State
	m := &model{
		k: f.Rank, lambda: s.Lambda, v: s.V.RawMatrix(), root: make([]float64, f.Rank),
		mean: s.Mean, columns: s.Columns, damping: f.Damping, heldSeed: f.Seed,
	}
	for i, d := range s.D {
		m.root[i] = math.Sqrt(d)
		if d > 0 {
			m.rank = i + 1
		}
	}
	if !s.Full {
		m.heldOut = uint64(f.Holdout * (1 << 63) * 2)
	}
	return m
}

// scan reads the matrix once. It calls compute on any worker, and add in the order of the rows.
func (f *fit) scan(ctx context.Context, reserve int64, compute func(l *lane, b *csr.Block), add func(l *lane, b *csr.Block) error) error {
	o := f.reading(f.src, reserve)
	lanes := make([]lane, o.Workers)
	return stream.Scan(ctx, f.src, o, func(worker int, b *csr.Block) error {
		compute(&lanes[worker], b)
		return nil
	}, func(worker int, b *csr.Block) error { return add(&lanes[worker], b) })
}

// reading returns the options of a read, with the memory of a State and reserve bytes set aside.
func (o Options) reading(src stream.Source, reserve int64) stream.Options {
	s := o.Stream
	s.Workers = cmp.Or(s.Workers, runtime.GOMAXPROCS(0))
	k, largest := int64(o.Rank), src.MaxBlock()
	s.Width, s.Rank = 1, 1
	s.Reserve += o.held(src) + reserve + int64(s.Workers)*8*(3*largest.NNZ+2*k*largest.Rows+4*k*k+gather*k)
	return s
}

// held returns the bytes of a State: V, the V of the best λ, and c.
func (o Options) held(src stream.Source) int64 { return 8 * src.Cols() * (2*int64(o.Rank) + 1) }

// beside returns the bytes that a round takes in addition to a State: BᵀW and the matrices made from it.
func (o Options) beside(src stream.Source) int64 { return 3 * 8 * src.Cols() * int64(o.Rank) }

func (f *fit) round(ctx context.Context) error {
	k, n := f.Rank, int(f.src.Cols())
	m := f.model()
	var all sums
	all.low, all.gwv = make([]float64, k*k), make([]float64, k*k)
	sum := mat.NewDense(n, k, nil) // BᵀW
	err := f.scan(ctx, f.beside(f.src), func(l *lane, b *csr.Block) { l.block(m, b) }, func(l *lane, b *csr.Block) error {
		all.add(&l.sums)
		l.scatter(sum, b, k)
		return nil
	})
	if err != nil {
		return err
	}
	norm := 0.0
	for _, d := range f.D {
		norm += d
	}
	now := all.squares/2 + f.State.Lambda/2*(all.ridge+norm)
	if math.IsNaN(now) || math.IsInf(now, 0) {
		return ErrDiverged
	}
	var low mat.Dense
	low.Mul(f.V, mat.NewDense(k, k, all.low))
	sum.Add(sum, &low)
	next, sigma := rightVectors(sum, mat.NewSymDense(k, all.gwv))
	if f.Phase == Top && sigma[0] == 0 && all.held > 0 {
		return fmt.Errorf("complete: mean and biases predict all %d entries that are not held out: give a λ, or hold out another share", all.in)
	}
	f.V = next
	for i, s := range sigma {
		f.D[i] = max(0, s-f.State.Lambda)
	}
	if f.Phase == Top {
		clear(f.D)
	}
	fell := math.Inf(1)
	if f.At > 0 {
		fell = (f.F - now) / now
	}
	f.F, f.Count, f.RMSE, f.Held = now, all.in, math.Sqrt(share(all.squares, float64(all.in))), math.NaN()
	if all.out > 0 {
		f.Held = math.Sqrt(all.held / float64(all.out))
	}
	f.next(sigma[0], fell)
	return nil
}

// scatter adds RᵀW to sum, R the residuals of a block and W its k-column rows in l.w.
func (l *lane) scatter(sum *mat.Dense, b *csr.Block, k int) {
	raw := sum.RawMatrix()
	for i := range b.Rows() {
		w := blas64.Vector{N: k, Inc: 1, Data: l.w[i*k:][:k]}
		p := b.RowPtr[i]
		for col := range b.Row(i) {
			if e := l.val[p]; e != 0 {
				blas64.Axpy(e, w, blas64.Vector{N: k, Inc: 1, Data: raw.Data[int(col)*raw.Stride:][:k]})
			}
			p++
		}
	}
}

func (s *sums) add(t *sums) {
	s.squares += t.squares
	s.inner += t.inner
	s.ridge += t.ridge
	s.held += t.held
	s.in += t.in
	s.out += t.out
	floats.Add(s.low, t.low)
	floats.Add(s.gwv, t.gwv)
}

// rightVectors returns the right singular vectors and the singular values of UᵀB, U an orthonormal basis of W, given BᵀW and WᵀW.
func rightVectors(bw *mat.Dense, ww *mat.SymDense) (v *mat.Dense, sigma []float64) {
	n, k := bw.Dims()
	var eigen mat.EigenSym
	if !eigen.Factorize(ww, true) {
		return bw, make([]float64, k)
	}
	values := eigen.Values(nil)
	var basis mat.Dense
	eigen.VectorsTo(&basis)
	for j, λ := range values { // U = W·basis, without directions that W lacks
		by := 0.0
		if λ > 1e-13*values[k-1] {
			by = 1 / math.Sqrt(λ)
		}
		for i := range k {
			basis.Set(i, j, by*basis.At(i, j))
		}
	}
	q := mat.NewDense(n, k, nil)
	q.Mul(bw, &basis)
	r := orthonormalise(q)
	sigma, left, _ := jacobi.Decompose(r.RawMatrix())
	v = mat.NewDense(n, k, nil)
	v.Mul(q, mat.NewDense(k, k, left.Data).T())
	return v, sigma
}

// orthonormalise replaces x (n×k, n ≥ k) by Q of x = Q·R, and returns R.
func orthonormalise(x *mat.Dense) *mat.Dense {
	raw := x.RawMatrix()
	k := raw.Cols
	tau, size := make([]float64, k), make([]float64, 1)
	lapack64.Geqrf(raw, tau, size, -1)
	work := make([]float64, int(size[0]))
	lapack64.Geqrf(raw, tau, work, len(work))
	r := mat.NewDense(k, k, nil)
	for i := range k {
		copy(r.RawRowView(i)[i:], x.RawRowView(i)[i:])
	}
	lapack64.Orgqr(raw, tau, size, -1)
	work = make([]float64, int(size[0]))
	lapack64.Orgqr(raw, tau, work, len(work))
	return r
}

// The biases are computed in turns, in at most meansRounds rounds, until a round lowers their objective by at most the share meansTol.
const (
	meansRounds = 30
	meansTol    = 1e-4
)

// means does one round of the means: the first sums up μ, the others replace c by its minimiser for the b_i of the previous c.
func (f *fit) means(ctx context.Context) error {
	m := f.model()
	first := f.At == 0
	if first {
		m.mean, m.columns = 0, nil
	}
	var all sums
	total := 0.0
	sum, count := make([]float64, f.src.Cols()), make([]int64, f.src.Cols())
	err := f.scan(ctx, 16*f.src.Cols(), func(l *lane, b *csr.Block) {
		l.val = memory.Resized(l.val, b.NNZ())
		l.squares, l.ridge, l.in, l.out = 0, 0, 0, 0
		for i := range b.Rows() {
			bias := l.split(m, b, i)
			l.ridge += bias * bias
			for t, r := range l.r {
				l.squares += r * r
				l.val[l.at[t]] = r
			}
			l.in += int64(len(l.r))
			l.out += int64(b.RowPtr[i+1]-b.RowPtr[i]) - int64(len(l.r))
		}
	}, func(l *lane, b *csr.Block) error {
		all.add(&l.sums)
		for i := range b.Rows() { // b may be a part of a block, whose first entry need not be entry 0
			p := b.RowPtr[i]
			for col := range b.Row(i) {
				if !m.held(b.FirstRow+int64(i), col) {
					if first {
						total += l.val[p]
					} else {
						sum[col] += l.val[p] + m.columns[col]
						count[col]++
					}
				}
				p++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if first && !f.Full && (all.in == 0 || all.out == 0) {
		return fmt.Errorf("complete: the hold-out has %d of %d entries, from which λ cannot be chosen: give a λ, or another share to hold out", all.out, all.in+all.out)
	}
	f.Count, f.RMSE, f.Held = all.in, math.Sqrt(share(all.squares, float64(all.in))), math.NaN()
	was := f.F
	f.F = (all.squares + f.Damping*(all.ridge+floats.Dot(m.columns, m.columns))) / 2
	f.State.Rounds++
	f.At++
	if first {
		f.Mean = share(total, float64(all.in))
	} else {
		for j := range f.Columns {
			f.Columns[j] = share(sum[j], float64(count[j])+f.Damping)
		}
	}
	if math.IsNaN(f.F) || math.IsInf(f.F, 0) {
		return ErrDiverged
	}
	if !first && was-f.F <= meansTol*f.F || f.At == meansRounds || f.Columns == nil {
		next := Top
		if f.Full {
			next = Final
		}
		f.begin(next)
	}
	return nil
}
