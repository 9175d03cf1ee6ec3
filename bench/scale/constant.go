package main

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/csr"
)

// constant is what should not grow with the entries of a store, in seconds: the
// first time, when nothing of the store is in the page cache, and the median of
// the times after.
type constant struct {
	NNZ     int64  `json:"nnz"`
	Blocks  int    `json:"blocks"`
	Open    timing `json:"open"`    // csr.Open, in a process that is running
	Info    timing `json:"info"`    // gdsvd info, a process of its own, as is the next
	Explain timing `json:"explain"` // gdsvd svd --explain, without measuring the machine
}

type timing struct {
	First float64 `json:"first"`
	Again float64 `json:"again"`
}

// constants measures what should not depend on the size of the store.
func (o *options) constants(s *harness.Store) (*constant, error) {
	c := &constant{NNZ: s.NNZ}
	var err error
	c.Open, err = repeated(s, func() (float64, error) {
		start := time.Now()
		opened, err := csr.Open(s.Path, csr.OpenOptions{})
		if err != nil {
			return 0, err
		}
		c.Blocks = opened.NumBlocks()
		took := time.Since(start).Seconds()
		return took, opened.Close()
	})
	if err != nil {
		return nil, err
	}
	c.Info, err = repeated(s, func() (float64, error) {
		run, err := o.gdsvd.Run(context.Background(), nil, "info", s.Path, "--json")
		return run.Seconds, err
	})
	if err != nil {
		return nil, err
	}
	c.Explain, err = repeated(s, func() (float64, error) {
		run, err := o.gdsvd.Run(context.Background(), nil, "svd", s.Path, "-k", strconv.Itoa(o.rank), "--explain", "--json", "--memory", strconv.FormatInt(o.memory, 10))
		if err != nil {
			return 0, err
		}
		// How long it has measured the machine for is a share of the time that the run would take.
		var e struct {
			Choice struct {
				Measured struct{ Seconds float64 }
			}
		}
		err = run.Decode(&e)
		return run.Seconds - e.Choice.Measured.Seconds, err
	})
	if err != nil {
		return nil, err
	}
	log.Printf("%s: open %.3g s, info %.3g s, --explain %.3g s, the first time %.3g, %.3g, %.3g",
		s.Path, c.Open.Again, c.Info.Again, c.Explain.Again, c.Open.First, c.Info.First, c.Explain.First)
	return c, nil
}

// repeated times something on a store that is not in the page cache, and then
// some times more.
func repeated(s *harness.Store, f func() (float64, error)) (t timing, err error) {
	if err := s.Forget(); err != nil {
		return t, err
	}
	const more = 5
	var again []float64
	for i := range 1 + more {
		took, err := f()
		if err != nil {
			return t, fmt.Errorf("%s: %w", s.Path, err)
		}
		if i == 0 {
			t.First = took
		} else {
			again = append(again, took)
		}
	}
	t.Again = harness.Median(again)
	return t, nil
}
