package factor

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Explanation describes how a run would go. Passes and times are estimates, memory is planned.
type Explanation struct {
	Rows  int64   `json:"rows"`            // number of rows of the matrix
	Cols  int64   `json:"cols"`            // number of columns of the matrix
	NNZ   int64   `json:"nnz"`             // number of stored entries
	K     int     `json:"k"`               // number of triplets
	Which string  `json:"which,omitempty"` // which eigenvalues: "LM" (largest magnitude), "LA" (largest) or "SA" (smallest); absent for singular values
	Tol   float64 `json:"tol"`             // tolerance
	// share of the energy that is asked for; `plan` is then the estimate for `k` triplets, the largest number that is computed, and `least` that for one triplet
	Energy     float64   `json:"energy,omitempty"`
	Least      *Estimate `json:"least,omitempty"`  // estimate for one triplet
	Plan       Estimate  `json:"plan"`             // estimate of the run
	Choice     *Choice   `json:"choice,omitempty"` // how the method was chosen; absent if it was given
	Start      string    `json:"start,omitempty"`  // how the vectors of `--init` are used, in words; absent without `--init`
	View       *ViewPlan `json:"view,omitempty"`   // what the view does
	FirstBytes int64     `json:"first_pass_bytes"` // bytes that the first pass reads; later ones read `plan.pass_bytes`
	Workers    int       `json:"workers"`          // number of threads
	Memory
	Engine   *Engine `json:"engine,omitempty"`   // the engine; absent without `--engine`
	Measured *Speed  `json:"measured,omitempty"` // speeds that were measured on this machine for the estimates
	// the methods that were considered: first those that fit into the budget, then the others, the fastest first in each
	Considered []Estimate `json:"considered,omitempty"`
}

// ViewPlan describes the steps of a view.
type ViewPlan struct {
	Pipeline string        `json:"pipeline"` // the steps in canonical form
	Reads    int           `json:"reads"`    // number of times that the store is read for statistics, in addition to the passes
	Steps    []view.Effect `json:"steps"`    // what each step does
}

// Estimate holds the expected costs of a run with a method.
type Estimate struct {
	Flags        []string `json:"flags"`                     // flags of the method
	Passes       int      `json:"passes"`                    // number of passes over the matrix
	Products     int64    `json:"products"`                  // number of columns that are multiplied by the matrix
	PassBytes    int64    `json:"pass_bytes"`                // bytes read by each pass after the first
	Memory       int64    `json:"memory"`                    // bytes of the method's own vectors
	Fits         bool     `json:"fits"`                      // whether the method fits into the budget
	VectorsRead  int64    `json:"vectors_read,omitempty"`    // bytes of vectors in files that are read
	VectorsWrote int64    `json:"vectors_written,omitempty"` // bytes of vectors in files that are written
	Read         float64  `json:"read"`                      // seconds of reading
	Multiply     float64  `json:"multiply"`                  // seconds of products
	Dense        float64  `json:"dense"`                     // seconds of dense linear algebra between passes
	Beside       float64  `json:"beside,omitempty"`          // seconds that all passes on an engine take in addition to their work, included in `total`; absent without an engine
	Total        float64  `json:"total"`                     // seconds in total; less than the sum, as reading and computing overlap
}

// Explain says how Run would go with the same options, on a store or a planned store (csr.Outline). It measures the machine for
// a hundredth of the time of the run, at most a second, and writes nothing.
func Explain(ctx context.Context, store *csr.Store, o Options) (*Explanation, error) {
	t, before, err := begin(store, o)
	if err != nil {
		return nil, err
	}
	engine, err := t.explainEngine(ctx, before)
	if err != nil {
		return nil, err
	}
	p := t.problem(t.actual())
	e := &Explanation{NNZ: store.NNZ(), K: t.Rank, Energy: t.Energy, Which: t.which(), Tol: t.Tol, FirstBytes: p.Encoded, Engine: engine}
	e.Rows, e.Cols = Dims(store)
	if t.view != nil {
		low, high := math.Inf(-1), math.Inf(1) // unless the manifest has a table of the values
		if table := store.Manifest().Values.Table; len(table) > 0 {
			low, high = table[0], table[len(table)-1]
		}
		e.View = &ViewPlan{t.View.String(), t.view.Reads(), t.view.Effects(low, high)}
	}
	if e.Choice, _, err = t.choose(ctx, before); err != nil {
		return nil, err
	}
	here, probe, err := t.measured(ctx, cost.EstimateOf(p, t.machine(), t.Method))
	if err != nil {
		return nil, err
	}
	e.Measured = probe
	e.Plan = newEstimate(cost.EstimateOf(p, here, t.Method))
	if t.Energy > 0 {
		one := p
		one.Rank = 1
		e.Least = new(newEstimate(cost.EstimateOf(one, here, t.Method)))
	}
	if o.Method == nil && !(t.Resume && before.checkpoint) {
		for _, other := range cost.Estimates(p, here) {
			e.Considered = append(e.Considered, newEstimate(other))
		}
	}
	place, err := t.fit(t.Method)
	if err != nil {
		return nil, err
	}
	e.Workers, e.Memory, e.Start = place.plan.Workers, place.memory(), t.start()
	return e, nil
}

