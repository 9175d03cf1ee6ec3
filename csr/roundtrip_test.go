package csr_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// matrix is the oracle that the tests compare a store with.
type matrix struct {
	cols int64
	rows []row
}

type row struct {
	cols []uint32
	vals []float64
}

func (m *matrix) nnz() (n int64) {
	for _, r := range m.rows {
		n += int64(len(r.cols))
	}
	return n
}

func (m *matrix) stats() csr.Values {
	var s csr.ValueStats
	for _, r := range m.rows {
		for _, v := range r.vals {
			s.Add(v)
		}
	}
	return s.Values()
}

// randomMatrix returns a matrix with rows of up to maxLen entries with values from next.
func randomMatrix(rng *rand.Rand, rows int, cols int64, maxLen int, next func() float64) *matrix {
	m := &matrix{cols: cols}
	for range rows {
		var r row
		for range rng.IntN(maxLen + 1) {
			r.cols = append(r.cols, uint32(rng.Int64N(cols)))
		}
		slices.Sort(r.cols)
		r.cols = slices.Compact(r.cols)
		for range r.cols {
			r.vals = append(r.vals, next())
		}
		m.rows = append(m.rows, r)
	}
	return m
}

// write writes m as a store; without a coding in o it takes that of the values of m.
func write(t testing.TB, path string, m *matrix, o csr.CreateOptions) {
	t.Helper()
	o.Cols = m.cols
	if o.Values.Coding == "" {
		o.Values = m.stats()
	}
	w := must.Get(csr.Create(path, o))(t)
	defer w.Abort()
	for _, r := range m.rows {
		must.Do(t, w.AppendRow(r.cols, r.vals))
	}
	must.Do(t, w.Commit())
}

func open(t testing.TB, path string) *csr.Store {
	t.Helper()
	return csrtest.Open(t, path, csr.OpenOptions{})
}

// requireEqual compares every row and value of the store with the oracle.
func requireEqual(t testing.TB, s *csr.Store, m *matrix) {
	t.Helper()
	if s.Rows() != int64(len(m.rows)) || s.Cols() != m.cols || s.NNZ() != m.nnz() {
		t.Fatalf("store is %d × %d with %d entries, want %d × %d with %d", s.Rows(), s.Cols(), s.NNZ(), len(m.rows), m.cols, m.nnz())
	}
	var b csr.Block
	i := 0
	for k := range s.NumBlocks() {
		must.Do(t, s.DecodeBlock(k, &b))
		if b.FirstRow != int64(i) {
			t.Fatalf("block %d begins at row %d, want %d", k, b.FirstRow, i)
		}
		if info := s.Block(k); info.Rows != b.Rows() || info.NNZ != b.NNZ() || info.FirstRow != b.FirstRow {
			t.Fatalf("block %d is described as %+v", k, info)
		}
		for r := range b.Rows() {
			if cols, vals := rowOf(&b, r); !slices.Equal(cols, m.rows[i].cols) || !slices.Equal(vals, m.rows[i].vals) {
				t.Fatalf("row %d differs", i)
			}
			i++
		}
	}
	if i != len(m.rows) {
		t.Fatalf("%d rows in the blocks, want %d", i, len(m.rows))
	}
}

