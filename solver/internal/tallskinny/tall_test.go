package tallskinny

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// tallSizes are heights of blocks: one chunk, a few chunks, a ragged last one, many segments.
var tallSizes = []int{1, 5, 127, 128, 129, 300, 1000, 5000}

// part returns columns [from, to) of a wider block of random numbers, as a view and as a copy.
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
		var s Sums
		for range 2 { // the second time into sums that are used already
			got := heap.Cross(&s, y, v)
			if g := mat.NewDense(4, 3, got.Data); !mat.EqualApprox(g, &want, 1e-10) {
				t.Errorf("n = %d: product of transposed is wrong", n)
			}
		}
		d := gaussian(2, 4, 0, 4, 4)
		want.Reset()
		want.Mul(ym, d.T())
		heap.Rotate(y, d.RawMatrix())
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

// TestBlockQR factors well and badly conditioned blocks, dependent columns, zeros, and blocks that
// fill the whole complement of the others.
func TestBlockQR(t *testing.T) {
	for _, n := range tallSizes {
		for name, spoil := range map[string]func(y *mat.Dense){
			"random": func(*mat.Dense) {},
			"graded": func(y *mat.Dense) {
				for j := range Width(y) {
					heap.ScaleColumn(y, j, math.Pow(1e-3, float64(j)))
				}
			},
			"close": func(y *mat.Dense) {
				for i := range n {
					for j := 1; j < Width(y); j++ {
						y.Set(i, j, y.At(i, 0)+1e-6*y.At(i, j))
					}
				}
			},
			"closer": func(y *mat.Dense) {
				for i := range n {
					for j := 1; j < Width(y); j++ {
						y.Set(i, j, y.At(i, 0)+1e-2*y.At(i, j))
					}
				}
			},
			"equal": func(y *mat.Dense) {
				for i := range n {
					y.Set(i, Width(y)-1, y.At(i, 0))
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
	q := BlockQR{Key: 0.5, Found: heap.NewBasis(n, locked)}
	for i := range locked {
		q.Found.Random(q.Found.Next(), 5, uint64(i))
		q.Found.Push()
	}
	v := Span(nil)
	if given > 0 {
		b := gaussian(n, given, 0, 1, 2)
		for j := range given {
			x := mat.Col(nil, j, b)
			q.Found.project(x)
			b.SetCol(j, x)
		}
		q.Factor(b.RawMatrix(), nil, 0)
		v = SpanOf(b.RawMatrix())
	}
	y := gaussian(n, l, 0, 1, 1)
	spoil(y)
	for j := range l {
		x := mat.Col(nil, j, y)
		for range 3 {
			q.Found.project(x)
			v.Project(nil, new(Sums), Single(x))
		}
		y.SetCol(j, x)
	}
	orig, scale := mat.DenseCopyOf(y), mat.Norm(y, 2)
	r := q.Factor(y.RawMatrix(), v, 1e-15*scale)
	if o := Orthogonality(heap.GramOf(y)); !(o <= 1e-13) {
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
			if d := math.Abs(blas64.Dot(Vector(x), Vector(mat.Col(nil, i, mat.NewDense(n, given, v[0].X.Data))))); d > 1e-9 {
				t.Errorf("%s, %d×%d: column %d has a component of %.2g in what is given", name, n, l, j, d)
			}
		}
		if r.At(j, j) > 0 {
			continue // this column has been projected against the locked vectors
		}
		for i := range locked {
			if d := math.Abs(heap.Dot(x, q.Found.Vector(i))); d > 1e-13 {
				t.Errorf("%s, %d×%d: random column %d has a component of %.2g in what is locked", name, n, l, j, d)
			}
		}
	}
}
