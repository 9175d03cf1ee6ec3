package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"gonum.org/v1/gonum/mat"
)

// passTimes is what a process that does one pass reports.
type passTimes struct {
	Seconds float64 `json:"seconds"`
	Wait    float64 `json:"wait"` // per worker, for blocks to be read, verified and decoded
	Bytes   int64   `json:"bytes"`
	Workers int     `json:"workers"`
}

// onePass multiplies a block of l vectors with the Gram matrix of the store, once.
func onePass(store string, budget int64, l int) (p passTimes, err error) {
	s, err := csr.Open(store, csr.OpenOptions{})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := stream.New(s, stream.Options{Memory: budget, Width: l})
	if err != nil {
		return p, err
	}
	n := m.Info().Cols
	x, y := mat.NewDense(n, l, nil), mat.NewDense(n, l, nil)
	solver.Gaussian(x, 0, 1, 1)
	runtime.GC()
	start := time.Now()
	cost, err := m.Run(context.Background(), solver.Pass{X: x, Sum: y})
	p.Seconds = time.Since(start).Seconds()
	p.Bytes, p.Wait, p.Workers = cost.BytesRead, cost.Wait.Seconds(), m.Plan().Workers
	return p, err
}
