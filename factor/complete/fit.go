// Package complete predicts the entries that a matrix lacks, by a matrix of low rank: soft-impute.
//
// Entries that are not stored are missing, not zero. Of an N×n matrix with the stored entries Ω, [Fit]
// minimises over matrices Z of rank k at most
//
//	F(Z) = ½ Σ_Ω (a_ij − μ − b_i − c_j − z_ij)² + λ ‖Z‖_*
//
// (Mazumder, Hastie, Tibshirani, JMLR 11, 2010, (4)), where ‖Z‖_* is the sum of the singular values. μ is
// the mean of the stored entries, and b_i and c_j, unless they are left out, minimise
// Σ_Ω (a_ij − μ − b_i − c_j)² + D·(Σ b_i² + Σ c_j²) (Koren, ACM TKDD 4, 2010, section 2.1).
//
// # Rounds
//
// Z = Z̃·Vᵀ with n×k orthonormal V. A round reads the matrix once. For each row it finds the z̃_i that minimises F for the
// current V (ridge regression), and the residuals on Ω. B = P_Ω(A − Z) + Z is sparse plus low rank; the round computes W = B·V
// and BᵀW. With an orthonormal basis U of W, the right singular vectors of UᵀB are the next V, and its singular values less λ
// are those of the next Z: a step of soft-impute from the left space U. F never increases: the z̃_i minimise F for the
// current V, and the step from U minimises a bound on F that is exact at that Z (Hastie, Mazumder, Lee, Zadeh, JMLR 16,
// 2015, section 3).
//
// A [State] holds what is kept between rounds: V and k singular values, 8·n·k bytes, and nothing of length N. An interrupted
// fit resumes from its State with the same bits.
//
// # λ
//
// If no λ is given, Fit holds out entries of Ω, chosen by a hash of their position. It goes down a path of λ from the λ at
// which Z = 0, each started from the previous one, until the held-out error falls by less than a share of 2e-4. Then it fits
// all entries with the best λ.
//
// # Bits
//
// The same matrix and options give the same bits for any number of workers and any budget.
package complete

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/stream"
)

// Options of Fit. The zero value of every field but Rank is usable.
type Options struct {
	Rank    int     // k, from 1 to the shorter side
	Lambda  float64 // λ > 0; 0: chosen by the error on entries held out
	Biases  bool    // b_i and c_j are part of the model; otherwise only μ
	Damping float64 // D ≥ 0 of the biases; 0: DefaultDamping
	Holdout float64 // share of the entries that choose λ, below 1; 0: DefaultHoldout
	Tol     float64 // the fit ends when a round lowers F by less than Tol·F; 0: DefaultTol
	Rounds  int     // largest number of rounds with the final λ; 0: DefaultRounds
	Seed    uint64

	Stream stream.Options // Memory, Workers, and Reserve for the memory of the caller

	Start *State             // state to resume from, of the same matrix and options; nil: none
	Round func(*State) error // is called with the state after every round, to show or save it
	Proof func(done, of int) // Factors calls it before every read of the matrix: the reads done, and the largest number of reads
}

// Defaults of Options.
const (
	DefaultDamping = 5
	DefaultHoldout = 0.05
	DefaultTol     = 3e-5
	DefaultRounds  = 500
)

// Constants of the path of λ.
const (
	pathRatio  = 0.8  // ratio of a λ to the one before
	pathTol    = 5e-4 // tolerance at each λ
	pathRounds = 6    // largest number of rounds at each λ
	pathGain   = 2e-4 // the path ends when the held-out error falls by a smaller share
	topRounds  = 4    // rounds that find the λ at which Z = 0
	zeroRounds = 30   // rounds with the final λ after which Z = 0 is taken for the minimum, not for the effect of a random V
)

// Phase is the phase of a fit.
type Phase uint8

const (
	Means Phase = iota // μ and the biases are being computed
	Top                // the largest singular value of P_Ω(A), from which the path begins
	Path               // down the path of λ, with entries held out
	Final              // all entries, the final λ
	Done
)

func (p Phase) String() string { return [...]string{"means", "top", "path", "final", "done"}[p] }

// State is all that a fit keeps between two rounds.
type State struct {
	Phase  Phase
	Full   bool          // whether Ω is all entries, and none is held out
	Rounds int           // rounds in total
	At     int           // rounds of this phase, or at this λ of the path
	Lambda float64       // λ of the next round; in phase Top, the λ at which Z = 0
	F      float64       // F of the last round
	RMSE   float64       // RMSE of the last round on the fitted entries
	Held   float64       // RMSE on the held-out entries; NaN without these
	Count  int64         // fitted entries
	Spent  time.Duration // time of the rounds; Save and Load keep it, Fit does not change it

	Mean    float64
	Columns []float64 // c_j; nil without biases
	V       *mat.Dense
	D       []float64 // singular values of Z, descending; those of V's columns beyond the rank are 0

	Best Choice // best λ of the path so far
}

// Choice is the λ of a path with the smallest held-out error, and its Z.
type Choice struct {
	Lambda, Held float64
	V            *mat.Dense
	D            []float64
}

// leastNorm and mostNorm bound the norms of matrices that are fitted: fourth powers of their entries are float64s with all digits.
const leastNorm, mostNorm = 0x1p-99, 0x1p99

