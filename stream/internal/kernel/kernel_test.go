package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"pgregory.net/rapid"
)

// widths returns the widths of up to two panels of 16 with any remainder, and some larger ones.
func widths() (ls []int) {
	for l := 1; l < 48; l++ {
		ls = append(ls, l)
	}
	return append(ls, 48, 63, 65, 70, 96, 100, 129)
}

var best = level

// force makes the kernels use level l until restore is called.
func force(l cpu.Level) (restore func()) {
	before := level
	level = l
	return func() { level = before }
}

// eachLevel runs f as a subtest with every available level.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for l := cpu.Portable; l <= best; l++ {
		t.Run(l.String(), func(t *testing.T) {
			defer force(l)()
			f(t)
		})
	}
}

// problem is a block of rows with dense blocks for all three operations, row-major. The rows are in
// plain form: 32-bit columns, and float64 values, which are all in the table.
type problem struct {
	m, n, l int
	rows    Rows
	table   [256]float64
	x, w, y []float64
}

// constant returns the problem with all values equal to the first value of the table.
func (p problem) constant() problem {
	p.rows.Val = slices.Repeat(p.table[:1], len(p.rows.Val))
	return p
}

// inForms returns the rows in every form of columns and values.
func inForms(plain Rows, table *[256]float64) map[string]Rows {
	all, codes := map[string]Rows{}, map[float64]uint8{}
	for i, v := range table {
		codes[v] = uint8(i)
	}
	for _, narrow := range []bool{false, true} {
		for _, coded := range []bool{false, true} {
			b := plain
			if narrow {
				b.Col, b.Col16 = nil, make([]uint16, len(plain.Col))
				for i, c := range plain.Col {
					b.Col16[i] = uint16(c)
				}
			}
			if !slices.ContainsFunc(plain.Val, func(v float64) bool { return v != table[0] }) {
				one := b
				one.Val, one.Table = nil, table
				all[fmt.Sprintf("narrow=%v,constant", narrow)] = one
				own := one
				own.Table, own.Step, own.Val = nil, 3, slices.Repeat(table[:1], 3*one.Len()+256)
				all[fmt.Sprintf("narrow=%v,constant,tables of rows", narrow)] = own
			}
			if coded {
				b.Val, b.Code, b.Table = nil, make([]uint8, len(plain.Val)), table
				for i, v := range plain.Val {
					b.Code[i] = codes[v]
				}
			}
			all[fmt.Sprintf("narrow=%v,coded=%v", narrow, coded)] = b
			if coded { // the table of each row holds the same values in another order
				b.Table, b.Step, b.Code = nil, 256, slices.Clone(b.Code)
				for r := range b.Len() {
					b.Val = append(append(b.Val, table[r%256:]...), table[:r%256]...)
					for p := b.Ptr[r]; p < b.Ptr[r+1]; p++ {
						b.Code[p] -= uint8(r)
					}
				}
				all[fmt.Sprintf("narrow=%v,tables of rows", narrow)] = b
			}
		}
	}
	return all
}

func newProblem(seed uint64, lengths []int, n, l int) problem {
	rng := rand.New(rand.NewPCG(seed, 5))
	p := problem{m: len(lengths), n: n, l: l, rows: Rows{Ptr: []uint32{0}, Col: []uint32{}, Val: []float64{}}}
	for i := range p.table {
		p.table[i] = rng.NormFloat64()
	}
	for _, k := range lengths {
		cols := rng.Perm(n)[:min(k, n)]
		slices.Sort(cols)
		for _, c := range cols {
			p.rows.Col = append(p.rows.Col, uint32(c))
			p.rows.Val = append(p.rows.Val, p.table[rng.IntN(256)])
		}
		p.rows.Ptr = append(p.rows.Ptr, uint32(len(p.rows.Col)))
	}
	random := func(k int) []float64 {
		s := make([]float64, k)
		for i := range s {
			s[i] = rng.NormFloat64()
		}
		return s
	}
	p.x, p.w, p.y = random(n*l), random(p.m*l), random(n*l)
	return p
}

