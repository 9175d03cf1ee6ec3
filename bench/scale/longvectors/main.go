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
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/bench/memgroup"
	"github.com/gdsvd/gdsvd/csr"
)

// headroom is what the control group has beyond the budget of the run.
const headroom = 128 << 20

// wrong is how far from the truth a value may be, relatively.
const wrong = 1e-10

type options struct {
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
	var limit int
	flag.StringVar(&o.program, "gdsvd", "", "the `PROGRAM` to measure (none: built from this source)")
	flag.StringVar(&o.base, "base", "", "the `STORE` to make copies of")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where the store and the result are made")
	flag.StringVar(&o.out, "o", "longvectors", "`NAME` of the report")
	flag.IntVar(&o.factor, "factor", 610, "rows and columns of the factor")
	flag.IntVar(&o.copies, "copies", 1055, "entries of the factor")
	flag.IntVar(&o.rank, "k", 4, "number of triplets")
	flag.IntVar(&limit, "limit", 2048, "the control group holds so many `MiB`")
	flag.BoolVar(&o.keep, "keep", false, "keep the store")
	flag.Parse()
	o.limit, o.flags = int64(limit)<<20, flag.Args()
	if o.base == "" {
		log.Fatal("which -base?")
	}
	if err := run(&o); err != nil {
		log.Fatal(err)
	}
}

func run(o *options) (err error) {
	if o.program == "" {
		o.program = filepath.Join(o.dir, "gdsvd-longvectors")
		if err := command("go", "build", "-o", o.program, "github.com/gdsvd/gdsvd/cmd/gdsvd"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(o.program)) }()
	}
	store := filepath.Join(o.dir, fmt.Sprintf("longvectors-%d-%d.csr", o.factor, o.copies))
	if _, err := os.Stat(store); errors.Is(err, fs.ErrNotExist) {
		size := strconv.Itoa(o.factor)
		err := command(o.program, "generate", "kron", "--base", o.base, "-o", store, "--memory", "3GiB",
			"--rows", size, "--cols", size, "--nnz", strconv.Itoa(o.copies))
		if err != nil {
			return err
		}
	}
	r, err := measure(o, store)
	if err == nil {
		err = r.write(o.out)
	}
	if !o.keep {
		err = errors.Join(err, os.RemoveAll(store))
	}
	if err == nil && r.Wrong != "" {
		err = errors.New(r.Wrong)
	}
	return err
}

func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args[:2], " "), err)
	}
	return nil
}

// measure has the store decomposed within the limit.
func measure(o *options, path string) (*report, error) {
	r := &report{Limit: o.limit, Memory: o.limit - headroom, K: o.rank}
	files, sigma, err := r.describe(path)
	if err != nil {
		return nil, err
	}
	if err := memgroup.Forget(files...); err != nil {
		return nil, err
	}
	g, err := memgroup.New("gdsvd-longvectors", o.limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Remove()) }()
	args := append([]string{"svd", path, "-k", strconv.Itoa(o.rank), "--memory", strconv.FormatInt(r.Memory, 10)}, o.flags...)
	explained, err := exec.Command(o.program, append(args, "--explain")...).Output()
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	r.Explained, _, _ = strings.Cut(string(explained), "\n\n   ") // without what else was considered
	out := filepath.Join(o.dir, "longvectors.svd")
	cmd := exec.Command(o.program, append(args, "-o", out, "--force", "--json")...)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	start := time.Now()
	runErr := g.Command(cmd).Run()
	r.Wall = time.Since(start).Seconds()
	if r.Group, err = g.Usage(); err != nil {
		return nil, err
	}
	if runErr != nil {
		return nil, fmt.Errorf("after %.0f s, with at most %d bytes charged and %d processes killed: %w", r.Wall, r.Group.Peak, r.Group.Killed, runErr)
	}
	if err := r.result(stdout.Bytes(), sigma); err != nil {
		return nil, err
	}
	if err := r.passes(filepath.Join(out, "events.jsonl")); err != nil {
		return nil, err
	}
	return r, os.RemoveAll(out)
}

// describe fills in what the store is and returns its files and true values.
func (r *report) describe(path string) (files []string, sigma []float64, err error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	truth, err := s.Truth()
	if err != nil {
		return nil, nil, err
	}
	if truth == nil || len(truth.Sigma) < r.K {
		return nil, nil, fmt.Errorf("%s: nothing is known of its singular values", path)
	}
	r.Rows, r.Cols, r.NNZ, r.Bytes = s.Rows(), s.Cols(), s.NNZ(), s.Size()
	for _, shard := range s.Manifest().Shards {
		files = append(files, filepath.Join(path, shard.Name))
	}
	return files, truth.Sigma, nil
}

// result reads what gdsvd has printed and holds it against the truth.
func (r *report) result(printed []byte, sigma []float64) error {
	if err := json.Unmarshal(printed, &r.Result); err != nil {
		return fmt.Errorf("read what gdsvd printed: %w", err)
	}
	for i, s := range r.Result.Sigma {
		r.Error = max(r.Error, abs(s-sigma[i])/sigma[i])
	}
	switch {
	case !r.Result.Certified || r.Result.Converged < r.K:
		r.Wrong = fmt.Sprintf("%d of %d triplets are certified", r.Result.Converged, r.K)
	case !(r.Error <= wrong):
		r.Wrong = fmt.Sprintf("a value is off by %.2g", r.Error)
	case r.Result.PeakRSS > r.Memory:
		r.Wrong = fmt.Sprintf("%d bytes were resident", r.Result.PeakRSS)
	}
	return nil
}

func abs(x float64) float64 { return max(x, -x) }
