package synth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/mix"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// Spectrum is a sparse matrix A = P·Σ·Qᵀ of any size with prescribed singular values Σ and orthonormal P and Q. All of them are
// known in closed form, so that every singular vector can be computed alone.
//
// With n the shorter side, N the longer one and r the rank, Q is a permutation of n coordinates times layers of rotations of
// disjoint pairs of coordinates (Givens). P is the same for N coordinates, times an N×r matrix E whose columns are multiples of
// sums of disjoint sets of unit vectors: row i belongs to column i mod r. Every layer doubles the number of entries of a row of
// A. The angles are random, and the permutations hide the remaining structure.
//
// Entries are rounded sums of products of a few sines and cosines with a singular value; Truth bounds the effect of the
// rounding on the singular values.
type Spectrum struct {
	Rows, Cols int64
	Values     Profile
	// Rank is the number of singular values that are not 0; 0 means the largest number that the Profile and the shorter side
	// allow. A row has entries in 2^Layers columns; with a rank far below the shorter side many columns are empty.
	Rank int64
	// Layers is the number of layers of rotations of both sides together. A row along the longer side has 2^Layers entries, or
	// fewer where a coordinate has no partner at the end of a side, or where a rank of less than 5^Layers/2 makes entries coincide.
	Layers int
	Seed   uint64
}

// maxLayers bounds the entries of a row to 4096.
const maxLayers = 12

func (s Spectrum) Validate() error {
	switch {
	case s.Rows < 1 || s.Cols < 1:
		return fmt.Errorf("matrix of %d × %d: want at least 1 × 1", s.Rows, s.Cols)
	case s.long() > 1<<46 || s.short() > csr.MaxCols:
		return fmt.Errorf("matrix of %d × %d: the longer side may have %d, the shorter one %d", s.Rows, s.Cols, int64(1<<46), csr.MaxCols)
	case s.Layers < 0 || s.Layers > maxLayers:
		return fmt.Errorf("%d layers of rotations: want 0 to %d", s.Layers, maxLayers)
	case s.Rank < 0 || s.Rank > s.mostValues():
		return fmt.Errorf("rank %d: want 1 to %d, or 0 for that", s.Rank, s.mostValues())
	}
	return s.Values.validate(s.rank())
}

func (s Spectrum) long() int64      { return max(s.Rows, s.Cols) }
func (s Spectrum) short() int64     { return min(s.Rows, s.Cols) }
func (s Spectrum) transposed() bool { return s.Rows < s.Cols }

func (s Spectrum) mostValues() int64 {
	if s.Values.Kind == TwoValues {
		return min(2, s.short())
	}
	return s.short()
}

// rank is the number of singular values that are not 0.
func (s Spectrum) rank() int64 { return cmp.Or(s.Rank, s.mostValues()) }

// Sigma returns the singular value with index i, from 0, in descending order.
func (s Spectrum) Sigma(i int64) float64 {
	if i >= s.rank() {
		return 0
	}
	return s.Values.value(i, s.rank())
}

// Truth returns the known singular values of the rounded matrix, with a bound of their errors.
func (s Spectrum) Truth() csr.Truth {
	known := min(s.rank(), maxKnown)
	t := csr.Truth{Sigma: make([]float64, known), Complete: known == s.rank()}
	for i := range t.Sigma {
		t.Sigma[i] = s.Sigma(int64(i))
	}
	// The error of an entry is a few roundings a layer, relative to the sum of the magnitudes of its terms. These are entries of
	// products with |P| and |Q|, in which a layer has a norm of at most √2.
	t.Error = float64(8*(s.Layers+4)) * math.Pow(2, float64(s.Layers)/2) * 0x1p-53
	return t
}

