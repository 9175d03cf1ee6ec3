package plan

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/vfs"
)

// Input is the matrix that a way begins with.
type Input struct {
	Rows, Cols, Entries Range // of the matrix of the user

	matrix   matrix
	ingest   *Step // that makes the store; nil: there it is
	least    int64 // bytes of memory with which it works
	warnings []string
}

// matrix is a store, three times, or what can be expected of one that does not exist yet.
type matrix struct{ low, likely, high *csr.Store }

// each makes a range of what is found of the three; of a store, of the one.
func (m matrix) each(f func(*csr.Store) (float64, error)) (r Range, err error) {
	if r.Likely, err = f(m.likely); err != nil || m.low == m.likely && m.high == m.likely {
		return Exactly(r.Likely), err
	}
	if r.Low, err = f(m.low); err == nil {
		r.High, err = f(m.high)
	}
	return r.ordered(), err
}

// OfStore is a store, which stays open as long as the Input is of use.
func OfStore(s *csr.Store) Input {
	rows, cols := factor.Dims(s)
	return Input{
		Rows: Exactly(float64(rows)), Cols: Exactly(float64(cols)), Entries: Exactly(float64(s.NNZ())), matrix: matrix{s, s, s},
	}
}

// How far an estimated number of entries, and the bytes of a store of known entries, may be from the truth.
const (
	entriesLow, entriesHigh = 0.9, 1.1
	storeLow, storeHigh     = 0.8, 1.25
)

// Estimate is what a look at inputs tells of the store that is going to be made of them.
type Estimate struct {
	Path       string // of the store
	Rows, Cols Range  // of the matrix of the user
	Entries    int64
	Exact      bool // Entries, and the bytes that follow from them, are not estimated
	ShapeKnown bool
	Values     csr.Values
	Transposes func(rows, cols int64) bool // tells whether the store of such a matrix is transposed
	Store      int64                       // bytes of the store,
	Spool      int64                       // of temporary files,
	Peak       int64                       // of memory, as it is planned,
	Least      int64                       // and of memory, the least that works
	Seconds    float64
	Warnings   []string
}

// Expected is what can be expected of a store that is made within budget bytes.
func Expected(e Estimate, budget int64) Input {
	spread := func(x int64) Range {
		if e.Exact {
			return Exactly(float64(x))
		}
		return Range{entriesLow * float64(x), float64(x), entriesHigh * float64(x)}
	}
	in := Input{Rows: e.Rows, Cols: e.Cols, Entries: spread(e.Entries), least: e.Least, warnings: e.Warnings}
	size := Range{storeLow, 1, storeHigh}.Times(spread(e.Store))
	outline := func(of func(Range) float64) *csr.Store {
		rows, cols := int64(of(in.Rows)), int64(of(in.Cols))
		return csr.Outline{
			Path: e.Path, Rows: rows, Cols: cols, NNZ: int64(of(in.Entries)), Values: e.Values, Size: int64(of(size)), Transposed: e.Transposes(rows, cols),
		}.Plan()
	}
	likely := outline(func(x Range) float64 { return x.Likely })
	in.matrix = (matrix{likely, likely, likely})
	if !e.Exact || !e.ShapeKnown {
		in.matrix.low, in.matrix.high = outline(func(x Range) float64 { return x.Low }), outline(func(x Range) float64 { return x.High })
	}
	in.ingest = &Step{
		Name: "ingest", Seconds: Range{0.5, 1, 2}.Times(Exactly(e.Seconds)), Kept: size, Temporary: spread(e.Spool), Memory: collected(e.Peak, budget),
	}
	return in
}

// collected is the memory of an ingest in bytes, from what it may hold: on a loaded machine there is more garbage that has not been collected.
func collected(held, budget int64) Range {
	of := func(times float64) float64 { return min(times*float64(held), float64(budget)) }
	return Range{of(0.45), of(0.75), of(1.7)}
}

// SureRank is the number of triplets that the matrix has, whatever its shape turns out to be.
func (in Input) SureRank() int64 { return min(in.matrix.low.Rows(), in.matrix.low.Cols()) }

// Estimated tells whether the shape or the number of entries is not known.
func (in Input) Estimated() bool { return in.matrix.low != in.matrix.likely }

