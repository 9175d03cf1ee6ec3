package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"gonum.org/v1/gonum/mat"
)

// ratingsLike returns a matrix shaped like half of MovieLens 10M: 35,000 rows of about 143 entries
// over 10,677 columns, some far more popular than others. Its 60 MB of blocks, in the largest form,
// do not fit a cache.
func ratingsLike() *inMemory {
	const rows, cols, each, perBlock = 35_000, 10_677, 150, 916
	rng := rand.New(rand.NewPCG(3, 4))
	s := &inMemory{rows: rows, cols: cols}
	drawn := make([]uint32, each)
	for first := int64(0); first < rows; first += perBlock {
		b := csr.Block{FirstRow: first, RowPtr: []uint32{0}}
		for range min(perBlock, rows-first) {
			for i := range drawn {
				u := rng.Float64()
				drawn[i] = uint32(u * u * cols)
			}
			slices.Sort(drawn)
			b.Col = append(b.Col, slices.Compact(drawn)...)
			drawn = drawn[:each]
			for len(b.Val) < len(b.Col) {
				b.Val = append(b.Val, float64(1+rng.IntN(10))/2)
			}
			b.RowPtr = append(b.RowPtr, uint32(len(b.Col)))
		}
		s.blocks = append(s.blocks, b)
		s.largest.Rows = max(s.largest.Rows, int64(b.Rows()))
		s.largest.NNZ = max(s.largest.NNZ, int64(len(b.Col)))
	}
	return s
}

// BenchmarkResidentPass measures passes over resident blocks. GB/s counts the decoded
// entries, 12 bytes each, which come from memory in every pass; the vectors
// mostly come from cache.
func BenchmarkResidentPass(b *testing.B) {
	src := ratingsLike()
	for _, workers := range []int{1, 2} {
		for _, l := range []int{1, 4, 16} {
			m := must.Get(NewFrom(src, Options{Workers: workers, Width: l}))(b)
			x, y := randomDense(1, m.info.Cols, l), mat.NewDense(m.info.Cols, l, nil)
			measure := func(name string, pass func() error) {
				b.Run(fmt.Sprintf("%s/workers=%d/l=%d", name, workers, l), func(b *testing.B) {
					for b.Loop() {
						must.Do(b, pass())
					}
					perEntry := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(m.plan.nnz)
					b.ReportMetric(perEntry, "ns/nnz")
					b.ReportMetric(4*float64(l)/perEntry, "GFLOP/s")
					b.ReportMetric(12/perEntry, "GB/s")
				})
			}
			measure("Apply", func() error { return m.apply(b.Context(), y, x) })
			measure("Project", func() error {
				_, _, err := m.project(b.Context(), x, nil)
				return err
			})
		}
	}
}
