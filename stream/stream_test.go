package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"github.com/james-bowman/sparse"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ solver.Matrix = (*Matrix)(nil)

// disk is a Source without files that decodes by copying, counts decodings, and can fail.
type disk struct {
	*inMemory
	decoded atomic.Int64
	failAt  int // block whose decoding fails; −1: none
	onRead  func(i int)
}

var errDamaged = errors.New("damaged block")

func (d *disk) DecodeBlock(i int, dst *csr.Block) error {
	d.decoded.Add(1)
	if d.onRead != nil {
		d.onRead(i)
	}
	if i == d.failAt {
		return errDamaged
	}
	b := d.blocks[i]
	dst.FirstRow = b.FirstRow
	dst.RowPtr = append(dst.RowPtr[:0], b.RowPtr...)
	dst.Col = append(dst.Col[:0], b.Col...)
	dst.Val = append(dst.Val[:0], b.Val...)
	return nil
}

func (d *disk) Block(i int) csr.BlockInfo {
	info := d.inMemory.Block(i)
	info.Size = int64(info.NNZ) + 16
	return info
}

// size returns the size of all blocks.
func (d *disk) size() (bytes int64) {
	for i := range d.NumBlocks() {
		bytes += d.Block(i).Size
	}
	return bytes
}

// randomCSR returns a matrix with about density·rows·cols entries, some empty rows and columns, and one full row.
func randomCSR(seed uint64, rows, cols int, density float64) *sparse.CSR {
	rng := rand.New(rand.NewPCG(seed, 7))
	ptr, col, val := []int{0}, []int{}, []float64{}
	for r := range rows {
		for c := 0; c < cols && r%11 != 3; c++ {
			if r != rows/2 { // skips the columns that independent draws would leave empty
				c += int(math.Log(1-rng.Float64()) / math.Log(1-min(density, 1)))
			}
			if c < cols && c%13 != 5 {
				col, val = append(col, c), append(val, rng.NormFloat64())
			}
		}
		ptr = append(ptr, len(col))
	}
	return sparse.NewCSR(rows, cols, ptr, col, val)
}

func randomDense(seed uint64, r, c int) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 8))
	d := mat.NewDense(r, c, nil)
	for i := range r {
		for j := range c {
			d.Set(i, j, rng.NormFloat64())
		}
	}
	return d
}

func newDisk(m *sparse.CSR) *disk { return &disk{inMemory: newInMemory(m, 16, 64), failAt: -1} }

func mustNew(t *testing.T, src Source, o Options) *Matrix {
	t.Helper()
	return must.Get(NewFrom(src, o))(t)
}

func relDiff(got, want mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(got, want)
	return mat.Norm(&d, 2) / max(mat.Norm(want, 2), 1e-300)
}

// near fails unless a product agrees with the dense one but for rounding.
func near(t *testing.T, what string, got, want mat.Matrix) {
	t.Helper()
	if d := relDiff(got, want); d > 1e-13 {
		t.Errorf("%s: off by %g", what, d)
	}
}

// shapes are tall, wide, square, a single row, a single column, and with more columns in X than in A.
var shapes = []struct{ rows, cols, l int }{{300, 40, 1}, {300, 40, 7}, {20, 90, 3}, {64, 64, 16}, {1, 30, 2}, {50, 1, 1}, {2000, 8, 12}}

