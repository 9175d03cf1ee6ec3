package factor

import (
	"context"
	"errors"
	"math"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Explanation is how a run would go. Passes and times are estimates, memory is planned.
type Explanation struct {
	Rows int64 `json:"rows"`
	Cols int64 `json:"cols"`
	NNZ  int64 `json:"nnz"`
	K    int   `json:"k"`
	// Which is LM, LA or SA of eigenpairs.
	Which string  `json:"which,omitempty"`
	Tol   float64 `json:"tol"`
	// Energy is the share that as few triplets as possible are to capture, K at most: Plan is for K of them, and
	// Least for one. How many it takes is not known before.
	Energy     float64   `json:"energy,omitempty"`
	Least      *Estimate `json:"least,omitempty"`
	Plan       Estimate  `json:"plan"`
	Choice     *Choice   `json:"choice,omitempty"` // nil: the method was given
	Start      string    `json:"start,omitempty"`  // what becomes of given start vectors
	View       *ViewPlan `json:"view,omitempty"`
	FirstBytes int64     `json:"first_pass_bytes"` // of the store; later passes read Plan.PassBytes
	Workers    int       `json:"workers"`
	Memory
	Engine     *Engine    `json:"engine,omitempty"`
	Measured   *Speed     `json:"measured,omitempty"`   // on this machine, for the estimates
	Considered []Estimate `json:"considered,omitempty"` // fastest first, those that fit before those that do not
}

// ViewPlan is what the steps of a view do.
type ViewPlan struct {
	Pipeline string        `json:"pipeline"`
	Reads    int           `json:"reads"` // of the store, for statistics, beside the passes
	Steps    []view.Effect `json:"steps"`
}

// valuesOf returns the least and the greatest value of a store, as far as its manifest knows.
func valuesOf(store *csr.Store) (low, high float64) {
	if table := store.Manifest().Values.Table; len(table) > 0 {
		return table[0], table[len(table)-1]
	}
	return math.Inf(-1), math.Inf(1)
}

// Estimate is what a run with a method is expected to take.
type Estimate struct {
	Flags     []string `json:"flags"`
	Passes    int      `json:"passes"`
	Products  int64    `json:"products"`
	PassBytes int64    `json:"pass_bytes"`
	Memory    int64    `json:"memory"` // of the method's own vectors
	Fits      bool     `json:"fits"`
	// Of vectors in files, by passes and between them, as in Result.
	VectorsRead  int64   `json:"vectors_read,omitempty"`
	VectorsWrote int64   `json:"vectors_written,omitempty"`
	Read         float64 `json:"read"` // seconds, as are the next
	Multiply     float64 `json:"multiply"`
	Dense        float64 `json:"dense"`
	Beside       float64 `json:"beside,omitempty"` // that passes of an engine take beside their work
	Total        float64 `json:"total"`            // less than the sum: reading goes on meanwhile
}

// Explain says how Run would go with the same options, on a store or what is planned of one (csr.Outline). It measures the machine for about a
// second where a run takes much longer, and writes nothing.
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
		low, high := valuesOf(store)
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
		least := newEstimate(cost.EstimateOf(one, here, t.Method))
		e.Least = &least
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

// LeastMemory is the least Memory with which Run works.
func (o Options) LeastMemory(ctx context.Context, store *csr.Store) (int64, error) {
	for o.Memory = 1; ; {
		t, before, err := begin(store, o)
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
