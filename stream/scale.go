package stream

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr"
)

// safe bounds the binary exponents of norms for which products are not scaled: all that is computed from such values,
// squares of squares and their products included, is far from the ends of the range of a float64.
const safe = 100

// scaling multiplies values by 2^−exponent, which is exact but for values so far
// below ‖A‖ that they are 0 beside it.
type scaling struct {
	exponent int
	half     float64 // 2^(−exponent/2), applied twice, since 2^−exponent may be out of range
	table    atomic.Pointer[scaledTable]
}

// newScaling sets the exponent to 0 if the norm is from 2^−safe to 2^safe, else to about the binary
// logarithm of the norm, made even so that the root of 2^e is a power of two as well.
func newScaling(src Source) (*scaling, error) {
	m, exponent := src.Norm()
	if norm := math.Ldexp(m, exponent); !(norm >= 0 && norm <= math.MaxFloat64) {
		return nil, fmt.Errorf("stream: ‖A‖ is %v: want a number within the range of float64", norm)
	}
	_, e := math.Frexp(m)
	if e += exponent; m == 0 || -safe <= e && e <= safe {
		e = 0
	}
	e &^= 1
	return &scaling{exponent: e, half: math.Ldexp(1, -e/2)}, nil
}

func (s *scaling) of(v float64) float64 { return v * s.half * s.half }

// scale scales the values of a block that has just been decoded.
func (s *scaling) scale(b *csr.Block) {
	if s.exponent == 0 {
		return
	}
	for i, v := range b.Val {
		b.Val[i] = s.of(v)
	}
	if b.Table == nil {
		return
	}
	t := s.table.Load()
	if t == nil || t.from != b.Table {
		t = &scaledTable{from: b.Table}
		for i, v := range t.from {
			t.to[i] = s.of(v)
		}
		s.table.Store(t)
	}
	b.Table = &t.to
}

// scaledTable is the scaled copy of a table of values that all blocks of a store share.
type scaledTable struct {
	from *[256]float64
	to   [256]float64
}