// absolute returns the problem with absolute values: its results bound the summed terms.
func (p problem) absolute() problem {
	abs := func(s []float64) []float64 {
		a := make([]float64, len(s))
		for i, v := range s {
			a[i] = math.Abs(v)
		}
		return a
	}
	q := p
	q.rows.Val, q.x, q.w, q.y = abs(p.rows.Val), abs(p.x), abs(p.w), abs(p.y)
	return q
}

// results holds the results of the three operations, row-major.
type results struct{ gram, mul, trans []float64 }

func (p problem) reference() results {
	r := results{gram: slices.Clone(p.y), mul: make([]float64, p.m*p.l), trans: slices.Clone(p.y)}
	refGram(r.gram, p.x, p.l, p.rows)
	refMul(r.mul, p.x, p.l, p.rows)
	refMulTransAdd(r.trans, p.w, p.l, p.rows)
	return r
}

func packed(x []float64, n, l int) []float64 {
	out := make([]float64, n*Width(l))
	Pack(out, l, 0, n, x, l)
	return out
}

func unpacked(x []float64, n, l int) []float64 {
	out := make([]float64, n*l)
	Unpack(out, l, l, 0, n, x)
	return out
}

// run computes the results with the kernels on slices that are fenced on one side.
func (p problem) run(t testing.TB, atEnd bool) results { return p.runOn(t, p.rows, atEnd) }

// runOn is run with the rows in the given form.
func (p problem) runOn(t testing.TB, form Rows, atEnd bool) results {
	rows := Rows{
		Ptr:   fenced(t, form.Ptr, atEnd),
		Col16: fenced(t, form.Col16, atEnd),
		Col:   fenced(t, form.Col, atEnd),
		Code:  fenced(t, form.Code, atEnd),
		Val:   fenced(t, form.Val, atEnd),
		Step:  form.Step,
	}
	if form.Table != nil {
		rows.Table = (*[256]float64)(fenced(t, form.Table[:], atEnd))
	}
	x, y := fenced(t, packed(p.x, p.n, p.l), atEnd), packed(p.y, p.n, p.l)
	w := fenced(t, p.w, atEnd)
	gram, trans := fenced(t, y, atEnd), fenced(t, y, atEnd)
	mul := make([]float64, len(p.w))
	for i := range mul {
		mul[i] = math.NaN() // Mul overwrites
	}
	mul = fenced(t, mul, atEnd)
	Gram(gram, x, p.l, rows)
	Mul(mul, x, p.l, rows)
	MulTransAdd(trans, w, p.l, rows)
	if !slices.Equal(rows.Col, form.Col) || !slices.Equal(rows.Col16, form.Col16) || !slices.Equal(rows.Code, form.Code) || !slices.Equal(x, packed(p.x, p.n, p.l)) || !slices.Equal(w, p.w) {
		t.Fatal("an input was changed")
	}
	return results{unpacked(gram, p.n, p.l), slices.Clone(mul), unpacked(trans, p.n, p.l)}
}

func within(t testing.TB, what string, got, want, scale []float64, terms int) {
	t.Helper()
	const eps = 0x1p-53
	for i := range want {
		bound := 4 * float64(terms+2) * eps * scale[i]
		if d := math.Abs(got[i] - want[i]); !(d <= bound) {
			t.Fatalf("%s[%d] = %v, reference %v: off by %g, bound %g", what, i, got[i], want[i], d, bound)
		}
	}
}

func (p problem) checkAgainstReference(t testing.TB) {
	t.Helper()
	want, scale := p.reference(), p.absolute().reference()
	longest := 0
	for r := range p.m {
		longest = max(longest, int(p.rows.Ptr[r+1]-p.rows.Ptr[r]))
	}
	for _, atEnd := range []bool{false, true} {
		got := p.run(t, atEnd)
		within(t, "Mul", got.mul, want.mul, scale.mul, longest)
		within(t, "MulTransAdd", got.trans, want.trans, scale.trans, p.m)
		within(t, "Gram", got.gram, want.gram, scale.gram, longest+p.m)
		if !atEnd || p.l > 17 && p.l%8 > 0 && !longtest.On() {
			continue // the beginning is never read before; and panels do not depend on the form of the entries
		}
		for name, rows := range inForms(p.rows, &p.table) {
			if !sameBits(got, p.runOn(t, rows, atEnd)) {
				t.Fatalf("l = %d: %s gives other bits", p.l, name)
			}
		}
	}
}

