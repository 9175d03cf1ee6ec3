package stream

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
)

// memorySpace is a Space in memory that counts its blocks and records which ranges have been
// evicted.
type memorySpace struct {
	mu     sync.Mutex
	blocks [][]float64
	most   int // largest number of float64s held
	limit  int
}

func (s *memorySpace) Make(numbers int) ([]float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if numbers == 0 {
		return nil, errors.New("a block of nothing")
	}
	s.blocks = append(s.blocks, make([]float64, numbers))
	total := 0
	for _, b := range s.blocks {
		total += len(b)
	}
	if s.most = max(s.most, total); s.limit > 0 && total > s.limit {
		s.blocks = s.blocks[:len(s.blocks)-1]
		return nil, syscall.ENOSPC
	}
	return s.blocks[len(s.blocks)-1], nil
}

func (s *memorySpace) Err() error      { return nil }
func (s *memorySpace) Evict([]float64) {}
func (s *memorySpace) Fetch([]float64) {}

func (s *memorySpace) Free(x []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.blocks, func(b []float64) bool { return &b[0] == &x[0] })
	s.blocks = slices.Delete(s.blocks, i, i+1)
}

func sameDense(t *testing.T, what string, got, want *mat.Dense) {
	t.Helper()
	r, c := want.Dims()
	if gr, gc := got.Dims(); gr != r || gc != c {
		t.Fatalf("%s is %d×%d, want %d×%d", what, gr, gc, r, c)
	}
	for i := range r {
		for j := range c {
			if math.Float64bits(got.At(i, j)) != math.Float64bits(want.At(i, j)) {
				t.Fatalf("%s: entry (%d, %d) is %v, want %v", what, i, j, got.At(i, j), want.At(i, j))
			}
		}
	}
}

// rowsOfW returns a matrix and a function that copies the rows of a pass into it.
func rowsOfW(m *Matrix, k int) (*mat.Dense, func(int64, *mat.Dense) error) {
	w := mat.NewDense(int(m.src.Rows()), k, nil)
	return w, func(first int64, rows *mat.Dense) error {
		r, _ := rows.Dims()
		w.Slice(int(first), int(first)+r, 0, k).(*mat.Dense).Copy(rows)
		return nil
	}
}

// TestColumnsInASpace checks that all products with blocks in a Space have the bits of those in
// memory, for any number of columns per read.
func TestColumnsInASpace(t *testing.T) {
	cases := []struct{ rows, n, k, width int }{
		{4000, 30, 5, 2}, {3000, 40000, 3, 1}, {4000, 30, 1, 1}, {4000, 30, 4, 1}, {3000, 400, 17, 4}, {3000, 400, 23, 1},
	}
	for _, tc := range cases[:longtest.Pick(6, 2)] {
		for _, workers := range longtest.Pick([]int{1, 2, 5}, []int{2}) {
			t.Run(fmt.Sprintf("%+v,workers=%d", tc, workers), func(t *testing.T) {
				src := newDisk(randomCSR(6, tc.rows, tc.n, 60/float64(tc.n)))
				o := Options{Workers: workers, Width: tc.width, Rank: tc.k}
				in := mustNew(t, src, o)
				space := &memorySpace{}
				o.Space = space
				out := mustNew(t, src, o)
				v, x := randomDense(1, tc.n, tc.k), randomDense(2, tc.n, tc.width)
				y, z := mat.NewDense(tc.n, tc.width, nil), mat.NewDense(tc.n, tc.width, nil)
				must.Do(t, errors.Join(in.apply(t.Context(), y, x), out.apply(t.Context(), z, x)))
				sameDense(t, "AᵀAx", z, y)
				wide, wide2 := mat.NewDense(tc.n, tc.k, nil), mat.NewDense(tc.n, tc.k, nil)
				must.Do(t, errors.Join(in.apply(t.Context(), wide, v), out.apply(t.Context(), wide2, v)))
				sameDense(t, "AᵀAv", wide2, wide)

				w, sink := rowsOfW(in, tc.k)
				atw, r, err := in.project(t.Context(), v, sink)
				must.Do(t, err)
				w2, sink := rowsOfW(in, tc.k)
				atw2, r2, err := out.project(t.Context(), v, sink)
				must.Do(t, err)
				sameDense(t, "W", w2, w)
				sameDense(t, "AᵀW", atw2, atw)
				sameDense(t, "R", r2, r)

				source := func(first int64, rows *mat.Dense) error {
					n, _ := rows.Dims()
					rows.Copy(w.Slice(int(first), int(first)+n, 0, tc.k))
					return nil
				}
				aty := must.Get(in.mulTrans(t.Context(), tc.k, source))(t)
				aty2 := must.Get(out.mulTrans(t.Context(), tc.k, source))(t)
				sameDense(t, "AᵀY", aty2, aty)
				if len(space.blocks) > 0 {
					t.Errorf("%d blocks were not given back", len(space.blocks))
				}
			})
		}
	}
}

