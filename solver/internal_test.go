package solver

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
)

// explicit is an Operator with a matrix.
type explicit struct{ g *mat.Dense }

func (e explicit) Dim() int { n, _ := e.g.Dims(); return n }

func (e explicit) Apply(_ context.Context, dst, x *mat.Dense) error {
	dst.Mul(e.g, x)
	return nil
}

// TestDeflation compares the wrappers with the matrices they stand for, for
// blocks of every width and layout.
func TestDeflation(t *testing.T) {
	const n, k = 12, 3
	a := gaussian(20, n, 0, 1, 1)
	g := heap.GramOf(a)
	v := heap.NewBasis(n, k+2)
	for i := range k {
		v.Random(v.Next(), 5, uint64(i))
		v.Push()
	}
	cols := mat.NewDense(n, k, nil)
	for i := range k {
		cols.SetCol(i, v.Vector(i))
	}
	values := []float64{3, 2, 1}
	var low, vvt, rest mat.Dense
	low.Product(cols, mat.NewDiagDense(k, values), cols.T())
	low.Sub(g, &low)
	vvt.Mul(cols, cols.T())
	rest.Sub(identity(n), &vvt)
	var both mat.Dense
	both.Product(&rest, g, &rest)
	for _, l := range []int{1, 2, 5} {
		wide := gaussian(n, l+3, 0, 2, 2)
		for _, x := range []*mat.Dense{gaussian(n, l, 0, 2, 2), wide.Slice(0, n, 1, l+1).(*mat.Dense)} {
			var dst, want mat.Dense
			out := mat.NewDense(n, l+2, nil).Slice(0, n, 1, l+1).(*mat.Dense)
			p := &deflated{op: explicit{g}, v: v, values: values, rule: Plain}
			if err := p.Apply(t.Context(), out, x); err != nil || p.Dim() != n {
				t.Fatal(err)
			}
			want.Mul(&low, x)
			if !mat.EqualApprox(out, &want, 1e-12) {
				t.Errorf("plain deflation is wrong for %d vectors", l)
			}
			dst.Mul(&rest, x) // its domain
			q := &deflated{op: explicit{g}, v: v}
			if err := q.Apply(t.Context(), out, &dst); err != nil || q.Dim() != n {
				t.Fatal(err)
			}
			want.Mul(&both, x)
			if !mat.EqualApprox(out, &want, 1e-12) {
				t.Errorf("projected deflation is wrong for %d vectors", l)
			}
		}
	}
}

func identity(n int) *mat.Dense {
	d := mat.NewDense(n, n, nil)
	for i := range n {
		d.Set(i, i, 1)
	}
	return d
}

func TestBasis(t *testing.T) {
	b := heap.NewBasis(4, 4)
	for i := range 4 {
		b.Random(b.Next(), 1, uint64(i))
		b.Push()
	}
	m := mat.NewDense(4, 4, b.Data)
	if o := tallskinny.Orthogonality(heap.GramOf(m)); o > 4*tallskinny.Epsilon {
		t.Errorf("full basis is orthonormal to %g", o)
	}
	b.Len = 3
	x := append([]float64(nil), b.Vector(1)...)
	if b.Orthonormalise(x) {
		t.Error("a vector of the basis is taken for independent of it")
	}
	// Nearly dependent: what is left must still be orthogonal.
	for i, v := range b.Vector(3) {
		x[i] = b.Vector(1)[i] + 1e-9*v
	}
	if !b.Orthonormalise(x) {
		t.Fatal("an independent vector is taken for dependent")
	}
	for i := range 3 {
		if d := heap.Dot(x, b.Vector(i)); math.Abs(d) > 4*tallskinny.Epsilon {
			t.Errorf("product with vector %d is %g", i, d)
		}
	}
}

