package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
)

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
