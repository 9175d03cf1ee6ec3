package stream_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"
)

// ratings returns the rows of a random matrix with half-star values, several blocks long.
func ratings(rows, cols, perRow int) [][]csrtest.Entry {
	rng := rand.New(rand.NewPCG(11, 12))
	out := make([][]csrtest.Entry, rows)
	for r := range out {
		for c := range cols {
			if rng.IntN(cols) < perRow {
				out[r] = append(out[r], csrtest.Entry{Col: uint32(c), Val: float64(1+rng.IntN(10)) / 2})
			}
		}
	}
	return out
}

func product(t *testing.T, s *csr.Store, o stream.Options) []float64 {
	t.Helper()
	m := must.Get(stream.New(s, o))(t)
	x, y := mat.NewDense(m.Info().Cols, o.Width, nil), mat.NewDense(m.Info().Cols, o.Width, nil)
	for i := range m.Info().Cols {
		for j := range o.Width {
			x.Set(i, j, math.Sin(float64(1+i*o.Width+j)))
		}
	}
	for range 2 {
		must.Get(m.Run(t.Context(), solver.Pass{X: x, Sum: y}))(t)
	}
	return y.RawMatrix().Data
}

func TestStoreProducts(t *testing.T) {
	const rows, cols = 6000, 300
	entries := ratings(rows, cols, 60)
	oneShard := csrtest.Build(t, cols, entries, csr.CreateOptions{})
	manyShards := csrtest.Build(t, cols, entries, csr.CreateOptions{ShardSize: 100_000})
	if a, b := len(oneShard.Manifest().Shards), len(manyShards.Manifest().Shards); a != 1 || b < 3 {
		t.Fatalf("%d and %d shards: not the case to test", a, b)
	}
	want := product(t, oneShard, stream.Options{Width: 3, Workers: 1})

	a := must.Get(oneShard.ToSparse())(t)
	m := must.Get(stream.FromSparse(a, stream.Options{Width: 3}))(t)
	y := mat.NewDense(cols, 3, nil)
	x := mat.NewDense(cols, 3, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = math.Sin(float64(1 + i))
	}
	must.Get(m.Run(t.Context(), solver.Pass{X: x, Sum: y}))(t)
	if !slices.Equal(y.RawMatrix().Data, want) {
		t.Error("the same matrix in memory and in a store gives different bits")
	}
	var ax, gx mat.Dense
	ax.Mul(a, x)
	gx.Mul(a.T(), &ax)
	if !mat.EqualApprox(&gx, y, 1e-8) {
		t.Error("not the product that james-bowman/sparse computes")
	}
	for _, o := range []stream.Options{{Workers: 1}, {Workers: 2}, {Workers: 7, Memory: 64 << 20}, {Workers: 1, Memory: 27 << 20}} {
		o.Width = 3
		for name, s := range map[string]*csr.Store{"one shard": oneShard, "many shards": manyShards} {
			if got := product(t, s, o); !slices.Equal(got, want) {
				t.Errorf("%s, %d workers, budget %d: bits differ", name, o.Workers, o.Memory)
			}
		}
	}
}

// TestTruncatedWhileMapped checks that a store truncated while it is mapped gives an error in a Gram
// product, with any number of workers: reading behind the end of the file faults.
func TestTruncatedWhileMapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on Windows")
	}
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			s := csrtest.Build(t, 300, ratings(6000, 300, 60), csr.CreateOptions{})
			shard := filepath.Join(s.Path(), s.Manifest().Shards[0].Name)
			must.Do(t, os.Truncate(shard, 4096))
			m := must.Get(stream.New(s, stream.Options{Workers: workers}))(t)
			x := mat.NewDense(300, 1, nil)
			if _, err := m.Run(t.Context(), solver.Pass{X: x, Sum: mat.NewDense(300, 1, nil)}); !errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(shard)+": block ") {
				t.Fatalf("err = %v, want ErrCorrupt and where", err)
			}
		})
	}
}

// BenchmarkPass measures a pass over a store of MovieLens' density, with
// blocks kept decoded and with blocks decoded in every pass.
func BenchmarkPass(b *testing.B) {
	const rows, cols = 20_000, 3706
	rng := rand.New(rand.NewPCG(1, 1))
	coo := sparse.NewCOO(rows, cols, nil, nil, nil)
	for r := range rows {
		seen := map[int]bool{}
		for range 100 {
			u := rng.Float64()
			c := int(u * u * cols)
			if !seen[c] {
				seen[c] = true
				coo.Set(r, c, float64(1+rng.IntN(10))/2)
			}
		}
	}
	path := filepath.Join(b.TempDir(), "bench.csr")
	must.Do(b, csr.FromSparse(path, coo.ToCSR(), csr.CreateOptions{}))
	s := csrtest.Open(b, path, csr.OpenOptions{})
	for _, l := range []int{1, 16} {
		for _, regime := range []string{"resident", "streaming"} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("l=%d/%s/workers=%d", l, regime, workers), func(b *testing.B) {
					o := stream.Options{Width: l, Workers: workers}
					all := must.Get(stream.New(s, o))(b)
					if regime == "streaming" {
						parts := all.Plan().Parts
						o.Memory = all.Plan().Total() - parts[len(parts)-1].Bytes
					}
					benchmarkApply(b, s, o)
				})
			}
		}
	}
}

func benchmarkApply(b *testing.B, s *csr.Store, o stream.Options) {
	m := must.Get(stream.New(s, o))(b)
	x, y := mat.NewDense(m.Info().Cols, o.Width, nil), mat.NewDense(m.Info().Cols, o.Width, nil)
	x.Set(0, 0, 1)
	if _, err := m.Run(b.Context(), solver.Pass{X: x, Sum: y}); err != nil { // decodes the resident blocks
		b.Fatal(err)
	}
	for b.Loop() {
		must.Get(m.Run(b.Context(), solver.Pass{X: x, Sum: y}))(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.NNZ()), "ns/nnz")
	b.ReportMetric(float64(s.Size())/float64(s.NNZ()), "bytes/nnz")
}