func TestProductsAgreeWithDense(t *testing.T) {
	for _, s := range shapes {
		t.Run(fmt.Sprintf("%dx%d/l=%d", s.rows, s.cols, s.l), func(t *testing.T) {
			a := randomCSR(1, s.rows, s.cols, 0.1)
			dense := a.ToDense()
			m := mustNew(t, newDisk(a), Options{Workers: 3, Width: s.l, Rank: s.l})
			x := randomDense(2, s.cols, s.l)

			var ax, gx mat.Dense
			ax.Mul(dense, x)
			gx.Mul(dense.T(), &ax)
			got := randomDense(9, s.cols, s.l) // Apply must overwrite what was there
			must.Do(t, m.apply(t.Context(), got, x))
			near(t, "Apply", got, &gx)

			w := mat.NewDense(s.rows, s.l, nil)
			must.Do(t, m.mul(t.Context(), x, into(t, w)))
			near(t, "Mul", w, &ax)

			back := must.Get(m.mulTrans(t.Context(), s.l, func(first int64, rows *mat.Dense) error {
				r, _ := rows.Dims()
				rows.Copy(w.Slice(int(first), int(first)+r, 0, s.l))
				return nil
			}))(t)
			near(t, "MulTrans", back, &gx)

			w.Zero()
			atw, r, err := m.project(t.Context(), x, into(t, w))
			must.Do(t, err)
			near(t, "Project's W", w, &ax)
			near(t, "Project's AᵀW", atw, &gx)
			checkR(t, r, &ax)
		})
	}
}

// into returns a function that copies rows to w and fails the test unless they come in order, each once.
func into(t *testing.T, w *mat.Dense) func(int64, *mat.Dense) error {
	next := int64(0)
	return func(first int64, rows *mat.Dense) error {
		r, c := rows.Dims()
		if first != next {
			t.Errorf("rows %d… handed over when %d… were due", first, next)
		}
		next = first + int64(r)
		w.Slice(int(first), int(first)+r, 0, c).(*mat.Dense).Copy(rows)
		return nil
	}
}

// checkR checks that r is upper triangular with the singular values of w.
func checkR(t *testing.T, r, w *mat.Dense) {
	t.Helper()
	k, _ := r.Dims()
	for i := range k {
		for j := range i {
			if r.At(i, j) != 0 {
				t.Fatalf("R[%d,%d] = %v below the diagonal", i, j, r.At(i, j))
			}
		}
	}
	got, want := singularValues(t, r), singularValues(t, w)
	for i, v := range got {
		ref := 0.0 // R has k singular values even if W has fewer rows
		if i < len(want) {
			ref = want[i]
		}
		if math.Abs(v-ref) > 1e-14*want[0]*float64(k) {
			t.Errorf("σ_%d of R = %v, of W = %v", i, v, ref)
		}
	}
}

func singularValues(t *testing.T, a mat.Matrix) []float64 {
	t.Helper()
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDNone) {
		t.Fatal("dense SVD failed")
	}
	return svd.Values(nil)
}

func TestTSQRKeepsSmallSingularValues(t *testing.T) {
	// Columns scaled over 12 decades: WᵀW would lose the small ones.
	w := randomDense(3, 5000, 6)
	for j := range 6 {
		for i := range 5000 {
			w.Set(i, j, w.At(i, j)*math.Pow(10, -2.4*float64(j)))
		}
	}
	q := newTSQR(6)
	for i := 0; i < 5000; i += 321 {
		q.add(w.RawMatrix().Data[i*6 : min(i+321, 5000)*6])
	}
	r := mat.NewDense(6, 6, nil)
	q.r(r)
	got, want := singularValues(t, r), singularValues(t, w)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-13*want[i] {
			t.Errorf("σ_%d = %v, want %v", i, got[i], want[i])
		}
	}
}

// everything computes all products and returns their bits.
func everything(t *testing.T, m *Matrix, cols, rows, l int) []uint64 {
	t.Helper()
	x := randomDense(5, cols, l)
	y := mat.NewDense(cols, l, nil)
	w := mat.NewDense(rows, l, nil)
	var bits []uint64
	collect := func(ds ...*mat.Dense) {
		for _, d := range ds {
			for _, v := range d.RawMatrix().Data {
				bits = append(bits, math.Float64bits(v))
			}
		}
	}
	for range 2 { // the second pass uses resident blocks
		must.Do(t, m.apply(t.Context(), y, x))
		collect(y)
	}
	atw, r, err := m.project(t.Context(), x, into(t, w))
	must.Do(t, err)
	collect(atw, r, w)
	must.Get(m.Run(t.Context(), solver.Pass{X: x, Sum: y, RowsOut: solver.Rows{Block: w}}))(t)
	collect(y, w)
	return bits
}

