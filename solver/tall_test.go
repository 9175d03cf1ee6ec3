package solver

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// sizes of tall blocks: one chunk, a few, a ragged last one, many segments.
var tallSizes = []int{1, 5, 127, 128, 129, 300, 1000, 5000}

// part returns columns [from, to) of a wider block of random numbers, and the
// same as a matrix.
func part(n, from, to, of int, stream uint64) (blas64.General, *mat.Dense) {
	wide := gaussian(n, of, 0, 3, stream)
	m := wide.Slice(0, n, from, to).(*mat.Dense)
	return m.RawMatrix(), mat.DenseCopyOf(m)
}

func TestTallProducts(t *testing.T) {
	for _, n := range tallSizes {
		y, ym := part(n, 1, 5, 6, 1)
		v, vm := part(n, 0, 3, 7, 2)
		var want mat.Dense
		want.Mul(ym.T(), vm)
		var s sums
		for range 2 { // the second time in used memory
			got := heap.cross(&s, y, v)
			if g := mat.NewDense(4, 3, got.Data); !mat.EqualApprox(g, &want, 1e-10) {
				t.Errorf("n = %d: product of transposed is wrong", n)
			}
		}
		d := gaussian(2, 4, 0, 4, 4)
		want.Reset()
		want.Mul(ym, d.T())
		heap.turn(y, d.RawMatrix())
		for i := range n {
			for j := range 4 {
				w := ym.At(i, j)
				if j < 2 {
					w = want.At(i, j)
				}
				if g := y.Data[i*y.Stride+j]; math.Abs(g-w) > 1e-12 {
					t.Fatalf("n = %d: entry %d, %d of turned block is %g, want %g", n, i, j, g, w)
				}
			}
		}
	}
}

// TestBlockQR factors well and badly conditioned blocks, dependent columns,
// zeros, and blocks that fill the whole complement of others.
func TestBlockQR(t *testing.T) {
	for _, n := range tallSizes {
		for name, spoil := range map[string]func(y *mat.Dense){
			"random": func(*mat.Dense) {},
			"graded": func(y *mat.Dense) {
				for j := range width(y) {
					heap.scaleColumn(y, j, math.Pow(1e-3, float64(j)))
				}
			},
			"close": func(y *mat.Dense) {
				for i := range n {
					for j := 1; j < width(y); j++ {
						y.Set(i, j, y.At(i, 0)+1e-6*y.At(i, j))
					}
				}
			},
			"closer": func(y *mat.Dense) {
				for i := range n {
					for j := 1; j < width(y); j++ {
						y.Set(i, j, y.At(i, 0)+1e-2*y.At(i, j))
					}
				}
			},
			"equal": func(y *mat.Dense) {
				for i := range n {
					y.Set(i, width(y)-1, y.At(i, 0))
				}
			},
			"zero": func(y *mat.Dense) { y.Zero() },
		} {
			for _, c := range [][3]int{{4, 0, 0}, {4, 3, 0}, {4, 3, 2}, {1, 0, 0}} {
				l, given, locked := c[0], c[1], c[2]
				if l+given+locked > n {
					continue
				}
				checkBlockQR(t, name, n, l, given, locked, spoil)
			}
		}
	}
}

func checkBlockQR(t *testing.T, name string, n, l, given, locked int, spoil func(*mat.Dense)) {
	t.Helper()
	q := blockQR{key: 0.5, found: heap.newBasis(n, locked)}
	for i := range locked {
		q.found.random(q.found.next(), 5, uint64(i))
		q.found.push()
	}
	v := span(nil)
	if given > 0 {
		b := gaussian(n, given, 0, 1, 2)
		for j := range given {
			x := mat.Col(nil, j, b)
			q.found.project(x)
			b.SetCol(j, x)
		}
		q.factor(b.RawMatrix(), nil, 0)
		v = spanOf(b.RawMatrix())
	}
	y := gaussian(n, l, 0, 1, 1)
	spoil(y)
	for j := range l {
		x := mat.Col(nil, j, y)
		for range 3 {
			q.found.project(x)
			v.project(nil, new(sums), single(x))
		}
		y.SetCol(j, x)
	}
	orig, scale := mat.DenseCopyOf(y), mat.Norm(y, 2)
	r := q.factor(y.RawMatrix(), v, 1e-15*scale)
	if o := orthogonality(heap.gramOf(y)); !(o <= 1e-13) {
		t.Errorf("%s, %d×%d beside %d and %d: orthonormal to %.2g", name, n, l, given, locked, o)
	}
	var back mat.Dense
	back.Mul(y, r)
	back.Sub(&back, orig)
	if e := mat.Norm(&back, 2); !(e <= 1e-13*scale) {
		t.Errorf("%s, %d×%d beside %d and %d: QR differs from Y by %.2g", name, n, l, given, locked, e)
	}
	for j := range l {
		x := mat.Col(nil, j, y)
		for i := range given {
			if d := math.Abs(blas64.Dot(vector(x), vector(mat.Col(nil, i, mat.NewDense(n, given, v[0].x.Data))))); d > 1e-9 {
				t.Errorf("%s, %d×%d: column %d has a component of %.2g in what is given", name, n, l, j, d)
			}
		}
		if r.At(j, j) > 0 {
			continue // has been in the complement of what is locked
		}
		for i := range locked {
			if d := math.Abs(heap.dot(x, q.found.vector(i))); d > 1e-13 {
				t.Errorf("%s, %d×%d: random column %d has a component of %.2g in what is locked", name, n, l, j, d)
			}
		}
	}
}

func TestContraction(t *testing.T) {
	var c contraction
	for i, step := range []struct{ res, want float64 }{
		{8, 8},   // nothing to compare with
		{4, 4},   // one step is not enough
		{1, 0.5}, // the slower of ½ and ¼
		{2, 2},   // growing
		{1, 1},   // has just grown
		{0.1, 0.05},
	} {
		if got := c.observe([]float64{step.res})[0]; got != step.want {
			t.Errorf("step %d: %g is followed by %g, want %g", i, step.res, got, step.want)
		}
	}
}
