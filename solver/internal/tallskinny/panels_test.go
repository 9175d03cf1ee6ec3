package tallskinny

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestPanels appends blocks to a basis and rotates it, again and again, and compares it with a
// dense matrix under the same operations. It also checks the number of bytes that the panels hold.
func TestPanels(t *testing.T) {
	for _, n := range []int{3, 130, 1500} {
		for _, b := range []int{1, 2, 3, 4, 8, 11} {
			for _, m := range []int{2 * b, 5*b + 3, 40 + b} {
				t.Run(fmt.Sprintf("%d×%d by %d", n, m, b), func(t *testing.T) { checkPanels(t, n, b, m) })
			}
		}
	}
}

func checkPanels(t *testing.T, n, b, m int) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(b)))
	p, held := heap.NewPanels(n, b), b // the panels do not own the first block
	alloc := p.alloc
	p.alloc = func(n, cols int) *mat.Dense {
		held += cols
		return alloc(n, cols)
	}
	x, want := mat.NewDense(n, b, nil), (*mat.Dense)(nil)
	for step := range uint64(60) {
		if want != nil && Width(want)+b > m {
			size := Width(want)
			st := gaussian(1+rng.IntN(m-b), size, 0, 9, step)
			st.Scale(1/math.Sqrt(float64(size)), st)
			p.Rotate(st.RawMatrix())
			turned := new(mat.Dense)
			turned.Mul(want, st.T())
			want = turned
			if !sameColumns(&p, want) {
				t.Fatalf("step %d: turned basis is wrong", step)
			}
		}
		x.Copy(gaussian(n, b, 0, 7, step))
		if want == nil {
			want = mat.DenseCopyOf(x)
		} else {
			want = augmented(want, x)
		}
		p.Add(x)
		if !sameColumns(&p, want) {
			t.Fatalf("step %d: grown basis is wrong", step)
		}
		x = p.Take(b)
		checkSpan(t, &p, want, rng)
	}
	spare := p.Wide
	if spare > b {
		spare *= 2
	}
	if held > m+b+spare {
		t.Errorf("%d columns in a basis of %d and the next block", held, m)
	}
}

func augmented(x, y *mat.Dense) *mat.Dense {
	var z mat.Dense
	z.Augment(x, y)
	return &z
}

func sameColumns(p *Panels, want *mat.Dense) bool {
	g := p.All().Gather(make([]float64, p.N*p.Size()), 0, p.N)
	return mat.EqualApprox(mat.NewDense(p.N, p.Size(), g.Data), want, 1e-9)
}

// checkSpan compares products with a range of columns.
func checkSpan(t *testing.T, p *Panels, all *mat.Dense, rng *rand.Rand) {
	t.Helper()
	from := rng.IntN(p.Size())
	to := from + 1 + rng.IntN(p.Size()-from)
	s, v := p.Span(from, to), all.Slice(0, p.N, from, to)
	y := gaussian(p.N, 3, 0, 8, uint64(from))
	left, coef := mat.DenseCopyOf(y), new(mat.Dense)
	c := s.Project(nil, new(Sums), left.RawMatrix())
	coef.Mul(y.T(), v)
	if got := mat.NewDense(3, to-from, c.Data); !mat.EqualApprox(got, coef, 1e-6) {
		t.Fatalf("coefficients in columns [%d, %d) are wrong", from, to)
	}
	var want mat.Dense
	want.Mul(v, coef.T())
	if got := mat.NewDense(p.N, 3, nil); true {
		s.Multiply(nil, got.RawMatrix(), coef.RawMatrix())
		if !mat.EqualApprox(got, &want, 1e-6*(1+mat.Norm(&want, 2))) {
			t.Fatalf("product with columns [%d, %d) is wrong", from, to)
		}
	}
	want.Sub(y, &want)
	if !mat.EqualApprox(left, &want, 1e-6*(1+mat.Norm(&want, 2))) {
		t.Fatalf("what is left of columns [%d, %d) is wrong", from, to)
	}
}
