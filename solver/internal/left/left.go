// Package left turns A·V, in a file or in memory, into the left singular vectors.
package left

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Vectors turns W = A·V into the left singular vectors, in
// place, by sweeps over chunks of rows.
type Vectors struct {
	k     int
	sweep func(Step) (*Sums, error)
}

// New returns Vectors of k columns. sweep makes the sweep of a Step over their rows, as Step.Over does.
func New(k int, sweep func(Step) (*Sums, error)) *Vectors { return &Vectors{k, sweep} }

// RotateTo replaces W by U = W·rotation, whose first rank columns are orthonormal but for rounding, and returns UᵀU.
//
// If a small σ was found by cancellation between larger columns of W, u has components of leading vectors that the division
// by σ has magnified. Then a sweep of Gram–Schmidt, leading vectors first, removes them: U·L⁻ᵀ for UᵀU = LLᵀ.
func (l *Vectors) RotateTo(rotation *mat.Dense, rank int) (*mat.Dense, error) {
	gram, err := l.rotate(rotation)
	if err != nil || rank == 0 {
		return gram, err
	}
	const sloppy = 1e-13
	block := gram.Slice(0, rank, 0, rank).(*mat.Dense)
	if tallskinny.Orthogonality(block) <= sloppy {
		return gram, nil
	}
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(rank, mat.DenseCopyOf(block).RawMatrix().Data)) {
		return gram, nil // no correction is possible; UᵀU shows the error
	}
	var upper, inverse mat.TriDense
	chol.UTo(&upper)
	if err := inverse.InverseTri(&upper); err != nil {
		return gram, nil // ill-conditioned: no correction either
	}
	t := mat.NewDense(l.k, l.k, nil)
	t.Slice(0, rank, 0, rank).(*mat.Dense).Copy(&inverse)
	return l.rotate(t)
}

// rotate replaces W by U = W·rotation and returns UᵀU.
func (l *Vectors) rotate(rotation *mat.Dense) (*mat.Dense, error) {
	return l.gram(Step{By: rotation, Keep: true})
}

// gram makes a sweep that writes the rows, and returns the Gram matrix of the new rows.
func (l *Vectors) gram(s Step) (*mat.Dense, error) {
	sums, err := l.sweep(s)
	if err != nil {
		return nil, err
	}
	if !tallskinny.AllFinite(sums.Gram.RawMatrix().Data) {
		err = fmt.Errorf("left vectors are not finite: %w", tallskinny.ErrBreakdown)
	}
	return sums.Gram, err
}

// Negative reports for every column of W·rotation whether its entry of largest magnitude is negative, the first such entry
// on ties. It does not write.
func (l *Vectors) Negative(rotation *mat.Dense) ([]bool, error) {
	sums, err := l.sweep(Step{By: rotation})
	if err != nil {
		return nil, err
	}
	neg := make([]bool, l.k)
	for j, v := range sums.Largest {
		neg[j] = v < 0
	}
	return neg, nil
}

// Complete fills the columns from rank on with random vectors of a stream and makes them orthonormal and orthogonal to the
// columns before, which are orthonormal. It returns UᵀU at the end.
//
// Each sweep applies a linear map computed from the Gram matrix of the sweep before, and forms the Gram matrix anew. The
// first map projects; the next ones project and orthonormalise the rest by the eigenvectors of its Gram matrix (SVQB:
// Stathopoulos, Wu 2002), which tolerates nearly dependent columns. They are repeated until UᵀU is I to working precision,
// maxSweeps at most.
func (l *Vectors) Complete(seed, stream uint64, rank int) (*mat.Dense, error) {
	gram, err := l.gram(Step{Fill: &Fill{rank, seed, stream}, Keep: true})
	if err != nil {
		return nil, err
	}
	const maxSweeps = 8
	for i := range maxSweeps {
		last := tallskinny.Orthogonality(gram)
		if i > 2 && last <= 32*tallskinny.Epsilon*math.Sqrt(float64(l.k)) {
			break
		}
		gram, err = l.rotate(completionStep(gram, rank, i > 0))
		if err != nil {
			return nil, err
		}
	}
	return gram, nil
}

