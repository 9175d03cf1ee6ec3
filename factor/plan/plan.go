// Package plan says what it takes to go from a matrix to an exported result: time, disk and memory of each step, before
// anything is computed.
//
// The way begins with a store ([OfStore]) or with what a look at an input tells of the store that is going to be made of it
// ([Expected]); [Input.Way] finds out the rest. What a step takes is a [Range]. All of it is a function of the
// matrix, the options and the memory and disk that are free, but for the time of the passes, for which [factor.Explain] measures the machine.
package plan

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/budget"
)

// Range is what something is expected to be, and the least and the most that it can well be.
type Range struct {
	Low    float64 `json:"low"`
	Likely float64 `json:"likely"`
	High   float64 `json:"high"`
}

// Exactly is a Range of one number.
func Exactly(x float64) Range { return Range{x, x, x} }

// Plus adds ranges.
func (r Range) Plus(o Range) Range { return Range{r.Low + o.Low, r.Likely + o.Likely, r.High + o.High} }

// Times multiplies a range by one of factors.
func (r Range) Times(o Range) Range {
	return Range{r.Low * o.Low, r.Likely * o.Likely, r.High * o.High}
}

// ordered has the likely one between the others.
func (r Range) ordered() Range { return Range{min(r.Low, r.Likely), r.Likely, max(r.High, r.Likely)} }

// max is the larger one of each.
func (r Range) max(o Range) Range {
	return Range{max(r.Low, o.Low), max(r.Likely, o.Likely), max(r.High, o.High)}
}

// A Step is a part of the way.
type Step struct {
	Name      string     `json:"step"` // ingest, view, svd, export or total
	Seconds   Range      `json:"seconds"`
	Kept      Range      `json:"kept_bytes"`      // on the disk, from then on
	Temporary Range      `json:"temporary_bytes"` // on the disk besides, at most, while it lasts
	Memory    Range      `json:"memory_bytes"`    // of the process at its peak; 0: that of the next step
	Commands  [][]string `json:"commands"`        // for a program to fill in; none: it is part of the next step
}

const (
	// The run of a matrix whose spectrum is not known takes from spectrumLow to spectrumHigh times the passes that the
	// table of costs has, which are those of ratings: 23 for MNIST, 35 and 47 for two sets of ratings, 81 for a
	// Kronecker graph of a flat spectrum, where the table has 33.
	spectrumLow, spectrumLikely, spectrumHigh = 0.7, 1.3, 2.5

	// loaded is how much longer a run may take beside others, for the checkpoints that it then makes.
	loaded = 2

	// A process takes what a run has planned at most, and held + used·(plan − reserved) of it.
	held, reserved      = budget.Runtime, 30 << 20
	usedLow, usedLikely = 0.5, 0.9

	// statisticsNanos is the time of a worker for an entry when a view reads the store for its statistics.
	statisticsNanos = 5e-9
)

// later are the steps behind the ingest: those of the view, the run and the export.
func (m matrix) later(ctx context.Context, e *factor.Explanation, least Range, o Options) (steps []Step, err error) {
	run, err := m.run(ctx, e, least, o)
	if err != nil {
		return nil, err
	}
	if v := e.View; v != nil {
		step := Step{Name: "view", Commands: [][]string{}}
		step.Seconds, _ = m.each(func(s *csr.Store) (float64, error) {
			return float64(v.Reads) * float64(s.NNZ()) * statisticsNanos / float64(e.Workers), nil
		})
		steps = append(steps, step)
	}
	steps = append(steps, run)
	if o.Format != "" && o.Factor.Vectors != factor.None {
		steps = append(steps, m.export(e.K, o))
	}
	return steps, nil
}

