// Package method says what a method is: an algorithm with its settings (Method), what it
// needs and costs (Traits), and itself at work (Recurrence).
//
// A new method is a package beside this one's and a line in method/all. Flags, records of
// runs, the choice of a method, checkpoints and the conformance suite (suite_test.go of solver) know of
// it what its Traits and its State say. What it must keep is said at Recurrence; a
// recurrence of one vector embeds Alone and has Single make its Traits.
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
	// Avoid is called before Next where M is projected: random vectors that are drawn on
	// the way must be orthogonal to what has been found, now and later.
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
func (Alone) Lock(int) bool                 { return false }
func (Alone) Avoid(Found)                   {}
func (Alone) Aim(func([]RitzPair) float64)  {}
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

// Evidence is what a block Lanczos recurrence M·V = V·T + X·(0 R) from a random
// block X₁, the first columns of V, knows about eigenvalues that it has not found.
//
// Let w be a unit vector with Mw = λw, orthogonal to the Ritz vectors that are
// taken as found. Multiplying the recurrence by wᵀ gives, for Ritz pairs (θ, s) of
// the others,
//
//	wᵀX₁ = (wᵀX)·H(λ),  H(λ) = Σ R·s_last·s_firstᵀ/(λ−θ),
//
// so ‖H(λ)‖ ≥ ‖wᵀX₁‖: were λ far above all θ, X₁ would have to be nearly
// orthogonal to w. For p random columns in d dimensions ‖wᵀX₁‖² has the
// distribution Beta(p/2, (d−p)/2), and below δ is with a known probability; then no
// λ with ‖H(λ)‖ < δ is left. For p = 1, ‖H‖ is Πβ/Π(λ−θ) (van Dorsselaer,
// Hochstenbach, van der Vorst 2001, "Computing probabilistic bounds for extreme
// eigenvalues of symmetric matrices with the Lanczos method"). It looks at the
// values that have been found, and falls to the largest θ as that converges; the
// bound 1.648·√n·exp(−√ε(2j−1)) on P[θ_j < (1−ε)λ] (Kuczyński, Woźniakowski 1992)
// holds before anything is known, and is for p = 1 its worst case.
//
// A restart with Ritz vectors does not end that. Those that are kept and X begin the next
// basis. Of those that are dropped the recurrence says yᵀw = (R·s_last)ᵀXᵀw/(λ−θ), so that
//
//	X₁ᵀw = Gᵀ·[kept X]ᵀw,  G = [s_first; Σ R·s_last·s_firstᵀ/(λ−θ)],
//
// the sum being that over the vectors dropped. For the next cycle s_first is what its Ritz vectors have in
// [kept X], times G: in exact arithmetic nothing is lost (the exact shifts of Sorensen 1992, "Implicit application of
// polynomial filters in a k-step Arnoldi method", and Wu, Simon 2000). A
// product carries errors F of the size ε‖M‖, and each term yᵀw one of at most ‖F‖/(λ−θ):
// that much is added to ‖H(λ)‖ after a restart.
type Evidence struct {
	Steps       int        // products
	Theta       []float64  // Ritz values, descending, without those found
	First, Last *mat.Dense // s_first and R·s_last of each, in rows
	Past        []Cycle    // before restarts
	Top         float64    // norm of M
	Leak        float64    // what M takes from the vectors found to others
}

// Cycle is a recurrence from one restart to the next: all its Ritz vectors, those of [From, To)
// being kept.
type Cycle struct {
	Theta       []float64
	First, Last *mat.Dense // as of Evidence; nil Last: what follows are Ritz vectors, too, all kept
	From, To    int
}

// Columns is the number of columns of the start block.
func (e Evidence) Columns() int {
	first := e.First
	if len(e.Past) > 0 {
		first = e.Past[0].First
	}
	_, columns := first.Dims()
	return columns
}
