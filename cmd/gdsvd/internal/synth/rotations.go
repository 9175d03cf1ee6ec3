package synth

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/internal/mix"
)

type entry struct {
	at  int64
	val float64
}

// layer rotates disjoint pairs of coordinates. With coordinates counted from −offset on, a pair has distance stride, and the
// quotients of its coordinates by stride are 2q and 2q+1. A coordinate whose partner is out of range is not rotated.
type layer struct {
	n, stride, offset int64
	key               uint64
}

// spacing is the ratio of consecutive strides, which are its powers: then sums of strides with coefficients from −2 to 2 are
// all different, so that two paths through the layers end at the same coordinate only if they are the same path.
const spacing = 5

// newLayers returns count layers for n coordinates. Their strides are the powers of spacing from the exponent first on.
func newLayers(n int64, first, count int, key uint64) []layer {
	layers := make([]layer, count)
	stride := int64(math.Pow(spacing, float64(first)))
	for i := range layers {
		k := mix.Finalise(key + uint64(first+i+1)*mix.Golden)
		// Offsets keep the pairs of a layer from nesting in those of the next layer, which would cut the matrix into blocks.
		layers[i] = layer{n: n, stride: stride, offset: int64(below(k, 0, uint64(2*stride))), key: k}
		stride *= spacing
	}
	return layers
}

// pair returns the lower coordinate of the pair of j, and the partner of j; ok is false if j is not rotated.
func (l *layer) pair(j int64) (low, other int64, ok bool) {
	if (j+l.offset)/l.stride%2 == 0 {
		return j, j + l.stride, j+l.stride < l.n
	}
	return j - l.stride, j - l.stride, j >= l.stride
}

// angle returns the cosine and the sine of the rotation of the pair with the given lower coordinate, of the same order of
// magnitude: (1−t²)/(1+t²) and 2t/(1+t²). The conversions keep compilers from fusing operations, so that all machines agree.
func (l *layer) angle(low int64) (cos, sin float64) {
	h := mix.Finalise(l.key + uint64(low)*mix.Golden)
	t := 0.2 + float64(0.47*(float64(h>>11)*0x1p-53))
	square := float64(t * t)
	cos, sin = (1-square)/(1+square), 2*t/(1+square)
	if h&1 != 0 {
		sin = -sin
	}
	return cos, sin
}

// apply multiplies a sparse vector by the layer, or by its transpose. A coordinate may occur more than once in the result: its
// entries add up.
func (l *layer) apply(x []entry, transposed bool) []entry {
	for i := range x {
		low, other, ok := l.pair(x[i].at)
		if !ok {
			continue
		}
		cos, sin := l.angle(low)
		// The column of the lower coordinate is (cos, sin), that of the other one (−sin, cos).
		if (low == x[i].at) == transposed {
			sin = -sin
		}
		x = append(x, entry{other, sin * x[i].val})
		x[i].val *= cos
	}
	return x
}

func rotate(layers []layer, x []entry) []entry {
	for i := range layers {
		x = layers[i].apply(x, false)
	}
	return x
}

// rotateBack applies the transposed layers from the last to the first.
func rotateBack(layers []layer, x []entry) []entry {
	for _, l := range slices.Backward(layers) {
		x = l.apply(x, true)
	}
	return x
}
