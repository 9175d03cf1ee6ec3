package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// guard surrounds every slice the kernels may write, so that a write beyond an end is seen.
const guard = 7

// guarded returns a slice of n numbers with sentinels on both sides, and a function that checks them.
func guarded(n int, fill func() float64) (s []float64, check func() bool) {
	sentinel := math.Float64frombits(0x7ff8dead0000beef)
	all := make([]float64, n+2*guard)
	for i := range all {
		all[i] = sentinel
	}
	s = all[guard : guard+n : guard+n]
	for i := range s {
		s[i] = fill()
	}
	return s, func() bool {
		for i, v := range all {
			inside := i >= guard && i < guard+n
			if !inside && math.Float64bits(v) != math.Float64bits(sentinel) {
				return false
			}
		}
		return true
	}
}

// randomRows builds m rows over n columns with lengths drawn from 0 … maxLen.
func randomRows(rng *rand.Rand, m, n, maxLen int) Rows {
	b := Rows{Ptr: []uint32{0}}
	for range m {
		cols := rng.Perm(n)[:rng.IntN(min(maxLen, n)+1)]
		slices.Sort(cols)
		for _, c := range cols {
			b.Col = append(b.Col, uint32(c))
			b.Val = append(b.Val, rng.NormFloat64())
		}
		b.Ptr = append(b.Ptr, uint32(len(b.Col)))
	}
	return b
}

// absolute is the same block with |values|, for error bounds.
func absolute(b Rows) Rows {
	a := Rows{Ptr: b.Ptr, Col: b.Col, Val: make([]float64, len(b.Val))}
	for i, v := range b.Val {
		a.Val[i] = math.Abs(v)
	}
	return a
}

func absAll(x []float64) []float64 {
	a := make([]float64, len(x))
	for i, v := range x {
		a[i] = math.Abs(v)
	}
	return a
}

func within(t *testing.T, what string, got, want, scale []float64, terms int) {
	t.Helper()
	const eps = 0x1p-53
	for i := range want {
		bound := 4 * float64(terms+2) * eps * scale[i]
		if d := math.Abs(got[i] - want[i]); !(d <= bound) {
			t.Fatalf("%s[%d] = %v, reference %v: off by %g, bound %g", what, i, got[i], want[i], d, bound)
		}
	}
}

func TestKernelsAgreeWithReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range []int{1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 64, 65, 100} {
		for _, shape := range [][3]int{{0, 3, 0}, {1, 1, 1}, {5, 1, 1}, {17, 40, 9}, {9, 200, 200}} {
			m, n, maxLen := shape[0], shape[1], shape[2]
			t.Run(fmt.Sprintf("l=%d/%dx%d", l, m, n), func(t *testing.T) {
				b := randomRows(rng, m, n, maxLen)
				x, _ := guarded(n*l, rng.NormFloat64)
				w0, _ := guarded(m*l, rng.NormFloat64)
				y0, _ := guarded(n*l, rng.NormFloat64)
				checkMul(t, b, x, m, l)
				checkAdd(t, "MulTransAdd", y0, w0, l, b, m, MulTransAdd, refMulTransAdd)
				checkAdd(t, "Gram", y0, x, l, b, m*maxLen, Gram, refGram)
			})
		}
	}
}

func checkMul(t *testing.T, b Rows, x []float64, m, l int) {
	t.Helper()
	got, ok := guarded(m*l, func() float64 { return math.NaN() })
	want := make([]float64, m*l)
	scale := make([]float64, m*l)
	Mul(got, x, l, b)
	refMul(want, x, l, b)
	refMul(scale, absAll(x), l, absolute(b))
	if !ok() {
		t.Fatal("Mul wrote outside its slice")
	}
	within(t, "Mul", got, want, scale, len(x)/l)
}

func checkAdd(t *testing.T, name string, y0, x []float64, l int, b Rows, terms int, kernel, ref func(y, x []float64, l int, b Rows)) {
	t.Helper()
	i := 0
	got, ok := guarded(len(y0), func() float64 { i++; return y0[i-1] })
	want, scale := slices.Clone(y0), absAll(y0)
	before := slices.Clone(x)
	kernel(got, x, l, b)
	ref(want, x, l, b)
	ref(scale, absAll(x), l, absolute(b))
	if !ok() {
		t.Fatalf("%s wrote outside its slice", name)
	}
	if !slices.Equal(before, x) {
		t.Fatalf("%s changed its input", name)
	}
	within(t, name, got, want, scale, terms+len(y0)/l)
}

// benchBlock has the density of a MovieLens 10M block: 916 rows of 143 entries over 10,677 columns,
// with the columns drawn so that popular ones repeat.
func benchBlock(n int) Rows {
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
			b.Val = append(b.Val, 0.5+rng.Float64())
		}
		b.Ptr = append(b.Ptr, uint32(len(b.Col)))
	}
	return b
}

func BenchmarkGram(b *testing.B) {
	const n = 10677
	rows := benchBlock(n)
	for _, l := range []int{1, 2, 4, 8, 10, 16, 32} {
		b.Run(fmt.Sprintf("l=%d", l), func(b *testing.B) {
			x, y := make([]float64, n*l), make([]float64, n*l)
			for i := range x {
				x[i] = 1 / float64(i+1)
			}
			for b.Loop() {
				Gram(y, x, l, rows)
			}
			perEntry := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(len(rows.Col))
			b.ReportMetric(perEntry, "ns/nnz")
			b.ReportMetric(4*float64(l)/perEntry, "GFLOP/s")
		})
	}
}
