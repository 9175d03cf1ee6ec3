package solver

import (
	"cmp"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
)

// DefaultTol is the tolerance used when Settings.Tol is zero.
const DefaultTol = 1e-8

// Deflation is the way in which vectors found, V with values Λ, are kept from being found again. It does not
// change the matrix and costs no pass.
//
// Plain is the subtraction M_{ℓ+1} = M_ℓ − λ̂ v̂v̂ᵀ of Algorithm 1. But v̂ is not exactly an eigenvector: its
// error ρ = Mv̂ − λ̂v̂ leaves a coupling between v̂ and the rest of the space, which tilts later vectors and does
// not show in their residuals. With σ₁ = 31.6 and a cluster at 1, vectors that look accurate to 10⁻⁶ are wrong by
// 2·10⁻³. Projected, the default, keeps V orthonormal: the coupling is of the size of the residual.
//
// Block and Krylov find their vectors together and need deflation only if they go on after a first group. Krylov
// then searches in the complement of the group: it uses Projected, whatever was asked for.
type Deflation uint8

const (
	// Projected multiplies with (I−VVᵀ)G(I−VVᵀ).
	Projected Deflation = iota
	// Plain multiplies with G − VΛVᵀ as Algorithms 1 and 2 of the paper do.
	Plain
)

// String returns "projected" or "plain".
func (d Deflation) String() string { return [...]string{"projected", "plain"}[d] }

// StopRule decides when a vector is good enough.
//
// A unit vector v with λ = vᵀGv and σ = √λ is the right half of a triplet with u = Av/σ. The left equation of the triplet
// holds exactly, and the right one is off by ‖Gv − λv‖/σ. StopResidual accepts v when this residual is at most half of Tol·σ₁, or
// at most 0.9·Tol·σ₁ if all vectors are found together, since no deflation hides errors then. Multiplying A by a power
// of two changes the exponents of the results and nothing else (by a power of four for the Dilation and a Symmetric A,
// where some iterates have lengths like √σ).
//
// StopPaper is the rule of Algorithms 1 and 2: the changes of v and of λ in the last step are at most Tol. It is
// absolute, and says nothing about the error.
//
// Products carry rounding errors of a few ε·λ₁ (ε = 2⁻⁵²). A vector whose residual is that small, or stops improving
// near it, is accepted as it is. An operator whose products are no larger counts as zero, and any orthonormal vectors
// complete the result. The Gram operator squares the condition: a σ below about 10⁻⁸σ₁ is invisible to it. A method of
// one vector at a time also accepts a vector that would take millions of passes more: once all vectors of a cluster
// are found, the certificate separates them.
type StopRule uint8

const (
	// StopResidual accepts a vector when its residual relative to σ₁ is at
	// most Tol, and certifies the triplets by a finishing pass.
	StopResidual StopRule = iota
	// StopPaper is the rule of Algorithms 1 and 2 with ε = Tol, to reproduce the paper: the certificate is
	// computed, but the search does not go on if it misses the tolerance.
	StopPaper
)

// String returns "residual" or "paper".
func (r StopRule) String() string { return [...]string{"residual", "paper"}[r] }

