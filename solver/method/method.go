package method

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Method is one algorithm with its parameters. It owns a recurrence and nothing
// else: passes, limits, deflation, locking, and observers belong to the driver.
//
// Methods are plain comparable values with a documented zero value; a Method may
// be used by several runs at once, a Recurrence belongs to one.
type Method interface {
	// Traits describes the method in a run for k triplets. The driver, the choice of
	// a method, checkpoints, and the command know about a method what it says.
	Traits(k int) Traits
	// New returns a recurrence of a run, to be started or restored.
	New(r Run) Recurrence
}

// Run is what a recurrence is told about the run that it belongs to.
type Run struct {
	Memory     Memory // for its blocks; nil is ordinary memory
	Rank       int    // triplets wanted
	Paper      bool   // the stop rule is that of the paper: Ritz pairs report changes
	Indefinite bool   // the operator has eigenvalues as low as −λ₁
}

// Memory is where the blocks of a run lie: ordinary memory, or the files of a Space.
type Memory interface {
	// Dense returns an r×c block of zeros.
	Dense(r, c int) *mat.Dense
	// Free gives blocks back.
	Free(blocks ...*mat.Dense)
}

// Found is the span of the vectors that have been found and locked.
type Found interface {
	// Dimension returns that of the space which others are kept out of.
	Dimension() int
	// Orthonormalise makes x a unit vector orthogonal to it, or reports that x lies in it: then x is useless.
	Orthonormalise(x []float64) bool
}

// Recurrence is a running method, driven by reverse communication: the driver
// multiplies Next by the deflated operator M and hands the product to Absorb,
// for ever. Its state is a few blocks and numbers.
//
// Embedding Alone gives all methods but those that every recurrence has of its own:
// Start, Next, Absorb, Vector and State.
type Recurrence interface {
	// Start begins at the n×l block z with columns of unit norm, which the
	// recurrence owns from now on.
	Start(z *mat.Dense)
	// State saves or restores the recurrence, part by part: after Start, or after
	// Absorb and the Lock that followed it, if any. What a restored recurrence must
	// know besides how to go on is the answers of Vector. Blocks that are saved may be
	// those the recurrence works with; they stay as they are until the next call of
	// Absorb or Lock. A recurrence that has been restored owns its blocks. A saved
	// state may come from anywhere: whatever its shape, State refuses it and does
	// not panic.
	State(s *State)
	// Next returns the n×l block to be multiplied, in the span of the start
	// block and of what has been absorbed; l may change. It stays valid and
	// unchanged until Absorb.
	Next() *mat.Dense
	// Absorb takes y = M·Next(), advances one step, and reports the leading
	// Ritz pairs of the block that was just multiplied, in descending order of
	// value, at least one. The slice is valid until the next call; y may be
	// overwritten.
	Absorb(y *mat.Dense) []RitzPair
	// Vector stores the unit vector that belongs to Ritz pair j of the last
	// Absorb in dst, of length n.
	Vector(dst []float64, j int)
	// Vectors returns a function that stores the vectors of the first Ritz pairs in
	// the columns of its argument with less work than one after the other, nil if
	// there is none.
	Vectors() func(dst blas64.General)
	// Lock says that the first j Ritz pairs have been accepted and that M is
	// deflated by them from now on. It reports whether the recurrence goes on
	// with what is left, taken out of the span of the accepted vectors;
	// otherwise the driver starts another.
	Lock(j int) bool
	// Avoid is called before Next: random vectors that are drawn on the way must be
	// orthogonal to what has been found, now and later.
	Avoid(found Found)
	// Aim is called before Next where it may cost something to say how good the
	// Ritz pairs are. missing says by what factor the largest residual of those among
	// the Ritz pairs that are wanted exceeds what will be accepted; without a call the Ritz pairs of every pass are wanted.
	// In between those of an earlier pass may be reported once more.
	Aim(missing func([]RitzPair) float64)
	// Evidence is what the last product says about eigenvalues that have not been
	// found, once the leading Ritz pairs are taken as found. It is false if the start
	// block, of random columns, tells nothing.
	Evidence(found int) (Evidence, bool)
	// Free gives the blocks back to the arena.
	Free()
}

// Alone is what a recurrence of one vector answers to the calls for those of many: it
// ends when its vector is accepted, draws nothing at random, and has no evidence.
type Alone struct{}

func (Alone) Vectors() func(blas64.General) { return nil }

func (Alone) Lock(int) bool { return false }

func (Alone) Avoid(Found) {}

func (Alone) Aim(func([]RitzPair) float64) {}

func (Alone) Evidence(int) (Evidence, bool) { return Evidence{}, false }

// Free implements Recurrence, for one whose blocks are not of the arena.
func (Alone) Free() {}

// RitzPair is a Ritz pair (θ, v) of the deflated operator M, ‖v‖ = 1, known
// from the product that a recurrence has just absorbed.
type RitzPair struct {
	Value    float64 // θ = vᵀMv
	Residual float64 // ‖Mv − θv‖, or a prediction of it if v is of a later step
	// What the rule of the paper looks at. The changes are +Inf as long as
	// they are not defined, and of no meaning under solver.StopResidual.
	PaperValue  float64 // λ̂ as the algorithm returns it
	DeltaVector float64 // change of the unit vector in the last step
	DeltaValue  float64 // change of λ̂ in the last step
}

// NewRitzPair returns a Ritz pair with the changes that the rule of the paper would look
// at: those of one step of Algorithm 2 from the Ritz vector.
func NewRitzPair(value, residual float64) RitzPair {
	c := RitzPair{Value: value, Residual: residual, PaperValue: value, DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
	if value > 0 {
		size := math.Hypot(value, residual)
		c.DeltaVector = residual / size
		c.DeltaValue = size - value
	}
	return c
}
