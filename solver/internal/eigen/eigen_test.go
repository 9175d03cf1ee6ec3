package eigen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// sample returns Q·diag(values)·Qᵀ for a random orthogonal Q.
func sample(rng *rand.Rand, values []float64) blas64.General {
	n := len(values)
	x := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			x.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(x)
	var q, a mat.Dense
	qr.QTo(&q)
	a.Mul(&q, mat.NewDiagDense(n, values))
	a.Mul(mat.DenseCopyOf(&a), q.T())
	return a.RawMatrix()
}

func fill(n int, f func(i, j int) float64) blas64.General {
	a := zeros(n, n)
	for i := range n {
		for j := range i + 1 {
			a.Data[i*n+j] = f(i, j)
			a.Data[j*n+i] = a.Data[i*n+j]
		}
	}
	return a
}

func each(n int, f func(i int) float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

func zeros(rows, cols int) blas64.General { return new(room).zeros(rows, cols) }

// samples returns matrices that are known to be hard, and matrices of the shape that the solvers
// produce: banded, preceded by a diagonal with a border.
func samples(rng *rand.Rand, n int) map[string]blas64.General {
	b := max(1, n/7)
	border := n / 3
	return map[string]blas64.General{
		"random":    fill(n, func(_, _ int) float64 { return rng.NormFloat64() }),
		"zero":      zeros(n, n),
		"diagonal":  fill(n, func(i, j int) float64 { return float64(i) * max(0, 1-float64(i-j)) }),
		"one":       fill(n, func(_, _ int) float64 { return 1 }),
		"graded":    fill(n, func(i, j int) float64 { return rng.NormFloat64() * math.Pow(10, -30*float64(i+j)/float64(n)) }),
		"upgraded":  fill(n, func(i, j int) float64 { return rng.NormFloat64() * math.Pow(10, 30*float64(i+j)/float64(n)) }),
		"wilkinson": fill(n, func(i, j int) float64 { return each2(i, j, math.Abs(float64(n-1)/2-float64(i)), 1) }),
		"laplace":   fill(n, func(i, j int) float64 { return each2(i, j, 2, -1) }),
		"repeated":  sample(rng, each(n, func(i int) float64 { return float64(i / 4) })),
		"clustered": sample(rng, each(n, func(i int) float64 { return 1 + 1e-15*float64(i) })),
		"spread":    sample(rng, each(n, func(i int) float64 { return math.Pow(10, -20*float64(i)/float64(n)) })),
		"small":     fill(n, func(_, _ int) float64 { return 1e-300 * rng.NormFloat64() }),
		"large":     fill(n, func(_, _ int) float64 { return 1e300 * rng.NormFloat64() }),
		"lanczos": fill(n, func(i, j int) float64 {
			switch {
			case i < border && i == j:
				return math.Pow(0.9, float64(i))
			case i < border, i >= border+b && i-j > b:
				return 0
			}
			return 0.1 * rng.NormFloat64()
		}),
	}
}

func each2(i, j int, diagonal, beside float64) float64 {
	switch i - j {
	case 0:
		return diagonal
	case 1:
		return beside
	}
	return 0
}

// TestSymmetric compares the values with gonum's and bounds the residuals and the loss of
// orthonormality of the vectors.
func TestSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 7, 16, 33, 64, 117} {
		for name, a := range samples(rng, n) {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) { check(t, a) })
		}
	}
}