// TestPassesWithoutSumsFitThePlan checks that the buffers of passes without sums, which take more columns in a read than
// passes with sums, are not larger than planned.
func TestPassesWithoutSumsFitThePlan(t *testing.T) {
	const n, k = 3000, 4
	src := newDisk(randomCSR(6, 1000, n, 0.02))
	m := mustNew(t, src, Options{Workers: 2, Width: 1, Rank: k, Memory: 1 << 30, Space: &memorySpace{}})
	x, r := randomDense(1, n, k), mat.NewDense(k, k, nil)
	_, sink := rowsOfW(m, k)
	must.Do(t, m.mul(t.Context(), x, sink))
	must.Get(m.Run(t.Context(), solver.Pass{X: x, R: r}))(t)
	for _, s := range m.scratch {
		if most := m.plan.rows * m.plan.most; cap(s.part) > most {
			t.Errorf("a buffer of %d numbers, of which %d are planned", cap(s.part), most)
		}
	}
}

// TestBudgetWithASpace checks that a Space takes the blocks out of the budget, and that a full
// Space gives an error and keeps no blocks.
func TestBudgetWithASpace(t *testing.T) {
	src := newDisk(randomCSR(6, 4000, 3000, 0.01))
	o := Options{Workers: 1, Width: 1, Rank: 8, Memory: 1 << 30}
	in := mustNew(t, src, o).Plan()
	space := &memorySpace{limit: 4000}
	o.Space = space
	m := mustNew(t, src, o)
	out := m.Plan()
	if in.Group != 0 || out.Group < 1 || out.Group >= 8 || out.Total() >= in.Total()-8*3000*6 {
		t.Errorf("in memory %d bytes, groups of %d; with a Space %d, %d", in.Total(), in.Group, out.Total(), out.Group)
	}
	if _, _, err := m.project(t.Context(), randomDense(1, 3000, 8), nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: %v", err)
	}
	// A block that does not fit in the budget is multiplied a few columns at a time.
	o.Width = 16
	whole := mustNew(t, src, o).Plan()
	o.Memory = whole.Total() - residentBytes(src, whole.Blocks) - 8*3000*8
	narrow := mustNew(t, src, o)
	if p := narrow.Plan(); p.Together >= 16 || p.Total() > o.Memory {
		t.Errorf("%d columns together in %d bytes of %d", p.Together, p.Total(), o.Memory)
	}
	o.Memory = 0
	x, y, z := randomDense(3, 3000, 16), mat.NewDense(3000, 16, nil), mat.NewDense(3000, 16, nil)
	must.Do(t, errors.Join(narrow.apply(t.Context(), y, x), mustNew(t, src, o).apply(t.Context(), z, x)))
	sameDense(t, "AᵀAx, few columns together", y, z)

	space.limit = 8 * 4000
	if _, err := m.mulTrans(t.Context(), 8, func(int64, *mat.Dense) error { return errDamaged }); !errors.Is(err, errDamaged) {
		t.Errorf("source that fails: %v", err)
	}
	if len(space.blocks) > 0 {
		t.Errorf("%d blocks were not given back", len(space.blocks))
	}
}

// TestSecondReadForRTakesNoMoreSpace checks that the rows of the first reads are given back before the reads in which R is
// computed again: the Space never holds more than the rows of A·X in all columns but one.
func TestSecondReadForRTakesNoMoreSpace(t *testing.T) {
	const rows, n, k = 1000, 30, 24
	space := &memorySpace{}
	m := mustNew(t, newDisk(randomCSR(6, rows, n, 0.2)), Options{Workers: 1, Width: 1, Rank: k, Space: space})
	x := mat.NewDense(n, k, slices.Repeat([]float64{1}, n*k)) // the Gram matrix of A·X is singular
	if _, _, err := m.project(t.Context(), x, nil); err != nil {
		t.Fatal(err)
	}
	if space.most > rows*(k-1) || len(space.blocks) > 0 {
		t.Errorf("%d numbers in the Space, want at most %d; %d blocks are not given back", space.most, rows*(k-1), len(space.blocks))
	}
}
