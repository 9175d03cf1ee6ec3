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

// DefaultCheckpointEvery is the time between two checkpoints if Options.CheckpointEvery is 0.
const DefaultCheckpointEvery = 30 * time.Second

// Options are the options of Run and Explain. The zero value of every field but Rank and Dir is usable; with Energy, the
// zero value of Rank is usable, too. Fields with the name of a field of solver.Settings have its meaning.
type Options struct {
	Rank      int             // number of triplets, from 1 to the shorter side of the matrix
	Energy    float64         // share of ‖A‖²_F, between 0 and 1, to capture with as few triplets as possible, at most Rank (0: DefaultMaxRank); 0: Rank triplets
	Dir       string          // the result directory to write
	Method    method.Method   // nil: chosen by its cost; see Choice
	Methods   []method.Method // methods to choose from and to resume with; nil: all.Methods
	View      view.Pipeline   // view of the store that is factorised; nil: the store itself
	Operator  solver.OperatorKind
	Which     solver.Which // which eigenpairs of a symmetric matrix to compute instead of triplets; Operator is solver.Symmetric then
	Shift     float64      // shift for Which; 0: the solver finds one
	Deflation solver.Deflation
	Stop      solver.StopRule
	Tol       float64 // 0: solver.DefaultTol
	MaxPasses int     // 0: no limit
	Seed      uint64
	Workers   int     // 0: all processors
	Memory    int64   // budget of the whole process in bytes; 0: DefaultMemory
	Vectors   Vectors // vectors that the result keeps; a result of eigenpairs keeps V unless this is None
	Replace   bool    // replace an existing result, in one step at the end
	Resume    bool    // resume from the checkpoint in Dir; return a finished result as it is
	Init      string  // result directory with the start vectors

	// Remote describes the engine whose tasks make the passes; the engine stays the caller's. nil: this process makes the
	// passes. The bits of the result depend on Remote.Groups. Run sets FS and Log of a copy.
	Remote *remote.Options
	// PassCost is the time that a pass of Remote takes beside its work, for the choice of a method; 0: measured before the
	// choice. The result records it: a run with the recorded value makes the same choice.
	PassCost time.Duration

	// Command holds the words of a command line that resumes from a checkpoint when -o Dir --resume is appended. The
	// checkpoint keeps it for messages about resuming.
	Command []string

	CheckpointEvery time.Duration // time between checkpoints in Dir; 0: DefaultCheckpointEvery, negative: no checkpoints
	CheckpointShare float64       // largest share of the time of the run that saving takes; 0: a tenth
	TimeLimit       time.Duration // time after which the search ends; 0: no limit

	FS      vfs.FS                               // nil: the operating system's
	Log     *slog.Logger                         // nil: nothing is logged
	Planned func(Memory) error                   // is called with the planned memory before it is allocated
	Pass    func(solver.Event, Outlook)          // is called after every pass
	Between func(solver.Stats)                   // is called about once a second between passes, if vectors are in files
	Writing func(what string, done, total int64) // reports the progress of files that are written to their end even after cancellation; what "": the writing has ended

	// Measuring reports the bytes read for the statistics of View. Several goroutines may call it at the same time.
	Measuring func(done, total int64)
}

// Outlook is the progress of a run and the time that it still takes.
type Outlook = outlook.Outlook

// DefaultMemory returns 60 % of the memory that the process may use, in bytes, or 1 GiB if that is not known.
func DefaultMemory() int64 { return budget.Default() }

// DefaultMaxRank is the largest number of triplets that a run with Options.Energy computes if Rank is 0.
const DefaultMaxRank = 200

// withDefaults returns the options with defaults for the fields that are zero.
func (o Options) withDefaults() Options {
	o.Tol = cmp.Or(o.Tol, solver.DefaultTol)
	if o.Memory == 0 { // DefaultMemory takes a while
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

// ErrNotConverged is wrapped by the error of a run that ended early but has written its result.
var ErrNotConverged = errors.New("not converged")

// Option is the name of a field of Options in an Error.
type Option string

// Error says in a sentence how a run has ended or why it cannot begin, and what can be done
// about it. It wraps its kind: context.Canceled, csr.ErrCorrupt, ErrNotConverged or an error
// of the file system.
type Error struct {
	Kind   error // may be nil
	Format string
	Args   []any // arguments of type Option are named by Say
}

func (e *Error) Error() string { return e.Say(func(o Option) string { return "Options." + string(o) }) }
func (e *Error) Unwrap() error { return e.Kind }

// Say returns the sentence with the names that a program has for the options.
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

// damagedResult returns the error about a file of a result that differs from what was written.
func damagedResult(name, format string, args ...any) error {
	return says(csr.ErrCorrupt, "%s: %s: the file is damaged; remove the result and compute it again", name, fmt.Sprintf(format, args...))
}

// damagedCheckpoint returns the error about a file of a checkpoint that differs from what was written.
func damagedCheckpoint(name, format string, args ...any) error {
	return says(csr.ErrCorrupt, "%s is damaged: "+format, append([]any{name}, args...)...)
}