func TestSameBits(t *testing.T) {
	// Lanes for two workers but not for seven; one lane, which all workers share in stripes; one
	// block, which they share in parts; and parts without rows, since one row has nearly all
	// entries.
	for _, s := range []struct {
		rows, cols, l, lanes, parts int
		density                     float64
	}{{2400, 60, 5, 4, 1, 0.08}, {400, 700, 3, 1, 1, 0.08}, {1200, 400, 4, 4, 6, 0.25}, {20, 60_000, 2, 1, 3, 0.001}, {2400, 60, 37, 4, 1, 0.08}} {
		t.Run(fmt.Sprintf("%dx%d", s.rows, s.cols), func(t *testing.T) {
			src := newDisk(randomCSR(4, s.rows, s.cols, s.density))
			if s.parts > 1 {
				src.inMemory = newInMemory(randomCSR(4, s.rows, s.cols, s.density), csr.BlockRows, csr.BlockNNZ)
			}
			if p := mustNew(t, src, Options{Width: s.l}).Plan(); p.Lanes != s.lanes || p.parts != s.parts || s.parts == 1 && p.Blocks < 20*s.lanes {
				t.Fatalf("%d lanes of %d blocks of %d parts: not the case to test", p.Lanes, p.Blocks, p.parts)
			}
			testSameBits(t, src, s.rows, s.cols, s.l, s.lanes)
		})
	}
}

func testSameBits(t *testing.T, src *disk, rows, cols, l, lanes int) {
	if lanes == 1 && stripes(7, lanes, int64(cols)) < 8 {
		t.Fatal("no stripes: not the case to test")
	}
	want := everything(t, mustNew(t, src, Options{Workers: 1, Width: l}), cols, rows, l)
	full := mustNew(t, src, Options{Workers: 1, Width: l}).Plan().Total()
	streaming := mustNew(t, src, Options{Workers: 1, Width: l, Once: true}).Plan().Total()
	for _, o := range []Options{
		{Workers: 2, Width: l},
		{Workers: 7, Width: l},
		{Workers: 64, Width: l},
		{Workers: 1, Width: l, Memory: streaming},
		{Workers: 7, Width: l, Memory: streaming + 1<<20},
		{Workers: 2, Width: l, Memory: (streaming + full) / 2},
		{Workers: 3, Width: l, Memory: 2*full + 1},
	} {
		m := mustNew(t, src, o)
		if strips := m.plan.segment > 0; strips != (l > kernel.MaxPanel && (o.Memory == 0 || o.Memory > 2*full)) {
			t.Errorf("strips of %d columns with a budget of %d: %v", l, o.Memory, strips)
		} else if strips {
			m.plan.segment = rows / 7 * l
		}
		if got := everything(t, m, cols, rows, l); !slices.Equal(got, want) {
			t.Errorf("bits differ with %d workers, budget %d, %d of %d blocks resident", o.Workers, o.Memory, m.Plan().Resident, m.Plan().Blocks)
		}
	}
}

