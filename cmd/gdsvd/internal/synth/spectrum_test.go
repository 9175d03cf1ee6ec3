package synth

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// profiles has one Profile of each kind.
var profiles = []Profile{
	{Kind: Exponential, Decay: 0.8, Least: 1e-4},
	{Kind: Polynomial, Power: 1.5},
	{Kind: Linear},
	{Kind: TwoValues, Gap: 0.01},
	{Kind: Clustered, Decay: 0.5, Group: 4, Width: 1e-3, Least: 1e-6},
	{Kind: Repeated, Decay: 0.7, Group: 3},
}

// drawnSpectrum draws a small Spectrum.
func drawnSpectrum(t *rapid.T) Spectrum {
	s := Spectrum{
		Rows: rapid.Int64Range(1, 90).Draw(t, "rows"), Cols: rapid.Int64Range(1, 60).Draw(t, "cols"),
		Values: rapid.SampledFrom(profiles).Draw(t, "values"), Layers: rapid.IntRange(0, 6).Draw(t, "layers"),
		Seed: rapid.Uint64().Draw(t, "seed"),
	}
	s.Rank = rapid.Int64Range(0, s.mostValues()).Draw(t, "rank")
	return s
}

// stored writes the matrix of s and returns its store and truth.
func stored(t testing.TB, s Spectrum, o WriteOptions) (*csr.Store, *csr.Truth) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spectrum.csr")
	must.Do(t, s.Write(t.Context(), path, o))
	store := csrtest.Open(t, path, csr.OpenOptions{})
	truth, err := store.Truth()
	if err != nil || truth == nil {
		t.Fatalf("truth %v, %v", truth, err)
	}
	return store, truth
}

// vectorsOf returns the singular vectors of the nonzero values as the columns of U and V.
func vectorsOf(s Spectrum) (u, v *mat.Dense) {
	r := int(s.rank())
	u, v = mat.NewDense(int(s.Rows), r, nil), mat.NewDense(int(s.Cols), r, nil)
	x, y := make([]float64, s.Rows), make([]float64, s.Cols)
	for i := range r {
		s.Left(x, int64(i))
		s.Right(y, int64(i))
		u.SetCol(i, x)
		v.SetCol(i, y)
	}
	return u, v
}

// apart returns the largest absolute difference of the entries of two matrices.
func apart(a, b mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(a, b)
	return floats.Norm(d.RawMatrix().Data, math.Inf(1))
}

func identity(n int) mat.Matrix { return mat.NewDiagDense(n, slices.Repeat([]float64{1}, n)) }

// TestSpectrumIsItsFactors: the stored matrix is U·Σ·Vᵀ with orthonormal U and V, and a dense decomposition finds Σ.
func TestSpectrumIsItsFactors(t *testing.T) {
	for _, p := range profiles {
		for _, shape := range [][2]int64{{60, 41}, {40, 64}, {37, 37}, {200, 9}, {1, 5}, {4, 1}} {
			for _, layers := range []int{0, 1, 4, 7} {
				s := Spectrum{Rows: shape[0], Cols: shape[1], Values: p, Layers: layers, Seed: uint64(layers)}
				t.Run(fmt.Sprintf("%s %dx%d %d layers", p.Kind, s.Rows, s.Cols, layers), func(t *testing.T) {
					checkSpectrum(t, s)
				})
			}
		}
	}
}

func checkSpectrum(t *testing.T, s Spectrum) {
	store, truth := stored(t, s, WriteOptions{})
	if rows, cols := denseOf(t, store).Dims(); int64(rows) != s.Rows || int64(cols) != s.Cols {
		t.Fatalf("a matrix of %d × %d, want %d × %d", rows, cols, s.Rows, s.Cols)
	}
	u, v := vectorsOf(s)
	r := int(s.rank())
	var gram, us, product mat.Dense
	for name, x := range map[string]*mat.Dense{"U": u, "V": v} {
		gram.Reset()
		gram.Mul(x.T(), x)
		if e := apart(&gram, identity(r)); e > 1e-14 {
			t.Errorf("%s is %g from orthonormal", name, e)
		}
	}
	us.Apply(func(_, j int, x float64) float64 { return x * s.Sigma(int64(j)) }, u)
	product.Mul(&us, v.T())
	a := denseOf(t, store)
	if e := apart(a, &product); e > 1e-14 {
		t.Errorf("the stored matrix is %g from UΣVᵀ", e)
	}
	checkTruth(t, truth, dense(a))
	if !truth.Complete || len(truth.Sigma) != r || truth.Error > 1e-12 {
		t.Errorf("%d values, complete %v, error %g", len(truth.Sigma), truth.Complete, truth.Error)
	}
	source := must.Get(s.Source())(t)
	if got, want := math.Ldexp(source.Norm()), math.Ldexp(store.Norm()); math.Abs(got-want) > 1e-13*got {
		t.Errorf("norm %v, of the stored matrix %v", got, want)
	}
	report, err := csr.Check(t.Context(), store.Path(), csr.CheckOptions{})
	if err != nil || len(report.Problems)+len(report.Warnings) > 0 {
		t.Errorf("check: %v, %v, %v", err, report.Problems, report.Warnings)
	}
}

// TestSpectrumProperties: the same holds for random shapes, ranks and numbers of layers.
func TestSpectrumProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawnSpectrum(rt)
		if err := s.Validate(); err != nil {
			rt.Skip(err)
		}
		checkSpectrum(t, s)
		if t.Failed() {
			rt.Fatalf("%+v", s)
		}
	})
}

