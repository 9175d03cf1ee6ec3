// Command scale shows what gdsvd svd takes as matrices grow far beyond memory,
// under a limit that the kernel enforces, and whether the results are right:
//
//	go run ./bench/scale -nnz 1e9 -dir /var/tmp -base ml-1m.csr
//
// It makes stores of 10⁷, 10⁸, … entries up to -nnz in -dir (gdsvd generate
// kron: copies of the base, singular values known; without -base the base is
// made up, in the shape of MovieLens 1M), and has each decomposed in up to
// four regimes:
//
//   - limit: with -memory, by the method that gdsvd chooses, in a memory cgroup
//     an eighth of a gibibyte larger, page cache included;
//   - streaming: with -stream-memory, so that every pass decodes nearly all of
//     the store anew, by a method that is always the same, in a cgroup that has
//     room for the store in the page cache besides: what reading and decoding
//     cost without the disk;
//   - disk: the same without that room, for stores twice as large as the cgroup,
//     of which every pass comes from the disk;
//   - resident: the same method with the whole store decoded in memory, where
//     that takes at most three quarters of what the machine has left.
//
// A run is good if every triplet is certified, every value is within 1e-10 of
// the truth, relatively, no more than the budget was resident, and nothing was killed. Stores are dropped from the
// page cache before a run, so that it is charged for what it reads. What a pass
// takes is the median over the passes of the iteration, without the first one,
// which fills memory.
//
// -store measures the regime limit alone, on a store of known values. With one whose vectors are larger than memory the
// tables have what their files take, too:
//
//	gdsvd generate kron --base slashdot.csr --rows 610 --cols 610 --nnz 1055 --memory 3GiB -o long.csr
//	go run ./bench/scale -store long.csr -k 4 -memory 1920MiB -o bench/scale/results/longvectors
//
// NAME.json has everything, NAME.md the tables; NAME is bench/scale/results/scale unless -o
// says otherwise. What is in NAME.json already is not measured again, so that a long series can be
// measured a piece at a time; delete it to begin anew. -only makes one size of it.
//
// Cgroups take Linux and root; where none can be made the program says so and
// stops, unless -unlimited is given.
package main

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

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
)

type options struct {
	gdsvd                   *harness.Program
	program, base, dir, out string
	path                    string  // of the only store
	largest, only           float64 // entries
	memory, streamMemory    int64
	regimes                 []string
	method                  []string // flags of the regimes with a fixed one
	rank                    int
	unlimited               bool
}

// headroom is how much larger than its budget the cgroup of a run is: room for
// the page cache, through which the store and the vectors go.
const headroom = 128 << 20

func main() {
	log.SetFlags(0)
	log.SetPrefix("scale: ")
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(o)
	}
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parse(args []string) (*options, error) {
	var o options
	var regimes, method string
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.StringVar(&o.program, "gdsvd", "", "the `PROGRAM` to measure (none: built from this source)")
	f.StringVar(&o.base, "base", "", "the `STORE` to make copies of (none: one is made up)")
	f.StringVar(&o.path, "store", "", "measure the regime limit on this `STORE` of known values instead")
	f.StringVar(&o.dir, "dir", os.TempDir(), "where stores are made, and results while they are looked at")
	f.StringVar(&o.out, "o", filepath.Join("bench", "scale", "results", "scale"), "`NAME` of the tables")
	f.Float64Var(&o.largest, "nnz", 1e8, "entries of the largest store")
	f.Float64Var(&o.only, "only", 0, "measure the store of this many entries only")
	f.BoolVar(&o.unlimited, "unlimited", false, "go on without a cgroup where none can be made")
	harness.SizeVar(f, &o.memory, "memory", "512MiB", "budget of the regime limit")
	harness.SizeVar(f, &o.streamMemory, "stream-memory", "62MiB", "budget of the regimes streaming and disk")
	f.StringVar(&regimes, "regimes", strings.Join(allRegimes, ","), "regimes to measure")
	f.StringVar(&method, "method", "--method krylov --block 4", "flags of the regimes other than limit")
	f.IntVar(&o.rank, "k", 10, "number of triplets")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || o.largest < 1 || o.rank < 1 {
		return nil, errors.New("want a positive -nnz and -k, and no arguments")
	}
	o.regimes, o.method = strings.Split(regimes, ","), strings.Fields(method)
	for _, r := range o.regimes {
		if !slices.Contains(allRegimes, r) {
			return nil, fmt.Errorf("regime %q: there are %v", r, allRegimes)
		}
	}
	return &o, nil
}

// run makes the stores, measures what is missing in the report, and writes it.
func run(o *options) (err error) {
	if err := errors.Join(os.MkdirAll(o.dir, 0o777), os.MkdirAll(filepath.Dir(o.out), 0o777)); err != nil {
		return err
	}
	if o.gdsvd, err = harness.Open(context.Background(), o.program); err != nil {
		return err
	}
	o.gdsvd.Log = os.Stderr
	defer func() { err = errors.Join(err, o.gdsvd.Close()) }()
	r, err := openReport(o)
	if err != nil {
		return err
	}
	if o.path != "" {
		store, err := harness.OpenStore(o.path, o.rank)
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
	var sizes []float64 // the powers of ten from 10⁷ on up to the largest, and the largest; or the only one
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

// factorCols is the width of the factor: copies of the base stand in that number of
// columns, whatever the size, as a shop has more and more customers but not more
// and more goods.
const factorCols = 4

func (o *options) store(n float64) (*harness.Store, error) {
	path := filepath.Join(o.dir, fmt.Sprintf("kron-%.3g.csr", n))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := o.makeStore(path, n); err != nil {
			return nil, err
		}
	}
	return harness.OpenStore(path, o.rank)
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
	// About half of the cells of the factor have an entry, and the store is the
	// longer way round along its rows.
	copies := int(math.Round(n / float64(max(1, nnz))))
	least := int((factorCols*cols + rows - 1) / max(1, rows))
	factorRows := max(least, (copies+1)/2)
	if copies < factorRows || copies > factorRows*factorCols {
		return fmt.Errorf("%.3g entries cannot be made of copies of %s with its %d: too few of them", n, o.base, nnz)
	}
	return o.gdsvd.Do(context.Background(), "generate", "kron", "--base", o.base, "-o", path,
		"--rows", strconv.Itoa(factorRows), "--cols", strconv.Itoa(factorCols), "--nnz", strconv.Itoa(copies))
}

// madeUp ingests ratings in the shape of MovieLens 1M as the base, unless that is there.
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