func rowOf(b *csr.Block, r int) (cols []uint32, vals []float64) {
	for c, v := range b.Row(r) {
		cols, vals = append(cols, c), append(vals, v)
	}
	return cols, vals
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, next := range map[string]func() float64{
		"constant": func() float64 { return 3.25 },
		"dict4":    func() float64 { return float64(rng.IntN(10)) / 2 },
		"dict4-16": func() float64 { return float64(rng.IntN(16)) - 8 },
		"dict8":    func() float64 { return float64(rng.IntN(256)) },
		"integer":  func() float64 { return math.Floor(math.Exp2(20 * rng.Float64())) },
		"float32":  func() float64 { return float64(rng.Float32()) },
		"float64":  func() float64 { return rng.NormFloat64() * math.Exp2(float64(rng.IntN(200)-100)) },
	} {
		t.Run(name, func(t *testing.T) {
			m := randomMatrix(rng, 3000, 5000, 200, next)
			path := filepath.Join(t.TempDir(), "x.csr")
			write(t, path, m, csr.CreateOptions{ShardSize: 100 << 10})
			s := open(t, path)
			if want := m.stats(); s.Values().Coding != want.Coding || !slices.Equal(s.Values().Table, want.Table) {
				t.Errorf("values are %+v, want %+v", s.Values(), want)
			}
			if len(s.Manifest().Shards) < 2 && name != "constant" {
				t.Errorf("only %d shards", len(s.Manifest().Shards))
			}
			requireEqual(t, s, m)
		})
	}
}

// TestShapes covers extreme shapes: no rows or columns, no entries, one giant row, the last
// possible column, and blocks that are exactly full.
func TestShapes(t *testing.T) {
	full := func(n int) row { // columns 0 … n−1
		r := row{make([]uint32, n), make([]float64, n)}
		for i := range n {
			r.cols[i], r.vals[i] = uint32(i), float64(i%7)
		}
		return r
	}
	const last = uint32(csr.MaxCols - 1)
	for name, c := range map[string]struct {
		m      *matrix
		blocks []int // rows of each
	}{
		"no rows":               {&matrix{cols: 5}, nil},
		"no columns":            {&matrix{cols: 0, rows: make([]row, 3)}, []int{3}},
		"nothing at all":        {&matrix{}, nil},
		"no entries":            {&matrix{cols: 9, rows: make([]row, 70_000)}, []int{65_536, 4_464}},
		"one entry":             {&matrix{cols: 1, rows: []row{{[]uint32{0}, []float64{-2}}}}, []int{1}},
		"huge gaps":             {&matrix{cols: csr.MaxCols, rows: []row{{[]uint32{0, last}, []float64{1, 2}}, {[]uint32{last - 1, last}, []float64{3, 4}}, {}, {[]uint32{last}, []float64{5}}}}, []int{4}},
		"giant row":             {&matrix{cols: 1 << 18, rows: []row{{}, full(3), full(csr.BlockNNZ + 1), {}, full(2)}}, []int{2, 1, 2}},
		"giant first and last":  {&matrix{cols: 1 << 18, rows: []row{full(200_000), full(200_000)}}, []int{1, 1}},
		"exactly full":          {&matrix{cols: 1 << 17, rows: []row{full(csr.BlockNNZ - 1), full(1), {}, full(1)}}, []int{3, 1}},
		"one too many":          {&matrix{cols: 1 << 17, rows: []row{full(csr.BlockNNZ - 1), full(2)}}, []int{1, 1}},
		"exactly 65536 rows":    {&matrix{cols: 3, rows: slices.Repeat([]row{full(1)}, csr.BlockRows)}, []int{csr.BlockRows}},
		"65537 rows":            {&matrix{cols: 3, rows: slices.Repeat([]row{full(1)}, csr.BlockRows+1)}, []int{csr.BlockRows, 1}},
		"explicit zeros stored": {&matrix{cols: 4, rows: []row{{[]uint32{1, 2}, []float64{0, 7}}}}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.csr")
			write(t, path, c.m, csr.CreateOptions{})
			s := open(t, path)
			requireEqual(t, s, c.m)
			var blocks []int
			for i := range s.NumBlocks() {
				blocks = append(blocks, s.Block(i).Rows)
			}
			if !slices.Equal(blocks, c.blocks) {
				t.Errorf("blocks of %v rows, want %v", blocks, c.blocks)
			}
			requireSound(t, path)
		})
	}
}

