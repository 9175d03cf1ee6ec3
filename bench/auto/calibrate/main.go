// Command calibrate measures the cost of passes and of the work between them on this machine and writes it to a file, or makes
// the table of package cost from such files, one for each processor type:
//
//	go run ./bench/auto/calibrate -o bench/auto/results/cost-avx2.json
//	go run ./bench/auto/calibrate -w solver/cost/table.go bench/auto/results/cost-*.json
//
// A measurement takes a few minutes of two processors. Passes are measured in processor time, which does not include other work
// on the machine, except for the share of the caches that this work takes. A file is best made of the medians of several
// measurements. The table is the geometric mean of its files, so that no processor type is preferred. The method chosen by
// default depends on the table, and the last bits of results depend on the method. So the costs are measured again only when
// the kernels or the dense work have changed.
//
// Products and decoding are measured on stores with 4 to 64 million entries, 64 a row, whose popular columns are scattered. In a
// Kronecker product, or where ids are sorted by popularity, popular columns are neighbours and stay in the caches. Dense work is
// measured in runs of Krylov on a diagonal operator, whose products cost almost nothing.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
)

// Values of the table that are not measured.
const (
	bandwidth = 1e9 // of a cloud disk, in bytes a second
	workers   = 2
	// Decoding and dense work are measured in rounds, of which the fastest counts. Passes are repeated for enough seconds, and the
	// time that a tenth of them do not exceed counts: the fastest of many passes has had all of the caches.
	rounds, enough = 4, 1.5
)

// entries returns the number of entries of the store with n columns: enough entries a column that a pass has as many lanes of
// sums as for a large matrix.
func entries(n int) int { return min(64<<20, max(4<<20, 256*n)) }

var (
	columns = []int{1 << 10, 15_000, 60_000, 1_000_000}
	widths  = []int{1, 2, 4, 8, 16, 32, 64}
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "", "measure this machine and write what it costs to `FILE`")
	table := flag.String("w", "", "write the table of the machines in the arguments to `FILE`")
	flag.Parse()
	var text []byte
	var err error
	to := *out
	switch {
	case to != "" && *table == "" && flag.NArg() == 0:
		var m cost.Machine
		if m, err = machine(context.Background()); err == nil {
			text, err = json.Marshal(m)
		}
	case to == "" && *table != "" && flag.NArg() > 0:
		to = *table
		text, err = mean(flag.Args())
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o666)
	}
	if err != nil {
		log.Fatal("calibrate: ", err)
	}
}

func machine(ctx context.Context) (m cost.Machine, err error) {
	m = cost.Machine{Workers: workers, Bandwidth: bandwidth, Decode: math.Inf(1), Columns: numbers(columns), Widths: numbers(widths)}
	if m.Sum, err = sums(ctx); err != nil {
		return m, err
	}
	for _, n := range columns {
		c, err := measure(ctx, n, entries(n))
		if err != nil {
			return m, err
		}
		for j, l := range widths {
			c.product[j] = max(c.product[j]/2, c.product[j]-m.Sum*float64(n*l*workers)/float64(entries(n)))
		}
		m.Multiply = append(m.Multiply, c.product)
		m.Decode = min(m.Decode, c.decode)
		log.Printf("%d columns: %.3g", n, c.product)
	}
	m.Dense, err = denseWork(ctx)
	return m, err
}

func numbers(x []int) (all []float64) {
	for _, v := range x {
		all = append(all, float64(v))
	}
	return all
}

// mean returns the Go source of the geometric mean of the machines in files.
func mean(files []string) ([]byte, error) {
	machines := make([]cost.Machine, len(files))
	for i, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &machines[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if m, first := machines[i], machines[0]; !slices.Equal(m.Columns, first.Columns) || !slices.Equal(m.Widths, first.Widths) {
			return nil, fmt.Errorf("%s has other columns or widths than %s", name, files[0])
		}
	}
	number := func(of func(cost.Machine) float64) string {
		sum := 0.0
		for _, m := range machines {
			sum += math.Log(of(m))
		}
		return fmt.Sprintf("%.3g", math.Exp(sum/float64(len(machines))))
	}
	list := func(of func(cost.Machine) []float64) string {
		s := "{"
		for j := range of(machines[0]) {
			s += number(func(m cost.Machine) float64 { return of(m)[j] }) + ","
		}
		return strings.TrimSuffix(s, ",") + "}"
	}
	table := func(of func(cost.Machine) [][]float64) string {
		s := "[][]float64{\n"
		for i := range machines[0].Columns {
			s += list(func(m cost.Machine) []float64 { return of(m)[i] }) + ",\n"
		}
		return s + "}"
	}
	exact := func(x []float64) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(x), "[]"), " ", ",") }
	return format.Source(fmt.Appendf(nil, `// Code generated by bench/auto/calibrate; DO NOT EDIT.

package cost

// Reference is the machine that Choose chooses for: the mean of the processor types in bench/auto/results. A change of these
// numbers may change what is chosen, and with it the last bits of results.
func Reference() Machine {
	return Machine{
	Workers: %d,
	Bandwidth: %g,
	Decode: %s,
	Columns: []float64{%s},
	Widths: []float64{%s},
	Multiply: %s,
	Sum: %s,
	Dense: []float64%s,
}
}
`, machines[0].Workers, machines[0].Bandwidth, number(func(m cost.Machine) float64 { return m.Decode }),
		exact(machines[0].Columns), exact(machines[0].Widths),
		table(func(m cost.Machine) [][]float64 { return m.Multiply }), number(func(m cost.Machine) float64 { return m.Sum }),
		list(func(m cost.Machine) []float64 { return m.Dense })))
}

