package view_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// BenchmarkViews measures Gram products of the stores in GDSVD_STORES and of views of them, resident and
// streaming, with one worker: the difference of a view to its store is the cost of the view.
func BenchmarkViews(b *testing.B) {
	paths := os.Getenv("GDSVD_STORES")
	if paths == "" {
		b.Skip("GDSVD_STORES is not set")
	}
	for _, path := range filepath.SplitList(paths) {
		store := csrtest.Open(b, path, csr.OpenOptions{})
		for _, name := range []string{"", "tfidf", "center=columns", "scale=columns", "recsys", "single-cell", "bm25", "bias=both", "ppmi"} {
			src := stream.Source(store)
			if name != "" {
				p := must.Get(view.Parse(name))(b)
				across, _ := csr.Orient(store, false, true)
				src = must.Get(view.New(b.Context(), store, p, across, stream.Options{}))(b)
			}
			for _, passes := range []string{"resident", "streaming"} {
				for _, l := range []int{4, 16} {
					m := must.Get(stream.NewFrom(src, stream.Options{Workers: 1, Width: l, Once: passes == "streaming"}))(b)
					x, y := mat.NewDense(int(store.Cols()), l, nil), mat.NewDense(int(store.Cols()), l, nil)
					solver.Gaussian(x, 0, 1, 1)
					product := func() {
						must.Get(m.Run(b.Context(), solver.Pass{X: x, Sum: y}))(b)
					}
					product() // reads the store
					b.Run(fmt.Sprintf("%s/%s/%s/l=%d", filepath.Base(path), name, passes, l), func(b *testing.B) {
						for b.Loop() {
							product()
						}
					})
				}
			}
		}
	}
}
