package synth

import (
	"math"
	"math/bits"

	"github.com/gdsvd/gdsvd/internal/mix"
)

// permutation is a bijection of 0 … n−1 that needs no table: a Feistel network over pairs of numbers below a and b, a·b ≥ n,
// applied again while the image is n or more (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002, the generalised
// Feistel cipher and cycle walking). It hides structure; it is not for secrets.
type permutation struct {
	n, a, b uint64
	keys    [4]uint64
}

func newPermutation(n int64, key uint64) permutation {
	p := permutation{n: uint64(n)}
	p.a = max(1, uint64(math.Sqrt(float64(n))))
	p.b = (p.n + p.a - 1) / p.a
	for i := range p.keys {
		p.keys[i] = mix.Finalise(key + uint64(i+1)*mix.Golden)
	}
	return p
}

// of returns the image of i.
func (p *permutation) of(i int64) int64 {
	x := uint64(i)
	for {
		hi, lo := x/p.b, x%p.b
		hi = added(hi, below(p.keys[0], lo, p.a), p.a)
		lo = added(lo, below(p.keys[1], hi, p.b), p.b)
		hi = added(hi, below(p.keys[2], lo, p.a), p.a)
		lo = added(lo, below(p.keys[3], hi, p.b), p.b)
		x = hi*p.b + lo
		if x < p.n {
			return int64(x)
		}
	}
}

func (p *permutation) inverse(i int64) int64 {
	x := uint64(i)
	for {
		hi, lo := x/p.b, x%p.b
		lo = added(lo, p.b-below(p.keys[3], hi, p.b), p.b)
		hi = added(hi, p.a-below(p.keys[2], lo, p.a), p.a)
		lo = added(lo, p.b-below(p.keys[1], hi, p.b), p.b)
		hi = added(hi, p.a-below(p.keys[0], lo, p.a), p.a)
		x = hi*p.b + lo
		if x < p.n {
			return int64(x)
		}
	}
}

// added returns x+y modulo m, for x < m and y ≤ m.
func added(x, y, m uint64) uint64 {
	x += y
	if x >= m {
		x -= m
	}
	return x
}

// below returns a number less than m that depends on key and x.
func below(key, x, m uint64) uint64 {
	hi, _ := bits.Mul64(mix.Finalise(key+x*mix.Golden), m)
	return hi
}