func TestResidentBlocksAreReadOnce(t *testing.T) {
	a := randomCSR(6, 400, 30, 0.2)
	src := newDisk(a)
	x, y := randomDense(1, 30, 1), mat.NewDense(30, 1, nil)
	blocks := int64(src.NumBlocks())
	unlimited := mustNew(t, src, Options{Workers: 2})
	half := unlimited.Plan().Total() - residentBytes(src, src.NumBlocks())/2
	for _, tc := range []struct {
		name   string
		memory int64
		want   func(resident int64) int64 // decodings in three passes
	}{
		{"all", 0, func(int64) int64 { return blocks }},
		{"some", half, func(r int64) int64 { return r + 3*(blocks-r) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := mustNew(t, src, Options{Workers: 2, Memory: tc.memory})
			src.decoded.Store(0)
			var bytes int64
			for range 3 {
				cost := must.Get(m.Run(t.Context(), solver.Pass{X: x, Sum: y}))(t)
				bytes += cost.BytesRead
			}
			r := int64(m.Plan().Resident)
			if tc.memory > 0 && (r == 0 || r == blocks) {
				t.Fatalf("budget keeps %d of %d blocks: not the case to test", r, blocks)
			}
			if got := src.decoded.Load(); got != tc.want(r) {
				t.Errorf("%d decodings, want %d", got, tc.want(r))
			}
			if want := tc.want(r); want == blocks && bytes != src.size() || bytes < src.size() || bytes > 3*src.size() {
				t.Errorf("%d bytes read for %d decodings, the matrix has %d", bytes, want, src.size())
			}
		})
	}
}

// frugal is a disk whose blocks take a third of their planned size.
type frugal struct{ *disk }

func (f frugal) DecodedSize(rows, nnz int64) int64 { return 3 * f.disk.DecodedSize(rows, nnz) }

// TestBlocksThatTakeLess checks that more blocks are kept if they take less than planned, within the budget, with the same bits.
func TestBlocksThatTakeLess(t *testing.T) {
	a := randomCSR(6, 40_000, 200, 0.2)
	src := frugal{&disk{inMemory: newInMemory(a, 2000, 1<<16), failAt: -1}}
	want := everything(t, mustNew(t, src, Options{Workers: 2, Width: 3}), 200, 40_000, 3)
	half := mustNew(t, src, Options{Workers: 2, Width: 3}).Plan().Total() - residentBytes(src, src.NumBlocks())/2
	m := mustNew(t, src, Options{Workers: 2, Width: 3, Memory: half})
	planned := m.Plan().Resident
	for range 4 {
		if got := everything(t, m, 200, 40_000, 3); !slices.Equal(got, want) {
			t.Errorf("other bits with %d of %d blocks kept", len(m.resident), src.NumBlocks())
		}
	}
	var kept int64
	for _, b := range m.resident {
		kept += b.Size()
	}
	if len(m.resident) < planned*3/2 || len(m.resident) > src.NumBlocks() || kept > m.Plan().ResidentBytes {
		t.Errorf("%d blocks of %d planned, in %d bytes of %d", len(m.resident), planned, kept, m.Plan().ResidentBytes)
	}
	src.decoded.Store(0)
	if err := m.apply(t.Context(), mat.NewDense(200, 1, nil), randomDense(1, 200, 1)); err != nil || src.decoded.Load() > int64(src.NumBlocks()-planned*3/2) {
		t.Errorf("%d blocks were decoded again: %v", src.decoded.Load(), err)
	}
}

func TestBudget(t *testing.T) {
	src := newDisk(randomCSR(6, 4000, 30, 0.2))
	least := mustNew(t, src, Options{Workers: 1, Width: 4}).Plan()
	need := least.Total() - residentBytes(src, least.Blocks)
	t.Run("refused with the number that would do", func(t *testing.T) {
		_, err := NewFrom(src, Options{Workers: 8, Width: 4, Memory: need - 1})
		var budget *BudgetError
		if !errors.As(err, &budget) || budget.Need != need || budget.Budget != need-1 {
			t.Fatalf("err = %v, want a BudgetError with need %d", err, need)
		}
		if _, err := NewFrom(src, Options{Workers: 8, Width: 4, Memory: budget.Need}); err != nil {
			t.Errorf("the budget it asked for does not work either: %v", err)
		}
	})
	t.Run("plan stays within", func(t *testing.T) {
		for memory := need; memory < least.Total()*5/4; memory += 10_000 {
			m := mustNew(t, src, Options{Workers: 4, Width: 4, Memory: memory})
			if got := m.Plan().Total(); got > memory {
				t.Fatalf("plan of %d bytes for a budget of %d", got, memory)
			}
		}
	})
	t.Run("wider block than planned", func(t *testing.T) {
		m := mustNew(t, src, Options{Width: 2, Memory: 1 << 30})
		if err := m.apply(t.Context(), mat.NewDense(30, 3, nil), randomDense(1, 30, 3)); err == nil {
			t.Error("a block wider than the plan was accepted")
		}
	})
}

