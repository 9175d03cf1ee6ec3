package method

import (
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Traits describes a method with its parameters in a run for k triplets.
type Traits struct {
	Name     string // on the command line, in results and in checkpoints
	Settings []Setting
	// With returns the method with other values of the settings, in their order.
	With func(values []float64) Method
	// Wrong is the error of values that are each in range but do not fit together; nil: none.
	Wrong error

	// Width returns the number of columns, at least 1, that the start block should have when missing triplets are
	// still to be found. The driver may use fewer columns if the dimension does not allow as many.
	Width func(missing int) int
	// Copies is above 0 for methods that look for all vectors in one space spanned by products with the start
	// block: the space contains at most Copies copies of a repeated eigenvalue. Methods with Copies 0 start
	// again, or add random vectors, after every lock.
	Copies int
	// Probe is the number of random vectors that look together for more copies when k triplets have been found;
	// more vectors take fewer passes. It is 0 if Copies is 0.
	Probe int
	// Indefinite says that the method can work with an operator whose negative
	// eigenvalues are no larger in magnitude than λ₁.
	Indefinite bool
	// Paper says that the stop rule of the paper belongs to the method: the choice of a method considers it under
	// that rule only.
	Paper bool
	// Guarded says that the recurrence notices products that are not finite, and then reports a Ritz pair of
	// infinite value. For other methods the driver checks the products.
	Guarded bool
	// Version is the version of the parts that the recurrence saves.
	Version int

	// Footprint returns the bytes of the blocks of the method in a run with vectors of length n: the state, the
	// product it is given, and scratch. Blocks of the driver are not included: the vectors found, and those of
	// the certificate.
	Footprint func(n int) int64
	// Effort returns the expected effort of a run.
	Effort func(Workload) Effort
	// Options returns the variants of the method that the choice of a method considers, with all defaults filled
	// in. Nil: the method is never chosen. The choice itself leaves out variants that are too wide, or not for
	// the operator or the stop rule of the Workload.
	Options func(Workload) []Method
}

// Setting is a parameter of a method: a flag of the command, a field of a result, and a setting that a checkpoint
// must match.
type Setting struct {
	Name    string  // "eta"
	Help    string  // description in a few words
	Default float64 // default of the flag; 0: chosen automatically
	// Values lie between Low and High, both excluded; 0 and Default are always allowed.
	Low, High float64
	Whole     bool // integers only
	// Value is the value in the method. A default, which may depend on k, is filled in if the method is the same
	// whether the default is given or left out.
	Value float64
}

// Allows reports whether the setting may have the value v.
func (s Setting) Allows(v float64) bool {
	return v == 0 || v == s.Default || v > s.Low && v < s.High && (!s.Whole || v == math.Trunc(v))
}

// Check returns an error if the settings are wrong.
func (t Traits) Check() error {
	for _, s := range t.Settings {
		if !s.Allows(s.Value) {
			return fmt.Errorf("%s of %s is %v, want a value between %v and %v", s.Help, t.Name, s.Value, s.Low, s.High)
		}
	}
	return t.Wrong
}

// Workload holds the quantities that the work of a method depends on.
type Workload struct {
	Order      int64   // length of vectors
	Rank       int     // triplets wanted
	AtMost     bool    // fewer than Rank may be enough: methods whose passes are as wide as Rank are not chosen
	Digits     float64 // logarithm of the tolerance relative to that of 1e-8
	MaxWidth   int     // most columns of a pass; 0 means any number
	Linear     bool    // eigenvalues are σ of a semidefinite matrix, not σ²: gaps are half as wide
	Shifted    bool    // the matrix has a multiple of the identity added that may dwarf the gaps
	Indefinite bool
	Paper      bool // the stop rule is that of the paper
}

// Effort is the expected effort of a run with a method.
type Effort struct {
	Width         int     // columns of a pass
	Passes        float64 // the certificate included
	Flops         float64 // between passes
	Read, Written float64 // columns of n float64s that a run goes over
	Others        int     // passes that look for more copies of values, beside Passes
	Beside        int     // columns of each of those
}

// Single returns the Traits of a method of one vector at a time that holds the given number of vectors and takes
// about each passes for a triplet to 1e-8. The method adds its Settings and With, and Options if it may be
// chosen.
func Single(name string, vectors int, each float64) Traits {
	return Traits{
		Name:      name,
		Width:     func(int) int { return 1 },
		Version:   1,
		Footprint: func(n int) int64 { return tallskinny.Bytes(n, vectors) },
		Effort: func(w Workload) Effort {
			k := float64(w.Rank)
			passes := 1 + each*k*w.Digits
			return Effort{
				Width: 1, Passes: passes, Flops: passes * float64(w.Order) * (20 + 2*k),
				Read: passes * (9 + k), Written: passes * 4,
			}
		},
	}
}
