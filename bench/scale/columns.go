package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// inColumns is what a pass takes as matrices get wider: the same rows and entries, so
// that a row of x and one of the sums are further and further away. All blocks are
// decoded in memory.
type inColumns struct {
	Commit  string `json:"commit"`
	Machine string `json:"machine"`
	Rows    []wide `json:"passes"`
}

// wide is a pass over one store with l columns of x.
type wide struct {
	Cols  int64   `json:"cols"`
	NNZ   int64   `json:"nnz"`
	Width int     `json:"width"`
	Lanes int     `json:"lanes"`
	One   float64 `json:"one"` // nanoseconds an entry with one worker
	Two   float64 `json:"two"` // and with two
}

// Copies of a base with as few ratings as its users can have stand in factorSide rows and
// ever more columns: a base with more could not have as many columns and so few entries.
const (
	columnsBase    = 125_000 // entries
	factorSide     = 270
	passesMeasured = 5 // each; the fastest of them was disturbed least
)

// columns measures the series in n, or makes its stores only.
func (o *options) columns() error {
	c := &inColumns{Commit: harness.Commit(), Machine: harness.Machine()}
	for _, side := range []int{4, 16, 54, factorSide} {
		path, err := o.wideStore(side)
		if err != nil {
			return err
		}
		if o.makeOnly {
			continue
		}
		for _, width := range []int{4, 8, 16} {
			w, err := measureWide(path, width)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			log.Printf("%d columns, %d of x: %.2f ns an entry with one worker, %.2f with two", w.Cols, w.Width, w.One, w.Two)
			c.Rows = append(c.Rows, *w)
		}
	}
	if o.makeOnly {
		return nil
	}
	return harness.Write(o.out+"-columns", c, c.markdown())
}

// wideStore makes the store with a factor of the given number of columns, unless it is there.
func (o *options) wideStore(side int) (string, error) {
	path := filepath.Join(o.dir, fmt.Sprintf("wide-%.3g-%d.csr", o.largest, side))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	base, err := o.madeUp("wide-base", columnsBase)
	if err != nil {
		return "", err
	}
	copies := int(o.largest / columnsBase)
	return path, o.gdsvd.Do(context.Background(), "generate", "kron", "--base", base, "-o", path,
		"--rows", strconv.Itoa(factorSide), "--cols", strconv.Itoa(side), "--nnz", strconv.Itoa(copies))
}

// measureWide measures passes with one worker and with two, in turn.
func measureWide(path string, width int) (w *wide, err error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w = &wide{Cols: s.Cols(), NNZ: s.NNZ(), Width: width}
	n := int(s.Cols())
	x, y := mat.NewDense(n, width, nil), mat.NewDense(n, width, nil)
	solver.Gaussian(x, 0, 1, 1)
	var m [2]*stream.Matrix
	for i := range m {
		if m[i], err = stream.New(s, stream.Options{Workers: 1 + i, Width: width}); err != nil {
			return nil, err
		}
		defer m[i].Close()
	}
	w.Lanes = m[0].Plan().Lanes
	best := [2]time.Duration{1 << 62, 1 << 62}
	for pass := range 1 + passesMeasured { // the first one decodes
		for i := range m {
			began := time.Now()
			if _, err := m[i].Run(context.Background(), solver.Pass{X: x, Sum: y}); err != nil {
				return nil, err
			}
			if pass > 0 {
				best[i] = min(best[i], time.Since(began))
			}
		}
	}
	w.One, w.Two = float64(best[0])/float64(w.NNZ), float64(best[1])/float64(w.NNZ)
	return w, nil
}

func (c *inColumns) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Commit %s, %s\n\nNanoseconds an entry and pass, all blocks decoded in memory, the fastest of %d passes:\n\n", c.Commit, c.Machine, passesMeasured)
	b.WriteString("| entries | columns | columns of x | lanes | one worker | two | ratio |\n|---|---|---|---|---|---|---|\n")
	for _, w := range c.Rows {
		fmt.Fprintf(&b, "| %.3g | %d | %d | %d | %.2f | %.2f | %.2f |\n", float64(w.NNZ), w.Cols, w.Width, w.Lanes, w.One, w.Two, w.One/w.Two)
	}
	return b.String()
}