func TestFailuresSurface(t *testing.T) {
	a := randomCSR(6, 4000, 30, 0.2)
	x := randomDense(1, 30, 1)
	for _, workers := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			src := newDisk(a)
			m := mustNew(t, src, Options{Workers: workers})
			y := mat.NewDense(30, 1, nil)
			src.failAt = src.NumBlocks() / 2
			if err := m.apply(t.Context(), y, x); !errors.Is(err, errDamaged) {
				t.Errorf("Apply = %v, want the damaged block", err)
			}
			if _, _, err := m.project(t.Context(), x, nil); !errors.Is(err, errDamaged) {
				t.Errorf("Project = %v, want the damaged block", err)
			}
			src.failAt = -1
			full := errors.New("disk full")
			calls := 0
			sink := func(int64, *mat.Dense) error {
				if calls++; calls == 5 {
					return full
				}
				return nil
			}
			if _, _, err := m.project(t.Context(), x, sink); !errors.Is(err, full) {
				t.Errorf("Project = %v, want the sink's error", err)
			}
			if err := m.apply(t.Context(), y, x); err != nil {
				t.Errorf("after failures Apply = %v", err)
			}
		})
	}
}

func TestCancelStopsAPass(t *testing.T) {
	a := randomCSR(6, 4000, 30, 0.2)
	x := randomDense(1, 30, 1)
	cause := errors.New("user pressed Ctrl-C")
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			src := newDisk(a)
			ctx, cancel := context.WithCancelCause(t.Context())
			src.onRead = func(i int) { // blocks behind the 11th wait until the context is cancelled
				if i == 10 {
					cancel(cause)
				}
				if i > 10 {
					<-ctx.Done()
				}
			}
			m := mustNew(t, src, Options{Workers: workers})
			if err := m.apply(ctx, mat.NewDense(30, 1, nil), x); !errors.Is(err, cause) {
				t.Errorf("err = %v, want the cause", err)
			}
			// The other workers may finish the blocks they are decoding.
			most := int64(11 + 2*(workers-1))
			if got := src.decoded.Load(); got > most || int(got) == src.NumBlocks() {
				t.Errorf("%d of %d blocks were read, cancelled at the 11th", got, src.NumBlocks())
			}
		})
	}
}

func TestEmptyMatrix(t *testing.T) {
	for _, rows := range []int{0, 1, 70_000} {
		m := mustNew(t, newInMemory(sparse.NewCSR(rows, 5, make([]int, rows+1), nil, nil), csr.BlockRows, csr.BlockNNZ), Options{Width: 2})
		y := randomDense(3, 5, 2)
		must.Do(t, m.apply(t.Context(), y, randomDense(1, 5, 2)))
		_, r, err := m.project(t.Context(), randomDense(1, 5, 2), nil)
		must.Do(t, err)
		if mat.Norm(y, 2) != 0 || mat.Norm(r, 2) != 0 {
			t.Errorf("%d empty rows: products of a zero matrix are not zero", rows)
		}
	}
}

// TestFromSparseRefusesColumns checks that an entry whose column the matrix does not have is refused with its row.
func TestFromSparseRefusesColumns(t *testing.T) {
	for _, col := range []int{-1, 2, 1 << 32} {
		var refused any
		func() {
			defer func() { refused = recover() }()
			_, _ = FromSparse(sparse.NewCSR(2, 2, []int{0, 1, 3}, []int{1, 0, col}, []float64{1, 2, 3}), Options{})
		}()
		if text, ok := refused.(string); !ok || !strings.Contains(text, fmt.Sprint(col)) || !strings.Contains(text, "in row 1 of a sparse matrix of 2 columns") {
			t.Errorf("column %d: %v", col, refused)
		}
	}
}