// shapes lists row lengths and numbers of columns: no rows, empty rows, one entry, rows of every
// length around the kernels' unrolling, more rows than a chunk, and a row longer than a chunk.
var shapes = map[string]struct {
	lengths []int
	n       int
}{
	"no rows":     {nil, 3},
	"empty rows":  {[]int{0, 0, 0}, 5},
	"one entry":   {[]int{1}, 1},
	"one column":  {[]int{1, 0, 1, 1, 0}, 1},
	"lengths":     {[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 31, 32, 33, 40}, 40},
	"two chunks":  {slices.Repeat([]int{3, 0, 1}, 100), 11},
	"long row":    {[]int{2, 9000, 5}, 9000},
	"last is one": {[]int{17, 1}, 50},
}

// TestConstantValues compares the forms without values with the plain loops.
func TestConstantValues(t *testing.T) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				for _, l := range []int{1, 2, 3, 4, 8, 10, 16, 20} {
					if s.n > 1000 && l > 4 && !longtest.On() {
						break
					}
					newProblem(uint64(l), s.lengths, s.n, l).constant().checkAgainstReference(t)
				}
			})
		})
	}
}

// TestSomeRows checks that the products of parts of a block have the bits of the whole block.
func TestSomeRows(t *testing.T) {
	lengths := slices.Repeat([]int{0, 5, 40, 1, 17, 100, 3}, 60)
	eachLevel(t, func(t *testing.T) {
		for _, l := range []int{1, 4, 8, 16, 17} {
			p := newProblem(uint64(l), lengths, 100, l)
			x, y := packed(p.x, p.n, l), packed(p.y, p.n, l)
			whole, parts := slices.Clone(y), slices.Clone(y)
			w, again := make([]float64, p.m*l), make([]float64, p.m*l)
			Gram(whole, x, l, p.rows)
			Mul(w, x, l, p.rows)
			for from, to := range map[int]int{0: 1, 1: 100, 100: 101, 101: p.m} {
				Mul(again[from*l:to*l], x, l, p.rows.some(from, to))
			}
			for _, cut := range [][2]int{{0, 1}, {1, 100}, {100, 101}, {101, 101}, {101, p.m}} {
				Gram(parts, x, l, p.rows.some(cut[0], cut[1]))
			}
			if !slices.Equal(w, again) || !slices.Equal(whole, parts) {
				t.Errorf("l = %d: a block in parts gives other bits", l)
			}
		}
	})
}

// TestFarPanel checks panels that do not fit the second-level cache, whose rows are prefetched: the
// prefetch must not read beyond the columns nor change the result.
func TestFarPanel(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, l := range []int{8, 16} {
			newProblem(uint64(l), []int{30, 0, 3, 50, 1, 60, 2, 3}, 40_000, l).checkAgainstReference(t)
		}
	})
}

func TestAgreesWithReference(t *testing.T) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				for _, l := range widths() {
					if s.n > 1000 && (l > 20 || l%longtest.Pick(1, 5) > 0) {
						continue // the plain loops take too long
					}
					p := newProblem(uint64(l), s.lengths, s.n, l)
					p.checkAgainstReference(t)
				}
			})
		})
	}
}

func TestAnyBlockAgreesWithReference(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			n := rapid.IntRange(1, 300).Draw(r, "n")
			lengths := rapid.SliceOfN(rapid.IntRange(0, n), 0, 40).Draw(r, "lengths")
			l := rapid.IntRange(1, 70).Draw(r, "l")
			newProblem(rapid.Uint64().Draw(r, "seed"), lengths, n, l).checkAgainstReference(t)
		})
	})
}

func sameBits(a, b results) bool {
	same := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	}
	return same(a.gram, b.gram) && same(a.mul, b.mul) && same(a.trans, b.trans)
}

func TestSameBitsWithAVX2AndAVX512(t *testing.T) {
	if best < cpu.AVX512 {
		t.Skip("no AVX-512 here")
	}
	for _, l := range widths() {
		p := newProblem(uint64(l), []int{0, 5, 40, 1, 17, 100, 3}, 100, l)
		got := p.run(t, true)
		restore := force(cpu.AVX2)
		want := p.run(t, true)
		restore()
		if !sameBits(got, want) {
			t.Fatalf("l = %d: AVX-512 and AVX2 differ", l)
		}
	}
}