// costs are in nanoseconds of a worker for an entry.
type costs struct {
	product []float64
	decode  float64
}

func measure(ctx context.Context, n, nnz int) (c costs, err error) {
	c.decode = math.Inf(1)
	err = withRatings(n, nnz, func(store *csr.Store, pass passFunc) error {
		for range rounds {
			p, err := stream.Measure(ctx, store, nil, workers, time.Second)
			if err != nil {
				return err
			}
			c.decode = min(c.decode, p.Decode)
		}
		for _, l := range widths {
			x, y := mat.NewDense(n, l, nil), mat.NewDense(n, l, nil)
			solver.Gaussian(x, 0, 1, 1)
			var all []float64
			for spent := 0.0; len(all) < 2 || spent < enough; { // the first pass reads the store or allocates
				seconds, err := pass(ctx, x, y)
				if err != nil {
					return err
				}
				all, spent = append(all, seconds), spent+seconds
			}
			slices.Sort(all)
			c.product = append(c.product, all[len(all)/10]*1e9/float64(nnz))
		}
		return nil
	})
	return c, err
}

// withRatings calls do with a temporary store of ratings, and with a function that makes a pass over it and returns the
// processor seconds of the pass.
func withRatings(n, nnz int, do func(store *csr.Store, pass passFunc) error) error {
	dir, err := os.MkdirTemp("", "gdsvd-calibrate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store, err := ratings(filepath.Join(dir, "m.csr"), n, nnz)
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := stream.New(store, stream.Options{Workers: workers})
	if err != nil {
		return err
	}
	defer m.Close()
	return do(store, func(ctx context.Context, x, y *mat.Dense) (float64, error) {
		start := harness.ProcessorSeconds()
		_, err := m.Run(ctx, solver.Pass{X: x, Sum: y})
		return harness.ProcessorSeconds() - start, err
	})
}

type passFunc func(ctx context.Context, x, y *mat.Dense) (seconds float64, err error)

// ratings makes an n×n store of about nnz entries. The popularity of columns falls with the power ⅔ of their rank, and popular
// columns are scattered, as with ids that do not depend on popularity.
func ratings(path string, n, nnz int) (*csr.Store, error) {
	perRow := min(64, n/4)
	r := rand.New(rand.NewPCG(1, 2))
	place := r.Perm(n)
	values := []float64{1, 2, 3, 4, 5}
	w, err := csr.Create(path, csr.CreateOptions{Cols: int64(n), Values: csr.Values{Coding: csr.Dict4, Table: values}})
	if err != nil {
		return nil, err
	}
	seen, row, cols := make([]int, n), make([]float64, perRow), make([]uint32, 0, perRow)
	for i := range nnz / perRow {
		for cols = cols[:0]; len(cols) < perRow; {
			c := place[int(float64(n)*math.Pow(r.Float64(), 3))]
			if seen[c] <= i {
				seen[c] = i + 1
				row[len(cols)] = values[r.IntN(len(values))]
				cols = append(cols, uint32(c))
			}
		}
		slices.Sort(cols)
		if err := w.AppendRow(cols, row); err != nil {
			return nil, err
		}
	}
	if err := w.Commit(); err != nil {
		return nil, err
	}
	return csr.Open(path, csr.OpenOptions{})
}

// sums returns the nanoseconds for each of the n·l sums of a pass, from a pass over a store with almost no entries.
func sums(ctx context.Context) (float64, error) {
	const n, l = 1 << 19, 4
	x, y := mat.NewDense(n, l, nil), mat.NewDense(n, l, nil)
	best := math.Inf(1)
	err := withRatings(n, n/8, func(_ *csr.Store, pass passFunc) error {
		for range rounds {
			seconds, err := pass(ctx, x, y)
			if err != nil {
				return err
			}
			best = min(best, seconds)
		}
		return nil
	})
	return best * 1e9 / workers / (n * l), err
}

// diagonal is an operator whose eigenvalues decrease like those of ratings.
type diagonal struct{ n int }

func (d diagonal) Dim() int { return d.n }

func (d diagonal) Apply(_ context.Context, dst, x *mat.Dense) error {
	for i := range d.n {
		v := math.Pow(float64(i+1), -1.4)
		row := dst.RawRowView(i)
		for j, u := range x.RawRowView(i) {
			row[j] = v * u
		}
	}
	return nil
}

// denseWork returns the nanoseconds for an operation between passes, for blocks of each of the widths.
func denseWork(ctx context.Context) ([]float64, error) {
	const n, k = 32 << 10, 10
	var all []float64
	for _, b := range widths {
		krylov := lanczos.Krylov{Columns: b}
		var stats solver.Stats
		for range rounds {
			r, err := solver.Eigen(ctx, diagonal{n}, solver.Settings{Rank: k, Method: krylov})
			if err != nil {
				return nil, err
			}
			if stats.Passes == 0 || r.Stats.Orthogonalise < stats.Orthogonalise {
				stats = r.Stats
			}
		}
		// e.Dense is the number of operations that the model counts: each takes a nanosecond on this machine.
		one := cost.Machine{Columns: []float64{1}, Widths: []float64{1}, Multiply: [][]float64{{0}}, Dense: []float64{1}}
		e := cost.EstimateOf(cost.Problem{Workload: method.Workload{Order: n, Rank: k, Digits: 1}, Columns: n}, one, krylov)
		scale := math.Pow(float64(stats.Passes)/float64(e.Passes), 2)
		all = append(all, float64(stats.Orthogonalise)/(float64(e.Dense)*scale))
	}
	return all, nil
}
