// Package method defines methods: an algorithm with its settings (Method), its needs and
// costs (Traits), and the running algorithm (Recurrence).
//
// A new method is a package in this directory and a line in method/all. Flags, records of
// runs, the choice of a method, checkpoints and the conformance suite (suite_test.go of
// solver) use its Traits and its State alone. Recurrence states the rules for a method.
// A recurrence of one vector embeds Alone, and its Traits are made by Single.
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
	// Traits describes the method in a run for k triplets. The driver, the choice of a method, checkpoints, and
	// the command know no more about a method.
	Traits(k int) Traits
	// New returns a recurrence of a run, to be started or restored.
	New(r Run) Recurrence
}

// Run describes the run that a recurrence belongs to.
type Run struct {
	Memory     Memory // for the blocks of the recurrence; nil: ordinary memory
	Rank       int    // triplets wanted
	Paper      bool   // the stop rule is that of the paper: Ritz pairs report changes
	Indefinite bool   // the operator has eigenvalues as low as −λ₁
}

// Memory allocates the blocks of a run, in ordinary memory or in the files of a Space.
type Memory interface {
	// Dense returns an r×c block of zeros.
	Dense(r, c int) *mat.Dense
	// Free releases blocks.
	Free(blocks ...*mat.Dense)
}

// Found is the span of the vectors that have been found and locked.
type Found interface {
	// Dimension returns the dimension of the space that is excluded from the search.
	Dimension() int
	// Orthonormalise makes x a unit vector orthogonal to the span. It returns false if x lies in the span; then x
	// has no use any more.
	Orthonormalise(x []float64) bool
}

// Recurrence is a running method, driven by reverse communication: again and again the driver multiplies Next by
// the deflated operator M and hands the product to Absorb. The state of a recurrence is a few blocks and numbers.
//
// Alone, embedded, provides all methods except those that every recurrence has to define: Start, Next, Absorb,
// Vector and State.
type Recurrence interface {
	// Start begins at the n×l block z with columns of unit norm, which the
	// recurrence owns from now on.
	Start(z *mat.Dense)
	// State saves or restores the recurrence, part by part: after Start, or after Absorb and the Lock that
	// followed it, if any. A restored recurrence must go on as the saved one would have, and give the same
	// answers of Vector. Saved blocks may be the working blocks of the recurrence; they do not change until the
	// next call of Absorb or Lock. A restored recurrence owns its blocks. A saved state may come from anywhere:
	// State refuses one that does not fit, whatever its shape, and does not panic.
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
	// Vector stores the unit vector of Ritz pair j of the last Absorb in dst, of length n.
	Vector(dst []float64, j int)
	// Vectors returns a function that stores the vectors of the first Ritz pairs in the columns of its argument,
	// with less work than calls of Vector. It returns nil if the recurrence has no such function.
	Vectors() func(dst blas64.General)
	// Lock tells the recurrence that the first j Ritz pairs have been accepted and that M is deflated by them
	// from now on. It reports whether the recurrence goes on with the rest of its space, without the span of the
	// accepted vectors; otherwise the driver starts another recurrence.
	Lock(j int) bool
	// Avoid is called before Next if M is projected: random vectors that the recurrence draws must be orthogonal
	// to the vectors found, including those found later.
	Avoid(found Found)
	// Aim is called before Next, for recurrences in which it costs time to compute Ritz pairs or residuals. missing
	// returns the factor by which the largest residual of the wanted Ritz pairs exceeds the accepted one. After a
	// call of Aim the recurrence may leave out that computation in some passes, and report the Ritz pairs of an
	// earlier pass again. Without a call the Ritz pairs of every pass are wanted.
	Aim(missing func([]RitzPair) float64)
	// Evidence returns what the products so far show about eigenvalues that have not been found, if the first
	// found Ritz pairs count as found. It returns false if they show nothing. It assumes a start block of random
	// columns.
	Evidence(found int) (Evidence, bool)
	// Free releases the blocks to the Memory of the run.
	Free()
}

// Alone implements the methods of Recurrence that matter for several vectors only, for a recurrence of one
// vector: it ends when its vector is accepted, draws no random vectors, and has no evidence.
type Alone struct{}

func (Alone) Vectors() func(blas64.General) { return nil }
func (Alone) Lock(int) bool                 { return false }
func (Alone) Avoid(Found)                   {}
func (Alone) Aim(func([]RitzPair) float64)  {}
func (Alone) Evidence(int) (Evidence, bool) { return Evidence{}, false }

