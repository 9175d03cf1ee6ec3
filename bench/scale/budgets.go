package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
)

// budgets is one store decomposed under several budgets.
type budgets struct {
	NNZ  int64    `json:"nnz"`
	Runs []budget `json:"runs"`
	Same bool     `json:"same"` // bits in all files of all runs
}

type budget struct {
	row
	Files map[string]string `json:"files"` // their SHA-256
}

// underBudgets decomposes a store under every budget by the same method.
func (o *options) underBudgets() (*budgets, error) {
	s, err := o.store(min(o.budgetNNZ, o.largest))
	if err != nil {
		return nil, err
	}
	b := &budgets{NNZ: s.NNZ, Same: true}
	out := filepath.Join(o.dir, "scale.svd")
	for _, memory := range o.budgets {
		run := budget{row: row{Regime: "budget", Rows: s.Rows, Cols: s.Cols, NNZ: s.NNZ, Bytes: s.Bytes, Memory: memory}}
		if memory < available() {
			run.Limit = memory + headroom
		}
		if err := o.decompose(s, &run.row, out, o.method); err != nil {
			return nil, fmt.Errorf("%s: %d bytes: %w", s.Path, memory, err)
		}
		if run.Files, err = sums(out, "sigma.npy", "U.npy", "V.npy"); err != nil {
			return nil, err
		}
		b.Runs = append(b.Runs, run)
		for name, sum := range run.Files {
			b.Same = b.Same && sum == b.Runs[0].Files[name]
		}
		log.Printf("%s: %d MiB: a pass reads %.1f %% of the store; U is %.16s…", s.Path, memory>>20,
			100*float64(run.ReadPass)/float64(s.Bytes), run.Files["U.npy"])
	}
	return b, os.RemoveAll(out)
}

func sums(dir string, names ...string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		all[name] = hex.EncodeToString(h.Sum(nil))
	}
	return all, nil
}
