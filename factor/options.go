package factor

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/outlook"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/stream/remote"
	"github.com/gdsvd/gdsvd/stream/view"
)

// DefaultCheckpointEvery is the time between two checkpoints when Options says nothing.
const DefaultCheckpointEvery = 30 * time.Second

// Options of Run and Explain. The zero value of every field but Rank and Dir is usable; with
// Energy that of Rank is, too.
// The fields of the solver's names are its settings.
type Options struct {
	Rank      int             // number of triplets, from 1 to the shorter side of the matrix
	Energy    float64         // share of ‖A‖²_F, between 0 and 1, that as few triplets as possible are to capture, Rank at most (0: DefaultMaxRank); 0: Rank triplets
	Dir       string          // the result directory to write
	Method    method.Method   // nil: chosen by its cost; see Choice
	Methods   []method.Method // to choose from and to go on with; nil: all.Methods
	View      view.Pipeline   // what the store is seen through; nil: nothing
	Operator  solver.OperatorKind
	Which     solver.Which // eigenpairs of a symmetric matrix instead of triplets; Operator is solver.Symmetric then
	Shift     float64      // of Which; 0: found
	Deflation solver.Deflation
	Stop      solver.StopRule
	Tol       float64 // 0: solver.DefaultTol
	MaxPasses int     // 0: no limit
	Seed      uint64
	Workers   int     // 0: all processors
	Memory    int64   // budget of the whole process in bytes; 0: DefaultMemory
	Vectors   Vectors // that the result keeps; of eigenpairs V unless None
	Replace   bool    // replace a result that is there, in one step at the end
	Resume    bool    // go on from the checkpoint in Dir; return a finished result as it is
	Init      string  // result directory that the start vectors are from

	// Remote has the passes made by tasks of its engine, which stays the caller's; nil: by this process. The bits depend on
	// Remote.Groups. FS and Log are set by Run.
	Remote *remote.Options
	// PassCost is what a pass of Remote takes beside its work, for the choice of a method; 0: as measured before it. The
	// result has it: with it, the choice is the same again.
	PassCost time.Duration

	// Command are the words of a command line that goes on from a checkpoint if -o Dir --resume follows. It is kept in the
	// checkpoint, for those who are told that there is one.
	Command []string

	CheckpointEvery time.Duration // save the run in Dir so often; 0: DefaultCheckpointEvery, negative: never
	CheckpointShare float64       // of the time of the run that saving may take; 0: a tenth
	TimeLimit       time.Duration // end the search after so much time; 0: no limit

	FS      vfs.FS                               // nil: the operating system's
	Log     *slog.Logger                         // nil: nothing is logged
	Planned func(Memory) error                   // is told what the run will take before it takes it
	Pass    func(solver.Event, Outlook)          // is called after every pass
	Between func(solver.Stats)                   // is called about once a second between passes, if vectors are in files
	Writing func(what string, done, total int64) // is told of files that are written to their end even after cancellation; "": no more

	// Measuring is told of bytes read for the statistics of View. Several goroutines may call it at a time.
	Measuring func(done, total int64)
}

// Outlook is how far a run is and how long it will still take.
type Outlook = outlook.Outlook

// DefaultMemory is 60 % of the memory that the process may have, in bytes, or 1 GiB where that is not known.
func DefaultMemory() int64 { return budget.Default() }

// DefaultMaxRank is the most triplets that a run with Options.Energy looks for when Rank says nothing.
const DefaultMaxRank = 200

// withDefaults fills in what was left to the package.
func (o Options) withDefaults() Options {
	o.Tol = cmp.Or(o.Tol, solver.DefaultTol)
	if o.Memory == 0 { // finding it out takes a while
		o.Memory = DefaultMemory()
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.CheckpointEvery = cmp.Or(o.CheckpointEvery, DefaultCheckpointEvery)
	o.CheckpointShare = cmp.Or(o.CheckpointShare, 0.1)
	o.Method = canonical(o.Method, o.Rank)
	if o.Methods == nil {
		o.Methods = all.Methods()
	}
	o.FS = cmp.Or(o.FS, vfs.OS())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Planned == nil {
		o.Planned = func(Memory) error { return nil }
	}
	if o.Pass == nil {
		o.Pass = func(solver.Event, Outlook) {}
	}
	if o.Measuring == nil {
		o.Measuring = func(int64, int64) {}
	}
	if o.Writing == nil {
		o.Writing = func(string, int64, int64) {}
	}
	return o
}

// Vectors says which singular vectors a result keeps.
type Vectors uint8

const (
	Both  Vectors = iota
	Left          // U
	Right         // V
	None
)

func (v Vectors) String() string { return [...]string{"both", "left", "right", "none"}[v] }
func (v Vectors) u() bool        { return v == Both || v == Left }
func (v Vectors) v() bool        { return v == Both || v == Right }

// ErrNotConverged is what errors.Is finds in the error of a run that ended early and has
// written its result all the same.
var ErrNotConverged = errors.New("not converged")

// Option is the name of a field of Options in an Error.
type Option string

// Error says in a sentence how a run has ended or why it cannot begin, and what can be done
// about it. errors.Is finds what kind it is: context.Canceled, csr.ErrCorrupt,
// ErrNotConverged or an error of the file system.
type Error struct {
	Kind   error // may be nil
	Format string
	Args   []any // Options among them are said as Say says
}

func (e *Error) Error() string { return e.Say(func(o Option) string { return "Options." + string(o) }) }
func (e *Error) Unwrap() error { return e.Kind }

// Say is the sentence in the words of a program that has names of its own for the options.
func (e *Error) Say(name func(Option) string) string {
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		if o, ok := a.(Option); ok {
			a = name(o)
		}
		args[i] = a
	}
	return fmt.Sprintf(e.Format, args...)
}

func says(kind error, format string, args ...any) error { return &Error{kind, format, args} }

// damagedResult is the error about a file of a result that is not what was written.
func damagedResult(name, format string, args ...any) error {
	return says(csr.ErrCorrupt, "%s: %s: the file is damaged; remove the result and compute it again", name, fmt.Sprintf(format, args...))
}

// damagedCheckpoint is the error about a file of a checkpoint that is not what was written.
func damagedCheckpoint(name, format string, args ...any) error {
	return says(csr.ErrCorrupt, "%s is damaged: "+format, append([]any{name}, args...)...)
}