func check(t *testing.T, a blas64.General) {
	t.Helper()
	n := a.Rows
	most := 0.0
	for _, v := range a.Data {
		most = max(most, math.Abs(v))
	}
	unit := 1.0
	if most > 0 {
		unit = most
	}
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			s.SetSym(i, j, a.Data[i*n+j]/unit)
		}
	}
	values, vectors := new(Solver).Symmetric(a, n)
	var want mat.EigenSym
	if !want.Factorize(s, false) {
		t.Fatal("no oracle")
	}
	exact := want.Values(nil)
	limit := 8 * epsilon * float64(n)
	for i, v := range values {
		if i > 0 && v > values[i-1] {
			t.Fatal("values do not descend")
		}
		if d := math.Abs(v/unit - exact[n-1-i]); !(d <= limit*float64(n)) {
			t.Errorf("value %d is %g, want %g", i, v/unit, exact[n-1-i])
		}
	}
	w := mat.NewDense(n, n, vectors.Data)
	var gram, residual, av mat.Dense
	gram.Mul(w, w.T())
	residual.Mul(w, s)
	av.Mul(mat.NewDiagDense(n, each(n, func(i int) float64 { return values[i] / unit })), w)
	residual.Sub(&residual, &av)
	for i := range n {
		gram.Set(i, i, gram.At(i, i)-1)
	}
	if d := mat.Norm(&gram, 2); !(d <= limit) {
		t.Errorf("vectors are orthonormal to %g only", d)
	}
	if d := mat.Norm(&residual, 2); !(d <= limit*float64(n)) {
		t.Errorf("residuals are %g", d)
	}
}

// TestTail checks the last entries of the vectors to 1e-10, and that values and vectors have the same bits whatever
// tail is asked for.
func TestTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var used Solver
	for _, n := range []int{1, 2, 9, 40, 101} {
		a := fill(n, func(_, _ int) float64 { return rng.NormFloat64() })
		values, vectors := new(Solver).Symmetric(a, n)
		for _, tail := range []int{0, 1, 5, 16, n - 1} {
			if tail >= n {
				continue
			}
			same, last := used.Symmetric(a, tail)
			if !slices.Equal(values, same) {
				t.Fatalf("order %d: values depend on the vectors, or on what was asked before", n)
			}
			if all := used.Vectors(n); !slices.Equal(all.Data, vectors.Data) {
				t.Fatalf("order %d: vectors depend on how they are asked for", n)
			}
			for i := range n {
				for j := range tail {
					if d := last.Data[i*last.Stride+j] - vectors.Data[i*n+n-tail+j]; !(math.Abs(d) <= 1e-10) {
						t.Fatalf("order %d: entry %d of the last %d of vector %d is off by %g", n, j, tail, i, d)
					}
				}
			}
		}
	}
}

// TestWorkers checks that a matrix reduced in two parts has the values of gonum and that the number
// of goroutines changes no bit.
func TestWorkers(t *testing.T) {
	const n = 264 // two parts
	a := samples(rand.New(rand.NewPCG(5, 6)), n)["lanczos"]
	check(t, a)
	values, vectors := (&Solver{Workers: 1}).Symmetric(a, 7)
	for _, workers := range []int{2, 5} {
		others, same := (&Solver{Workers: workers}).Symmetric(a, 7)
		if !slices.Equal(others, values) || !slices.Equal(same.Data, vectors.Data) {
			t.Errorf("bits of %d workers are not those of one", workers)
		}
	}
}

// TestScale checks that scaling by a power of two scales the values exactly and changes no vector.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a := fill(20, func(_, _ int) float64 { return rng.NormFloat64() })
	values, vectors := new(Solver).Symmetric(a, 20)
	for i := range a.Data {
		a.Data[i] *= 0x1p300
	}
	large, same := new(Solver).Symmetric(a, 20)
	for i, v := range values {
		if large[i] != v*0x1p300 {
			t.Fatalf("value %d is %g, want %g", i, large[i], v*0x1p300)
		}
	}
	if !slices.Equal(vectors.Data, same.Data) {
		t.Error("vectors depend on the scale")
	}
}

func BenchmarkSymmetric(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{20, 64, 164, 264, 1000} {
		a := samples(rng, n)["lanczos"]
		for _, tail := range []int{16, n} {
			b.Run(fmt.Sprintf("%d/%d", n, tail), func(b *testing.B) {
				var w Solver
				for b.Loop() {
					w.Symmetric(a, tail)
				}
			})
		}
		b.Run(fmt.Sprintf("%d/gonum", n), func(b *testing.B) {
			s := mat.NewSymDense(n, slices.Clone(a.Data))
			for b.Loop() {
				var e mat.EigenSym
				e.Factorize(s, true)
			}
		})
	}
}