// TestLeftSweeps turns and completes blocks of several chunks and of every
// defect of rank.
func TestLeftSweeps(t *testing.T) {
	for _, c := range []struct{ rows, k, rank int }{
		{1, 1, 0}, {1, 1, 1}, {5, 5, 0}, {5, 5, 2}, {5, 5, 4}, {200, 6, 3}, {40000, 3, 1}, {40000, 3, 3}, {300, 250, 100}, {300, 300, 299},
	} {
		w := gaussian(c.rows, c.k, 0, 7, 7)
		var qr mat.QR
		var r mat.Dense
		qr.Factorize(w)
		qr.RTo(&r)
		_, rot := tallskinny.JacobiSVD(mat.DenseCopyOf(r.Slice(0, c.k, 0, c.k)))
		var wr mat.Dense
		wr.Mul(w, rot)
		for j := range c.k {
			f := 0.0
			if j < c.rank {
				f = 1 / mat.Norm(wr.ColView(j), 2)
			}
			heap.ScaleColumn(rot, j, f)
		}
		l := newLeft(t.Context(), 0, &DenseRows{w}, int64(c.rows), c.k)
		gram, err := l.rotateTo(rot, c.rank)
		if err == nil && c.rank < c.k {
			gram, err = l.complete(3, c.rank)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := tallskinny.Orthogonality(heap.GramOf(w))
		if o > 1e-12 || math.Abs(o-tallskinny.Orthogonality(gram)) > 1e-13 {
			t.Errorf("%+v: orthonormal to %.3g, said to be to %.3g", c, o, tallskinny.Orthogonality(gram))
		}
	}
}

func TestLeftCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := newLeft(ctx, 0, NewDenseRows(10, 2), 10, 2)
	if _, err := l.rotateTo(identity(2), 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestStatus(t *testing.T) {
	for s := NotTerminated; s <= Breakdown; s++ {
		if s.String() == "" || (s.Err() == nil) != (s == Converged) || s.Early() != (s > Converged) {
			t.Errorf("%d: %q, early %t, %v", s, s, s.Early(), s.Err())
		}
	}
	if s := Breakdown + 1; s.String() != "status(7)" || s.Early() || s.Err() == nil {
		t.Errorf("unknown status: %q, %t, %v", s, s.Early(), s.Err())
	}
}

func TestSettingsPanic(t *testing.T) {
	good := Settings{Rank: 2}
	for name, change := range map[string]func(*Settings){
		"rank 0":             func(s *Settings) { s.Rank = 0 },
		"rank above":         func(s *Settings) { s.Rank = 4 },
		"negative tolerance": func(s *Settings) { s.Tol = -1 },
		"NaN tolerance":      func(s *Settings) { s.Tol = math.NaN() },
		"negative limit":     func(s *Settings) { s.MaxPasses = -1 },
		"deflation":          func(s *Settings) { s.Deflation = 2 },
		"stop rule":          func(s *Settings) { s.Stop = 2 },
		"init rows":          func(s *Settings) { s.Init = mat.NewDense(6, 1, nil) },
		"init empty":         func(s *Settings) { s.Init = new(mat.Dense) },
		"init NaN":           func(s *Settings) { s.Init = mat.NewDense(5, 1, []float64{0, 0, math.NaN(), 0, 0}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "solver: ") {
					t.Errorf("panicked with %v", msg)
				}
			}()
			s := good
			change(&s)
			s.normalised(nothing5{}, 3)
		})
	}
	for _, eta := range []float64{-0.1, 1, 2, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("step size %g is accepted", eta)
				}
			}()
			Settings{Rank: 2, Method: gd.Descent{Eta: eta}}.normalised(nothing5{}, 3)
		}()
	}
}

// nothing5 is an operator of order 5 that nobody applies.
type nothing5 struct{ Operator }

func (nothing5) Dim() int { return 5 }

// TestPaperRuleOfScaled: the paper's tolerance for values is that of the matrix as
// it is, σ² or σ, the one for vectors of no scale.
func TestPaperRuleOfScaled(t *testing.T) {
	for _, c := range []struct {
		e      scale
		linear bool
		delta  float64 // of 2^−e·A, in values
		met    bool
	}{
		{0, false, 1e-8, true},
		{0, false, 1.1e-8, false},
		{2, false, 1e-8 / 16, true},
		{2, false, 1.1e-8 / 16, false},
		{2, true, 1e-8 / 4, true},
		{2, true, 1.1e-8 / 4, false},
		{-1060, false, 1e300, true},
		{1000, false, 0, true},
		{1000, false, math.SmallestNonzeroFloat64, false},
	} {
		j := newJudge(StopPaper, 1e-8, c.e, c.linear, false)
		if got := j.met(method.RitzPair{Value: 1, DeltaVector: 1e-9, DeltaValue: c.delta}, 1); got != c.met {
			t.Errorf("2^%d, linear %t, a change of %g: %t", c.e, c.linear, c.delta, got)
		}
		if j.met(method.RitzPair{Value: 1, DeltaVector: 1.1e-8}, 1) {
			t.Errorf("2^%d: a change of the vector by more than the tolerance is met", c.e)
		}
	}
}