// Write writes the matrix as a store at path, with its truth, in constant memory. Equal matrices give equal bytes. It also
// returns the errors of csr.Create.
func (s Spectrum) Write(ctx context.Context, path string, o WriteOptions) (err error) {
	if err := s.Validate(); err != nil {
		return err
	}
	w, err := o.create(path, csr.CreateOptions{Cols: s.short(), Values: csr.Values{Coding: csr.Float64}, Transposed: s.transposed(), Source: s.source()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // has no effect after Commit
	if err := w.SetTruth(s.Truth()); err != nil {
		return err
	}
	err = newRotated(s).eachBlock(ctx, func(b *csr.Block) error {
		for i := range b.Rows() {
			from, to := b.RowPtr[i], b.RowPtr[i+1]
			if err := w.AppendRow(b.Col[from:to], b.Val[from:to]); err != nil {
				return err
			}
		}
		o.Progress(StageWrite, w.Rows(), s.long())
		return nil
	})
	if err != nil {
		return err
	}
	return w.Commit()
}

func (s Spectrum) source() map[string]any {
	return map[string]any{
		"generator": "spectrum", "rows": s.Rows, "cols": s.Cols, "rank": s.rank(), "layers": s.Layers, "seed": s.Seed,
		"values": map[string]any{
			"kind": s.Values.Kind, "decay": s.Values.Decay, "power": s.Values.Power, "gap": s.Values.Gap,
			"group": s.Values.Group, "width": s.Values.Width, "least": s.Values.Least,
		},
	}
}

// rotated computes the rows of a Spectrum along the longer side.
type rotated struct {
	rows, cols, rank int64
	values           Profile
	width            int64 // largest number of entries of a row
	rowOrder         permutation
	colOrder         permutation
	sigmaOrder       permutation // maps a column of E to the index of its singular value
	rowLayers        []layer
	colLayers        []layer
}

const (
	streamRows = iota + 0x7370656374
	streamCols
	streamSigma
	streamLayers
)

func newRotated(s Spectrum) *rotated {
	key := func(stream uint64) uint64 { return mix.Finalise(mix.Finalise(s.Seed) + stream*mix.Golden) }
	ofRows := (s.Layers + 1) / 2
	return &rotated{
		rows: s.long(), cols: s.short(), rank: s.rank(), values: s.Values, width: 1 << s.Layers,
		rowOrder:   newPermutation(s.long(), key(streamRows)),
		colOrder:   newPermutation(s.short(), key(streamCols)),
		sigmaOrder: newPermutation(s.rank(), key(streamSigma)),
		rowLayers:  newLayers(s.long(), 0, ofRows, key(streamLayers)),
		colLayers:  newLayers(s.short(), ofRows, s.Layers-ofRows, key(streamLayers)),
	}
}

// spread returns the value of the entries in the column of E to which row i belongs, so that the column has norm 1.
func (r *rotated) spread(i int64) float64 {
	count := r.rows / r.rank
	if i%r.rank < r.rows%r.rank {
		count++
	}
	return 1 / math.Sqrt(float64(count))
}

// row replaces x by row i of the matrix, in ascending order of columns.
func (r *rotated) row(x []entry, i int64) []entry {
	x = rotateBack(r.rowLayers, append(x[:0], entry{r.rowOrder.inverse(i), 1}))
	for k := range x {
		column := x[k].at % r.rank
		x[k].val *= r.spread(x[k].at) * r.values.value(r.sigmaOrder.of(column), r.rank)
		x[k].at = column
	}
	x = rotate(r.colLayers, x)
	for k := range x {
		x[k].at = r.colOrder.of(x[k].at)
	}
	slices.SortStableFunc(x, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	return merged(x)
}

// merged adds entries at the same place and drops zeros.
func merged(x []entry) []entry {
	n := 0
	for _, e := range x {
		if n > 0 && x[n-1].at == e.at {
			x[n-1].val += e.val
			continue
		}
		x[n] = e
		n++
	}
	return slices.DeleteFunc(x[:n], func(e entry) bool { return e.val == 0 })
}

// blockRows returns the number of rows that fit into a block in any case.
func (r *rotated) blockRows() int64 {
	return min(csr.BlockRows, csr.BlockNNZ/r.width)
}

func (r *rotated) NumBlocks() int { return int((r.rows + r.blockRows() - 1) / r.blockRows()) }

// Block describes block i with an upper bound of its entries.
func (r *rotated) Block(i int) csr.BlockInfo {
	first := int64(i) * r.blockRows()
	rows := min(r.blockRows(), r.rows-first)
	return csr.BlockInfo{FirstRow: first, Rows: int(rows), NNZ: int(rows * r.width)}
}

func (r *rotated) DecodeBlock(i int, dst *csr.Block) error {
	info := r.Block(i)
	*dst = csr.Block{FirstRow: info.FirstRow, RowPtr: append(dst.RowPtr[:0], 0), Col: dst.Col[:0], Val: dst.Val[:0]}
	if cap(dst.Col) < info.NNZ { // the buffers must not grow beyond the planned size
		dst.Col, dst.Val = make([]uint32, 0, info.NNZ), make([]float64, 0, info.NNZ)
	}
	x := make([]entry, 0, r.width)
	for row := range int64(info.Rows) {
		x = r.row(x, info.FirstRow+row)
		for _, e := range x {
			dst.Col, dst.Val = append(dst.Col, uint32(e.at)), append(dst.Val, e.val)
		}
		dst.RowPtr = append(dst.RowPtr, uint32(len(dst.Col)))
	}
	return nil
}

// eachBlock computes the blocks on all processors and passes them to take in order.
func (r *rotated) eachBlock(ctx context.Context, take func(*csr.Block) error) error {
	blocks := make([]csr.Block, runtime.GOMAXPROCS(0))
	for first := 0; first < r.NumBlocks(); first += len(blocks) {
		some := blocks[:min(len(blocks), r.NumBlocks()-first)]
		parallel.Each(len(some), len(some), func(_, i int) { _ = r.DecodeBlock(first+i, &some[i]) }) // it never fails
		for i := range some {
			if err := cmp.Or(ctx.Err(), take(&some[i])); err != nil {
				return err
			}
		}
	}
	return nil
}
