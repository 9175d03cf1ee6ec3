// Package plan estimates the time, disk and memory of each step from a matrix to an exported result, before anything is
// computed.
//
// A [Way] begins with a store ([OfStore]) or with an estimate of the store that is going to be made of an input ([Expected]);
// [Input.Way] returns the rest, each quantity as a [Range]. The result is a function of the matrix, the options, and the free
// memory and disk, except for the time of the passes, for which [factor.Explain] measures the machine.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// Range is the expected value of a quantity, with a lower and an upper bound.
type Range struct {
	Low    float64 `json:"low"`    // smallest value that is expected
	Likely float64 `json:"likely"` // value that is most likely
	High   float64 `json:"high"`   // largest value that is expected
}

// Exactly returns a Range of one number.
func Exactly(x float64) Range { return Range{x, x, x} }

// Plus adds ranges.
func (r Range) Plus(o Range) Range { return Range{r.Low + o.Low, r.Likely + o.Likely, r.High + o.High} }

// Times multiplies a range by a range of factors.
func (r Range) Times(o Range) Range {
	return Range{r.Low * o.Low, r.Likely * o.Likely, r.High * o.High}
}

// ordered returns r with bounds that enclose the likely value.
func (r Range) ordered() Range { return Range{min(r.Low, r.Likely), r.Likely, max(r.High, r.Likely)} }

// max returns the elementwise maximum of two ranges.
func (r Range) max(o Range) Range {
	return Range{max(r.Low, o.Low), max(r.Likely, o.Likely), max(r.High, o.High)}
}

// A Step is a part of a Way.
type Step struct {
	Name    string `json:"step"`       // "ingest", "view", "svd" or "export"; "total" for all of them together
	Seconds Range  `json:"seconds"`    // seconds that the step takes
	Kept    Range  `json:"kept_bytes"` // bytes that the step leaves on the disk
	// largest size of the files that the step makes while it runs and removes at its end, in bytes; of the total: largest size of all files at any moment, less `kept_bytes`
	Temporary Range `json:"temporary_bytes"`
	// peak memory of the process during the step, in bytes; 0 if the next step includes it; of the total: that of the step that takes most
	Memory   Range      `json:"memory_bytes"`
	Commands [][]string `json:"commands"` // commands that run the step; empty if it is part of the next step, and for the total
}

const (
	// The run of a matrix whose spectrum is not known takes from spectrumLow to spectrumHigh times the passes in the
	// table of costs, which are those of ratings: 23 for MNIST, 35 and 47 for two sets of ratings, 81 for a
	// Kronecker graph of a flat spectrum, where the table has 33.
	spectrumLow, spectrumLikely, spectrumHigh = 0.7, 1.3, 2.5

	// loaded is the factor by which a run may take longer beside other programs: a longer run makes checkpoints.
	loaded = 2

	// A process takes at most what a run has planned, and is expected to take held + used·(plan − reserved).
	held, reserved      = budget.Runtime, 30 << 20
	usedLow, usedLikely = 0.5, 0.9

	// statisticsNanos is the time in seconds that a worker takes for an entry when a view reads the store for its statistics.
	statisticsNanos = 5e-9
)

// later returns the steps after the ingest: the view, the run and the export.
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

// run returns the step of the run. likely is the explanation for the matrix as it is likely to be.
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
		one.Memory = max(one.Memory, int64(least.High)) // too small a budget is a warning, not an error
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
	events := Exactly(310 * float64(likely.Plan.Passes)).Times(Range{0, spectrumLikely, spectrumHigh}) // a line per pass
	s.Kept = m.files(likely.K, 8, o.Factor).Plus(Range{4e3, 24e3, 96e3}).Plus(events)                  // and result.json, sigma.npy
	return s, nil
}

// checkpoints returns the expected time of a run, in seconds, from which on it makes checkpoints.
func (o Options) checkpoints() float64 {
	every := cmp.Or(o.Factor.CheckpointEvery, factor.DefaultCheckpointEvery)
	if every < 0 {
		return 1e18 // never
	}
	return every.Seconds()
}

// expected returns the peak memory, in bytes, of a process that has planned total bytes.
func expected(total Range) Range {
	of := func(total, used float64) float64 { return min(total, held+used*max(0, total-reserved)) }
	return Range{of(total.Low, usedLow), of(total.Likely, usedLikely), total.High}
}

