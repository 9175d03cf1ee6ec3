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
	// Wrong is why values that are all in range do not go together; nil if they do.
	Wrong error

	// Width is how many columns the start block should have when missing triplets
	// are still to be found, at least 1. The driver may offer fewer if the dimension
	// does not allow as many.
	Width func(missing int) int
	// Copies is above 0 for methods that look for all vectors in one space spanned by
	// products with the start block: it contains a repeated eigenvalue Copies times
	// and no more. Others start anew, or add random vectors, whenever something has
	// been locked.
	Copies int
	// Probe is how many random vectors look for more copies at once when k triplets
	// have been found: the more, the fewer passes that takes. It is 0 with Copies.
	Probe int
	// Indefinite says that the method can work with an operator whose negative
	// eigenvalues are no larger in magnitude than λ₁.
	Indefinite bool
	// Paper says that the stop rule of the paper is that of the method.
	Paper bool
	// Guarded says that the recurrence notices products that are not finite: it
	// answers with a Ritz pair of infinite value. The driver looks at those of others.
	Guarded bool
	// Version is that of the parts that the recurrence saves.
	Version int

	// Footprint returns the bytes of the blocks that a run with vectors of length n
	// works with: the state, the product it is given, and scratch. What the driver
	// holds is not included: the vectors found, and those of the certificate.
	Footprint func(n int) int64
	// Effort is what a run is expected to take.
	Effort func(Workload) Effort
	// Options are the variants of the method, with no default left open, that the
	// choice of a method considers; nil if there is none. Those that are too wide, or not
	// for the operator or the stop rule of the Workload, are left out there.
	Options func(Workload) []Method
}

// Setting is a parameter of a method: a flag of the command, a field of a result, and
// a part of what a checkpoint belongs to.
type Setting struct {
	Name    string  // "eta"
	Help    string  // what it is, in a few words
	Default float64 // of the flag; 0: found automatically
	// Values lie between Low and High, both excluded; 0 and Default are always allowed.
	Low, High float64
	Whole     bool // integers only
	// Value is that of the method, with defaults that depend on k filled in where the
	// same value said and unsaid are no two methods.
	Value float64
}

// Allows reports whether the setting may have a value.
func (s Setting) Allows(v float64) bool {
	return v == 0 || v == s.Default || v > s.Low && v < s.High && (!s.Whole || v == math.Trunc(v))
}

// Check returns what is wrong with the settings, nil if nothing is.
func (t Traits) Check() error {
	for _, s := range t.Settings {
		if !s.Allows(s.Value) {
			return fmt.Errorf("%s of %s is %v, want a value between %v and %v", s.Help, t.Name, s.Value, s.Low, s.High)
		}
	}
	return t.Wrong
}

// Workload is what the work of a method depends on.
type Workload struct {
	Order      int64   // length of vectors
	Rank       int     // triplets wanted
	AtMost     bool    // fewer may be enough: methods whose passes are as wide as Rank are no choice
	Digits     float64 // logarithm of the tolerance relative to that of 1e-8
	MaxWidth   int     // most columns of a pass; 0 means any number
	Linear     bool    // eigenvalues are σ of a semidefinite matrix, not σ²: gaps are half as wide
	Shifted    bool    // the matrix has a multiple of the identity added that may dwarf the gaps
	Indefinite bool
	Paper      bool // the stop rule is that of the paper
}

// Effort is what a run with a method is expected to take.
type Effort struct {
	Width         int     // columns of a pass
	Passes        float64 // the certificate included
	Flops         float64 // between passes
	Read, Written float64 // columns of n float64s that a run goes over
	Others        int     // passes that look for more copies of values, beside Passes
	Beside        int     // columns of each of those
}

// Single describes a method of one vector at a time that holds that number of vectors
// and takes about each passes for a triplet to 1e-8. Settings and With are for
// the method to add; the choice of a method does not consider it.
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
