package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
)

// store is a store to measure, and what is known of it.
type store struct {
	Path            string
	Rows, Cols, NNZ int64
	Bytes           int64
	Decoded         int64     // bytes
	Sigma           []float64 // the true ones
	files           []string  // the shards
}

// factorCols is the width of the factor: copies of the base stand in so many
// columns, whatever the size, as a shop has more and more customers but not more
// and more goods.
const factorCols = 4

// store makes the store of about n entries, unless it is there.
func (o *options) store(n float64) (*store, error) {
	path := filepath.Join(o.dir, fmt.Sprintf("kron-%.3g.csr", n))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := o.makeStore(path, n); err != nil {
			return nil, err
		}
	}
	return openStore(path)
}

func (o *options) makeStore(path string, n float64) error {
	if err := o.makeBase(); err != nil {
		return err
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
	return command(o.program, "generate", "kron", "--base", o.base, "-o", path,
		"--rows", strconv.Itoa(factorRows), "--cols", strconv.Itoa(factorCols), "--nnz", strconv.Itoa(copies))
}

// makeBase makes up ratings in the shape of MovieLens 1M.
func (o *options) makeBase() error {
	if o.base != "" {
		return nil
	}
	o.base = filepath.Join(o.dir, "base.csr")
	if _, err := os.Stat(o.base); err == nil {
		return nil
	}
	text := filepath.Join(o.dir, "base.dat")
	if err := command(o.program, "generate", "ratings", "-o", text, "--users", "6040", "--items", "3706", "--ratings", "1000209"); err != nil {
		return err
	}
	return errors.Join(command(o.program, "ingest", text, "-o", o.base), os.Remove(text))
}

func openStore(path string) (_ *store, err error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	truth, err := s.Truth()
	if err != nil {
		return nil, err
	}
	if truth == nil {
		return nil, fmt.Errorf("%s: nothing is known of its singular values", path)
	}
	d := &store{Path: path, Rows: s.Rows(), Cols: s.Cols(), NNZ: s.NNZ(), Bytes: s.Size(), Sigma: truth.Sigma}
	for _, shard := range s.Manifest().Shards {
		d.files = append(d.files, filepath.Join(path, shard.Name))
	}
	for i := range s.NumBlocks() {
		b := s.Block(i)
		d.Decoded += s.DecodedSize(int64(b.Rows), int64(b.NNZ))
	}
	return d, nil
}

// command runs a program whose output is for whoever watches.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return nil
}
