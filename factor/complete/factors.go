package complete

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// Factors holds Σ and V of the decomposition Z = U·Σ·Vᵀ of a fit, and measures of its quality.
type Factors struct {
	Sigma []float64  // singular values of Z, descending; their number r is the rank of Z
	V     *mat.Dense // n×r
	// Orthogonality is ‖UᵀU − I‖_max, measured on the rows of U as they were written.
	Orthogonality float64
	// Stationarity is max_i ‖Rᵀu_i − λ·v_i‖/λ, where R = P_Ω(A − μ − b − c − Z): 0 where no Z of the same rank
	// near this one has a smaller F.
	Stationarity float64
	// F is the objective at Z, and RMSE the root mean square error of Z on Ω.
	F, RMSE float64
	// Residual is an estimate of σ₁(R) from below, and ResidualBound an upper bound, rounding included. For more than 40 columns
	// the bound is wrong with a probability of at most 1e-6 (random start). Where it equals λ, no Z of any rank has a smaller F.
	Residual, ResidualBound float64
	// Dual is the value of the dual problem at the residual, scaled to be feasible: F is at least Dual for every Z
	// of any rank. Gap is (F − Dual)/F.
	Dual, Gap float64

	norm2 float64 // ‖residual‖²_F
}

// Factors reads the matrix for the singular value decomposition of Z and for the bound on F. It calls left with the rows of
// U and their b_i, in ascending order.
func (s *State) Factors(ctx context.Context, src stream.Source, o Options, left func(first int64, u *mat.Dense, bias []float64) error) (*Factors, error) {
	o, err := o.withDefaults(src)
	if err != nil {
		return nil, err
	}
	f := &fit{Options: o, src: src, State: s}
	m := f.model()
	m.heldOut = 0
	o.Proof(0, proofReads(src))
	turn, r, err := f.rightFactor(ctx, m)
	if err != nil {
		return nil, err
	}
	o.Proof(1, proofReads(src))
	if err := f.leftFactor(ctx, m, turn, r, left); err != nil {
		return nil, err
	}
	return r, f.bound(ctx, m, r)
}

// proofReads returns the largest number of reads by Factors: one for V, one for U, and some for the norm of the residual.
func proofReads(src stream.Source) int {
	if src.Cols() <= steps {
		return 3
	}
	return 2 + steps
}

