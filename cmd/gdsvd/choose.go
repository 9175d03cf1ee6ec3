package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/sysmem"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// choiceRecord is what result.json says about the choice of --method auto.
type choiceRecord struct {
	Flags    []string `json:"flags"` // that make exactly this run again
	Why      string   `json:"why"`   // table, memory, measurement, rule or checkpoint
	Reason   string   `json:"reason"`
	Table    []string `json:"table,omitempty"` // the flags of the table's choice, if that was given up
	Measured *probed  `json:"measured,omitempty"`
}

// probed is what was measured before the choice.
type probed struct {
	Seconds   float64   `json:"seconds"`             // that it has taken
	Bandwidth float64   `json:"bandwidth,omitempty"` // bytes a second; absent if reading costs nothing
	Decode    float64   `json:"decode"`              // nanoseconds an entry, as are the next
	Widths    []int     `json:"widths"`
	Multiply  []float64 `json:"multiply"`
}

const (
	// worthMeasuring is how long a run must be expected to take for the machine
	// to be measured, unless every pass reads the disk: what is done sooner
	// depends on the table alone.
	worthMeasuring = 2 * time.Second
	// longestProbe and probeShare bound the time that measuring takes.
	longestProbe = time.Second
	probeShare   = 100
)

// chooseMethod fills in the method and its parameters, unless the user has said
// them: those of the checkpoint, if the run goes on from one. say logs the choice,
// once it is known to be possible.
func (a *app) chooseMethod(ctx context.Context, store *csr.Store, before outState, o *svdOptions) (r *choiceRecord, say func(), err error) {
	silent := func() {}
	if o.method != autoMethod {
		return nil, silent, nil
	}
	if o.resume && before.checkpoint {
		r, err = a.recordedMethod(o)
		return r, silent, err
	}
	c, probe, err := a.choose(ctx, store, o)
	if err != nil {
		return nil, nil, err
	}
	r = o.settle(c, probe)
	level := slog.LevelDebug
	if c.Total >= worthMeasuring {
		level = slog.LevelInfo // of a shorter run the result says it soon enough
	}
	return r, func() {
		a.display.Logger().Log(ctx, level, "svd", "chosen", strings.Join(r.Flags, " "), "why", r.Reason)
	}, nil
}

// recordedMethod takes the method from the checkpoint.
func (a *app) recordedMethod(o *svdOptions) (*choiceRecord, error) {
	saved, err := openCheckpoint(a.fsys, o.out)
	if err != nil {
		return nil, err
	}
	m := saved.Method()
	if err := saved.Close(); err != nil {
		return nil, err
	}
	if m != nil {
		o.adopt(m)
	}
	if m == nil || !o.inRange() {
		return nil, fmt.Errorf("the checkpoint in %s is of a method that this program does not have (--force begins anew)", o.out)
	}
	return &choiceRecord{Flags: o.flags(), Why: "checkpoint", Reason: "the run goes on with the method it began with"}, nil
}

// settle makes the flags those of a choice and says why it was made.
func (o *svdOptions) settle(c solver.Choice, probe *probed) *choiceRecord {
	r := &choiceRecord{Why: c.Why.String(), Reason: o.reason(c), Measured: probe}
	if c.Method != c.Table {
		o.adopt(c.Table)
		r.Table = o.flags()
	}
	o.adopt(c.Method)
	r.Flags = o.flags()
	return r
}

// reason says in a sentence why a method was chosen.
func (o *svdOptions) reason(c solver.Choice) string {
	switch {
	case c.Why == solver.ByRule:
		return "the stop rule of the paper belongs to its algorithms, of which this is the first"
	case c.Why == solver.ByMeasurement:
		if c.PassBytes > 0 && !c.Cached {
			return "every pass reads the disk, and by what was measured it is faster than the choice of the table"
		}
		return fmt.Sprintf("measured on this machine, it is more than %g times as fast as the choice of the table", solver.Decisive)
	case c.Why == solver.ByMemory:
		return fmt.Sprintf("the fastest by the table of costs of what fits into %s", sysmem.FormatSize(o.memory))
	case o.operator == solver.Dilation:
		return "the dilation has negative eigenvalues and takes methods of one vector at a time; fewest passes of those"
	}
	return "the fastest for this shape and number of triplets by the table of costs"
}

// choose chooses a method for a store. The machine is measured if the run is
// expected to take long enough.
func (a *app) choose(ctx context.Context, store *csr.Store, o *svdOptions) (solver.Choice, *probed, error) {
	p, here := o.problem(store), o.machine()
	c := solver.Choose(p, &here, nil)
	widths := probeWidths(store, o.memory)
	fromDisk := c.PassBytes > 0 && !c.Cached // at a speed that nobody knows
	if c.Total < worthMeasuring && !fromDisk || len(widths) == 0 || store.NNZ() == 0 {
		return c, nil, nil
	}
	start := time.Now()
	probe, err := stream.Measure(ctx, store, widths, min(longestProbe, c.Total/probeShare))
	if err != nil {
		return c, nil, err
	}
	measured := here.Adjusted(store.Cols(), widths, probe.Multiply)
	measured.Decode = probe.Decode
	if probe.Bandwidth > 0 { // or what was looked at happened to be in memory
		measured.Bandwidth = probe.Bandwidth
	}
	record := &probed{
		Seconds: time.Since(start).Seconds(), Bandwidth: probe.Bandwidth, Decode: probe.Decode,
		Widths: widths, Multiply: probe.Multiply,
	}
	a.display.Logger().Debug("measured", slog.Any("costs", record))
	return solver.Choose(p, &here, &measured), record, nil
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

// problem describes a run for the choice of its method.
func (o *svdOptions) problem(store *csr.Store) solver.Problem {
	p := solver.Problem{
		Rows: store.Rows(), Columns: store.Cols(), NNZ: store.NNZ(), Rank: o.rank,
		Operator: o.operator, Stop: o.stop, Tol: o.tol,
	}
	for i := range store.NumBlocks() {
		b := store.Block(i)
		p.Encoded += b.Size
		p.Decoded += store.DecodedSize(int64(b.Rows), int64(b.NNZ))
	}
	available := sync.OnceValue(sysmem.Available) // not asked for nothing: it takes 0.3 ms
	p.Room = func(m solver.Method) solver.Room {
		mem, err := o.fit(store, m)
		if err != nil {
			return solver.Room{}
		}
		resident := float64(mem.plan.Resident) / float64(max(1, mem.plan.Blocks))
		return solver.Room{Fits: true, Resident: resident, Cached: cached(store, mem.plan, available), Outside: mem.files > 0, Reads: mem.reads()}
	}
	return p
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

// machine is what is known about this one without measuring.
func (o *svdOptions) machine() solver.Machine {
	m := solver.Reference
	m.Workers, m.Memory = o.workers, o.memory
	return m
}
