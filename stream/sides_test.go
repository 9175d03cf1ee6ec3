package stream

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
)

// sided is a Source with sides.
type sided struct {
	Source
	d, e        []float64
	p, q        *mat.Dense
	norm, terms float64
}

// newSided gives src random sides and returns B = D·A·E + P·Qᵀ.
func newSided(src Source, a *mat.Dense, scaled bool, rank int) (*sided, *mat.Dense) {
	rows, cols := a.Dims()
	s := &sided{Source: src}
	b := mat.DenseCopyOf(a)
	if scaled {
		s.d, s.e = randomDense(5, rows, 1).RawMatrix().Data, randomDense(6, cols, 1).RawMatrix().Data
		b.Apply(func(i, j int, v float64) float64 { return s.d[i] * v * s.e[j] }, b)
	}
	s.terms = mat.Norm(b, 2)
	if rank > 0 {
		s.p, s.q = randomDense(7, rows, rank), randomDense(8, cols, rank)
		var pq mat.Dense
		pq.Mul(s.p, s.q.T())
		b.Add(b, &pq)
	}
	s.norm = mat.Norm(b, 2)
	return s, b
}

func (s *sided) Norm() (float64, int) { return s.norm, 0 }

func (s *sided) Terms() float64 { return s.terms }

func (s *sided) Sides() (bool, int, int64) {
	_, q := s.Columns()
	return s.d != nil, len(q), 8 * s.Cols() * int64(len(q)+1)
}

func (s *sided) Columns() (e []float64, q [][]float64) {
	for t := 0; s.q != nil && t < s.q.RawMatrix().Cols; t++ {
		q = append(q, mat.Col(nil, t, s.q))
	}
	return s.e, q
}

func (s *sided) RowSides(b *csr.Block, d, p []float64) {
	from, rows := int(b.FirstRow), b.Rows()
	if s.d != nil {
		copy(d, s.d[from:from+rows])
	}
	if s.p != nil {
		copy(p, s.p.Slice(from, from+rows, 0, s.p.RawMatrix().Cols).(*mat.Dense).RawMatrix().Data[:len(p)])
	}
}

// TestSidesConform runs CheckMatrix on matrices D·S·E + P·Qᵀ, with several workers, budgets and Spaces.
func TestSidesConform(t *testing.T) {
	for _, shape := range [][2]int{{300, 40}, {20, 90}} {
		entries := randomCSR(3, shape[0], shape[1], 0.2)
		for _, form := range []struct {
			scaled bool
			rank   int
		}{{true, 0}, {false, 1}, {true, 2}} {
			src, b := newSided(newDisk(entries), entries.ToDense(), form.scaled, form.rank)
			streaming := mustNew(t, src, Options{Workers: 1, Width: 20, Once: true}).Plan().Total()
			for i, o := range []Options{
				{Workers: 1, Width: 20}, {Workers: 7, Width: 1, Rank: 20}, {Workers: 2, Width: 20, Memory: streaming + 1<<14},
				{Workers: 2, Width: 1, Rank: 20, Space: &memorySpace{}}, {Workers: 1, Width: 2, Rank: 20, Space: &memorySpace{}},
			} {
				if !longtest.On() && i%2 == 1 {
					continue
				}
				t.Run(fmt.Sprintf("%v/%v/%+v", shape, form, o), func(t *testing.T) {
					m := mustNew(t, src, o)
					solvertest.CheckMatrix(t, m, b)
					if s, ok := o.Space.(*memorySpace); ok && len(s.blocks) > 0 {
						t.Errorf("%d blocks are left in the space", len(s.blocks))
					}
				})
			}
		}
	}
}

// TestSidesSameBits checks that the bits do not depend on workers, on the budget, or on the columns per read.
func TestSidesSameBits(t *testing.T) {
	entries := randomCSR(3, 400, 60, 0.2)
	src, _ := newSided(newDisk(entries), entries.ToDense(), true, 2)
	x := randomDense(4, 60, 20)
	var want, wantW *mat.Dense
	streaming := mustNew(t, src, Options{Workers: 1, Width: 20, Once: true}).Plan().Total()
	for _, o := range []Options{
		{Workers: 1, Width: 20}, {Workers: 7, Width: 20}, {Workers: 1, Width: 20, Memory: streaming}, {Workers: 3, Width: 20, Memory: streaming + 1<<15},
		{Workers: 2, Width: 1, Rank: 20, Space: &memorySpace{}},
	} {
		m := mustNew(t, src, o)
		for range 2 {
			sum, w := mat.NewDense(60, 20, nil), mat.NewDense(400, 20, nil)
			must.Do(t, m.apply(t.Context(), sum, x))
			must.Do(t, m.mul(t.Context(), x, into(t, w)))
			if want == nil {
				want, wantW = sum, w
			}
			if !mat.Equal(sum, want) || !mat.Equal(w, wantW) {
				t.Errorf("%+v: other bits", o)
			}
		}
	}
}
