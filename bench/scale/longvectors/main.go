// Command longvectors has a square matrix decomposed whose vectors are larger than
// memory, under a limit that the kernel enforces, page cache included:
//
//	go run ./bench/scale/longvectors -base slashdot.csr -dir /var/tmp -o bench/scale/results/longvectors
//
// The matrix is the Kronecker product of a random sparse factor, -factor by
// -factor with -copies entries, and the store -base, the adjacency matrix of a
// graph for example: as many rows and columns as a large graph, few entries a row,
// and known singular values. gdsvd chooses the method, unless flags for it are
// given behind the others, and finds that neither the basis nor the vectors that
// are wanted fit into memory.
//
// The control group of the run holds -limit, its --memory is an eighth of a gibibyte
// less. The run is good if it was not killed, every triplet is certified, and every
// value is within 1e-10 of the truth, relatively. NAME.json and NAME.md say what it
// took, and the most that was resident.
//
// Cgroups take Linux and root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// headroom is what the control group has beyond the budget of the run.
const headroom = 128 << 20

type options struct {
	gdsvd                   *harness.Program
	program, base, dir, out string
	factor, copies, rank    int
	limit                   int64
	keep                    bool
	flags                   []string // of gdsvd svd
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("longvectors: ")
	var o options
	flag.StringVar(&o.program, "gdsvd", "", "the `PROGRAM` to measure (none: built from this source)")
	flag.StringVar(&o.base, "base", "", "the `STORE` to make copies of")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where the store and the result are made")
	flag.StringVar(&o.out, "o", "longvectors", "`NAME` of the report")
	flag.IntVar(&o.factor, "factor", 610, "rows and columns of the factor")
	flag.IntVar(&o.copies, "copies", 1055, "entries of the factor")
	flag.IntVar(&o.rank, "k", 4, "number of triplets")
	harness.SizeVar(flag.CommandLine, &o.limit, "limit", "2GiB", "memory of the control group")
	flag.BoolVar(&o.keep, "keep", false, "keep the store")
	flag.Parse()
	o.flags = flag.Args()
	if o.base == "" {
		log.Fatal("which -base?")
	}
	if err := run(&o); err != nil {
		log.Fatal(err)
	}
}

func run(o *options) (err error) {
	ctx := context.Background()
	if o.gdsvd, err = harness.Open(ctx, o.program); err != nil {
		return err
	}
	o.gdsvd.Log = os.Stderr
	defer func() { err = errors.Join(err, o.gdsvd.Close()) }()
	store := filepath.Join(o.dir, fmt.Sprintf("longvectors-%d-%d.csr", o.factor, o.copies))
	if _, err := os.Stat(store); errors.Is(err, fs.ErrNotExist) {
		size := strconv.Itoa(o.factor)
		err := o.gdsvd.Do(ctx, "generate", "kron", "--base", o.base, "-o", store, "--memory", "3GiB",
			"--rows", size, "--cols", size, "--nnz", strconv.Itoa(o.copies))
		if err != nil {
			return err
		}
	}
	r, err := measure(ctx, o, store)
	if err == nil {
		err = harness.Write(o.out, r, r.markdown())
	}
	if !o.keep {
		err = errors.Join(err, os.RemoveAll(store))
	}
	if err == nil && r.Wrong != "" {
		err = errors.New(r.Wrong)
	}
	return err
}

// measure has the store decomposed within the limit.
func measure(ctx context.Context, o *options, path string) (r *report, err error) {
	s, err := harness.OpenStore(path, o.rank)
	if err != nil {
		return nil, err
	}
	r = &report{Rows: s.Rows, Cols: s.Cols, NNZ: s.NNZ, Bytes: s.Bytes, K: o.rank, Limit: o.limit, Memory: o.limit - headroom}
	if err := s.Forget(); err != nil {
		return nil, err
	}
	g, err := cgroup.New("gdsvd-longvectors", o.limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Remove()) }()
	args := append([]string{"svd", path, "-k", strconv.Itoa(o.rank), "--memory", strconv.FormatInt(r.Memory, 10)}, o.flags...)
	explained, err := o.gdsvd.Run(ctx, nil, append(args, "--explain")...)
	if err != nil {
		return nil, err
	}
	r.Explained, _, _ = strings.Cut(string(explained.Printed), "\n\n   ") // without what else was considered
	out := filepath.Join(o.dir, "longvectors.svd")
	run, err := o.gdsvd.Run(ctx, g, append(args, "-o", out, "--force", "--json")...)
	if err != nil {
		return nil, fmt.Errorf("after %.0f s, with %+v: %w", run.Seconds, *run.Group, err)
	}
	r.Wall, r.Group = run.Seconds, *run.Group
	if err := run.Decode(&r.Result); err != nil {
		return nil, err
	}
	r.Error, r.Wrong = r.Result.Judge(s.Sigma, r.Memory)
	passes, err := harness.ReadPasses(out)
	if err != nil {
		return nil, err
	}
	r.Pass, r.Between, r.Finish = harness.Median(passes.Seconds), harness.Median(passes.Between), passes.Finish
	return r, os.RemoveAll(out)
}