// Settings are the settings of a run. The zero value of every field but Rank is usable.
//
// Eigen and SVD panic on values that can only come from a mistake of the caller: Rank or Energy out of range, a
// Tol that is negative or not finite, a negative MaxPasses or Workers, an Init of the wrong shape or with
// non-finite entries, an unknown Operator, Deflation, StopRule, or Which, a Which, Shift, or Left that does not
// fit the other settings, a Method that cannot work with the Dilation asked for, parameters of a method outside
// their range.
type Settings struct {
	// Rank is the number k of triplets wanted, 1 ≤ k ≤ min(N, n).
	Rank int
	// Energy, unless 0, is a share of ‖A‖²_F, between 0 and 1, that the triplets are to capture: k is then the
	// least number of triplets that capture it, and Rank the upper bound of k. Method and footprints are planned
	// for Rank. See Target. Left, unless nil, must be a Resizer. Eigen ignores Energy.
	Energy float64
	// Method is the algorithm. Nil means the method of Resume or, without Resume, the choice of cost.Choose for
	// the Reference machine, from the shape, the number of entries and the MaxWidth of the matrix (Info).
	Method method.Method
	// Operator is the operator that the method of SVD multiplies with, Gram by default. Eigen ignores it and uses
	// the operator it is given.
	Operator OperatorKind
	// Which selects the eigenpairs wanted of a Symmetric A, with their signs; Semidefinite, the default, is for
	// an A without negative eigenvalues.
	Which Which
	// Shift is the C with which A + C·I (LargestAlgebraic) or C·I − A (SmallestAlgebraic) is positive
	// semidefinite. 0 means ‖A‖_F, which is always large enough but costs methods other than Krylov passes. The
	// error wraps ErrNotDefinite if C turns out to be too small, and ErrShift if C is so large that A is lost in
	// rounding.
	Shift float64
	// Deflation is Projected by default.
	Deflation Deflation
	// Stop is StopResidual by default.
	Stop StopRule
	// Tol is the tolerance of the stop rule; 0 means DefaultTol.
	Tol float64
	// MaxPasses bounds the number of passes, finishing ones included; 0 means
	// no bound.
	MaxPasses int
	// Seed selects the random start vectors, together with the ID of the matrix if it has one (Info.ID): with the
	// same seed, matrices of different IDs have different start vectors.
	Seed uint64
	// Init holds start vectors for the leading triplets in its columns, for example those of another result; nil
	// means random ones. It may have fewer or more columns than Rank; columns beyond those that the method can
	// use at once are ignored. It may have fewer rows than n; missing rows are zero. Columns of zeros, and
	// columns in the span of earlier ones, are replaced by random ones.
	//
	// Krylov mixes the given vectors into its first block, which is as wide as one of random vectors, if that
	// saves passes (Mixes). Block takes them into its first block as they are. For other methods one pass
	// certifies all of them; those within the tolerance are accepted, and the others are searched for from their
	// best approximations in the span.
	//
	// Init changes the cost of a run, not its result: under StopResidual a run ends only with evidence, from
	// random vectors, that the given vectors hide no larger values; see Outside.
	Init *mat.Dense
	// Left receives the left singular vectors, N×Rank; nil means that they are not kept. Its contents are valid
	// only if the result is Certified.
	Left RowStore
	// SignLeft applies the sign rule to the left vectors in Left instead of
	// the right ones. It is ignored if Left is nil.
	SignLeft bool
	// Space holds the tall blocks of the run, in files for example; nil means memory. Result.Right lies in the
	// Space, too, and is lost with it.
	Space Space
	// Workers is the number of goroutines for the work between passes; 0 means GOMAXPROCS. The result does not
	// depend on it.
	Workers int
	// Observer is called after every pass; nil means none. An error stops the run, and Eigen or SVD returns it
	// wrapped.
	Observer func(Event) error
	// Between is called about once a second with the cost of the run so far, by work between passes on vectors in
	// a Space: steps, restarts, locking and finishing may take longer than passes. It runs on the goroutine of
	// the run. Nil means none.
	Between func(Stats)
	// Deadline, unless zero, ends the search: no pass of a recurrence begins at or after it. As with MaxPasses,
	// the vectors found by then are finished and certified; the status is TimeLimit. (The deadline of a context
	// leaves no time for that.)
	Deadline time.Time
	// Clock tells the time for Deadline; nil means time.Now.
	Clock func() time.Time
	// Checkpointer saves the run from time to time; nil means never.
	Checkpointer Checkpointer
	// Resume is a checkpoint to continue from; nil means a new run. All settings
	// that determine the result must be those of the run that was saved;
	// MaxPasses counts the passes of that run too, and Init is ignored.
	Resume *Checkpoint
}

