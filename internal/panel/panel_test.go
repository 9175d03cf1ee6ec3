package panel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// random returns a random panel inside a wider one that is filled with NaN, so that reads and
// writes beside the panel show.
func random(rng *rand.Rand, rows, cols, stride int) blas64.General {
	data := make([]float64, rows*stride)
	for i := range data {
		data[i] = math.NaN()
		if i%stride < cols {
			data[i] = rng.NormFloat64()
		}
	}
	return blas64.General{Rows: rows, Cols: cols, Stride: stride, Data: data[:max(0, (rows-1)*stride+cols)]}
}

// only makes the products use the set s until the test ends.
func only(t testing.TB, s set) {
	all := sets
	sets = []set{s}
	t.Cleanup(func() { sets = all })
}

func eachSet(t *testing.T, f func(t *testing.T)) {
	for _, s := range sets {
		t.Run(fmt.Sprintf("%d lanes", s.lanes), func(t *testing.T) {
			only(t, s)
			f(t)
		})
	}
}

var shapes = func() (s [][3]int) {
	for _, rows := range []int{1, 2, 3, 7, 8, 12, 63, 64, 65, 200} {
		for _, p := range []int{1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 16, 20, 31} {
			for _, q := range []int{1, 2, 3, 4, 6, 8, 9, 11, 12, 13, 23, 24, 25, 40} {
				s = append(s, [3]int{rows, p, q})
			}
		}
	}
	return s
}()

// same reports whether two panels agree to within most, and have NaN at the same places between
// their rows.
func same(x, y blas64.General, most float64) bool {
	return slices.EqualFunc(x.Data, y.Data, func(a, b float64) bool {
		return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= most
	})
}

func clone(x blas64.General) blas64.General {
	x.Data = slices.Clone(x.Data)
	return x
}

// TestProducts compares all sets with gonum, and with the generic set bit by bit.
func TestProducts(t *testing.T) {
	vector := sets
	eachSet(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, s := range shapes {
			rows, p, q := s[0], s[1], s[2]
			y, v := random(rng, rows, p, p+rng.IntN(4)), random(rng, rows, q, q+rng.IntN(4))
			c := random(rng, p, q, q+rng.IntN(3))
			want, reference := clone(c), clone(c)
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, y, v, 1, want)
			mine := sets
			AddCross(c, y, v)
			sets = vector[len(vector)-1:]
			AddCross(reference, y, v)
			sets = mine
			if !same(c, want, 1e-12) || !same(c, reference, 0) {
				t.Fatalf("cross product of %d×%d and %d×%d is wrong", rows, p, rows, q)
			}
			gram := random(rng, p, p, p)
			Mirror(gram)
			upper := clone(gram)
			AddCross(gram, y, y)
			AddGram(upper, y)
			Mirror(upper)
			if !same(upper, gram, 0) {
				t.Fatalf("Gram matrix of %d×%d is not that of AddCross", rows, p)
			}
			d := random(rng, p, q, q+rng.IntN(3))
			want, reference = clone(y), clone(y)
			blas64.Gemm(blas.NoTrans, blas.Trans, -2, v, d, 1, want)
			AddProduct(y, v, Pack(-2, d))
			sets = vector[len(vector)-1:]
			AddProduct(reference, v, Pack(-2, d))
			sets = mine
			if !same(y, want, 1e-11) || !same(y, reference, 0) {
				t.Fatalf("product of %d×%d and %d×%d is wrong", rows, q, q, p)
			}
		}
	})
}

// TestEmpty multiplies panels without rows or columns.
func TestEmpty(t *testing.T) {
	none := blas64.General{Rows: 5, Stride: 1}
	y := random(rand.New(rand.NewPCG(1, 1)), 5, 3, 3)
	want := clone(y)
	AddCross(blas64.General{Rows: 3, Stride: 1}, y, none)
	AddProduct(y, none, Pack(1, blas64.General{Rows: 3, Stride: 1}))
	if !same(y, want, 0) {
		t.Error("a product with nothing changes something")
	}
}

func BenchmarkProducts(b *testing.B) {
	const rows = 4096
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][2]int{{1, 1}, {1, 40}, {4, 56}, {10, 90}, {16, 16}, {16, 116}, {20, 20}, {64, 64}} {
		p, q := s[0], s[1]
		y, v, c := random(rng, rows, p, p), random(rng, rows, q, q), random(rng, p, q, q)
		d := clone(c)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1e-9, c, random(rng, q, q, q), 0, d)
		flops := 2 * float64(rows) * float64(p) * float64(q)
		run := func(b *testing.B, name string, f func(lo blas64.General, hi blas64.General)) {
			b.Run(fmt.Sprintf("%s/%dx%d", name, p, q), func(b *testing.B) {
				for b.Loop() {
					for r := 0; r < rows; r += 128 {
						f(slice(y, r, 128), slice(v, r, 128))
					}
				}
				b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
		for _, k := range sets {
			b.Run(fmt.Sprintf("lanes=%d", k.lanes), func(b *testing.B) {
				only(b, k)
				run(b, "cross", func(y, v blas64.General) { AddCross(c, y, v) })
				f := Pack(1e-9, d)
				run(b, "product", func(y, v blas64.General) { AddProduct(y, v, f) })
			})
		}
		run(b, "gonum/cross", func(y, v blas64.General) { blas64.Gemm(blas.Trans, blas.NoTrans, 1, y, v, 1, c) })
		run(b, "gonum/product", func(y, v blas64.General) { blas64.Gemm(blas.NoTrans, blas.Trans, 1e-9, v, d, 1, y) })
	}
}

func slice(x blas64.General, first, rows int) blas64.General {
	x.Rows, x.Data = rows, x.Data[first*x.Stride:]
	return x
}

// TestRotate compares all sets with single rotations by gonum, and with each other bit by bit.
func TestRotate(t *testing.T) {
	vector := sets
	eachSet(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, cols := range []int{1, 3, 4, 7, 8, 9, 16, 31, 32, 33, 75} {
			for _, rows := range []int{1, 2, 3, 17} {
				for _, step := range []int{1, -1} {
					z := random(rng, rows, cols, cols+rng.IntN(4))
					want, reference := clone(z), clone(z)
					n := rng.IntN(rows)
					first := rng.IntN(rows - n)
					if step < 0 {
						first = rows - 1 - first
					}
					cs := make([]float64, 2*n)
					for i := range n {
						cs[2*i+1], cs[2*i] = math.Sincos(rng.Float64() * 7)
						at := first + step*i
						blas64.Rot(row(want, at), row(want, at+step), cs[2*i], cs[2*i+1])
					}
					mine := sets
					Rotate(z, cs, first, step)
					sets = vector[len(vector)-1:]
					Rotate(reference, cs, first, step)
					sets = mine
					if !same(z, want, 1e-14*float64(rows)) || !same(z, reference, 0) {
						t.Fatalf("%d rotations of %d×%d from %d, step %d, are wrong", n, rows, cols, first, step)
					}
				}
			}
		}
	})
}

func row(x blas64.General, i int) blas64.Vector {
	return blas64.Vector{N: x.Cols, Inc: 1, Data: x.Data[i*x.Stride:]}
}
