//go:build !race

package stream_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"gonum.org/v1/gonum/mat"
)

// limitedStore is the environment variable with the store that a child process makes passes over.
const limitedStore = "GDSVD_TEST_LIMITED_STORE"

const limitedBudget = 32 << 20

// passesUnderLimit multiplies with the store four times and prints the crc of the result, whether
// the results differ, and whether there were direct reads.
func passesUnderLimit(path string) error {
	var direct atomic.Int64
	s, err := csr.Open(path, csr.OpenOptions{FS: &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpDirect {
			direct.Add(1)
		}
		return nil
	}}})
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := stream.New(s, stream.Options{Memory: limitedBudget, Width: 2, Workers: 2})
	if err != nil {
		return err
	}
	x, y := mat.NewDense(m.Info().Cols, 2, nil), mat.NewDense(m.Info().Cols, 2, nil)
	for i := range m.Info().Cols {
		x.SetRow(i, []float64{1 / float64(1+i), float64(i % 7)})
	}
	sums := map[uint32]bool{}
	var bits []byte
	for range 4 {
		if _, err := m.Run(context.Background(), solver.Pass{X: x, Sum: y}); err != nil {
			return err
		}
		bits = bits[:0]
		for _, v := range y.RawMatrix().Data {
			bits = fmt.Appendf(bits, "%x ", math.Float64bits(v))
		}
		sums[crc32.ChecksumIEEE(bits)] = true
	}
	fmt.Println("bits", crc32.ChecksumIEEE(bits), len(sums), "direct", direct.Load() > 0)
	return m.Close()
}

// TestPassesWithinAKernelLimit checks passes over a store larger than the memory limit, page cache
// included: they read past the cache, stay within the limit, and have the bits of passes over a
// cached store. The race detector takes more memory than the limit leaves.
func TestPassesWithinAKernelLimit(t *testing.T) {
	if path := os.Getenv(limitedStore); path != "" {
		must.Do(t, passesUnderLimit(path))
		return
	}
	longtest.Only(t)
	group := cgroup.ForTest(t, "gdsvd-test-passes", limitedBudget+16<<20)
	path := writeLarge(t, 96<<20)
	run := func(g *cgroup.Group) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestPassesWithinAKernelLimit$")
		cmd.Env = append(os.Environ(), limitedStore+"="+path)
		out, err := g.Command(cmd).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return line
	}
	want := run(nil) // the store has just been written: all of it is in the cache
	must.Do(t, cgroup.Forget(shardsOf(t, path)...))
	got := run(group)
	if usage, err := group.Usage(); err != nil || usage.Killed > 0 {
		t.Errorf("%+v, %v", usage, err)
	}
	if !strings.HasSuffix(want, " 1 direct false") {
		t.Errorf("a store in the cache: %s", want)
	}
	if strings.TrimSuffix(got, "true") != strings.TrimSuffix(want, "false") {
		t.Errorf("%s; without a limit: %s", got, want)
	}
}

// writeLarge makes a store of float64 values with about size bytes.
func writeLarge(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.csr")
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: 4000, Values: csr.Values{Coding: csr.Float64}, ShardSize: 16 << 20}))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	cols, vals := make([]uint32, 1000), make([]float64, 1000)
	for written := int64(0); written < size; written += 9 * 1000 {
		for i := range cols {
			cols[i], vals[i] = uint32(4*i)+rng.Uint32N(4), rng.NormFloat64()
		}
		must.Do(t, w.AppendRow(cols, vals))
	}
	must.Do(t, w.Commit())
	return path
}

func shardsOf(t *testing.T, path string) []string {
	t.Helper()
	return must.Get(filepath.Glob(filepath.Join(path, "shard-*")))(t)
}
