package stream

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkStore measures passes over the stores in GDSVD_STORES, a list of paths, with all blocks
// resident: the kernel alone on one core, and Gram products. It also reports the best run, the
// least disturbed one.
//
// Bounds of a resident pass on one core (Zen 4 at 3.65 GHz; a core reads its memory at 22 GB/s in
// order), in nanoseconds per entry and 16 columns:
//
//	memory   0.09 for 2 decoded bytes, 0.14 for 3, 0.55 for 12
//	loads    0.7 for up to 4 columns: 2½ loads each for the dot and the axpy, about
//	         two per cycle (columns and codes are loaded four at a time), and a store
//	lines    up to 1.6 for 8 columns and 3.3 for 16, if no line is in the first-level
//	         cache: a line of x comes from the second-level cache, a line of y comes
//	         and goes back, at 32 bytes a cycle
//
// Best runs with MNIST, MovieLens 1M and the shape of MovieLens 10M: 0.93 to 1.3 for a
// column, 1.2 to 1.5 for 4, 1.5 to 1.9 for 8, 2.7 to 3.5 for 16. Rows of a few entries
// take twice as long: the end of each row is a mispredicted branch, once in the dot
// and once in the axpy.
func BenchmarkStore(b *testing.B) {
	paths := os.Getenv("GDSVD_STORES")
	if paths == "" {
		b.Skip("GDSVD_STORES is not set")
	}
	for _, path := range filepath.SplitList(paths) {
		s := csrtest.Open(b, path, csr.OpenOptions{})
		name := strings.TrimSuffix(filepath.Base(path), ".csr")
		for _, l := range []int{1, 4, 8, 16} {
			m := must.Get(New(s, Options{Workers: 1, Width: l}))(b)
			x, y := randomDense(1, m.info.Cols, l), mat.NewDense(m.info.Cols, l, nil)
			must.Do(b, m.apply(b.Context(), y, x))
			xs, sum := make([]float64, m.info.Cols*kernel.Width(l)), make([]float64, m.info.Cols*kernel.Width(l))
			kernel.Pack(xs, l, 0, m.info.Cols, x.RawMatrix().Data, l)
			benchPass(b, fmt.Sprintf("%s/l=%d/kernel", name, l), m, func() error {
				clear(sum)
				for _, block := range m.resident {
					kernel.Gram(sum, xs, l, rowsOf(block))
				}
				return nil
			})
			for _, workers := range []int{1, 2} {
				w := must.Get(New(s, Options{Workers: workers, Width: l}))(b)
				w.resident = m.resident
				benchPass(b, fmt.Sprintf("%s/l=%d/workers=%d", name, l, w.plan.Workers), w, func() error { return w.apply(b.Context(), y, x) })
			}
		}
	}
}

func benchPass(b *testing.B, name string, m *Matrix, pass func() error) {
	b.Run(name, func(b *testing.B) {
		best := time.Duration(1 << 62)
		for b.Loop() {
			start := time.Now()
			must.Do(b, pass())
			best = min(best, time.Since(start))
		}
		nnz := float64(m.plan.nnz)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nnz, "ns/nnz")
		b.ReportMetric(float64(best.Nanoseconds())/nnz, "best-ns/nnz")
		b.ReportMetric(0, "ns/op")
	})
}