// requireSound checks that Check reports neither problems nor warnings.
func requireSound(t testing.TB, path string) {
	t.Helper()
	report := must.Get(csr.Check(t.Context(), path, csr.CheckOptions{}))(t)
	if len(report.Problems)+len(report.Warnings) > 0 {
		t.Fatalf("check reports %v and warns of %v", report.Problems, report.Warnings)
	}
	if size := dirSize(t, path); report.Bytes != size {
		t.Errorf("check looked at %d bytes of %d", report.Bytes, size)
	}
}

func dirSize(t testing.TB, path string) (size int64) {
	t.Helper()
	for _, e := range must.Get(os.ReadDir(path))(t) {
		fi := must.Get(e.Info())(t)
		size += fi.Size()
	}
	return size
}

// TestAppendEmptyRows checks that the store is the same as with rows appended one by one.
func TestAppendEmptyRows(t *testing.T) {
	dir := t.TempDir()
	one := row{[]uint32{2}, []float64{1}}
	m := &matrix{cols: 3, rows: slices.Concat(make([]row, 100_000), []row{one}, make([]row, 7))}
	write(t, filepath.Join(dir, "a.csr"), m, csr.CreateOptions{})

	w := must.Get(csr.Create(filepath.Join(dir, "b.csr"), csr.CreateOptions{Cols: 3, Values: m.stats()}))(t)
	must.Do(t, errors.Join(w.AppendEmptyRows(100_000), w.AppendRow(one.cols, one.vals), w.AppendEmptyRows(0), w.AppendEmptyRows(7), w.Commit()))
	a, b := open(t, filepath.Join(dir, "a.csr")), open(t, filepath.Join(dir, "b.csr"))
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("the stores differ")
	}
}

// TestShardSizeDoesNotMatter checks that blocks and fingerprint are the same for any shard size.
func TestShardSizeDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	m := randomMatrix(rng, 5000, 3000, 300, func() float64 { return float64(rng.IntN(9)) })
	var want *csr.Store
	for _, size := range []int64{1, 150_000, 1 << 40} {
		path := filepath.Join(t.TempDir(), "x.csr")
		write(t, path, m, csr.CreateOptions{ShardSize: size})
		got := open(t, path)
		requireEqual(t, got, m)
		if want == nil {
			want = got
			if len(want.Manifest().Shards) != want.NumBlocks() || want.NumBlocks() < 4 {
				t.Fatalf("%d shards and %d blocks", len(want.Manifest().Shards), want.NumBlocks())
			}
			continue
		}
		if got.Fingerprint() != want.Fingerprint() || got.MaxBlock() != want.MaxBlock() || norm(got) != norm(want) {
			t.Errorf("shard size %d changes the store", size)
		}
		for i := range want.NumBlocks() {
			b, w := got.Block(i), want.Block(i)
			if b.Shard = w.Shard; b != w {
				t.Errorf("shard size %d changes block %d", size, i)
			}
		}
	}
}