// rightFactor computes Σ and V of Z = Z̃·Vᵀ, from Z̃ᵀZ̃ = T·Σ²·Tᵀ, and turn = T·Σ⁻¹, so that U = Z̃·turn.
func (f *fit) rightFactor(ctx context.Context, m *model) (turn *mat.Dense, r *Factors, err error) {
	k := f.Rank
	all := sums{low: make([]float64, k*k), gwv: make([]float64, k*k)}
	err = f.scan(ctx, 0, func(l *lane, b *csr.Block) {
		l.block(m, b)
		clear(l.low)
		z := blas64.General{Rows: b.Rows(), Cols: k, Stride: k, Data: l.z}
		panel.AddCross(blas64.General{Rows: k, Cols: k, Stride: k, Data: l.low}, z, z)
	}, func(l *lane, _ *csr.Block) error {
		all.add(&l.sums)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(k, all.low), true) {
		return nil, nil, ErrDiverged
	}
	values := eigen.Values(nil)
	var basis mat.Dense
	eigen.VectorsTo(&basis)
	r = &Factors{RMSE: math.Sqrt(share(all.squares, float64(all.in)))}
	const least = 1e-14 // relative to the largest: the resolution of Z̃ᵀZ̃
	for i := k - 1; i >= 0 && values[i] > least*values[k-1]; i-- {
		r.Sigma = append(r.Sigma, math.Sqrt(values[i]))
	}
	rank := len(r.Sigma)
	if rank == 0 {
		r.F = all.squares / 2
		r.V, r.Dual = &mat.Dense{}, all.inner
		r.norm2 = all.squares
		return nil, r, nil
	}
	turn = mat.NewDense(k, rank, nil)
	t := mat.NewDense(k, rank, nil)
	nuclear := 0.0
	for j, sigma := range r.Sigma {
		nuclear += sigma
		for i := range k {
			v := basis.At(i, k-1-j)
			t.Set(i, j, v)
			turn.Set(i, j, v/sigma)
		}
	}
	r.V = mat.NewDense(int(f.src.Cols()), rank, nil)
	r.V.Mul(f.V, t)
	for j := range rank {
		v := r.V.ColView(j).(*mat.VecDense)
		if v.AtVec(blas64.Iamax(v.RawVector())) < 0 { // the first of the entries of the largest magnitude
			v.ScaleVec(-1, v)
			t := turn.ColView(j).(*mat.VecDense)
			t.ScaleVec(-1, t)
		}
	}
	r.F = all.squares/2 + m.lambda*nuclear
	r.Dual, r.norm2 = all.inner, all.squares
	return turn, r, nil
}

// Orthogonality returns ‖VᵀV − I‖_max.
func Orthogonality(v *mat.Dense) (worst float64) {
	var g mat.Dense
	g.Mul(v.T(), v)
	return offIdentity(g.RawMatrix().Data, g.RawMatrix().Cols)
}

// offIdentity returns ‖G − I‖_max of a k×k matrix G.
func offIdentity(g []float64, k int) (worst float64) {
	for i, v := range g {
		if i%(k+1) == 0 {
			v--
		}
		worst = max(worst, math.Abs(v))
	}
	return worst
}

func (f *fit) leftFactor(ctx context.Context, m *model, turn *mat.Dense, r *Factors, left func(first int64, u *mat.Dense, bias []float64) error) error {
	rank := len(r.Sigma)
	gram := make([]float64, rank*rank)
	back := mat.NewDense(int(f.src.Cols()), max(rank, 1), nil) // RᵀU
	err := f.scan(ctx, 8*f.src.Cols()*int64(rank), func(l *lane, b *csr.Block) {
		rows := b.Rows()
		l.val, l.bias = memory.Resized(l.val, b.NNZ()), memory.Resized(l.bias, rows)
		l.z, l.w = memory.Resized(l.z, rows*m.k), memory.Resized(l.w, rows*m.k)
		l.low = memory.Resized(l.low, rank*rank)
		clear(l.low)
		for i := range rows {
			l.bias[i] = l.split(m, b, i)
			l.products(m)
			z := l.z[i*m.k:][:m.k]
			l.solve(m, z)
			for t, col := range l.cols {
				l.val[l.at[t]] = l.r[t] - dot(m.v.Data[int(col)*m.v.Stride:][:m.k], z)
			}
		}
		if rank == 0 || rows == 0 {
			return
		}
		z := mat.NewDense(rows, m.k, l.z[:rows*m.k])
		u := mat.NewDense(rows, rank, l.w[:rows*rank])
		u.Mul(z, turn)
		panel.AddCross(blas64.General{Rows: rank, Cols: rank, Stride: rank, Data: l.low}, u.RawMatrix(), u.RawMatrix())
	}, func(l *lane, b *csr.Block) error {
		floats.Add(gram, l.low)
		if b.Rows() == 0 {
			return nil
		}
		u := &mat.Dense{}
		if rank > 0 {
			u = mat.NewDense(b.Rows(), rank, l.w[:b.Rows()*rank])
			l.scatter(back, b, rank)
		}
		return left(b.FirstRow, u, l.bias)
	})
	if err != nil {
		return err
	}
	r.Orthogonality = offIdentity(gram, rank)
	for j := range rank {
		square := 0.0
		for i := range back.RawMatrix().Rows {
			e := back.At(i, j) - m.lambda*r.V.At(i, j)
			square += e * e
		}
		r.Stationarity = max(r.Stationarity, math.Sqrt(square)/m.lambda)
	}
	return nil
}

// bound computes how far F can be above the least F of any rank. The residual, times at most λ/σ₁, is a dual feasible point
// (Mazumder, Hastie, Tibshirani, 2010, section 4; Fazel, Hindi, Boyd, ACC 2001).
func (f *fit) bound(ctx context.Context, m *model, r *Factors) error {
	inner := r.Dual
	if r.norm2 > 0 {
		o := f.reading(f.src, 0)
		if n := f.src.Cols(); n <= steps {
			o.Width, o.Rank = int(n), int(n)
		}
		o.Reserve += 4 * 8 * f.src.Cols() * int64(o.Width)
		a, err := stream.NewFrom(&residual{Source: f.src, m: m, norm: math.Sqrt(r.norm2)}, o)
		if err != nil {
			return err
		}
		defer a.Close()
		if r.Residual, r.ResidualBound, err = norm(ctx, a, f.Seed, func(step int) { f.Proof(2+step, proofReads(f.src)) }); err != nil {
			return err
		}
	}
	by := 1.0
	if r.ResidualBound > m.lambda {
		by = m.lambda / r.ResidualBound
	}
	r.Dual = by*inner - by*by/2*r.norm2
	r.Gap = share(r.F-r.Dual, r.F)
	return nil
}

// steps is the number of Lanczos steps, each a pass. They bound σ₁² to about 5 % for thousands of columns, 7 % for millions.
const steps = 40

// norm bounds σ₁ of a matrix from both sides: by the Gram matrix for up to steps columns, otherwise by Lanczos.
func norm(ctx context.Context, a solver.Matrix, seed uint64, before func(step int)) (least, most float64, err error) {
	if a.Info().Cols <= steps {
		before(0)
		return small(ctx, a)
	}
	return lanczos(ctx, a, seed, before)
}

// small bounds σ₁ by the eigenvalues of AᵀA. Rounding moves an eigenvalue by at most (N+10n)·2⁻⁵³·‖A‖²_F: each entry of AᵀA is
// a sum of at most N products, and the eigenvalues are those of a matrix near it (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, sections 3.1 and 3.5).
func small(ctx context.Context, a solver.Matrix) (least, most float64, err error) {
	info := a.Info()
	n := info.Cols
	x, gram := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		x.Set(i, i, 1)
	}
	if _, err := a.Run(ctx, solver.Pass{X: x, Sum: gram}); err != nil {
		return 0, 0, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(n, gram.RawMatrix().Data), false) {
		return 0, 0, ErrDiverged
	}
	top := max(0, eigen.Values(nil)[n-1])
	rounding := 0x1p-53 * (float64(info.Rows) + 10*float64(n)) * gram.Trace()
	return math.Ldexp(math.Sqrt(top), info.Exponent), math.Ldexp(math.Sqrt(top+rounding), info.Exponent), nil
}