// Close closes the store.
func (in Input) Close() error { return in.matrix.likely.Close() }

// Options of a way. FS, Rank, Memory and more are those of Factor, which has a budget.
type Options struct {
	Factor factor.Options
	Format string // of the files that U and V are exported to, one of export.Formats; "": they are not

	// Of passes by tasks, where Factor.Remote is there: workers, each as fast as this machine, and whether the shared folder is a bucket.
	Workers int
	Bucket  bool
}

// Way is what it takes to go from an input to an exported result.
type Way struct {
	Rows    Range            `json:"rows"`
	Cols    Range            `json:"cols"`
	Entries Range            `json:"entries"`
	K       int              `json:"k"`
	Flags   []string         `json:"flags"` // of the method
	Why     string           `json:"why"`   // it was chosen; "": it was given
	Passes  Range            `json:"passes"`
	Memory  int64            `json:"memory"` // budget in bytes
	Least   Least            `json:"least_memory"`
	Free    *int64           `json:"free_bytes,omitempty"` // of the disk of the store; absent where that cannot be told
	Steps   []Step           `json:"steps"`
	Total   Step             `json:"total"` // temporary_bytes: beyond kept_bytes when the disk is at its fullest
	Machine *factor.Speed    `json:"machine,omitempty"`
	View    *factor.ViewPlan `json:"view,omitempty"`
	Says    []string         `json:"warnings"`
	// Tasks is how the passes of the step svd would go on an engine, and Best with the number of groups that is best; absent without one.
	Tasks *factor.Forecast `json:"tasks,omitempty"`
	Best  *factor.Forecast `json:"best,omitempty"`
}

// Least is the least memory that works, in bytes.
type Least struct {
	Ingest int64 `json:"ingest"` // 0: there is no such step
	SVD    Range `json:"svd"`
	All    int64 `json:"all"` // enough for each step, whatever the shape turns out to be
}

// MemoryError says that a step does not work within a budget.
type MemoryError struct{ Budget, Ingest, Run int64 } // bytes: the least for the steps; Ingest 0: there is no such step

func (e *MemoryError) Error() string {
	return fmt.Sprintf("memory of %s is too small: the least that works is %s", memory.FormatSize(e.Budget), memory.FormatSize(max(e.Ingest, e.Run)))
}

// Way finds out what it takes. The error is a [*MemoryError] if the budget is too small.
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
		w.Tasks = e.Forecast(o.Workers, e.Engine.Groups, e.Engine.PassSeconds, o.Bucket)
		w.Best = e.Best(o.Workers, in.matrix.likely.NumBlocks(), e.Engine.PassSeconds, o.Bucket)
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
	if fsys == nil {
		fsys = vfs.OS()
	}
	say := func(format string, args ...any) { w.Says = append(w.Says, fmt.Sprintf(format, args...)) }
	if free, err := fsys.FreeSpace(filepath.Dir(store)); err == nil {
		w.Free = &free
		switch full := w.Total.Kept.Plus(w.Total.Temporary); {
		case full.Likely > float64(free):
			say("the disk has %s free, the way takes %s", memory.FormatSize(free), memory.FormatSize(int64(full.Likely)))
		case full.High > float64(free):
			say("the disk has %s free, the way may take %s", memory.FormatSize(free), memory.FormatSize(int64(full.High)))
		}
	}
	if high := int64(w.Least.SVD.High); high > w.Memory {
		say("the budget is enough for the shape that is likely; the largest takes %s at least", memory.FormatSize(high))
	}
}

// total is one step made of all: Temporary is what the disk has at its fullest beyond what is kept in the end, Memory is the most of any.
func total(steps []Step) Step {
	all, full := Step{Name: "total", Commands: [][]string{}}, Range{}
	for _, s := range steps {
		all.Seconds, all.Kept, all.Memory = all.Seconds.Plus(s.Seconds), all.Kept.Plus(s.Kept), all.Memory.max(s.Memory)
		full = full.max(all.Kept.Plus(s.Temporary))
	}
	all.Temporary = full.Plus(all.Kept.Times(Exactly(-1))).ordered() // what is kept may vary more
	return all
}
