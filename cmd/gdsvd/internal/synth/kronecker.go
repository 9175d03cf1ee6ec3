package synth

import (
	"bufio"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// Kronecker is the ratings matrix P ⊗ R of a pattern P of zeros and ones, nearly full, and a
// table R of ratings: every one of P stands for a copy of R. Its singular values are the
// products of P's and R's (Horn and Johnson, Topics in Matrix Analysis, theorem 4.2.15), so
// two small dense decompositions give the truth for the large sparse matrix.
type Kronecker struct{ pattern, ratings, product *mat.Dense }

// NewKronecker makes a users×items pattern and a table of 24×16 ratings.
func NewKronecker(users, items int, seed uint64) *Kronecker {
	halfStars := []float64{0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5}
	k := &Kronecker{
		Factor{Rows: users, Cols: items, NNZ: users * items * 97 / 100, Values: []float64{1}, Seed: seed}.Matrix(),
		Factor{Rows: 24, Cols: 16, NNZ: 300, Values: halfStars, Seed: seed}.Matrix(),
		new(mat.Dense),
	}
	k.product.Kronecker(k.pattern, k.ratings)
	return k
}

func (k *Kronecker) Dims() (users, items int) { return k.product.Dims() }

func (k *Kronecker) NNZ() int { return nonzeros(k.product) }

func nonzeros(m *mat.Dense) int {
	n := 0
	for _, v := range m.RawMatrix().Data {
		if v != 0 {
			n++
		}
	}
	return n
}

// Singular returns the n largest singular values, descending, or all if there are fewer.
func (k *Kronecker) Singular(n int) []float64 {
	var all []float64
	ratings := dense(k.ratings)
	for _, p := range dense(k.pattern) {
		for _, r := range ratings {
			all = append(all, p*r)
		}
	}
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
	return all[:min(n, len(all))]
}

// dense returns the singular values of m, descending: those of its bidiagonal form. What mat.SVD has besides is 40 kB of the program.
func dense(m *mat.Dense) []float64 {
	long := mat.Matrix(m)
	if rows, cols := m.Dims(); rows < cols {
		long = m.T()
	}
	_, exponent := math.Frexp(mat.Norm(m, math.Inf(1))) // squares of scaled values do not leave the range
	scaled := mat.DenseCopyOf(long)
	scaled.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, -exponent) }, scaled)
	a := scaled.RawMatrix()
	n := a.Cols
	d, e, tau, work := make([]float64, n), make([]float64, n-1), make([]float64, 2*n), make([]float64, 64*(a.Rows+n))
	var lapack gonum.Implementation
	lapack.Dgebrd(a.Rows, n, a.Data, a.Stride, d, e, tau[:n], tau[n:], work, len(work))
	if !lapack.Dbdsqr(blas.Upper, n, 0, 0, 0, d, e, nil, 1, nil, 1, nil, 1, work) {
		panic("synth: the dense decomposition of a factor failed")
	}
	for i, v := range d {
		d[i] = math.Ldexp(v, exponent)
	}
	return d
}

// WriteRatings writes the matrix as a MovieLens file, user::item::rating::timestamp. As in
// the real files the ids have holes.
func (k *Kronecker) WriteRatings(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for i, row := range sparseRows(k.product) {
		for p, j := range row.col {
			line = appendRating(line[:0], 1+2*i, 1+3*j, row.val[p], 978300000+60*int64(j))
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

func appendRating(b []byte, user, item int, rating float64, timestamp int64) []byte {
	b = strconv.AppendInt(b, int64(user), 10)
	b = append(b, "::"...)
	b = strconv.AppendInt(b, int64(item), 10)
	b = append(b, "::"...)
	twice := int(2 * rating)
	b = append(b, byte('0'+twice/2))
	if twice%2 == 1 {
		b = append(b, ".5"...)
	}
	b = append(b, "::"...)
	b = strconv.AppendInt(b, timestamp, 10)
	return append(b, '\n')
}