// idBytes is about the number of bytes of an id in a file of lines; 0 without such a file.
var idBytes = Range{0, 3, 20}

// files returns the bytes of the files of k columns of U and V, or of one to k columns for a share of the energy, with the given
// bytes for each number, and of their ids.
func (m matrix) files(k int, bytes float64, o factor.Options) Range {
	r, _ := m.each(func(store *csr.Store) (float64, error) { // number of rows of U and V that a result has
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
	})
	numbers := Exactly(float64(k) * bytes)
	if o.Energy > 0 {
		numbers.Low = bytes
	}
	return r.Times(numbers.Plus(idBytes))
}

const binaryRate, textRate, exportStart = 1e9, 60e6, 0.015 // bytes a second, and seconds that two processes take to start

// formats holds, for the formats of package export, about how many bytes a number of U and V takes, how many are written in a
// second, and how many are in memory at a time.
var formats = map[string]struct{ number, rate, window float64 }{
	"npy": {8, binaryRate, 0}, "npy32": {4, binaryRate, 0}, "npz": {8, binaryRate, 0}, "parquet": {8, binaryRate, 32 << 20},
	"csv": {22, textRate, 16 << 20}, "tsv": {22, textRate, 16 << 20}, "mtx": {31, textRate, 16 << 20},
}

// export returns the step that writes k columns of U and V.
func (m matrix) export(k int, o Options) Step {
	f := formats[o.Format]
	s := Step{Name: "export", Kept: m.files(k, f.number, o.Factor)}
	window := Range{min(f.window, s.Kept.Low), min(f.window, s.Kept.Likely), min(f.window, s.Kept.High)}
	s.Memory = Exactly(budget.Runtime).Times(Range{0.75, 1.1, 1.5}).Plus(window.Times(Range{0.7, 1.2, 3}))
	// A disk that is slower than the page cache takes four times as long.
	s.Seconds = s.Kept.Times(Range{0.5 / f.rate, 1 / f.rate, 4 / f.rate}).Plus(Exactly(exportStart))
	return s
}

// Options are the options of a Way. FS, Rank, Memory and others are those of Factor, whose Memory is not 0.
type Options struct {
	Factor factor.Options
	Format string // format of the files that U and V are exported to, one of export.Formats; "": no export

	// For passes by tasks (Factor.Remote): the number of workers, each as fast as this machine with Factor.Workers, the seconds that
	// a pass takes beside its work and that the engine takes to start, and whether the shared folder is a bucket.
	Workers     int
	Pass, Start float64
	Bucket      bool
}

// Way describes the steps from an input to an exported result.
type Way struct {
	Rows    Range            `json:"rows"`                 // number of rows of the matrix
	Cols    Range            `json:"cols"`                 // number of columns of the matrix
	Entries Range            `json:"entries"`              // number of stored entries
	K       int              `json:"k"`                    // number of triplets
	Flags   []string         `json:"flags"`                // flags of gdsvd svd that choose the method
	Why     string           `json:"why"`                  // why the method was chosen; "" if it was given
	Passes  Range            `json:"passes"`               // number of passes over the matrix
	Memory  int64            `json:"memory"`               // memory budget in bytes
	Least   Least            `json:"least_memory"`         // the smallest budgets that work, in bytes
	Free    *int64           `json:"free_bytes,omitempty"` // free bytes of the disk that holds the store; absent where the system does not tell them
	Steps   []Step           `json:"steps"`                // the steps, in the order in which they run
	Total   Step             `json:"total"`                // totals over the steps
	Machine *factor.Speed    `json:"machine,omitempty"`    // speeds that were measured on this machine
	View    *factor.ViewPlan `json:"view,omitempty"`       // what the view does
	Says    []string         `json:"warnings"`             // what may go wrong
	Tasks   *factor.Forecast `json:"tasks,omitempty"`      // forecast of the passes on an engine; absent without `--engine`
	Best    *factor.Forecast `json:"best,omitempty"`       // the same forecast with the number of groups that takes the least time
}

// Least is the least memory that works, in bytes.
type Least struct {
	Ingest int64 `json:"ingest"` // smallest budget of the ingest; 0 if there is no such step
	SVD    Range `json:"svd"`    // smallest budget of the run
	All    int64 `json:"all"`    // a budget that is enough for every step and every shape within the ranges of `rows`, `cols` and `entries`
}