// TestGramIsMulThenMulTransAdd checks the guarantee that Gram is Mul followed by MulTransAdd, and
// that MulTransAdd may be split by columns, bit by bit: the order of work in a pass depends on it.
func TestGramIsMulThenMulTransAdd(t *testing.T) {
	lengths := slices.Repeat([]int{0, 5, 40, 1, 17, 100, 3}, 60)
	eachLevel(t, func(t *testing.T) {
		for _, l := range []int{1, 2, 3, 4, 7, 8, 11, 16, 20, 33} {
			p := newProblem(uint64(l), lengths, 100, l)
			x := packed(p.x, p.n, l)
			whole, twice, cut := packed(p.y, p.n, l), packed(p.y, p.n, l), packed(p.y, p.n, l)
			Gram(whole, x, l, p.rows)
			w := make([]float64, p.m*l)
			Mul(w, x, l, p.rows)
			MulTransAdd(twice, w, l, p.rows)
			if !slices.Equal(whole, twice) {
				t.Errorf("l = %d: Gram differs from Mul and MulTransAdd", l)
			}
			lo := slices.Clone(p.rows.Ptr[:p.m])
			for _, bound := range []uint32{0, 13, 14, 77, 100} {
				hi := make([]uint32, p.m)
				Split(hi, lo, p.rows.Ptr[1:], p.rows, bound)
				for name, rows := range inForms(p.rows, &p.table) {
					again := make([]uint32, p.m)
					if Split(again, lo, rows.Ptr[1:], rows, bound); !slices.Equal(again, hi) {
						t.Fatalf("Split at column %d: %v with %s, else %v", bound, again, name, hi)
					}
				}
				for r := range hi {
					want := lo[r]
					for want < p.rows.Ptr[r+1] && p.rows.Col[want] < bound {
						want++
					}
					if hi[r] != want {
						t.Fatalf("Split of row %d at column %d: %d, want %d", r, bound, hi[r], want)
					}
				}
				MulTransAddSome(cut, w, l, p.rows, lo, hi)
				lo = hi
			}
			if !slices.Equal(whole, cut) {
				t.Errorf("l = %d: adding by stripes of columns differs", l)
			}
		}
	})
}

func TestPackUnpack(t *testing.T) {
	const n = 9
	for _, l := range widths() {
		stride := l + l%3
		x := make([]float64, (n-1)*stride+l)
		for i := range x {
			x[i] = float64(i + 1)
		}
		p := make([]float64, n*Width(l))
		for i := range p {
			p[i] = math.NaN()
		}
		Pack(p, l, 4, n-4, x[4*stride:], stride)
		Pack(p, l, 0, 4, x, stride)
		got := make([]float64, len(x))
		Unpack(got, stride, l, 0, n, p, p)
		for i := range n {
			for j := range l {
				if at := i*stride + j; got[at] != 2*x[at] {
					t.Fatalf("l = %d: element %d,%d came back as %v of %v", l, i, j, got[at]/2, x[at])
				}
			}
		}
		zeros := 0
		for _, v := range p {
			if v == 0 {
				zeros++
			}
		}
		if zeros != n*(Width(l)-l) || Width(l) > l+7 {
			t.Errorf("l = %d: %d zeros in panels of width %d together", l, zeros, Width(l))
		}
	}
}

