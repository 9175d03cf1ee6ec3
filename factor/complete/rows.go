package complete

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/mix"
	"github.com/gdsvd/gdsvd/internal/panel"
)

// model holds the parameters that predict rows.
type model struct {
	k, rank  int // number of columns of V, and of those whose singular value is not 0
	lambda   float64
	v        blas64.General // V
	root     []float64      // roots of the singular values of Z
	mean     float64
	columns  []float64 // c_j, nil without biases
	damping  float64
	heldOut  uint64 // entries with a smaller hash are held out
	heldSeed uint64
}

func (m *model) held(row int64, col uint32) bool {
	return m.heldOut > 0 && mix.Next(mix.Next(m.heldSeed^uint64(row))^uint64(col)) < m.heldOut
}

// gather is the number of rows of V that are multiplied at a time.
const gather = 256

// lane holds what a worker computes of the rows of a block.
type lane struct {
	val  []float64 // for each entry of a block: the residual if it is in Ω, 0 if it is held out
	z, w []float64 // rows of Z̃ and W
	bias []float64 // b_i

	cols []uint32  // columns of the row's entries in Ω
	r    []float64 // a_ij − μ − b_i − c_j of these entries
	at   []int     // indices of these entries in val
	x    []float64 // rows of V for some of these columns
	g    []float64 // V_ΩᵀV_Ω
	c    []float64 // D½·g·D½ + λ, and its Cholesky factor
	y    []float64 // V_Ωᵀr

	sums
}

// sums are sums over the rows of a block, or over all rows.
type sums struct {
	squares  float64   // Σ residual² on Ω
	inner    float64   // Σ residual·(a_ij − μ − b_i − c_j) on Ω
	ridge    float64   // Σ |a_i|² of Z = A·Cᵀ, C = V·D½
	held     float64   // Σ residual² over the held-out entries
	in, out  int64     // number of entries in Ω, and of held-out entries
	low, gwv []float64 // Z̃ᵀW and WᵀW
}

func (l *lane) block(m *model, b *csr.Block) {
	rows, k := b.Rows(), m.k
	l.val = memory.Resized(l.val, b.NNZ())
	l.z, l.w = memory.Resized(l.z, rows*k), memory.Resized(l.w, rows*k)
	l.low, l.gwv = memory.Resized(l.low, k*k), memory.Resized(l.gwv, k*k)
	clear(l.low)
	clear(l.gwv)
	l.squares, l.inner, l.ridge, l.held, l.in, l.out = 0, 0, 0, 0, 0, 0
	for i := range rows {
		l.row(m, b, i)
	}
	if rows > 0 {
		w := blas64.General{Rows: rows, Cols: k, Stride: k, Data: l.w}
		panel.AddCross(blas64.General{Rows: k, Cols: k, Stride: k, Data: l.low}, blas64.General{Rows: rows, Cols: k, Stride: k, Data: l.z}, w)
		gwv := blas64.General{Rows: k, Cols: k, Stride: k, Data: l.gwv}
		panel.AddGram(gwv, w)
		panel.Mirror(gwv)
	}
}

func (l *lane) row(m *model, b *csr.Block, i int) {
	k := m.k
	bias := l.split(m, b, i)
	l.products(m)
	z, w := l.z[i*k:][:k], l.w[i*k:][:k]
	l.solve(m, z)
	copy(w, l.y) // V_Ωᵀ(r − V_Ω·z) + z
	for s := range k {
		w[s] += z[s] - dot(l.g[s*k:][:k], z)
	}
	for t, col := range l.cols {
		e := l.r[t] - dot(m.v.Data[int(col)*m.v.Stride:][:k], z)
		l.val[l.at[t]] = e
		l.squares += e * e
		l.inner += e * l.r[t]
	}
	l.in += int64(len(l.cols))
	if m.heldOut == 0 {
		return
	}
	p := int(b.RowPtr[i])
	for col, a := range b.Row(i) {
		if m.held(b.FirstRow+int64(i), col) {
			e := a - m.mean - bias - m.column(col) - dot(m.v.Data[int(col)*m.v.Stride:][:k], z)
			l.held += e * e
			l.out++
			l.val[p] = 0
		}
		p++
	}
}

// split sets cols, at and r to the entries of row i in Ω, r without μ and biases, and returns b_i.
func (l *lane) split(m *model, b *csr.Block, i int) (bias float64) {
	l.cols, l.r, l.at = l.cols[:0], l.r[:0], l.at[:0]
	p := int(b.RowPtr[i])
	for col, a := range b.Row(i) {
		if !m.held(b.FirstRow+int64(i), col) {
			l.cols, l.at = append(l.cols, col), append(l.at, p)
			l.r = append(l.r, a-m.mean-m.column(col))
		}
		p++
	}
	if m.columns == nil {
		return 0
	}
	for _, r := range l.r {
		bias += r
	}
	bias = share(bias, float64(len(l.r))+m.damping)
	for t := range l.r {
		l.r[t] -= bias
	}
	return bias
}

// products sets g = V_ΩᵀV_Ω and y = V_Ωᵀr.
func (l *lane) products(m *model) {
	k := m.k
	l.g, l.y = memory.Resized(l.g, k*k), memory.Resized(l.y, k)
	clear(l.g)
	clear(l.y)
	g := blas64.General{Rows: k, Cols: k, Stride: k, Data: l.g}
	l.x = memory.Resized(l.x, min(gather, len(l.cols))*k)
	for from := 0; from < len(l.cols); from += gather {
		part := l.cols[from:min(len(l.cols), from+gather)]
		for t, col := range part {
			copy(l.x[t*k:][:k], m.v.Data[int(col)*m.v.Stride:][:k])
		}
		x := blas64.General{Rows: len(part), Cols: k, Stride: k, Data: l.x}
		panel.AddGram(g, x)
		panel.AddCross(blas64.General{Rows: 1, Cols: k, Stride: k, Data: l.y}, blas64.General{Rows: len(part), Cols: 1, Stride: 1, Data: l.r[from:]}, x)
	}
	panel.Mirror(g)
}

// solve sets z = D½·(D½·g·D½ + λ)⁻¹·D½·y: the minimiser for the row, given V.
func (l *lane) solve(m *model, z []float64) {
	clear(z)
	n := m.rank
	if n == 0 {
		return
	}
	l.c = memory.Resized(l.c, n*n)
	for s := range n {
		for t := s; t < n; t++ {
			l.c[s*n+t] = m.root[s] * l.g[s*m.k+t] * m.root[t]
		}
		l.c[s*n+s] += m.lambda
		z[s] = m.root[s] * l.y[s]
	}
	t, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: n, Data: l.c})
	if !ok { // some value is NaN: the sums become NaN, too
		z[0] = math.NaN()
		return
	}
	x := blas64.Vector{N: n, Inc: 1, Data: z} // Potrs would take it for n rows of one number each
	blas64.Trsv(blas.Trans, t, x)
	blas64.Trsv(blas.NoTrans, t, x)
	for s := range n {
		l.ridge += z[s] * z[s]
		z[s] *= m.root[s]
	}
}

func (m *model) column(j uint32) float64 {
	if m.columns == nil {
		return 0
	}
	return m.columns[j]
}

// share returns a/b, or 0 if b is 0.
func share(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Inc: 1, Data: a}, blas64.Vector{N: len(b), Inc: 1, Data: b})
}
