package main

import (
	"context"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// probed is what --explain has measured on this machine. It enters the estimates of
// times, never the choice.
type probed struct {
	Seconds   float64   `json:"seconds"`             // that it has taken
	Bandwidth float64   `json:"bandwidth,omitempty"` // bytes a second; absent if reading costs nothing
	Decode    float64   `json:"decode"`              // nanoseconds an entry, as are the next
	Widths    []int     `json:"widths"`
	Multiply  []float64 `json:"multiply"`
}

const (
	// worthMeasuring is how long a run must be expected to take for the machine to
	// be measured, unless every pass reads the disk.
	worthMeasuring = 2 * time.Second
	// longestProbe and probeShare bound the time that measuring takes.
	longestProbe = time.Second
	probeShare   = 100
)

// measured returns what is known about this machine: the table of costs, or, if a
// run is expected to take long enough, the table as measured here.
func (o *svdOptions) measured(ctx context.Context, store *csr.Store, e solver.Estimate) (solver.Machine, *probed, error) {
	here := o.machine()
	widths := probeWidths(store, o.memory)
	fromDisk := e.PassBytes > 0 && !e.Cached // at a speed that nobody knows
	if e.Total < worthMeasuring && !fromDisk || len(widths) == 0 || store.NNZ() == 0 {
		return here, nil, nil
	}
	start := time.Now()
	probe, err := stream.Measure(ctx, store, widths, min(longestProbe, e.Total/probeShare))
	if err != nil {
		return here, nil, err
	}
	here = here.Adjusted(store.Cols(), widths, probe.Multiply)
	here.Decode = probe.Decode
	if probe.Bandwidth > 0 { // or what was looked at happened to be in memory
		here.Bandwidth = probe.Bandwidth
	}
	return here, &probed{
		Seconds: time.Since(start).Seconds(), Bandwidth: probe.Bandwidth, Decode: probe.Decode,
		Widths: widths, Multiply: probe.Multiply,
	}, nil
}

// probeWidths are the widths to measure for which there is memory.
func probeWidths(store *csr.Store, memory int64) (widths []int) {
	for _, l := range []int{1, 4, 16} {
		if int64(l) <= store.Cols() && 16*store.Cols()*int64(l) <= memory/8 {
			widths = append(widths, l)
		}
	}
	return widths
}

// machine is what is known about this one without measuring.
func (o *svdOptions) machine() solver.Machine {
	m := solver.Reference()
	m.Workers = o.workers
	return m
}

// actual returns the room that methods leave on this machine as it is now: with all
// workers, and with what its page cache can hold.
func (o *svdOptions) actual() func(*csr.Store, solver.Method) solver.Room {
	available := sync.OnceValue(memory.Available) // not asked for nothing: it takes 0.3 ms
	return func(store *csr.Store, m solver.Method) solver.Room {
		mem, err := o.fit(store, m)
		if err != nil {
			return solver.Room{}
		}
		r := mem.room()
		r.Cached = cached(store, mem.plan, available)
		return r
	}
}

// cached tells whether what passes decode anew can stay in the page cache: in
// what a run, which takes what is planned and not the whole budget, leaves of
// the available memory. They read it in the same order every time, so that if it
// does not fit most of it is gone when its turn comes again.
func cached(store *csr.Store, plan stream.Plan, available func() int64) bool {
	var read int64
	for i := plan.Resident; i < plan.Blocks; i++ {
		read += store.Block(i).Size
	}
	return read == 0 || read <= available()-plan.Total()
}