// ErrDiverged is the error of a fit whose numbers have left the range of a float64.
var ErrDiverged = errors.New("complete: the numbers have left the range of a float64")

// withDefaults returns the options with defaults for the fields that are zero, or an error if an option is out of range.
func (o Options) withDefaults(src stream.Source) (Options, error) {
	if most := min(src.Rows(), src.Cols()); o.Rank < 1 || int64(o.Rank) > most {
		return o, fmt.Errorf("complete: rank %d of a %d × %d matrix: give one from 1 to %d", o.Rank, src.Rows(), src.Cols(), most)
	}
	for _, f := range []struct {
		name    string
		v       *float64
		without float64
		most    float64
	}{
		{"λ", &o.Lambda, 0, math.MaxFloat64}, {"the damping", &o.Damping, DefaultDamping, math.MaxFloat64},
		{"the share held out", &o.Holdout, DefaultHoldout, 0.9}, {"the tolerance", &o.Tol, DefaultTol, 1},
	} {
		if !(*f.v >= 0 && *f.v <= f.most) {
			return o, fmt.Errorf("complete: %s is %v: give one from 0 to %v", f.name, *f.v, f.most)
		}
		if *f.v == 0 {
			*f.v = f.without
		}
	}
	if norm := math.Ldexp(src.Norm()); norm > 0 && (norm < leastNorm || norm > mostNorm) {
		return o, fmt.Errorf("complete: the norm of the entries is %.3g, which is fitted from %.0e to %.0e: multiply them by a power of ten", norm, leastNorm, mostNorm)
	}
	o.Rounds = cmp.Or(o.Rounds, DefaultRounds)
	if o.Round == nil {
		o.Round = func(*State) error { return nil }
	}
	if o.Proof == nil {
		o.Proof = func(int, int) {}
	}
	return o, nil
}

// Fit minimises F and returns the final state, in phase Done. If Rounds did not suffice, the state is in phase Final.
func Fit(ctx context.Context, src stream.Source, o Options) (*State, error) {
	o, err := o.withDefaults(src)
	if err != nil {
		return nil, err
	}
	once := o.reading(src, max(o.beside(src), 4*8*src.Cols())) // checks the budget of rounds and bound before anything is allocated
	once.Once = true
	if _, err := stream.PlanFor(&residual{Source: src}, once); err != nil {
		return nil, err
	}
	s := o.Start
	if s == nil {
		s = newState(src, o)
	}
	if r, c := s.V.Dims(); int64(r) != src.Cols() || c != o.Rank {
		return nil, fmt.Errorf("complete: the state is of a rank %d fit of %d columns, not %d of %d", c, r, o.Rank, src.Cols())
	}
	if (s.Columns != nil) != o.Biases {
		return nil, fmt.Errorf("complete: the state has biases: %t, the fit: %t", s.Columns != nil, o.Biases)
	}
	f := &fit{Options: o, src: src, State: s}
	for s.Phase != Done && (s.Phase != Final || s.At < o.Rounds) {
		if s.Phase == Means {
			err = f.means(ctx)
		} else {
			err = f.round(ctx)
		}
		if err != nil {
			return nil, err
		}
		if err := o.Round(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

type fit struct {
	Options
	*State
	src stream.Source
}

func newState(src stream.Source, o Options) *State {
	n := int(src.Cols())
	s := &State{Full: o.Lambda > 0, Lambda: o.Lambda, F: math.Inf(1), V: mat.NewDense(n, o.Rank, nil), D: make([]float64, o.Rank), Held: math.NaN()}
	s.Best.Held = math.Inf(1)
	random := rand.New(rand.NewPCG(o.Seed, 0))
	x := s.V.RawMatrix().Data
	for i := range x {
		x[i] = random.NormFloat64()
	}
	orthonormalise(s.V)
	if o.Biases {
		s.Columns = make([]float64, n)
	}
	return s
}

func (f *fit) begin(p Phase) { f.Phase, f.At, f.F = p, 0, math.Inf(1) }

// next changes phase and λ after a round in which the largest singular value of B was top and F fell by the share fell.
func (f *fit) next(top, fell float64) {
	f.At++
	f.State.Rounds++
	switch f.Phase {
	case Top:
		f.State.Lambda = top
		if f.At == topRounds {
			f.begin(Path)
			f.State.Lambda *= pathRatio
		}
	case Path:
		if fell > pathTol && f.At < pathRounds {
			return
		}
		f.At, f.F = 0, math.Inf(1)
		more := f.Held < (1-pathGain)*f.Best.Held || f.Held > 0 && f.D[0] == 0 // or Z is still 0
		if f.Held < f.Best.Held || f.Best.V == nil {
			f.Best = Choice{f.State.Lambda, f.Held, mat.DenseCopyOf(f.V), append([]float64(nil), f.D...)}
		}
		if !more {
			f.V, f.D = f.Best.V, f.Best.D
			f.Best.V, f.Best.D = nil, nil
			f.State.Lambda, f.Full = f.Best.Lambda, true
			f.begin(Means)
			return
		}
		f.State.Lambda *= pathRatio
	case Final:
		if f.F == 0 || fell < f.Tol && (f.D[0] > 0 || f.At >= zeroRounds) { // F is never below 0
			f.Phase = Done
		}
	}
}
