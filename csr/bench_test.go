package csr_test

import (
	"bufio"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/must"
)

// ratings returns a matrix shaped like ratings: popular columns have most of the entries, rows have
// between 20 and a few thousand.
func ratings(rows int, cols int64, perRow float64, next func(*rand.Rand) float64) *matrix {
	rng := rand.New(rand.NewPCG(3, 4))
	m := &matrix{cols: cols}
	for range rows {
		n := int(20 + (perRow-20)*rng.ExpFloat64())
		seen := map[uint32]bool{}
		for len(seen) < min(n, int(cols)/2) {
			u := rng.Float64()
			seen[uint32(float64(cols)*u*u*u)] = true
		}
		var r row
		for c := range seen {
			r.cols = append(r.cols, c)
		}
		slices.Sort(r.cols)
		for range r.cols {
			r.vals = append(r.vals, next(rng))
		}
		m.rows = append(m.rows, r)
	}
	return m
}

func halfStars(rng *rand.Rand) float64 { return float64(1+rng.IntN(10)) / 2 }

func anyFloat(rng *rand.Rand) float64 { return rng.NormFloat64() }

// movieLens1M reads MovieLens 1M with columns numbered by ascending movie id.
func movieLens1M(t testing.TB) *matrix {
	t.Helper()
	dir := os.Getenv("GDSVD_DATA")
	if dir == "" {
		t.Skip("GDSVD_DATA is not set")
	}
	f := must.Get(os.Open(filepath.Join(dir, "movielens", "ml-1m", "ratings-notimestamp.dat.gz")))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	type rating struct {
		movie int
		value float64
	}
	users := map[int][]rating{}
	movies := map[int]bool{}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		var field [3]int
		for i, s := range strings.SplitN(lines.Text(), "::", 3) {
			field[i] = must.Get(strconv.Atoi(s))(t)
		}
		users[field[0]] = append(users[field[0]], rating{field[1], float64(field[2])})
		movies[field[1]] = true
	}
	must.Do(t, lines.Err())
	ids := make([]int, 0, len(movies))
	for id := range movies {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	m := &matrix{cols: int64(len(ids)), rows: make([]row, len(users))}
	for user, rs := range users {
		slices.SortFunc(rs, func(a, b rating) int { return a.movie - b.movie })
		r := &m.rows[user-1]
		for _, x := range rs {
			c, _ := slices.BinarySearch(ids, x.movie)
			r.cols = append(r.cols, uint32(c))
			r.vals = append(r.vals, x.value)
		}
	}
	return m
}

// TestSizeOnDisk bounds the bytes per entry of a store, all files included.
func TestSizeOnDisk(t *testing.T) {
	for _, c := range []struct {
		name   string
		matrix func(testing.TB) *matrix
		limit  float64
	}{
		{"MovieLens1M", movieLens1M, 1.7},
		{"float64", func(testing.TB) *matrix { return ratings(2000, 10677, 143, anyFloat) }, 9.6},
		{"float64-few-rows", func(testing.TB) *matrix { return ratings(1000, 3706, 165, anyFloat) }, 9.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.csr")
			m := c.matrix(t)
			write(t, path, m, csr.CreateOptions{})
			s := open(t, path)
			got := float64(s.Size()) / float64(s.NNZ())
			t.Logf("%d × %d, %d entries: %.3f bytes per entry", s.Rows(), s.Cols(), s.NNZ(), got)
			if got > c.limit {
				t.Errorf("%.3f bytes per entry, want at most %v", got, c.limit)
			}
		})
	}
}

// shortRows returns a matrix shaped like a social network: most rows have a few entries, a few have
// hundreds, columns are uniform.
func shortRows(rows int, cols int64) *matrix {
	rng := rand.New(rand.NewPCG(5, 6))
	m := &matrix{cols: cols, rows: make([]row, rows)}
	for i := range m.rows {
		n := min(2000, int(4/math.Pow(1-rng.Float64(), 0.7)))
		r := &m.rows[i]
		for range n {
			r.cols = append(r.cols, uint32(rng.Int64N(cols)))
		}
		slices.Sort(r.cols)
		r.cols = slices.Compact(r.cols)
		r.vals = slices.Repeat([]float64{1}, len(r.cols))
	}
	return m
}

// BenchmarkDecode decodes whole blocks from warm pages on one core, with each set of instructions,
// checksums included; "crc" only computes checksums. It also measures the stores in GDSVD_STORES, a
// list of paths.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name   string
		matrix func(testing.TB) *matrix
	}{
		{"MovieLens1M", movieLens1M},
		{"dict4", func(testing.TB) *matrix { return ratings(14000, 10677, 143, halfStars) }},
		{"dict8", func(testing.TB) *matrix {
			return ratings(14000, 10677, 143, func(r *rand.Rand) float64 { return float64(r.IntN(100)) })
		}},
		{"shortRows", func(testing.TB) *matrix { return shortRows(80000, 82168) }},
		{"constant", func(testing.TB) *matrix { return ratings(14000, 10677, 143, func(*rand.Rand) float64 { return 1 }) }},
		{"float32", func(testing.TB) *matrix {
			return ratings(14000, 10677, 143, func(r *rand.Rand) float64 { return float64(r.Float32()) })
		}},
		{"float64", func(testing.TB) *matrix { return ratings(14000, 10677, 143, anyFloat) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.csr")
			write(b, path, c.matrix(b), csr.CreateOptions{})
			benchStore(b, path)
		})
	}
	for _, path := range filepath.SplitList(os.Getenv("GDSVD_STORES")) {
		b.Run(strings.TrimSuffix(filepath.Base(path), ".csr"), func(b *testing.B) { benchStore(b, path) })
	}
}

func benchStore(b *testing.B, path string) {
	s := open(b, path)
	for _, level := range cpu.Levels() {
		b.Run(level.String(), func(b *testing.B) {
			s.DecodeWith(level)
			var blk csr.Block
			benchBlocks(b, s, func(i int) error { return s.DecodeBlock(i, &blk) })
		})
	}
	b.Run("crc", func(b *testing.B) { benchBlocks(b, s, s.VerifyBlock) })
}

func benchBlocks(b *testing.B, s *csr.Store, do func(i int) error) {
	var size int64
	for i := range s.NumBlocks() {
		size += s.Block(i).Size
	}
	b.SetBytes(size)
	best := time.Duration(math.MaxInt64) // the least disturbed run
	for b.Loop() {
		start := time.Now()
		for i := range s.NumBlocks() {
			must.Do(b, do(i))
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.NNZ()), "ns/nnz")
	b.ReportMetric(float64(best.Nanoseconds())/float64(s.NNZ()), "best-ns/nnz")
	b.ReportMetric(float64(size)/float64(s.NNZ()), "bytes/nnz")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkWrite encodes and writes rows and publishes the store.
func BenchmarkWrite(b *testing.B) {
	m := ratings(14000, 10677, 143, halfStars)
	dir := b.TempDir()
	for b.Loop() {
		write(b, filepath.Join(dir, "x.csr"), m, csr.CreateOptions{Force: true, Values: csr.Values{
			Coding: csr.Dict4, Table: []float64{0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5},
		}})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.nnz()), "ns/nnz")
}

// BenchmarkValueStats adds half-star ratings, the common case.
func BenchmarkValueStats(b *testing.B) {
	var s csr.ValueStats
	i := 0
	for b.Loop() {
		s.Add(math.Abs(float64(i%10)) / 2)
		i++
	}
}
