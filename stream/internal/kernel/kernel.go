// Package kernel is the arithmetic of one block of rows of a sparse matrix.
//
// The three operations work on a block of rows a₀ … a_{m−1} of A, decoded to compressed sparse rows, and on dense blocks with l
// columns:
//
//	Gram:        y += Σ_r a_r (a_rᵀ X)    y, x: n×l
//	Mul:         w_r = a_rᵀ X             w: m×l, x: n×l
//	MulTransAdd: y += Σ_r a_r w_rᵀ        y: n×l, w: m×l
//
// The long-lived blocks x and y are in panels ([Width], [Pack], [Unpack]): an entry of A costs one contiguous dot or axpy of at
// most 16 numbers, and the memory that rows of A touch again and again is as small as possible. w is row-major.
//
// Preconditions, which callers must have proved (csr.Store.DecodeBlock does): Ptr is non-decreasing, the columns of a row
// ascend strictly, every column is below n. No two slices overlap.
//
// # Bits
//
// The result is a function of the arguments and of the [cpu.Level] alone: same bits on every call, in whichever form the rows
// are given, and for each column whatever the others are. Gram gives the bits of Mul followed by MulTransAdd. AVX2 and AVX-512
// give the same bits: they sum in the same order and both fuse multiply-add. The portable level sums in another order and fuses
// where the compiler does (arm64, ppc64, riscv64, s390x, not amd64), so its last bits differ from theirs and from one
// architecture to another. Each level is within 4·(nnz(a_r)+2)·ε·Σ|a||x| of the plain loops, elementwise.
package kernel

//go:generate go run -C _gen . -out ../avx_amd64.s -stubs ../avx_amd64.go -pkg kernel