// completionStep returns the k×k map that leaves the first rank columns alone, removes their components from the other
// columns, and makes the latter orthonormal if scale is set, for columns with the given Gram matrix.
func completionStep(gram *mat.Dense, rank int, scale bool) *mat.Dense {
	k, _ := gram.Dims()
	m := k - rank
	t := identity(k)
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			d := gram.At(rank+i, rank+j)
			for p := range rank {
				d -= gram.At(p, rank+i) * gram.At(p, rank+j)
			}
			s.SetSym(i, j, d)
		}
	}
	x := mat.NewDense(m, m, nil)
	if scale {
		inverseRoot(x, s)
	} else {
		for i := range m {
			x.Set(i, i, 1/math.Sqrt(max(gram.At(rank+i, rank+i), math.SmallestNonzeroFloat64)))
		}
	}
	t.Slice(rank, k, rank, k).(*mat.Dense).Copy(x)
	if rank > 0 {
		var up mat.Dense
		up.Mul(gram.Slice(0, rank, rank, k), x)
		up.Scale(-1, &up)
		t.Slice(0, rank, rank, k).(*mat.Dense).Copy(&up)
	}
	return t
}

func identity(k int) *mat.Dense {
	t := mat.NewDense(k, k, nil)
	for i := range k {
		t.Set(i, i, 1)
	}
	return t
}

// inverseRoot sets x to a matrix with xᵀ s x = I, up to directions in which s
// is singular to working precision.
func inverseRoot(x *mat.Dense, s *mat.SymDense) {
	var e mat.EigenSym
	if !e.Factorize(s, true) {
		panic(tallskinny.Breakdown("Gram matrix of left vectors has no eigenvalues"))
	}
	e.VectorsTo(x)
	values := e.Values(nil)
	top := values[len(values)-1]
	for j, v := range values {
		(*tallskinny.Arena)(nil).ScaleColumn(x, j, 1/math.Sqrt(max(v, tallskinny.Epsilon*top, math.SmallestNonzeroFloat64)))
	}
}

// SignCompletion applies the sign rule to the columns from rank on and returns
// UᵀU.
func (l *Vectors) SignCompletion(rank int) (*mat.Dense, error) {
	t := identity(l.k)
	negative, err := l.Negative(t)
	if err != nil {
		return nil, err
	}
	for j := rank; j < l.k; j++ {
		if negative[j] {
			t.Set(j, j, -1)
		}
	}
	return l.rotate(t)
}

// Step describes a sweep over the rows of left vectors: how it changes the rows, and what it sums up.
type Step struct {
	By   *mat.Dense // k×k factor that rows are multiplied by; nil: no multiplication
	Fill *Fill      // columns drawn before the multiplication; nil: no columns
	Keep bool       // write the rows and form Sums.Gram; otherwise form Sums.Largest
}

// Fill describes columns drawn at random, each entry from the number of its row.
type Fill struct {
	From         int // first column drawn
	Seed, Stream uint64
}

// Sums holds the sums of a Step over the rows that it makes: Gram or Largest.
type Sums struct {
	Gram    *mat.Dense // UᵀU
	Largest []float64  // of each column, the entry of largest magnitude, the first such entry on ties
}

// NewSums returns the sums of no rows.
func NewSums(s Step, k int) *Sums {
	if s.Keep {
		return &Sums{Gram: mat.NewDense(k, k, nil)}
	}
	return &Sums{Largest: make([]float64, k)}
}

// Numbers returns the numbers of the sums, without a copy.
func (s *Sums) Numbers() []float64 {
	if s.Gram != nil {
		return s.Gram.RawMatrix().Data
	}
	return s.Largest
}

// Add adds the sums of the next rows.
func (s *Sums) Add(next *Sums) {
	if s.Gram != nil {
		floats.Add(s.Numbers(), next.Numbers())
		return
	}
	tallskinny.Larger(s.Largest, next.Largest)
}

// Rows describes consecutive rows, which are read and written in chunks from the first to the last.
type Rows struct {
	First, N    int64
	K           int                                      // columns
	Read, Write func(first int64, rows *mat.Dense) error // Write may be nil
}

const (
	// Entries is the number of entries of a chunk of left vectors, unless k is large.
	Entries = 1 << 16
	// Workers is the largest number of goroutines of a sweep; each holds a chunk.
	Workers = 4
)

// chunkRows returns the number of rows of a full chunk.
func chunkRows(k int) int { return max(64, Entries/k) }

// Footprint returns the bytes that each goroutine of a sweep over rows of k columns takes: a chunk, its sums and, if it has
// several parts of tallskinny.ChunkRows rows, those of a part, and the rows that are being multiplied.
func Footprint(k int) int64 {
	rows, sums := chunkRows(k), 1
	if rows > tallskinny.ChunkRows {
		sums = 2
	}
	return 8 * int64(k) * int64(rows+sums*k+min(tallskinny.ChunkRows, rows))
}