func (s Settings) normalised(op Operator, rows int64) Settings {
	n := op.Dim()
	_, resizes := s.Left.(Resizer)
	for _, c := range []struct {
		wrong bool
		why   string
	}{
		{s.Rank < 1 || int64(s.Rank) > min(rows, int64(n)), "rank must be at least 1 and at most the smaller dimension"},
		{s.Energy != 0 && !(s.Energy > 0 && s.Energy < 1), "energy must be a share between 0 and 1"},
		{s.Energy > 0 && s.Left != nil && !resizes, "the store of left vectors of an unknown number of triplets must be a Resizer"},
		{!(s.Tol >= 0 && s.Tol <= math.MaxFloat64), "tolerance must be finite and not negative"},
		{s.Workers < 0, "negative number of workers"},
		{s.MaxPasses < 0, "negative limit of passes"},
		{s.Deflation > Plain, "unknown deflation"},
		{s.Stop > StopPaper, "unknown stop rule"},
		{s.Operator > Symmetric, "unknown operator"},
		{s.Which > SmallestAlgebraic || s.Which.signed() && (s.Operator != Symmetric || s.Left != nil), "signed eigenpairs are those of the symmetric operator and have no left vectors"},
		{s.Which.signed() && s.Energy > 0, "energy is captured by singular values, not by signed eigenvalues"},
		{math.IsNaN(s.Shift) || math.IsInf(s.Shift, 0) || s.Shift != 0 && !s.Which.shifted(), "a shift is finite, and for the largest or smallest algebraic eigenvalues"},
	} {
		if c.wrong {
			panic("solver: " + c.why)
		}
	}
	if s.Init != nil {
		checkInit(s.Init, n)
	}
	s.Tol = cmp.Or(s.Tol, DefaultTol)
	if s.Method == nil {
		s.Method = s.chosen(op, rows)
	}
	t := s.Method.Traits(s.Rank)
	if err := t.Check(); err != nil {
		panic("solver: " + err.Error())
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.Operator == Dilation && !t.Indefinite {
		panic("solver: the method cannot work with the dilation")
	}
	if s.Observer == nil {
		s.Observer = func(Event) error { return nil }
	}
	return s
}

// chosen returns the method if Method is nil: that of Resume or the choice of package cost.
func (s Settings) chosen(op Operator, rows int64) method.Method {
	if s.Resume != nil {
		if m := s.Resume.Method(all.Methods()); m != nil {
			return m
		}
	}
	i := Info{Rows: rows, Cols: op.Dim(), NNZ: rows * int64(op.Dim())}
	if a := matrixOf(op); a != nil {
		i = a.Info()
	}
	return cost.Choose(cost.Problem{Workload: s.Workload(i), Rows: i.Rows, Columns: int64(i.Cols), NNZ: i.NNZ, Methods: all.Methods()}).Method
}

// Workload returns the Workload of a method with these settings, for a matrix with the given Info.
func (s Settings) Workload(of Info) method.Workload {
	w := method.Workload{
		Order: int64(of.Cols), Rank: s.Rank, AtMost: s.Energy > 0, Digits: 1, MaxWidth: of.MaxWidth,
		Linear: s.Operator == Symmetric && s.Which != LargestMagnitude, Shifted: s.Which.shifted(), Indefinite: s.Operator == Dilation, Paper: s.Stop == StopPaper,
	}
	if w.Indefinite {
		w.Order += of.Rows
	}
	if s.Tol > 0 && s.Tol < 1 {
		w.Digits = math.Log(s.Tol) / math.Log(DefaultTol)
	}
	return w
}

func checkInit(init *mat.Dense, n int) {
	r, _ := init.Dims()
	if r > n || r == 0 {
		panic("solver: Init must have at least 1 and at most n rows")
	}
	for i := range r {
		for _, v := range init.RawRowView(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				panic("solver: Init has a non-finite entry")
			}
		}
	}
}
