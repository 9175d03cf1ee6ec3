package solver

import "gonum.org/v1/gonum/mat"

// Method is one algorithm. It owns a recurrence and nothing else: passes,
// limits, deflation, locking, and observers belong to the driver.
//
// Methods are plain values with a documented zero value; a Method may be used
// by several runs at once, a Recurrence belongs to one.
type Method interface {
	// Name is the short name used on the command line and in results.
	Name() string
	// Width returns how many columns the start block should have when missing
	// triplets are still to be found, at least 1. The driver may offer fewer
	// if the dimension does not allow as many.
	Width(missing int) int
	// Start begins a recurrence at the n×l block z with columns of unit norm.
	// The recurrence owns z, and makes its own blocks in a. It panics if a parameter of the method is out of
	// range.
	Start(a *Arena, z *mat.Dense, rule StopRule) Recurrence
	// Restore returns the recurrence that s was saved from, to go on with the
	// same bits. It owns the blocks of s. The parameters of the method and the
	// rule must be those the saved one was started with. s may come from
	// anywhere: whatever its shape, the answer is an error, not a panic. It
	// panics as Start does if a parameter of the method is out of range.
	Restore(a *Arena, s State, rule StopRule) (Recurrence, error)
}

// Recurrence is a running method, driven by reverse communication: the driver
// multiplies Next by the deflated operator M and hands the product to Absorb,
// for ever. Its state is a few blocks and scalars.
type Recurrence interface {
	// Next returns the n×l block to be multiplied, in the span of the start
	// block and of what has been absorbed; l may change. It stays valid and
	// unchanged until Absorb.
	Next() *mat.Dense
	// Absorb takes y = M·Next(), advances one step, and reports the leading
	// Ritz pairs of the block that was just multiplied, in descending order of
	// value, at least one. The slice is valid until the next call; y may be
	// overwritten.
	Absorb(y *mat.Dense) []Candidate
	// Vector stores the unit vector that belongs to candidate j of the last
	// Absorb in dst, of length n.
	Vector(dst []float64, j int)
	// Lock says that the first j candidates have been accepted and that M is
	// deflated by them from now on. It reports whether the recurrence goes on
	// with what is left, taken out of the span of the accepted vectors;
	// otherwise the driver starts another.
	Lock(j int) bool
	// Save returns the state between two passes: after Start, or after Absorb
	// and the Lock that followed it, if any. What a restored recurrence must
	// know besides how to go on is the answers of Vector. The blocks may be
	// those the recurrence works with; they stay as they are until the next
	// call of Absorb or Lock.
	Save() State
}

// Candidate is a Ritz pair (θ, v) of the deflated operator M, ‖v‖ = 1, known
// from the product that a recurrence has just absorbed.
type Candidate struct {
	Value    float64 // θ = vᵀMv
	Residual float64 // ‖Mv − θv‖, or a prediction of it if v is of a later step
	// What the rule of the paper looks at. The changes are +Inf as long as
	// they are not defined, and of no meaning under StopResidual.
	PaperValue  float64 // λ̂ as the algorithm returns it
	DeltaVector float64 // change of the unit vector in the last step
	DeltaValue  float64 // change of λ̂ in the last step
}

// fitter is implemented by methods whose defaults depend on the rank of the
// run: fit returns the method with all of them filled in.
type fitter interface {
	fit(rank int) Method
}

// avoider is implemented by recurrences that draw random vectors on their way:
// these must be orthogonal to what has been found, now and later. The driver
// calls avoid before Next.
type avoider interface {
	avoid(found *basis)
}
