package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os/exec"
	"strconv"
	"time"

	"github.com/gdsvd/gdsvd/bench/memgroup"
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
func (o *options) constants(s *store) (*constant, error) {
	c := &constant{NNZ: s.NNZ}
	var err error
	c.Open, err = repeated(s, func() (time.Duration, error) {
		start := time.Now()
		opened, err := csr.Open(s.Path, csr.OpenOptions{})
		if err != nil {
			return 0, err
		}
		c.Blocks = opened.NumBlocks()
		took := time.Since(start)
		return took, opened.Close()
	})
	if err != nil {
		return nil, err
	}
	c.Info, err = repeated(s, func() (time.Duration, error) {
		_, took, err := o.run("info", s.Path, "--json")
		return took, err
	})
	if err != nil {
		return nil, err
	}
	c.Explain, err = repeated(s, func() (time.Duration, error) {
		printed, took, err := o.run("svd", s.Path, "-k", strconv.Itoa(o.rank), "--explain", "--json", "--memory", strconv.FormatInt(o.memory, 10))
		if err != nil {
			return 0, err
		}
		probe, err := probeTime(printed)
		return took - probe, err
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
func repeated(s *store, f func() (time.Duration, error)) (t timing, err error) {
	if err := memgroup.Forget(s.files...); err != nil {
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
			t.First = took.Seconds()
		} else {
			again = append(again, took.Seconds())
		}
	}
	t.Again = median(again)
	return t, nil
}

// run runs the program to be measured and returns what it prints.
func (o *options) run(args ...string) ([]byte, time.Duration, error) {
	cmd := exec.Command(o.program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	printed, err := cmd.Output()
	took := time.Since(start)
	if err != nil {
		err = fmt.Errorf("gdsvd %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return printed, took, err
}

// probeTime is how long --explain has measured the machine for, which is a share
// of the time that the run would take.
func probeTime(printed []byte) (time.Duration, error) {
	var e struct {
		Choice struct {
			Measured struct{ Seconds float64 }
		}
	}
	err := json.Unmarshal(printed, &e)
	return time.Duration(e.Choice.Measured.Seconds * float64(time.Second)), err
}