// lanczos estimates σ₁ of a matrix by Lanczos' recurrence for AᵀA from a random vector. Its largest Ritz value θ
// has θ ≤ σ₁², and θ < (1−ε)·σ₁² with a probability of at most 1.648·√n·exp(−√ε·(2j−1)) after j steps
// (Kuczyński, Woźniakowski, SIAM J. Matrix Anal. Appl. 13, 1992, Theorem 4.2). With n > steps, ε·σ₁² is 4 % or more:
// rounding, which costs the vectors their orthogonality, is small beside it. A recurrence that ends early has found an
// invariant subspace: further steps would not change θ.
func lanczos(ctx context.Context, a solver.Matrix, seed uint64, before func(step int)) (least, most float64, err error) {
	n := a.Info().Cols
	x, last, y := mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		x.Set(i, 0, random.NormFloat64())
	}
	x.Scale(1/mat.Norm(x, 2), x)
	t := mat.NewSymDense(steps, nil)
	var done int
	for j, beta := 0, 0.0; j < steps; j++ {
		before(j)
		if _, err := a.Run(ctx, solver.Pass{X: x, Sum: y}); err != nil {
			return 0, 0, err
		}
		alpha := mat.Dot(x.ColView(0), y.ColView(0))
		t.SetSym(j, j, alpha)
		done = j + 1
		for i := range n {
			y.Set(i, 0, y.At(i, 0)-alpha*x.At(i, 0)-beta*last.At(i, 0))
		}
		beta = mat.Norm(y, 2)
		if beta <= 1e-14*alpha || done == steps {
			break
		}
		t.SetSym(j, done, beta)
		y.Scale(1/beta, y)
		last, x, y = x, y, last
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(t.SliceSym(0, done), false) {
		return 0, 0, ErrDiverged
	}
	values := eigen.Values(nil)
	theta := math.Ldexp(math.Sqrt(max(0, values[done-1])), a.Info().Exponent)
	const probability = 1e-6
	root := math.Log(1.648*math.Sqrt(float64(n))/probability) / (2*steps - 1)
	return theta, theta / math.Sqrt(1-root*root), nil
}

// residual is the matrix P_Ω(A − μ − b − c − Z), in the blocks of A.
type residual struct {
	stream.Source
	m     *model
	norm  float64
	lanes sync.Pool // of *lane
}

func (r *residual) Fingerprint() string  { return "" }
func (r *residual) Norm() (float64, int) { return r.norm, 0 }

// DecodedSize implements stream.Source: values are float64s, whatever they are in A.
func (r *residual) DecodedSize(rows, nnz int64) int64 {
	const page = 8 << 10
	return r.Source.DecodedSize(rows, nnz) + (8*nnz+page-1)/page*page
}

func (r *residual) Scratch() *csr.Block {
	b := r.Source.Scratch()
	if cap(b.Val) == 0 {
		b.Val = make([]float64, 0, r.MaxBlock().NNZ)
	}
	return b
}

func (r *residual) DecodeBlock(i int, dst *csr.Block) error {
	kept := cap(dst.Val) == 0 // the block stays decoded: it must hold no memory that is not used
	if err := r.Source.DecodeBlock(i, dst); err != nil {
		return err
	}
	l, _ := r.lanes.Get().(*lane)
	if l == nil {
		l = new(lane)
	}
	defer r.lanes.Put(l)
	l.block(r.m, dst)
	dst.Val = append(dst.Val[:0], l.val...)
	dst.Code, dst.Table = dst.Code[:0], nil
	if kept {
		dst.Code = nil
	}
	return nil
}
