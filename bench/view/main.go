// Command view measures what views cost: the processor time of Gram products of a store and of
// views of it, in turn, resident and streaming, and the median of their ratios.
//
//	go run ./bench/view STORE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// views are what is measured; the first is the store itself.
var views = []string{"(none)", "tfidf", "center=columns", "scale=columns", "recsys", "single-cell", "bm25", "bias=both", "ppmi"}

func main() {
	rounds := flag.Int("rounds", 15, "measure each `N` times")
	workers := flag.Int("workers", 1, "goroutines of a pass")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: view [flags] STORE")
		os.Exit(2)
	}
	if err := measure(flag.Arg(0), *rounds, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "view:", err)
		os.Exit(1)
	}
}

// contender is a matrix whose products are measured.
type contender struct {
	name  string
	m     *stream.Matrix
	times []float64
}

func measure(path string, rounds, workers int) (err error) {
	store, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "view\tl\tpasses\tleast ms\tratio\tmedian ratio\t\n")
	for _, once := range []bool{false, true} {
		for _, l := range []int{4, 16} {
			if err := compare(w, store, stream.Options{Workers: workers, Width: l, Once: once}, l, rounds); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// compare measures the views in turn: the ratio is the median of those of the rounds.
func compare(w *tabwriter.Writer, store *csr.Store, o stream.Options, l, rounds int) error {
	var all []*contender
	for i, name := range views {
		c := &contender{name: name}
		var src stream.Source = store
		var err error
		if i > 0 {
			p, err := view.Parse(name)
			if err != nil {
				return err
			}
			across, _ := csr.Orient(store, false, true)
			if src, err = view.New(context.Background(), store, p, across, stream.Options{Workers: o.Workers}); err != nil {
				return err
			}
		}
		if c.m, err = stream.NewFrom(src, o); err != nil {
			return err
		}
		all = append(all, c)
	}
	n := int(store.Cols())
	x, y := mat.NewDense(n, l, nil), mat.NewDense(n, l, nil)
	solver.Gaussian(x, 0, 1, 1)
	for round := range rounds + 1 {
		for _, c := range all {
			start := harness.ProcessorSeconds()
			if _, err := c.m.Run(context.Background(), solver.Pass{X: x, Sum: y}); err != nil {
				return err
			}
			if round > 0 { // the first reads the store
				c.times = append(c.times, harness.ProcessorSeconds()-start)
			}
		}
	}
	for _, c := range all {
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = c.times[i] / all[0].times[i]
		}
		passes := "resident"
		if o.Once {
			passes = "streaming"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%.1f\t%.2f\t%.2f\t\n", c.name, l, passes, 1e3*slices.Min(c.times), slices.Min(c.times)/slices.Min(all[0].times), harness.Median(ratios))
	}
	return nil
}