import (
	"sync"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

// level is the set of instructions in use. It changes in tests of the package only.
var level = min(cpu.Best(), cpu.AVX512)

// Level returns the set of instructions in use.
func Level() cpu.Level { return level }

// Rows is one decoded block of rows, or some of its rows. Row r has the entries
// Ptr[r] … Ptr[r+1]−1. Their columns are in one of Col16 and Col, their values
// in one of Code and Val, or all are Table[0]; with Step each row has a table of its own in Val: see csr.Block.
type Rows struct {
	Ptr   []uint32 // len rows+1
	Col16 []uint16
	Col   []uint32
	Code  []uint8 // entry p has the value Table[Code[p]]
	Table *[256]float64
	Val   []float64
	Step  int
}

// Len is the number of rows.
func (b Rows) Len() int { return len(b.Ptr) - 1 }

func (b Rows) entries() int { return len(b.Col16) + len(b.Col) }

// check panics if the slices of b contradict one another: the kernels do not check.
func (b Rows) check() {
	n := int(b.Ptr[len(b.Ptr)-1])
	tables := b.Table != nil
	if b.Step > 0 {
		tables, b.Val = len(b.Val) >= (b.Len()-1)*b.Step+256, nil
	}
	cols, vals := b.entries(), len(b.Code)+len(b.Val)
	if vals == 0 && tables {
		vals = cols
	}
	twice := len(b.Col16) > 0 && len(b.Col) > 0 || len(b.Code) > 0 && len(b.Val) > 0
	if cols < n || vals != cols || twice || len(b.Code) > 0 && !tables {
		panic("kernel: the slices of the rows contradict one another")
	}
}

// table returns the table of row r, and the distance in numbers from it to the table of the next row.
func (b Rows) table(r int) (t *[256]float64, step int) {
	if b.Step == 0 {
		return b.Table, 0
	}
	return (*[256]float64)(b.Val[r*b.Step:]), b.Step
}

// checkProducts panics where w is not a row-major block of b's rows.
func (b Rows) checkProducts(w []float64, l int) {
	if len(w) != b.Len()*l {
		panic("kernel: w has the wrong size")
	}
}

// A chunk is the rows that are multiplied before their products are
// scattered: their entries are then still in the second-level cache, and their
// products in the first-level cache.
const (
	chunkEntries = 8192
	chunkRows    = 256
)

// chunkEnd is the end of the chunk that begins with row r.
func (b Rows) chunkEnd(r int) int {
	most := min(r+chunkRows, b.Len())
	e := r + 1
	for e < most && b.Ptr[e+1]-b.Ptr[r] <= chunkEntries {
		e++
	}
	return e
}

// scratch is the memory for the products of one panel and one chunk: the rows of w, and
// the begin and end of a stripe in each row.
type scratch struct {
	w        [chunkRows * MaxPanel]float64
	from, to [chunkRows]uint32
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// add adds the products of the entries lo[r] … hi[r]−1 of a chunk of b, whose first row is first, with the
// rows of w to the panel p of y, in stripes of columns.
func (s *scratch) add(y, w []float64, p panel, lo, hi []uint32, b Rows, first int) {
	from, to := s.from[:len(lo)], s.to[:len(lo)]
	copy(from, lo)
	n := p.stripes(lo, hi)
	for i := 1; i < n; i++ {
		Split(to, from, hi, b, uint32(i*p.n/n))
		addPanel(p.of(y), w, p.width, from, to, b, first)
		from, to = to, from
	}
	addPanel(p.of(y), w, p.width, from, hi, b, first)
}

// stripes returns the number of stripes of columns in which the entries lo[r] … hi[r]−1 of a chunk are best added to
// a panel: the numbers that a row adds to in one stripe are still in the first-level cache when the next row adds
// to them. That pays where rows are long and share most of their columns with the next row.
func (p panel) stripes(lo, hi []uint32) int {
	const (
		stripeBytes = 20 << 10
		most        = 4
		share       = 16 // a row must have at least 1/share of the columns, on average
	)
	entries := 0
	for r, h := range hi {
		entries += int(h - lo[r])
	}
	mean := entries / len(lo)
	if mean < p.n/share {
		return 1
	}
	return max(1, min(most, (8*p.width*mean+stripeBytes-1)/stripeBytes))
}

// Gram adds Σ_r a_r (a_rᵀ X) to y. Each row is read once and used twice.
func Gram(y, x []float64, l int, b Rows) { GramThrough(y, x, l, b, nil) }

// A Chunk holds the products of some rows, from Row on, with the columns First … First+Cols−1. W is row-major with Width
// columns, of which those beyond Cols are 0.
type Chunk struct {
	W                       []float64
	Row, First, Cols, Width int
}

// GramThrough is Gram, but f, unless it is nil, may change the products a_rᵀX before they
// are multiplied with a_r. For each column f gets the rows in ascending order.
func GramThrough(y, x []float64, l int, b Rows, f func(Chunk)) {
	b.check()
	if len(y) != len(x) {
		panic("kernel: x and y differ in size")
	}
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	for p := range panels(l, len(x)) {
		for r := 0; r < b.Len(); {
			e := b.chunkEnd(r)
			w := s.w[:(e-r)*p.width]
			lo, hi := b.Ptr[r:e], b.Ptr[r+1:e+1]
			mulPanel(w, p.of(x), p.width, lo, hi, b, r)
			if f != nil {
				f(Chunk{W: w, Row: r, First: p.first, Cols: p.cols, Width: p.width})
			}
			s.add(y, w, p, lo, hi, b, r)
			r = e
		}
	}
}

// Mul sets w to the product of the rows with X.
func Mul(w, x []float64, l int, b Rows) {
	b.check()
	b.checkProducts(w, l)
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	for p := range panels(l, len(x)) {
		for r := 0; r < b.Len(); {
			e := b.chunkEnd(r)
			into := s.w[:(e-r)*p.width]
			if p.width == l {
				into = w[r*l : e*l]
			}
			mulPanel(into, p.of(x), p.width, b.Ptr[r:e], b.Ptr[r+1:e+1], b, r)
			if p.width != l {
				p.scatter(w[r*l:e*l], into, l)
			}
			r = e
		}
	}
}

// MulTransAdd adds the product of the transposed rows with w to y.
func MulTransAdd(y, w []float64, l int, b Rows) {
	MulTransAddSome(y, w, l, b, b.Ptr[:b.Len()], b.Ptr[1:])
}

// Split sets hi[r] to the first of the entries lo[r] … stop[r]−1 of a row of b
// whose column is not below end, and to stop[r] if there is none.
func Split(hi, lo, stop []uint32, b Rows, end uint32) {
	if len(b.Col16) > 0 {
		split(hi, lo, stop, b.Col16, end)
	} else {
		split(hi, lo, stop, b.Col, end)
	}
}

func split[C column](hi, lo, stop []uint32, col []C, end uint32) {
	for r := range lo {
		row := col[lo[r]:stop[r]]
		below := 0
		for n := len(row); n > 0; { // bisects without a branch, which would be mispredicted
			half := (n + 1) / 2
			below += half & int((int64(row[below+half-1])-int64(end))>>63)
			n -= half
		}
		hi[r] = lo[r] + uint32(below)
	}
}

// MulTransAddSome is MulTransAdd with the entries lo[r] … hi[r]−1 of each row
// only. Adding a partition of the entries into disjoint sets of columns, in any
// order, gives the bits of MulTransAdd.
func MulTransAddSome(y, w []float64, l int, b Rows, lo, hi []uint32) {
	b.check()
	b.checkProducts(w, l)
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	for p := range panels(l, len(y)) {
		for r := 0; r < b.Len(); {
			e := b.chunkEnd(r)
			from := w[r*l : e*l]
			if p.width != l {
				from = s.w[:(e-r)*p.width]
				p.gather(from, w[r*l:e*l], l)
			}
			s.add(y, from, p, lo[r:e], hi[r:e], b, r)
			r = e
		}
	}
}