// TestSpectrumEntries: all but a few rows have 2^layers entries.
func TestSpectrumEntries(t *testing.T) {
	for layers := range 6 {
		s := Spectrum{Rows: 30000, Cols: 8000, Values: profiles[2], Layers: layers, Seed: 3}
		store, _ := stored(t, s, WriteOptions{})
		if got, most := store.NNZ(), s.MaxNNZ(); got > most || float64(got) < 0.75*float64(most) {
			t.Errorf("%d layers: %d entries of %d", layers, got, most)
		}
		short := 0
		var b csr.Block
		for i := range store.NumBlocks() {
			must.Do(t, store.DecodeBlock(i, &b))
			for r := range b.Rows() {
				if b.RowPtr[r+1]-b.RowPtr[r] != 1<<layers {
					short++
				}
			}
		}
		if short > 30000*2*int(math.Pow(spacing, float64(layers)))/8000 {
			t.Errorf("%d layers: %d rows have fewer entries", layers, short)
		}
	}
}

func TestPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 3000).Draw(t, "n")
		p := newPermutation(n, rapid.Uint64().Draw(t, "key"))
		seen := make([]bool, n)
		for i := range n {
			j := p.of(i)
			if j < 0 || j >= n || seen[j] || p.inverse(j) != i {
				t.Fatalf("%d goes to %d, which comes from %d", i, j, p.inverse(j))
			}
			seen[j] = true
		}
	})
	for _, n := range []int64{1 << 46, csr.MaxCols, 1<<46 - 17} {
		p := newPermutation(n, 1)
		for i := n - 1000; i < n; i++ {
			if j := p.of(i); j < 0 || j >= n || p.inverse(j) != i {
				t.Fatalf("of %d: %d goes to %d", n, i, j)
			}
		}
	}
}

// manyBlocks has several blocks and, with small shards, several shards.
var manyBlocks = Spectrum{Rows: 40000, Cols: 900, Values: profiles[0], Layers: 4, Seed: 5}

// TestSpectrumDeterministic: the same Spectrum gives the same bytes; another seed gives others.
func TestSpectrumDeterministic(t *testing.T) {
	o := WriteOptions{ShardSize: 1 << 20}
	store, _ := stored(t, manyBlocks, o)
	want := vfstest.Contents(t, store.Path())
	if len(want) < 4 {
		t.Fatalf("only %d files", len(want))
	}
	again, _ := stored(t, manyBlocks, o)
	if got := vfstest.Contents(t, again.Path()); !maps.Equal(got, want) {
		t.Error("the same matrix has other bytes")
	}
	other := manyBlocks
	other.Seed++
	store, _ = stored(t, other, o)
	if vfstest.Contents(t, store.Path())["shard-000000.csr"] == want["shard-000000.csr"] {
		t.Error("another seed makes the same matrix")
	}
}

func TestSpectrumFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spectrum.csr")
	err := manyBlocks.Write(t.Context(), path, WriteOptions{FS: &vfstest.FaultFS{Inject: vfstest.DiskFull(1 << 20)}})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want a full disk", err)
	}
	left(t, path)
}

func TestSpectrumRefuses(t *testing.T) {
	good := Spectrum{Rows: 10, Cols: 8, Values: Profile{Kind: Linear}, Layers: 2}
	for want, change := range map[string]func(*Spectrum){
		"at least 1 × 1":      func(s *Spectrum) { s.Cols = 0 },
		"the shorter one":     func(s *Spectrum) { s.Rows, s.Cols = 1<<33, 1<<33 },
		"layers of rotations": func(s *Spectrum) { s.Layers = 13 },
		"rank 9: want 1 to 8": func(s *Spectrum) { s.Rank = 9 },
		"rank 3: want 1 to 2": func(s *Spectrum) { s.Rank, s.Values = 3, Profile{Kind: TwoValues, Gap: 0.5} },
		`kind "flat"`:         func(s *Spectrum) { s.Values.Kind = "flat" },
		"decay of 1":          func(s *Spectrum) { s.Values = Profile{Kind: Exponential, Decay: 1} },
		"decay of NaN":        func(s *Spectrum) { s.Values = Profile{Kind: Repeated, Decay: math.NaN(), Group: 2} },
		"power of 0":          func(s *Spectrum) { s.Values = Profile{Kind: Polynomial} },
		"gap of 1":            func(s *Spectrum) { s.Values = Profile{Kind: TwoValues, Gap: 1} },
		"groups of 0":         func(s *Spectrum) { s.Values = Profile{Kind: Repeated, Decay: 0.5} },
		"or they overlap":     func(s *Spectrum) { s.Values = Profile{Kind: Clustered, Decay: 0.5, Group: 2, Width: 0.6} },
		"least value 2":       func(s *Spectrum) { s.Values.Least = 2 },
		"smaller rank":        func(s *Spectrum) { s.Values = Profile{Kind: Exponential, Decay: 1e-20} },
	} {
		s := good
		change(&s)
		path := filepath.Join(t.TempDir(), "spectrum.csr")
		if err := s.Write(t.Context(), path, WriteOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
		if _, err := s.Source(); err == nil {
			t.Errorf("%+v has a source", s)
		}
		left(t, path)
	}
}

func BenchmarkSpectrum(b *testing.B) {
	s := Spectrum{Rows: 1000000, Cols: 100000, Values: profiles[1], Layers: 4}
	r := newRotated(s)
	var blk csr.Block
	i, entries := 0, 0
	for b.Loop() {
		must.Do(b, r.DecodeBlock(i%r.NumBlocks(), &blk))
		i++
		entries += blk.NNZ()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(entries), "ns/entry")
}