// LeastMemory returns the least Memory with which Run works.
func (o Options) LeastMemory(ctx context.Context, store *csr.Store) (int64, error) {
	for o.Memory = 1; ; {
		t, before, err := begin(store, o)
		if errors.Is(err, vfs.ErrTooLarge) && o.Memory < 1<<30 { // a list of ids that a view keeps may take a share of the memory
			o.Memory *= 2
			continue
		}
		if err != nil {
			return 0, err
		}
		if _, _, err = t.choose(ctx, before); err != nil {
			return 0, err
		}
		_, err = t.fit(t.Method)
		var small *stream.BudgetError
		if !errors.As(err, &small) {
			return o.Memory, err
		}
		o.Memory = max(small.Need, o.Memory+1)
	}
}

func newEstimate(e cost.Estimate) Estimate {
	return Estimate{
		Flags: flagsOf(e.Method), Passes: e.Passes, Products: e.Products, PassBytes: e.PassBytes, Memory: e.Vectors, Fits: e.Fits,
		VectorsRead: e.VectorsRead, VectorsWrote: e.VectorsWritten,
		Read: e.Read.Seconds(), Multiply: e.Multiply.Seconds(), Dense: e.Dense.Seconds(), Beside: e.Beside.Seconds(), Total: e.Total.Seconds(),
	}
}

// Speed holds what Explain measured on this machine. The estimates of times use it, the choice of the method does not.
type Speed struct {
	Seconds   float64   `json:"seconds"`             // seconds that the measurement took
	Bandwidth float64   `json:"bandwidth,omitempty"` // bytes read per second; absent if reading takes no time
	Decode    float64   `json:"decode"`              // nanoseconds to decode an entry and to make its value as the view does
	Widths    []int     `json:"widths"`              // widths, in columns, of the products that were measured
	Multiply  []float64 `json:"multiply"`            // nanoseconds per entry of a product, one number for each of `widths`
}

// longestProbe and probeShare bound the time of measuring, apart from that of a few blocks.
const (
	longestProbe = time.Second
	probeShare   = 100
)

// measured returns the table of costs as measured on this machine. The table is unchanged if the matrix has no entry or
// memory is too small to measure.
func (t *task) measured(ctx context.Context, e cost.Estimate) (cost.Machine, *Speed, error) {
	here := t.machine()
	var widths []int // widths for which there is memory
	for _, l := range []int{1, 4, 16} {
		if n := t.store.Cols(); int64(l) <= n && 8*n*int64(l)*int64(1+here.Workers) <= t.Memory/8 {
			widths = append(widths, l)
		}
	}
	if len(widths) == 0 || t.store.NNZ() == 0 {
		return here, nil, nil
	}
	start := time.Now()
	planned := t.store.Planned()
	source := stream.Source(t.store)
	if planned {
		source = invented{t.store}
	}
	probe, err := stream.Measure(ctx, source, widths, here.Workers, min(longestProbe, e.Total/probeShare))
	if err != nil {
		return here, nil, err
	}
	here = here.Adjusted(t.store.Cols(), widths, probe.Multiply)
	speed := &Speed{Widths: widths, Multiply: probe.Multiply}
	if !planned { // the time of inventing blocks is not that of decoding
		here.Decode, speed.Bandwidth = probe.Decode+t.remake(), probe.Bandwidth
		here.Bandwidth = cmp.Or(probe.Bandwidth, here.Bandwidth) // 0 if the blocks may have been in memory
	}
	speed.Seconds, speed.Decode = time.Since(start).Seconds(), here.Decode
	return here, speed, nil
}

// invented is a planned store with random entries, to measure products with.
type invented struct{ *csr.Store }

// DecodeBlock invents block i: rows of one length, whose n entries lie in n stripes of columns, one in each.
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
	if table := s.Values().Table; len(table) == 0 {
		dst.Val = slices.Repeat([]float64{1}, dst.NNZ())
	} else {
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

// remake returns the nanoseconds that a view takes to compute a value when its block is decoded; 0 without a view.
func (t *task) remake() float64 {
	if t.view == nil {
		return 0
	}
	return t.view.Remake()
}

// machine returns cost.Reference with the workers and the view of the run.
func (t *task) machine() cost.Machine {
	m := cost.Reference()
	m.Workers = t.Workers
	m.Decode += t.remake()
	return m
}

// actual returns a function that returns the room that a method leaves on this machine now: with all workers and with the
// blocks that the page cache can hold.
func (t *task) actual() func(method.Method) cost.Room {
	available := sync.OnceValue(memory.Available) // only if it is needed: it takes 0.3 ms
	return func(m method.Method) cost.Room {
		p, err := t.fit(m)
		if err != nil {
			return cost.Room{}
		}
		r := p.room()
		if t.Remote != nil {
			p.plan.Resident, r.Resident = 0, 0
		}
		var read int64 // bytes of the blocks that every pass decodes
		for i := p.plan.Resident; i < p.plan.Blocks; i++ {
			read += t.store.Block(i).Size
		}
		// These blocks stay in the page cache if they fit into the available memory that the run leaves; the run takes what is
		// planned, not the whole budget. Passes read in the same order: otherwise most blocks are gone before they are read again.
		r.Cached = read == 0 || read <= available()-p.plan.Total()
		return r
	}
}
