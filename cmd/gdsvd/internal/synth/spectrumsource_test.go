package synth

import (
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// Source returns the matrix as a stream.Source without a store: each pass makes
// the rows on all workers, or keeps them if the budget allows. stream.NewFrom
// makes of it a matrix whose rows are along the longer side.
func (s Spectrum) Source() (stream.Source, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &unstored{newRotated(s), fmt.Sprint(s.source())}, nil
}

// unstored is a stream.Source of the rows of a Spectrum.
type unstored struct {
	*rotated
	name string
}

// Rows implements stream.Source, as do the methods below.
func (r *unstored) Rows() int64 { return r.rows }

func (r *unstored) Cols() int64 { return r.cols }

func (r *unstored) Fingerprint() string { return r.name }

// Norm returns the root of the sum of the squared singular values, each at most 1.
func (r *unstored) Norm() (m float64, exponent int) {
	sum := 0.0
	for i := r.rank - 1; i >= 0; i-- { // adds the small values first
		v := r.values.value(i, r.rank)
		sum += v * v
	}
	return math.Sqrt(sum), 0
}

func (r *unstored) MaxBlock() csr.MaxBlock {
	rows := min(r.rows, r.blockRows())
	return csr.MaxBlock{Rows: rows, NNZ: rows * r.width}
}

func (r *unstored) Scratch() *csr.Block { return new(csr.Block) }

func (r *unstored) DecodedSize(rows, nnz int64) int64 { return 4*(rows+1) + (4+8)*nnz }

func (r *unstored) Prefetch(int, int) {}

func (r *unstored) Release(int, int) {}

// MaxNNZ returns the number of entries if each row has 2^Layers.
func (s Spectrum) MaxNNZ() int64 { return s.long() << s.Layers }

// Left writes the left singular vector with index i, of length Rows, to dst;
// i is below the rank. It takes at most time Rows·2^Layers.
func (s Spectrum) Left(dst []float64, i int64) {
	r := newRotated(s)
	if s.transposed() {
		r.shortVector(dst, i)
		return
	}
	r.longVector(dst, i)
}

// Right writes the right singular vector with index i, of length Cols, to dst.
func (s Spectrum) Right(dst []float64, i int64) {
	r := newRotated(s)
	if s.transposed() {
		r.longVector(dst, i)
		return
	}
	r.shortVector(dst, i)
}

// shortVector writes the singular vector with index i along the shorter side.
func (r *rotated) shortVector(dst []float64, i int64) {
	clear(dst)
	for _, e := range rotate(r.colLayers, []entry{{r.sigmaOrder.inverse(i), 1}}) {
		dst[r.colOrder.of(e.at)] += e.val
	}
}

// longVector writes the singular vector with index i along the longer side.
func (r *rotated) longVector(dst []float64, i int64) {
	clear(dst)
	var x []entry
	for at := r.sigmaOrder.inverse(i); at < r.rows; at += r.rank {
		x = rotate(r.rowLayers, append(x[:0], entry{at, r.spread(at)}))
		for _, e := range x {
			dst[r.rowOrder.of(e.at)] += e.val
		}
	}
}