// MemoryError says that a step does not work within a budget.
type MemoryError struct{ Budget, Ingest, Run int64 } // bytes: the budget, and the least for the steps; Ingest 0: there is no such step

func (e *MemoryError) Error() string {
	return fmt.Sprintf("memory of %s is too small: the least that works is %s", memory.FormatSize(e.Budget), memory.FormatSize(max(e.Ingest, e.Run)))
}

// Way returns the way from the input. The error is a [*MemoryError] if the budget is too small.
func (in Input) Way(ctx context.Context, o Options) (*Way, error) {
	w := &Way{
		Rows: in.Rows, Cols: in.Cols, Entries: in.Entries, Memory: o.Factor.Memory, Least: Least{Ingest: in.least}, Says: append([]string{}, in.warnings...),
	}
	var err error
	if w.Least.SVD, err = in.matrix.each(func(s *csr.Store) (float64, error) {
		least, err := o.Factor.LeastMemory(ctx, s)
		return float64(least), err
	}); err != nil {
		return nil, err
	}
	if run := int64(w.Least.SVD.Likely); o.Factor.Memory < max(w.Least.Ingest, run) {
		return nil, &MemoryError{o.Factor.Memory, w.Least.Ingest, run}
	}
	e, err := factor.Explain(ctx, in.matrix.likely, o.Factor)
	if err != nil {
		return nil, err
	}
	if w.Steps, err = in.matrix.later(ctx, e, w.Least.SVD, o); err != nil {
		return nil, err
	}
	if in.ingest != nil {
		w.Steps = append([]Step{*in.ingest}, w.Steps...)
	}
	w.K, w.Flags, w.Machine, w.View = e.K, e.Plan.Flags, e.Measured, e.View
	w.Least.All = max(w.Least.Ingest, int64(w.Least.SVD.High))
	if e.Engine != nil {
		w.Tasks = e.Forecast(o.Workers, e.Engine.Groups, o.Pass, o.Start, o.Bucket)
		w.Best = e.Best(o.Workers, in.matrix.likely.NumBlocks(), o.Pass, o.Start, o.Bucket)
	}
	if e.Choice != nil {
		w.Why = e.Choice.Reason
	}
	w.Passes = Exactly(float64(e.Plan.Passes)).Times(Range{spectrumLow, spectrumLikely, spectrumHigh})
	w.Total = total(w.Steps)
	w.room(o.Factor.FS, in.matrix.likely.Path())
	return w, nil
}

// room warns of a disk or a budget that may not be enough.
func (w *Way) room(fsys vfs.FS, store string) {
	fsys = cmp.Or(fsys, vfs.OS())
	say := func(format string, args ...any) { w.Says = append(w.Says, fmt.Sprintf(format, args...)) }
	if free, err := fsys.FreeSpace(filepath.Dir(store)); err == nil {
		w.Free = &free
		switch full := w.Total.Kept.Plus(w.Total.Temporary); {
		case full.Likely > float64(free):
			say("the disk has %s free, the steps take %s", memory.FormatSize(free), memory.FormatSize(int64(full.Likely)))
		case full.High > float64(free):
			say("the disk has %s free, the steps may take %s", memory.FormatSize(free), memory.FormatSize(int64(full.High)))
		}
	}
	if high := int64(w.Least.SVD.High); high > w.Memory {
		say("the budget is enough for the likely shape; the largest shape needs at least %s", memory.FormatSize(high))
	}
}

// total returns the totals of the steps. Temporary is the largest size of all files at any moment, less what is kept in the end;
// Memory is that of the step that takes most.
func total(steps []Step) Step {
	all, full := Step{Name: "total", Commands: [][]string{}}, Range{}
	for _, s := range steps {
		all.Seconds, all.Kept, all.Memory = all.Seconds.Plus(s.Seconds), all.Kept.Plus(s.Kept), all.Memory.max(s.Memory)
		full = full.max(all.Kept.Plus(s.Temporary))
	}
	all.Temporary = full.Plus(all.Kept.Times(Exactly(-1))).ordered() // kept bytes may vary more than the sum
	return all
}