func TestContradictingSlicesPanic(t *testing.T) {
	p := newProblem(1, []int{3, 2}, 8, 2)
	short, twice := p.rows, p.rows
	short.Val = short.Val[:4]
	twice.Col16 = make([]uint16, 5)
	noTable := inForms(p.rows, &p.table)["narrow=true,coded=true"]
	noTable.Table = nil
	for name, f := range map[string]func(){
		"values":  func() { Gram(packed(p.y, 8, 2), packed(p.x, 8, 2), 2, short) },
		"columns": func() { Gram(packed(p.y, 8, 2), packed(p.x, 8, 2), 2, twice) },
		"table":   func() { Gram(packed(p.y, 8, 2), packed(p.x, 8, 2), 2, noTable) },
		"x":       func() { Gram(packed(p.y, 8, 2), p.x[:15], 2, p.rows) },
		"w":       func() { Mul(p.w[:3], packed(p.x, 8, 2), 2, p.rows) },
		"y and x": func() { Gram(packed(p.y, 8, 2)[:14], packed(p.x, 8, 2), 2, p.rows) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// benchBlock returns a block shaped like one of MovieLens 10M, 916 rows of 143 entries over 10,677
// columns, with popular columns drawn more often, and values of the table.
func benchBlock(n int, table []float64) Rows {
	rng := rand.New(rand.NewPCG(3, 4))
	b := Rows{Ptr: []uint32{0}}
	for range 916 {
		seen := map[uint32]bool{}
		for len(seen) < 143 {
			u := rng.Float64()
			seen[uint32(u*u*float64(n))] = true
		}
		cols := make([]uint32, 0, len(seen))
		for c := range seen {
			cols = append(cols, c)
		}
		slices.Sort(cols)
		for _, c := range cols {
			b.Col = append(b.Col, c)
			b.Val = append(b.Val, table[rng.IntN(len(table))])
		}
		b.Ptr = append(b.Ptr, uint32(len(b.Col)))
	}
	return b
}

// BenchmarkGram measures one block in each form repeatedly: x, y and, in the small forms, the
// entries come from the second-level cache.
func BenchmarkGram(b *testing.B) {
	const n = 10677
	var table [256]float64
	for i := range table {
		table[i] = float64(i) / 2
	}
	for form, rows := range inForms(benchBlock(n, table[:10]), &table) {
		for lev := cpu.Portable; lev <= best; lev++ {
			for _, l := range []int{1, 2, 4, 8, 10, 16, 20, 32, 64} {
				b.Run(fmt.Sprintf("%v/l=%d/%s", lev, l, form), func(b *testing.B) {
					defer force(lev)()
					x, y := make([]float64, n*Width(l)), make([]float64, n*Width(l))
					for i := range x {
						x[i] = 1 / float64(i+1)
					}
					for b.Loop() {
						Gram(y, x, l, rows)
					}
					perEntry := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(rows.entries())
					b.ReportMetric(perEntry, "ns/nnz")
					b.ReportMetric(4*float64(l)/perEntry, "GFLOP/s")
				})
			}
		}
	}
}

// TestColumnsOfABlock checks that a column has the same bits in a block of any number of columns,
// so that passes may read as many columns at a time as fit in memory.
func TestColumnsOfABlock(t *testing.T) {
	const l = 39
	short := newProblem(5, slices.Repeat([]int{0, 5, 40, 1, 17, 100, 3, 2}, 10), 100, l)
	long := newProblem(6, slices.Repeat([]int{700, 650, 1, 330, 0}, 4), 700, l)
	for p := range panels(l, long.n*Width(l)) {
		narrow := panel{n: p.n, width: 1}
		one, some := narrow.stripes(long.rows.Ptr[:long.m], long.rows.Ptr[1:]), p.stripes(long.rows.Ptr[:long.m], long.rows.Ptr[1:])
		if one != 1 || p.width == MaxPanel && some < 2 {
			t.Fatalf("%d stripes of a column, %d of a panel of %d", one, some, p.width)
		}
	}
	for _, p := range []problem{short, long} {
		testColumns(t, p, l)
	}
}

func testColumns(t *testing.T, p problem, l int) {
	eachLevel(t, func(t *testing.T) {
		for name, form := range inForms(p.rows, &p.table) {
			whole := p.runOn(t, form, false)
			for _, cut := range [][2]int{{0, 1}, {0, 16}, {1, 3}, {3, 7}, {7, 15}, {15, 31}, {16, 35}, {31, 39}, {38, 39}} {
				q := problem{m: p.m, n: p.n, l: cut[1] - cut[0]}
				some := func(x []float64) (part []float64) {
					for ; len(x) > 0; x = x[l:] {
						part = append(part, x[cut[0]:cut[1]]...)
					}
					return part
				}
				q.x, q.w, q.y = some(p.x), some(p.w), some(p.y)
				if !sameBits(q.runOn(t, form, false), results{some(whole.gram), some(whole.mul), some(whole.trans)}) {
					t.Fatalf("%s: columns %v have other bits than in a block of %d", name, cut, l)
				}
			}
		}
	})
}
