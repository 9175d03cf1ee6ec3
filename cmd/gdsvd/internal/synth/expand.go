package synth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Expansion is the Kronecker product F ⊗ B of a small factor F and the matrix B of a store: every entry of F becomes a copy of
// B multiplied by it. At any size it has the structure, row lengths and column popularity of a real B. Its singular values are
// exactly the products of those of F and B (Horn and Johnson, Topics in Matrix Analysis, theorem 4.2.15). The idea is from
// Belletti et al., "Scalable realistic recommendation datasets through fractal expansions" (2019).
//
// Row (i, r), counted i·rows(B) + r, has the entries F[i][j]·B[r][c] in columns (j, c), counted j·cols(B) + c. This is the
// user's orientation; the expansion is stored transposed if B is. It has no ids.
type Expansion struct {
	Factor Factor
	Base   *csr.Store
}

// WriteOptions are the options of Expansion.Write and Spectrum.Write.
type WriteOptions struct {
	FS        vfs.FS // nil: vfs.OS()
	ShardSize int64  // 0: csr.DefaultShard
	Force     bool   // replace an existing store, in one step at the end
	// Memory bounds the memory of the search for the leading values of the base of an Expansion; 0: 1 GiB. Writing takes a
	// block of the base and one of the store.
	Memory int64
	// Progress, unless nil, is called from time to time with the progress of a stage: passes over the base, entries of an
	// Expansion, rows of a Spectrum along its longer side. total is 0 if it is not known.
	Progress func(stage Stage, done, total int64)
}

type Stage string

// The stages, in order: computing the singular values of the base of an Expansion, and writing entries.
const (
	StageTruth Stage = "truth"
	StageWrite Stage = "write"
)

// create begins the store of a generator; c holds the options that o does not.
func (o *WriteOptions) create(path string, c csr.CreateOptions) (*csr.Writer, error) {
	if o.Progress == nil {
		o.Progress = func(Stage, int64, int64) {}
	}
	c.FS, c.ShardSize, c.Force = o.FS, o.ShardSize, o.Force
	return csr.Create(path, c)
}

// Dims returns the shape as stored, and the number of entries.
func (e *Expansion) Dims() (rows, cols, nnz int64, err error) {
	f := e.Factor
	if err := f.Validate(); err != nil {
		return 0, 0, 0, err
	}
	fr, fc := csr.Orient(e.Base, f.Rows, f.Cols)
	rows, rowsOK := product(int64(fr), e.Base.Rows(), csr.MaxRows)
	cols, colsOK := product(int64(fc), e.Base.Cols(), csr.MaxCols)
	nnz, nnzOK := product(int64(f.NNZ), e.Base.NNZ(), csr.MaxRows)
	baseRows, baseCols := csr.Orient(e.Base, e.Base.Rows(), e.Base.Cols())
	if !rowsOK || !colsOK || !nnzOK {
		return 0, 0, 0, fmt.Errorf("expand a %d × %d matrix by %d × %d: larger than a store can be", baseRows, baseCols, f.Rows, f.Cols)
	}
	if rows < cols {
		few, many := csr.Orient(e.Base, "rows", "columns")
		return 0, 0, 0, fmt.Errorf("expand a %d × %d matrix by %d × %d: it is stored by %[5]s and would have fewer %[5]s than %[6]s; give the factor more %[5]s",
			baseRows, baseCols, f.Rows, f.Cols, few, many)
	}
	return rows, cols, nnz, nil
}

// product returns a·b and whether it is at most limit. Neither a nor b is negative.
func product(a, b, limit int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo <= uint64(limit)
}