// Over makes the sweep with the given number of goroutines, 0 for all processors, but at most Workers. Chunks depend on the
// number of columns alone, and are read, added up and written in order, so the sums always have the same bits.
func (s Step) Over(ctx context.Context, workers int, all Rows) (*Sums, error) {
	w := &sweep{Step: s, all: all, chunk: min(int64(chunkRows(all.K)), all.N), turn: make(chan struct{}), sums: NewSums(s, all.K)}
	if s.By != nil {
		w.by = panel.Pack(1, tallskinny.Transposed(s.By))
	}
	close(w.turn)
	g, ctx := errgroup.WithContext(ctx)
	for range min(Workers, cmp.Or(workers, runtime.GOMAXPROCS(0))) {
		g.Go(func() error { return w.work(ctx) })
	}
	err := g.Wait()
	if s.Keep {
		panel.Mirror(w.sums.Gram.RawMatrix())
	}
	return w.sums, err
}

// sweep is a Step that is being applied to all rows.
type sweep struct {
	Step
	all   Rows
	chunk int64        // rows of a chunk
	by    panel.Factor // Step.By, packed
	sums  *Sums        // of the chunks before the current turn

	mu   sync.Mutex    // held to take a chunk, to read and to write
	next int64         // number of rows that have been taken
	turn chan struct{} // closed when the chunk that was taken last has been written
}

// work takes and processes chunks until all are taken.
func (w *sweep) work(ctx context.Context) error {
	buf, part := mat.NewDense(int(w.chunk), w.all.K, nil), NewSums(w.Step, w.all.K)
	piece := part
	if w.chunk > tallskinny.ChunkRows {
		piece = NewSums(w.Step, w.all.K)
	}
	turned := mat.NewDense(min(tallskinny.ChunkRows, int(w.chunk)), w.all.K, nil)
	for {
		c, err := w.take(ctx, buf)
		if c == nil || err != nil {
			return err
		}
		w.of(part, piece, c.rows, c.first, w.by, turned)
		select {
		case <-c.before:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.sums.Add(part)
		if err := w.write(c); err != nil {
			return err
		}
		close(c.written)
	}
}

// taken is a chunk of a sweep that is being processed.
type taken struct {
	first           int64
	rows            *mat.Dense
	before, written chan struct{} // closed when the chunk before, or this chunk, has been written
}

// take reads the next chunk into buf; it returns nil if no rows are left.
func (w *sweep) take(ctx context.Context, buf *mat.Dense) (*taken, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(w.chunk, w.all.N-w.next)
	if n <= 0 || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c := &taken{w.all.First + w.next, buf.Slice(0, int(n), 0, w.all.K).(*mat.Dense), w.turn, make(chan struct{})}
	w.next, w.turn = w.next+n, c.written
	if err := w.all.Read(c.first, c.rows); err != nil {
		return nil, fmt.Errorf("read left vectors: %w", err)
	}
	return c, nil
}

func (w *sweep) write(c *taken) error {
	if !w.Keep || w.all.Write == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.all.Write(c.first, c.rows); err != nil {
		return fmt.Errorf("write left vectors: %w", err)
	}
	return nil
}

// of applies the step to rows, which begin at row first, and sets part to their sums. It adds up tallskinny.ChunkRows rows at a
// time in piece, since long sums accumulate the rounding errors of rows that are alike; without more rows piece is part. by is
// packed, and turned is scratch.
func (s Step) of(part, piece *Sums, rows *mat.Dense, first int64, by panel.Factor, turned *mat.Dense) {
	n, k := rows.Dims()
	if s.Fill != nil {
		(&tallskinny.Arena{Threads: 1}).Gaussian(rows.Slice(0, n, s.Fill.From, k).(*mat.Dense), first, s.Fill.Seed, s.Fill.Stream)
	}
	clear(part.Numbers())
	for i := 0; i < n; i += tallskinny.ChunkRows {
		x := rows.Slice(i, min(n, i+tallskinny.ChunkRows), 0, k).(*mat.Dense)
		if s.By != nil {
			t := turned.Slice(0, x.RawMatrix().Rows, 0, k).(*mat.Dense)
			t.Zero()
			panel.AddProduct(t.RawMatrix(), x.RawMatrix(), by)
			x.Copy(t)
		}
		if s.Keep {
			clear(piece.Numbers())
			panel.AddGram(piece.Gram.RawMatrix(), x.RawMatrix())
			if piece != part {
				part.Add(piece)
			}
		}
	}
	for i := 0; !s.Keep && i < n; i++ {
		tallskinny.Larger(part.Largest, rows.RawRowView(i))
	}
}
