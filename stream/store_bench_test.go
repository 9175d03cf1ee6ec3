package stream

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkStore measures what a pass over the stores in GDSVD_STORES, a list
// of paths, takes when all blocks are resident: the kernel alone on one core,
// and Apply. The best run is reported, too: it was disturbed least.
func BenchmarkStore(b *testing.B) {
	paths := os.Getenv("GDSVD_STORES")
	if paths == "" {
		b.Skip("GDSVD_STORES is not set")
	}
	for _, path := range filepath.SplitList(paths) {
		s, err := csr.Open(path, csr.OpenOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		name := strings.TrimSuffix(filepath.Base(path), ".csr")
		for _, l := range []int{1, 4, 8, 16} {
			m, err := New(s, Options{Workers: 1, Width: l})
			if err != nil {
				b.Fatal(err)
			}
			x, y := randomDense(1, m.info.Cols, l), mat.NewDense(m.info.Cols, l, nil)
			if err := m.apply(b.Context(), y, x); err != nil {
				b.Fatal(err)
			}
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
				w, err := New(s, Options{Workers: workers, Width: l})
				if err != nil {
					b.Fatal(err)
				}
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
			if err := pass(); err != nil {
				b.Fatal(err)
			}
			best = min(best, time.Since(start))
		}
		nnz := float64(m.plan.nnz)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nnz, "ns/nnz")
		b.ReportMetric(float64(best.Nanoseconds())/nnz, "best-ns/nnz")
		b.ReportMetric(0, "ns/op")
	})
}
