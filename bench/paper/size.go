package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// storeMemory is the memory that passes over a stored rank-1 matrix may take.
const storeMemory = 64 << 20

// sizeTasks are about rank-1 matrices known by their factors, and as a store of n² entries.
func (l *lab) sizeTasks() (tasks []task) {
	add := func(matrix string, run func(ctx context.Context, r *Record, n int, m algorithm) error, orders ...int) {
		for _, n := range orders {
			for _, m := range tableMethods {
				r := record("size", matrix, m.name, n)
				tasks = append(tasks, task{r, func(ctx context.Context) error { return run(ctx, r, n, m) }})
			}
		}
	}
	add("implicit", l.implicitCase, 100, 1000, 10_000, 100_000)
	if l.Scale == Small {
		add("store", l.storeCase, 300, 1000)
	} else {
		add("store", l.storeCase, 1000, 3000, 10_000)
	}
	return tasks
}

func (l *lab) rankOne(n int) *factored { return newFactored(n, l.Seed+uint64(n), []float64{1}) }

func (l *lab) implicitCase(ctx context.Context, r *Record, n int, m algorithm) error {
	return r.solveImplicit(ctx, l.rankOne(n), m.settings(1, l.Seed))
}

func (l *lab) storeCase(ctx context.Context, r *Record, n int, m algorithm) error {
	f := l.rankOne(n)
	p, err := l.hold(fmt.Sprint("size", n), func() (*problem, error) {
		name := filepath.Join(l.storeDir(), fmt.Sprintf("rank-1-%d.csr", n))
		if err := f.writeStore(ctx, name); err != nil {
			return nil, err
		}
		p, err := openProblem(name, stream.Options{Memory: storeMemory, Width: maxColumns, Rank: 1})
		if err == nil {
			p.triplets = f.triplets
		}
		return p, err
	})
	if err != nil {
		return err
	}
	return r.solve(ctx, p, m, 1, l.Seed)
}

// maxColumns is the widest block that a method of the table multiplies here.
const maxColumns = 16

func (f *factored) writeStore(ctx context.Context, name string) (err error) {
	n, _ := f.v.Dims()
	u, v := f.u.RawMatrix().Data, f.v.RawMatrix().Data
	row, cols := make([]float64, n), make([]uint32, n)
	for j := range cols {
		cols[j] = uint32(j)
	}
	var stats csr.ValueStats
	for _, x := range v { // one row has more different values than a dictionary
		stats.Add(f.sigma[0] * u[0] * x)
	}
	w, err := csr.Create(name, csr.CreateOptions{Cols: int64(n), Values: stats.Values(), Force: true})
	if err != nil {
		return err
	}
	for _, x := range u {
		floats.ScaleTo(row, f.sigma[0]*x, v)
		if err = w.AppendRow(cols, row); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}

func openProblem(name string, o stream.Options) (*problem, error) {
	store, err := csr.Open(name, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	a, err := stream.New(store, o)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &problem{a: a, bytes: store.Size(), closer: func() error { return errors.Join(a.Close(), store.Close()) }}, nil
}