func TestFromSparseAddsDuplicates(t *testing.T) {
	// Row 0 has column 1 twice and its columns out of order.
	a := sparse.NewCSR(2, 3, []int{0, 3, 4}, []int{1, 0, 1, 2}, []float64{2, 1, 3, 4})
	m := must.Get(FromSparse(a, Options{}))(t)
	w := mat.NewDense(2, 1, nil)
	must.Do(t, m.mul(t.Context(), mat.NewDense(3, 1, []float64{1, 10, 100}), into(t, w)))
	if w.At(0, 0) != 51 || w.At(1, 0) != 400 {
		t.Errorf("A·x = %v, want [51 400]", w.RawMatrix().Data)
	}
	if got := m.Info().Norm; got != math.Sqrt(1+25+16) {
		t.Errorf("‖A‖ = %v", got)
	}
}

// TestLanes checks that two workers never share a lane if there are enough entries to pay for a
// second one, and that lanes are divided evenly; lanes take little of a pass, and the memory of few
// lanes.
func TestLanes(t *testing.T) {
	const tasks = 1000
	for _, c := range []struct {
		n, nnz int64
		l      int
		want   int
	}{
		{14_824, 1e8, 1, 8}, {14_824, 1e8, 8, 8}, {14_824, 1e8, 16, 4},
		{59_296, 1e8, 4, 4}, {59_296, 1e8, 8, 2}, {59_296, 1e8, 16, 2},
		{200_124, 1e8, 4, 2}, {200_124, 1e8, 8, 2}, {200_124, 1e8, 16, 2}, {1_000_620, 1e8, 16, 2},
		{1e6, 6e7, 1, 1}, {5e7, 1e9, 4, 1}, {10, 0, 3, 1},
	} {
		if got := lanes(c.n, c.l, tasks, c.nnz); got != c.want {
			t.Errorf("%d lanes of %d×%d for %d entries, want %d", got, c.n, c.l, c.nnz, c.want)
		}
	}
	if got := lanes(100, 1, 3, 1e8); got != 2 {
		t.Errorf("%d lanes for three tasks", got)
	}
}

// TestNarrowPassesFitThePlan checks that the planned accumulators have room for passes of fewer columns, which have more
// lanes.
func TestNarrowPassesFitThePlan(t *testing.T) {
	const n, width = 14600, 18
	src := csr.Outline{Rows: 1e6, Cols: n, NNZ: 1e8, Size: 2e8, Values: csr.Values{Coding: csr.Float64}}.Plan()
	p := must.Get(PlanFor(src, Options{Memory: 1 << 30, Workers: 2, Width: width, Rank: 4}))(t)
	for l := 1; l <= width; l++ {
		if need := n * kernel.Width(l) * (lanes(n, l, p.tasks(), p.nnz) + 1); need > p.numbers {
			t.Errorf("a pass of %d columns takes %d numbers, of which %d are planned", l, need, p.numbers)
		}
	}
}

// TestRowsOutMayChangeItsRows checks that R and Sum are those of A·X if RowsOut changes the rows that it gets.
func TestRowsOutMayChangeItsRows(t *testing.T) {
	x := randomDense(2, 20, 3)
	m := mustNew(t, newDisk(randomCSR(1, 400, 20, 0.2)), Options{Workers: 2, Width: 3, Rank: 3})
	sum, r, err := m.project(t.Context(), x, nil)
	must.Do(t, err)
	changed, changedR, err := m.project(t.Context(), x, func(_ int64, rows *mat.Dense) error {
		rows.Scale(2, rows)
		return nil
	})
	must.Do(t, err)
	sameDense(t, "Sum", changed, sum)
	sameDense(t, "R", changedR, r)
}
