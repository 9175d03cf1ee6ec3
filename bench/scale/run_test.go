package scale

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

type options struct {
	gdsvd                   *harness.Program
	program, base, dir, out string
	path                    string  // a store to measure instead of made ones
	largest, only           float64 // entries
	memory, streamMemory    int64
	regimes                 []string
	method                  []string // flags of the regimes with a fixed method
	rank                    int
	unlimited               bool
}

// headroom is the difference between the cgroup's limit and the budget of a run: room for the page
// cache, through which the store and the vectors are read.
const headroom = 128 << 20

// asked holds the flags of the test.
var asked struct {
	options
	regimes, method string
}

func init() {
	o := &asked
	flag.StringVar(&o.program, "gdsvd", "", "the `PROGRAM` to measure (none: built from this source)")
	flag.StringVar(&o.base, "base", "", "the `STORE` to make copies of (none: one is made up)")
	flag.StringVar(&o.path, "store", "", "measure the regime limit on this `STORE` of known values instead")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where stores are made, and results while they are looked at")
	flag.StringVar(&o.out, "out", filepath.Join(os.TempDir(), "scale"), "`NAME` of the tables")
	flag.Float64Var(&o.largest, "nnz", 0, "entries of the largest store (0: 12 million in two regimes)")
	flag.Float64Var(&o.only, "only", 0, "measure the store of this many entries only")
	flag.BoolVar(&o.unlimited, "unlimited", false, "go on without a cgroup where none can be made")
	harness.SizeVar(flag.CommandLine, &o.memory, "memory", "512MiB", "budget of the regime limit")
	harness.SizeVar(flag.CommandLine, &o.streamMemory, "stream-memory", "62MiB", "budget of the regimes streaming and disk")
	flag.StringVar(&o.regimes, "regimes", strings.Join(allRegimes, ","), "regimes to measure")
	flag.StringVar(&o.method, "method", "--method krylov --block 4", "flags of the regimes other than limit")
	flag.IntVar(&o.rank, "k", 10, "number of triplets")
}

// TestScale measures what the flags ask for; it skips without -nnz and -store. See also TestSmallScale.
func TestScale(t *testing.T) {
	o := asked.options
	if o.largest == 0 && o.path == "" {
		t.Skip("-nnz and -store are not given")
	}
	o.regimes, o.method = strings.Split(asked.regimes, ","), strings.Fields(asked.method)
	for _, r := range o.regimes {
		if !slices.Contains(allRegimes, r) {
			t.Fatalf("regime %q: there are %v", r, allRegimes)
		}
	}
	must.Do(t, run(t, &o))
}

// run makes the stores, measures what is missing in the report, and writes it.
func run(t *testing.T, o *options) (err error) {
	if err := errors.Join(os.MkdirAll(o.dir, 0o777), os.MkdirAll(filepath.Dir(o.out), 0o777)); err != nil {
		return err
	}
	o.gdsvd = harness.Open(t, o.program)
	o.gdsvd.Log = os.Stderr
	r, err := openReport(o)
	if err != nil {
		return err
	}
	if o.path != "" {
		store, err := openStore(o.path, o.rank)
		if err != nil {
			return err
		}
		row, err := o.measure(store, limited)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, *row)
		return errors.Join(r.write(o.out), r.verdict())
	}
	var sizes []float64 // the powers of ten from 10⁷ up to the largest, and the largest; or only o.only
	for n := 1e7; o.only == 0 && n < 0.99*o.largest; n *= 10 {
		sizes = append(sizes, n)
	}
	for _, n := range append(sizes, cmp.Or(o.only, o.largest)) {
		store, err := o.store(n)
		if err != nil {
			return err
		}
		for _, regime := range o.regimes {
			if r.has(store.NNZ, regime) {
				continue
			}
			row, err := o.measure(store, regime)
			if err != nil {
				return err
			}
			if row == nil {
				log.Printf("%s: no case for the regime %s on this machine", store.Path, regime)
				continue
			}
			r.Rows = append(r.Rows, *row)
			if err := r.write(o.out); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.write(o.out), r.verdict())
}

// factorCols is the number of columns of the factor, for every size: copies of the base extend
// mainly the rows, as a shop gains more and more customers but not more and more goods.
const factorCols = 4

func (o *options) store(n float64) (*dataset, error) {
	path := filepath.Join(o.dir, fmt.Sprintf("kron-%.3g.csr", n))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := o.makeStore(path, n); err != nil {
			return nil, err
		}
	}
	return openStore(path, o.rank)
}

func (o *options) makeStore(path string, n float64) error {
	if o.base == "" {
		if err := o.madeUp(); err != nil {
			return err
		}
	}
	base, err := csr.Open(o.base, csr.OpenOptions{})
	if err != nil {
		return err
	}
	nnz, rows, cols := base.NNZ(), base.Rows(), base.Cols()
	if err := base.Close(); err != nil {
		return err
	}
	// About half of the cells of the factor have an entry, and the store has at least as many rows
	// as columns.
	copies := int(math.Round(n / float64(max(1, nnz))))
	least := int((factorCols*cols + rows - 1) / max(1, rows))
	factorRows := max(least, (copies+1)/2)
	if copies < factorRows || copies > factorRows*factorCols {
		return fmt.Errorf("%.3g entries cannot be made of copies of %s with its %d: too few of them", n, o.base, nnz)
	}
	return o.gdsvd.Do(context.Background(), "generate", "kron", "--base", o.base, "-o", path,
		"--rows", strconv.Itoa(factorRows), "--cols", strconv.Itoa(factorCols), "--nnz", strconv.Itoa(copies))
}

// madeUp makes ratings in the shape of MovieLens 1M and ingests them as the base, unless the base exists.
func (o *options) madeUp() error {
	text := filepath.Join(o.dir, "base.dat")
	o.base = filepath.Join(o.dir, "base.csr")
	if _, err := os.Stat(o.base); err == nil {
		return nil
	}
	ctx := context.Background()
	err := o.gdsvd.Do(ctx, "generate", "ratings", "-o", text, "--users", "6040", "--items", "3706", "--ratings", "1000209")
	if err == nil {
		err = errors.Join(o.gdsvd.Do(ctx, "ingest", text, "-o", o.base), os.Remove(text))
	}
	return err
}
