package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// storeMemory is the memory that passes over a stored rank-1 matrix may take.
const storeMemory = 64 << 20

// Orders of the rank-1 matrices, known by their factors and as a store of n²
// entries.
func (l *lab) implicitSizes() []int { return []int{100, 1000, 10_000, 100_000} }

func (l *lab) storeSizes() []int {
	if l.Scale == Small {
		return []int{300, 1000}
	}
	return []int{1000, 3000, 10_000}
}

func (l *lab) sizeTasks() []task {
	var tasks []task
	for _, n := range l.implicitSizes() {
		for _, m := range tableMethods {
			tasks = append(tasks, task{record("size", "implicit", m.name, n).Key, func(ctx context.Context) (*Record, error) {
				return l.implicitCase(ctx, n, m)
			}})
		}
	}
	for _, n := range l.storeSizes() {
		for _, m := range tableMethods {
			tasks = append(tasks, task{record("size", "store", m.name, n).Key, func(ctx context.Context) (*Record, error) {
				return l.storeCase(ctx, n, m)
			}})
		}
	}
	return tasks
}

func (l *lab) rankOne(n int) *factored { return newFactored(n, l.Seed+uint64(n), []float64{1}) }

func (l *lab) implicitCase(ctx context.Context, n int, m algorithm) (*Record, error) {
	r := record("size", "implicit", m.name, n)
	r.Rows, r.Cols, r.Rank = int64(n), int64(n), 1
	s := paperSettings(m.Method, 1, l.Seed)
	if !m.paper {
		s = solver.Settings{Rank: 1, Method: m.Method, Tol: epsilon, Seed: l.Seed}
	}
	return r, r.solveImplicit(ctx, l.rankOne(n), s)
}

func (l *lab) storeCase(ctx context.Context, n int, m algorithm) (*Record, error) {
	f := l.rankOne(n)
	p, err := l.hold(fmt.Sprint("size", n), func() (*problem, error) {
		name := filepath.Join(l.storeDir(), fmt.Sprintf("rank-1-%d.csr", n))
		if err := f.writeStore(ctx, name); err != nil {
			return nil, err
		}
		p, err := openProblem(name, stream.Options{Memory: storeMemory, Width: maxColumns, Rank: 1})
		if err == nil {
			p.u, p.v, p.sigma = f.u, f.v, f.sigma
		}
		return p, err
	})
	if err != nil {
		return nil, err
	}
	r := record("size", "store", m.name, n)
	return r, r.solve(ctx, p, m, 1, l.Seed)
}

// maxColumns is the widest block that a method of the table multiplies here.
const maxColumns = 16

// writeStore writes the entries of a matrix of rank 1.
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

// openProblem opens a store for passes.
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