// TestFingerprintTellsApart checks that the fingerprint differs for every significant difference of
// two stores, and not for others.
func TestFingerprintTellsApart(t *testing.T) {
	base := func() *matrix {
		return &matrix{cols: 4, rows: []row{{[]uint32{0, 2}, []float64{1, 2}}, {[]uint32{1}, []float64{3}}}}
	}
	fingerprint := func(m *matrix, o csr.CreateOptions, ids ...int64) string {
		path := filepath.Join(t.TempDir(), "x.csr")
		o.Cols, o.Values = m.cols, m.stats()
		w := must.Get(csr.Create(path, o))(t)
		for _, r := range m.rows {
			must.Do(t, w.AppendRow(r.cols, r.vals))
		}
		if ids != nil {
			iw := must.Get(w.IDs(csr.RowAxis, csr.IntIDs))(t)
			for _, id := range ids {
				must.Do(t, iw.AppendInt(id))
			}
			must.Do(t, iw.Close())
		}
		must.Do(t, w.Commit())
		return open(t, path).Fingerprint()
	}
	want := fingerprint(base(), csr.CreateOptions{})
	edit := func(change func(*matrix)) *matrix {
		m := base()
		change(m)
		return m
	}
	for name, got := range map[string]string{
		"again":        fingerprint(base(), csr.CreateOptions{}),
		"source":       fingerprint(base(), csr.CreateOptions{Source: map[string]any{"x": 1}}),
		"identity ids": fingerprint(base(), csr.CreateOptions{}, 0, 1),
	} {
		if got != want {
			t.Errorf("%s: the fingerprint differs", name)
		}
	}
	for name, got := range map[string]string{
		"value":      fingerprint(edit(func(m *matrix) { m.rows[0].vals[0] = 2 }), csr.CreateOptions{}),
		"table":      fingerprint(edit(func(m *matrix) { m.rows[0].vals[0] = 1.5 }), csr.CreateOptions{}),
		"column":     fingerprint(edit(func(m *matrix) { m.rows[0].cols[1] = 3 }), csr.CreateOptions{}),
		"cols":       fingerprint(edit(func(m *matrix) { m.cols = 5 }), csr.CreateOptions{}),
		"rows":       fingerprint(edit(func(m *matrix) { m.rows = append(m.rows, row{}) }), csr.CreateOptions{}),
		"transposed": fingerprint(base(), csr.CreateOptions{Transposed: true}),
		"ids":        fingerprint(base(), csr.CreateOptions{}, 0, 2),
		"other ids":  fingerprint(base(), csr.CreateOptions{}, 1, 2),
	} {
		if got == want {
			t.Errorf("%s: the fingerprint does not differ", name)
		}
	}
}

// TestSumSquares compares with exact arithmetic on values for which plain summation loses digits.
func TestSumSquares(t *testing.T) {
	r := row{[]uint32{0}, []float64{1e8}}
	for i := range 10_000 {
		r.cols, r.vals = append(r.cols, uint32(i+1)), append(r.vals, 1e-1)
	}
	exact := new(big.Float).SetPrec(500)
	for _, v := range r.vals {
		sq := v * v
		exact.Add(exact, new(big.Float).SetPrec(500).SetFloat64(sq))
	}
	want, _ := exact.Float64()
	path := filepath.Join(t.TempDir(), "x.csr")
	write(t, path, &matrix{cols: 10_001, rows: []row{r}}, csr.CreateOptions{})
	if got := open(t, path).Manifest().SumSquares; got != want {
		t.Errorf("Σv² = %v, want %v", got, want)
	}
}

// TestNegativeZero checks that −0 is stored as 0 in every coding.
func TestNegativeZero(t *testing.T) {
	negative := math.Copysign(0, -1)
	for _, others := range [][]float64{{0}, {1}, {0.1, 1.0 / 3}} {
		vals := append([]float64{negative}, others...)
		var cols []uint32
		for i := range vals {
			cols = append(cols, uint32(i))
		}
		m := &matrix{cols: 9, rows: []row{{cols, vals}}}
		for _, v := range []csr.Values{m.stats(), {Coding: csr.Float64}} {
			path := filepath.Join(t.TempDir(), "x.csr")
			write(t, path, m, csr.CreateOptions{Values: v})
			if got := csrtest.Rows(t, open(t, path))[0][0].Val; math.Float64bits(got) != 0 {
				t.Errorf("%v: −0 became %v", v.Coding, got)
			}
		}
	}
}

func TestUseAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	write(t, path, &matrix{cols: 2, rows: []row{{[]uint32{1}, []float64{1}}}}, csr.CreateOptions{})
	s := must.Get(csr.Open(path, csr.OpenOptions{}))(t)
	must.Do(t, errors.Join(s.Close(), s.Close()))
	s.Release(0, 1)
	if s.DecodeBlock(0, new(csr.Block)) == nil {
		t.Error("a closed store decodes")
	}
}
