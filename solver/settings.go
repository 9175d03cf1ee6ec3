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

// Deflation is the way in which found vectors V with values Λ are kept from being found again. Neither changes the
// operator nor costs a pass.
//
// Algorithm 1 subtracts, M_{ℓ+1} = M_ℓ − λ̂ v̂v̂ᵀ, which is Plain. But v̂ is not quite an eigenvector: an error
// ρ = Mv̂ − λ̂v̂ leaves a coupling of v̂ and the rest, which tilts later vectors and does not show in their residuals. With
// σ₁ = 31.6 and a cluster at 1, vectors that look accurate to 10⁻⁶ are wrong by 2·10⁻³. Projected, the default, keeps V
// orthonormal: the coupling is of the size of the residual.
//
// Block and Krylov find their vectors together and need deflation only where they go on after a first group: in its complement, Projected
// whatever has been asked for.
type Deflation uint8

const (
	// Projected works with (I−VVᵀ)G(I−VVᵀ).
	Projected Deflation = iota
	// Plain works with G − VΛVᵀ as Algorithms 1 and 2 of the paper do.
	Plain
)

// String returns "projected" or "plain".
func (d Deflation) String() string { return [...]string{"projected", "plain"}[d] }

// StopRule decides when a vector is good enough.
//
// A unit vector v with λ = vᵀGv and σ = √λ is the right half of a triplet with u = Av/σ, whose left equation holds exactly
// and whose right one is off by ‖Gv − λv‖/σ. StopResidual accepts v when this is at most half of Tol·σ₁, or 0.9 of it
// where all vectors are found together: nothing is hidden from them. Multiplying A by a power of two changes the
// exponents of the results and nothing else (a power of four for the Dilation and a Symmetric A, where some iterates are as long as √σ).
//
// StopPaper is the rule of Algorithms 1 and 2: the changes of v and of λ in the last step are at most Tol. It is
// absolute, and says nothing about the error.
//
// Products carry rounding errors of a few ε·λ₁ (ε = 2⁻⁵²). A vector whose residual gets there, or stops improving near it, is
// accepted as it is; an operator whose products are no larger is zero, and any orthonormal vectors complete the result. The
// Gram operator squares the condition: a σ below about 10⁻⁸σ₁ is invisible to it. A method of one vector at a time
// accepts one as it is, too, that would take millions of passes more: the certificate separates the vectors of a cluster that is found whole.
type StopRule uint8

const (
	// StopResidual accepts a vector when its residual relative to σ₁ is at
	// most Tol, and certifies the triplets by a finishing pass.
	StopResidual StopRule = iota
	// StopPaper is the rule of Algorithms 1 and 2 with ε = Tol, to reproduce the paper: the certificate is
	// computed but nothing is done about it.
	StopPaper
)

// String returns "residual" or "paper".
func (r StopRule) String() string { return [...]string{"residual", "paper"}[r] }

// Settings of a run. The zero value of every field but Rank is usable.
//
// Values that can only come from a mistake of the caller make Eigen and SVD
// panic: Rank or Energy out of range, a negative or NaN Tol, a negative MaxPasses, an
// Init of the wrong shape or with non-finite entries, an unknown Operator,
// Deflation, or StopRule, a Method that cannot work with the Dilation asked for,
// parameters of a method outside their range.
type Settings struct {
	// Rank is the number k of triplets wanted, 1 ≤ k ≤ min(N, n).
	Rank int
	// Energy, unless 0, is a share of ‖A‖²_F, between 0 and 1, that the triplets are to
	// capture: k is then the least number of them that do, and Rank its bound. The Method
	// and all that is planned are for Rank. See Target. Left must be a Resizer. Eigen
	// ignores it.
	Energy float64
	// Method is the algorithm. Nil means that of Resume, or without one the
	// choice of cost.Choose for the Reference machine, from the shape of the matrix,
	// its entries and the widest block it takes (Info).
	Method method.Method
	// Operator is that through which the method of SVD sees the matrix, Gram by
	// default. Eigen ignores it: its operator is what it is given.
	Operator OperatorKind
	// Which eigenpairs of a Symmetric A are wanted, with their signs; Semidefinite, the
	// default, is for one without negative eigenvalues.
	Which Which
	// Shift is the C with which A + C·I (LargestAlgebraic) or C·I − A (SmallestAlgebraic) is
	// positive semidefinite. 0 means ‖A‖_F, which always is enough and costs methods other
	// than Krylov passes. One that is found to be too small is ErrNotDefinite, and one beside
	// which A is lost in rounding is ErrShift.
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
	// Seed selects the random start vectors, together with the ID of the matrix if it
	// has one (Info.ID): equal seeds mean other vectors for another matrix.
	Seed uint64
	// Init holds start vectors for the leading triplets in its columns, for
	// example those of another result; nil means random ones. It may have
	// fewer or more columns than Rank, though those beyond what the method can
	// use at once are ignored, and fewer rows than n: what is missing is zero.
	// Columns of zeros, and columns in the span of the ones before, are
	// replaced by random ones.
	//
	// Krylov mixes them into its first block, as wide as one from random vectors, where that saves
	// passes (Mixes), and Block has them there as they are. For other methods one
	// pass certifies all of them; those within the tolerance are done, and the others
	// are searched for from their best approximations in the span.
	//
	// Init changes what a run takes, not what it finds: under StopResidual it
	// ends only with evidence, from random vectors, that no larger values are
	// hidden from what was given; see Outside.
	Init *mat.Dense
	// Left receives the left singular vectors, N×Rank; nil means that they are
	// not kept. Its contents are of use only if the result is Certified.
	Left RowStore
	// SignLeft applies the sign rule to the left vectors in Left instead of
	// the right ones. It is ignored if Left is nil.
	SignLeft bool
	// Space holds the tall blocks of the run, in files for example; nil means
	// memory. The Right of a result lies there too, and is gone with it.
	Space Space
	// Workers is the number of goroutines that the work between passes is done
	// with; 0 means GOMAXPROCS. The result does not depend on it.
	Workers int
	// Observer sees every pass; nil is none. An error stops the run and is returned by
	// Eigen or SVD, wrapped.
	Observer func(Event) error
	// Between is told about once a second what the run has cost, on its goroutine, by
	// work between passes that goes over vectors in a Space: steps, restarts, locking and
	// finishing may take longer than passes. Nil means none.
	Between func(Stats)
	// Deadline, unless zero, ends the search: no pass of a recurrence begins
	// at or after it. What has been found by then is finished and certified,
	// as with MaxPasses, and the status is TimeLimit. (The deadline of a
	// context leaves no time for that.)
	Deadline time.Time
	// Clock tells the time for Deadline; nil means time.Now.
	Clock func() time.Time
	// Checkpointer saves the run from time to time; nil means
	// never.
	Checkpointer Checkpointer
	// Resume is a checkpoint to go on from; nil means to begin. All settings
	// that determine the result must be those of the run that was saved;
	// MaxPasses counts its passes too, and Init is ignored.
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

// chosen is the method for an operator of which nothing was said.
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

// Workload is what the settings ask of a method, for a matrix of this description.
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
