package factor

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/stream"
)

// Speed is what Explain has measured on this machine. It enters the estimates of
// times, never the choice.
type Speed struct {
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
func (t *task) measured(ctx context.Context, e cost.Estimate) (cost.Machine, *Speed, error) {
	here := t.machine()
	widths := t.probeWidths()
	fromDisk := e.PassBytes > 0 && !e.Cached // at a speed that is not known
	if e.Total < worthMeasuring && !fromDisk || len(widths) == 0 || t.store.NNZ() == 0 {
		return here, nil, nil
	}
	start := time.Now()
	planned := t.store.Planned()
	source := stream.Source(t.store)
	if planned {
		source = invented{t.store}
	}
	probe, err := stream.Measure(ctx, source, widths, min(longestProbe, e.Total/probeShare))
	if err != nil {
		return here, nil, err
	}
	here = here.Adjusted(t.store.Cols(), widths, probe.Multiply)
	if planned { // what inventing blocks has taken tells nothing
		return here, &Speed{Seconds: time.Since(start).Seconds(), Decode: here.Decode, Widths: widths, Multiply: probe.Multiply}, nil
	}
	here.Decode = probe.Decode
	if probe.Bandwidth > 0 { // or what was looked at happened to be in memory
		here.Bandwidth = probe.Bandwidth
	}
	return here, &Speed{
		Seconds: time.Since(start).Seconds(), Bandwidth: probe.Bandwidth, Decode: probe.Decode,
		Widths: widths, Multiply: probe.Multiply,
	}, nil
}

// invented is a planned store of random entries, to measure products with.
type invented struct{ *csr.Store }

// DecodeBlock invents block i: rows of one length, each with a column in every stripe of as many as there are entries.
func (s invented) DecodeBlock(i int, dst *csr.Block) error {
	*dst = *s.Scratch()
	info, n := s.Block(i), s.Cols()
	r := rand.New(rand.NewPCG(uint64(i), 1))
	dst.FirstRow, dst.RowPtr = info.FirstRow, append(dst.RowPtr, 0)
	for row := range info.Rows {
		each := min(int64(info.NNZ)*int64(row+1)/int64(info.Rows)-int64(dst.NNZ()), n)
		for at := range each {
			from, to := at*n/each, (at+1)*n/each
			if c := from + r.Int64N(to-from); dst.Col16 != nil {
				dst.Col16 = append(dst.Col16, uint16(c))
			} else {
				dst.Col = append(dst.Col, uint32(c))
			}
		}
		dst.RowPtr = append(dst.RowPtr, uint32(dst.NNZ()))
	}
	switch table := s.Values().Table; {
	case len(table) == 0:
		dst.Val = slices.Repeat([]float64{1}, dst.NNZ())
	default:
		dst.Table = new([256]float64)
		copy(dst.Table[:], table)
		if dst.Code != nil {
			dst.Code = make([]uint8, dst.NNZ())
		}
	}
	return nil
}

// Prefetch and Release have nothing to read.
func (s invented) Prefetch(int, int) {}
func (s invented) Release(int, int)  {}

// probeWidths are the widths to measure for which there is memory.
func (t *task) probeWidths() (widths []int) {
	for _, l := range []int{1, 4, 16} {
		if n := t.store.Cols(); int64(l) <= n && 16*n*int64(l) <= t.Memory/8 {
			widths = append(widths, l)
		}
	}
	return widths
}

func (t *task) machine() cost.Machine {
	m := cost.Reference()
	m.Workers = t.Workers
	return m
}

// actual returns the room that methods leave on this machine as it is now: with all
// workers, and with what its page cache can hold.
func (t *task) actual() func(method.Method) cost.Room {
	available := sync.OnceValue(memory.Available) // not asked for nothing: it takes 0.3 ms
	return func(m method.Method) cost.Room {
		p, err := t.fit(m)
		if err != nil {
			return cost.Room{}
		}
		r := p.room()
		if t.Remote != nil {
			p.plan.Resident, r.Resident = 0, 0
		}
		r.Cached = cached(t.store, p.plan, available)
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