// run is the step of the run, which is explained for the matrix as it is likely to be.
func (m matrix) run(ctx context.Context, likely *factor.Explanation, least Range, o Options) (Step, error) {
	s := Step{Name: "svd"}
	seconds, bytes, files := map[*csr.Store]float64{}, map[*csr.Store]float64{}, map[*csr.Store]float64{}
	look := func(e *factor.Explanation, store *csr.Store) {
		seconds[store], bytes[store], files[store] = e.Plan.Total, float64(budget.Ledger(e.Parts).Total()), float64(e.Files)
		if loaded*spectrumHigh*e.Plan.Total > o.checkpoints() {
			if e.Files > 0 {
				files[store] *= 2
			} else {
				files[store] += float64(e.Plan.Memory)
			}
		}
	}
	look(likely, m.likely)
	for _, store := range []*csr.Store{m.low, m.high} {
		if _, done := seconds[store]; done {
			continue
		}
		one := o.Factor
		one.Memory = max(one.Memory, int64(least.High)) // what does not fit is said, not refused
		e, err := factor.Explain(ctx, store, one)
		if err != nil {
			return s, err
		}
		look(e, store)
	}
	of := func(values map[*csr.Store]float64) Range {
		r, _ := m.each(func(store *csr.Store) (float64, error) { return values[store], nil })
		return r
	}
	s.Seconds = of(seconds).Times(Range{spectrumLow, spectrumLikely, spectrumHigh})
	s.Memory, s.Temporary = expected(of(bytes)), of(files)
	s.Kept = m.files(likely.K, 8, o.Factor).Plus(Range{8e3, 32e3, 96e3}) // result.json, events.jsonl, sigma.npy
	return s, nil
}

// checkpoints is how long a run must be expected to take to be saved.
func (o Options) checkpoints() float64 {
	every := o.Factor.CheckpointEvery
	if every == 0 {
		every = factor.DefaultCheckpointEvery
	}
	if every < 0 {
		return 1e18 // never
	}
	return every.Seconds()
}

// expected is the peak, in bytes, of a process whose budget is total.
func expected(total Range) Range {
	of := func(total, used float64) float64 { return min(total, held+used*max(0, total-reserved)) }
	return Range{of(total.Low, usedLow), of(total.Likely, usedLikely), total.High}
}

// idBytes is about what an id takes, in a file of lines, if there is one.
var idBytes = Range{0, 3, 20}

// vectors is how many vectors a result has for a store: rows of U and of V.
func vectors(store *csr.Store, o factor.Options) (float64, error) {
	rows, cols := factor.Dims(store)
	switch o.Vectors {
	case factor.None:
		rows, cols = 0, 0
	case factor.Left:
		cols = 0
	case factor.Right:
		rows = 0
	}
	return float64(rows + cols), nil
}

// files is what k columns of U and V take in files, with bytes for each number, and their ids.
func (m matrix) files(k int, bytes float64, o factor.Options) Range {
	r, _ := m.each(func(store *csr.Store) (float64, error) { return vectors(store, o) })
	return r.Times(Exactly(float64(k) * bytes).Plus(idBytes))
}

// numberBytes are about what a number of U and V takes in the formats of package export, and rates how many bytes of them
// are written in a second; exportStart is what two processes take to start.
var numberBytes = map[string]float64{"npy": 8, "npy32": 4, "npz": 8, "csv": 20, "tsv": 20, "parquet": 8, "mtx": 29}

const binaryRate, textRate, exportStart = 1e9, 60e6, 0.015

// export is the step that writes k columns of U and V.
func (m matrix) export(k int, o Options) Step {
	s := Step{Name: "export", Memory: Exactly(budget.Runtime).Times(Range{0.75, 1.1, 1.5})}
	s.Kept = m.files(k, numberBytes[o.Format], o.Factor)
	rate := binaryRate
	if numberBytes[o.Format] > 8 {
		rate = textRate
	}
	// A disk that is slower than the memory in front of it is the one that takes four times as long.
	s.Seconds = s.Kept.Times(Range{0.5 / rate, 1 / rate, 4 / rate}).Plus(Exactly(exportStart))
	return s
}