// Write writes the expansion as a store at path, with its truth, in constant memory. Equal expansions give equal bytes. It also
// returns the errors of csr.Create.
func (e *Expansion) Write(ctx context.Context, path string, o WriteOptions) (err error) {
	_, cols, nnz, err := e.Dims()
	if err != nil {
		return err
	}
	factor := e.Factor.Matrix()
	if e.Base.Transposed() {
		factor = mat.DenseCopyOf(factor.T())
	}
	values, err := e.values(ctx, factor)
	if err != nil {
		return fmt.Errorf("expand %s: %w", e.Base.Path(), err)
	}
	w, err := o.create(path, csr.CreateOptions{Cols: cols, Values: values, Transposed: e.Base.Transposed(), Source: e.source()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // has no effect after Commit
	truth, err := e.truth(ctx, factor, &o)
	if err != nil {
		return fmt.Errorf("singular values of %s: %w", e.Base.Path(), err)
	}
	if err := w.SetTruth(truth); err != nil {
		return err
	}
	var c []uint32
	var v []float64
	for _, f := range sparseRows(factor) {
		err := e.blocks(ctx, func(b *csr.Block) error {
			for r := range b.Rows() {
				c, v = c[:0], v[:0]
				for k, j := range f.col {
					shift := uint32(int64(j) * e.Base.Cols()) // below csr.MaxCols, as Dims has checked
					for col, val := range b.Row(r) {
						c, v = append(c, shift+col), append(v, f.val[k]*val)
					}
				}
				if err := w.AppendRow(c, v); err != nil {
					return err
				}
			}
			o.Progress(StageWrite, w.NNZ(), nnz)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return w.Commit()
}

// blocks calls visit with the blocks of the base in order.
func (e *Expansion) blocks(ctx context.Context, visit func(b *csr.Block) error) error {
	var b csr.Block
	for i := range e.Base.NumBlocks() {
		err := ctx.Err()
		if err == nil {
			err = e.Base.DecodeBlock(i, &b)
		}
		if err == nil {
			err = visit(&b)
		}
		if err != nil {
			return err
		}
		e.Base.Release(i, i+1)
	}
	return nil
}

func (e *Expansion) source() map[string]any {
	values := e.Factor.Values
	if len(values) == 0 {
		values = DefaultFactorValues()
	}
	return map[string]any{
		"generator": "kron", "base_fingerprint": e.Base.Fingerprint(),
		"factor": map[string]any{"rows": e.Factor.Rows, "cols": e.Factor.Cols, "nnz": e.Factor.NNZ, "seed": e.Factor.Seed, "values": values},
	}
}

// values returns the coding of the products, or an error if a product is not exact.
func (e *Expansion) values(ctx context.Context, factor *mat.Dense) (csr.Values, error) {
	distinct := slices.Clone(factor.RawMatrix().Data)
	slices.Sort(distinct)
	distinct = slices.DeleteFunc(slices.Compact(distinct), func(v float64) bool { return v == 0 })
	var stats csr.ValueStats
	add := func(b float64) error {
		for _, a := range distinct {
			p, err := exactProduct(a, b)
			if err != nil {
				return err
			}
			stats.Add(p)
		}
		return nil
	}
	if table := e.Base.Values().Table; len(table) > 0 {
		for _, v := range table {
			if err := add(v); err != nil {
				return csr.Values{}, err
			}
		}
		return stats.Values(), nil
	}
	err := e.blocks(ctx, func(b *csr.Block) error {
		for _, v := range b.Entries() {
			if err := add(v); err != nil {
				return err
			}
		}
		return nil
	})
	return stats.Values(), err
}

// Kronecker is the ratings matrix P ⊗ R of a nearly full pattern P of zeros and ones and a table R of ratings: every one in P
// stands for a copy of R. Its singular values are the products of those of P and R (Horn and Johnson, Topics in Matrix Analysis,
// theorem 4.2.15), so that two small dense decompositions give the truth for the large sparse matrix.
type Kronecker struct{ pattern, ratings, product *mat.Dense }

// NewKronecker draws a users×items pattern and a table of 24×16 ratings.
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
func (k *Kronecker) NNZ() int {
	return floats.Count(func(v float64) bool { return v != 0 }, k.product.RawMatrix().Data)
}

// Singular returns the n largest singular values, descending, or all if there are fewer.
func (k *Kronecker) Singular(n int) []float64 {
	all := allProducts(dense(k.pattern), dense(k.ratings))
	return all[:min(n, len(all))]
}

// allProducts returns the products of each number of a with each number of b, descending.
func allProducts(a, b []float64) []float64 {
	all := []float64{}
	for _, x := range a {
		for _, y := range b {
			all = append(all, x*y)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// dense returns the singular values of m, descending, from its bidiagonal form. mat.SVD would add 40 kB to the program.
func dense(m *mat.Dense) []float64 {
	long := mat.Matrix(m)
	if rows, cols := m.Dims(); rows < cols {
		long = m.T()
	}
	_, exponent := math.Frexp(mat.Norm(m, math.Inf(1))) // squares of scaled values neither overflow nor underflow
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

// WriteRatings writes the matrix as a MovieLens file, user::item::rating::timestamp. As in the real files not all ids occur.
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