// Free implements Recurrence, for a recurrence whose blocks are not from the Memory of the run.
func (Alone) Free() {}

// RitzPair is a Ritz pair (θ, v) of the deflated operator M, ‖v‖ = 1, known
// from the product that a recurrence has just absorbed.
type RitzPair struct {
	Value    float64 // θ = vᵀMv
	Residual float64 // ‖Mv − θv‖, or a prediction of it if v is of a later step
	// The rule of the paper uses the following. The changes are +Inf as long as
	// they are not defined, and have no meaning under solver.StopResidual.
	PaperValue  float64 // λ̂ as the algorithm returns it
	DeltaVector float64 // change of the unit vector in the last step
	DeltaValue  float64 // change of λ̂ in the last step
}

// NewRitzPair returns a Ritz pair with the changes that the rule of the paper would use: those of one step of
// Algorithm 2 from the Ritz vector.
func NewRitzPair(value, residual float64) RitzPair {
	c := RitzPair{Value: value, Residual: residual, PaperValue: value, DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
	if value > 0 {
		size := math.Hypot(value, residual)
		c.DeltaVector = residual / size
		c.DeltaValue = size - value
	}
	return c
}

// Evidence is the part of a block Lanczos recurrence M·V = V·T + X·(0 R) from a random block X₁, the first
// columns of V, that bounds the eigenvalues not found.
//
// Let w be a unit vector with Mw = λw, orthogonal to the Ritz vectors that count as found. Multiplying the
// recurrence by wᵀ gives, for the other Ritz pairs (θ, s),
//
//	wᵀX₁ = (wᵀX)·H(λ),  H(λ) = Σ R·s_last·s_firstᵀ/(λ−θ),
//
// so ‖H(λ)‖ ≥ ‖wᵀX₁‖: if λ were far above all θ, X₁ would have to be nearly orthogonal to w. For p random columns
// in d dimensions ‖wᵀX₁‖² has the distribution Beta(p/2, (d−p)/2), so that ‖wᵀX₁‖ is below δ with a known
// probability. If it is not, no eigenvalue λ with ‖H(λ)‖ < δ is left. For p = 1, ‖H‖ is Πβ/Π(λ−θ) (van
// Dorsselaer, Hochstenbach, van der Vorst 2001, "Computing probabilistic bounds for extreme eigenvalues of
// symmetric matrices with the Lanczos method"). This bound depends on the Ritz values, and falls to the largest θ
// as θ converges. The bound 1.648·√n·exp(−√ε(2j−1)) on P[θ_j < (1−ε)λ] (Kuczyński, Woźniakowski 1992) holds
// before any Ritz value is known, and is for p = 1 the worst case of ‖H‖.
//
// The argument holds through restarts with Ritz vectors. The kept Ritz vectors and X begin the next basis. For a
// dropped Ritz vector y the recurrence gives yᵀw = (R·s_last)ᵀXᵀw/(λ−θ), so that
//
//	X₁ᵀw = Gᵀ·[kept X]ᵀw,  G = [s_first; Σ R·s_last·s_firstᵀ/(λ−θ)],
//
// with the sum over the dropped vectors. In the next cycle s_first is the part of a Ritz vector in [kept X],
// times G: in exact arithmetic nothing is lost (the exact shifts of Sorensen 1992, "Implicit application of
// polynomial filters in a k-step Arnoldi method", and Wu, Simon 2000). A product has errors F of the size ε‖M‖,
// and each term yᵀw has an error of at most ‖F‖/(λ−θ): after a restart these errors are added to ‖H(λ)‖.
type Evidence struct {
	Steps       int        // products
	Theta       []float64  // Ritz values, descending, without those found
	First, Last *mat.Dense // s_first and R·s_last of each Ritz value, in rows
	Past        []Cycle    // cycles before restarts
	Top         float64    // norm of M
	Leak        float64    // norm of the part of M between the vectors found and others
}

// Cycle describes a recurrence between two restarts: all its Ritz vectors, of which the restart keeps [From, To).
type Cycle struct {
	Theta       []float64
	First, Last *mat.Dense // as in Evidence; nil Last: the next block consists of Ritz vectors, too, and all are kept
	From, To    int
}

// Columns returns the number of columns of the start block.
func (e Evidence) Columns() int {
	first := e.First
	if len(e.Past) > 0 {
		first = e.Past[0].First
	}
	_, columns := first.Dims()
	return columns
}
