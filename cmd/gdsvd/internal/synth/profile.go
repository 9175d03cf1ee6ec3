package synth

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Profile is a descending list of singular values, of any length.
type Profile struct {
	Kind ProfileKind
	// Decay is the factor from one value, or group of equal or close ones, to
	// the next: Exponential, Clustered, Repeated. Between 0 and 1.
	Decay float64
	// Power is the exponent of Polynomial. Positive.
	Power float64
	// Gap is the relative difference of the two values of TwoValues. Between 0 and 1.
	Gap float64
	// Group is the number of values in a group: Clustered, Repeated.
	Group int64
	// Width is the relative width of a group of Clustered, at most 1−Decay.
	Width float64
	// Least is a floor: what would be less is this. 0 to 1.
	Least float64
}

// ProfileKind is how values depend on their place i, from 0, among r.
type ProfileKind string

const (
	Exponential ProfileKind = "exponential" // Decay^i
	Polynomial  ProfileKind = "polynomial"  // (i+1)^−Power
	Linear      ProfileKind = "linear"      // 1 − i/r
	TwoValues   ProfileKind = "gap"         // 1 and 1−Gap, and no other
	Clustered   ProfileKind = "clustered"   // Decay^g·(1 − Width·j/Group), j of Group in group g
	Repeated    ProfileKind = "repeated"    // Decay^g, each Group times
)

func ProfileKinds() []ProfileKind {
	return []ProfileKind{Exponential, Polynomial, Linear, TwoValues, Clustered, Repeated}
}

// tiniest is the least positive value of a Profile: entries and their squares
// keep all their digits.
const tiniest = 1e-100

func (p Profile) validate(r int64) error {
	open := func(x float64) bool { return x > 0 && x < 1 }
	decays := p.Kind == Exponential || p.grouped()
	switch {
	case !slices.Contains(ProfileKinds(), p.Kind):
		return fmt.Errorf("values of kind %q: choose %s", p.Kind, kindNames())
	case decays && !open(p.Decay):
		return fmt.Errorf("decay of %v: want more than 0 and less than 1", p.Decay)
	case p.Kind == Polynomial && !(p.Power > 0 && p.Power <= 100):
		return fmt.Errorf("power of %v: want more than 0, at most 100", p.Power)
	case p.Kind == TwoValues && !open(p.Gap):
		return fmt.Errorf("gap of %v: want more than 0 and less than 1", p.Gap)
	case p.grouped() && p.Group < 1:
		return fmt.Errorf("groups of %d values: want at least 1", p.Group)
	case p.Kind == Clustered && !(p.Width >= 0 && p.Width <= 1-p.Decay):
		return fmt.Errorf("clusters with a width of %v: want 0 to %v, or they overlap", p.Width, 1-p.Decay)
	case !(p.Least >= 0 && p.Least <= 1):
		return fmt.Errorf("least value %v: want 0 to 1", p.Least)
	}
	if least := p.value(r-1, r); least < tiniest {
		return fmt.Errorf("the least of %d values is %.3g: want a smaller rank, or a floor of %g or more", r, least, tiniest)
	}
	return nil
}

func kindNames() string {
	var names []string
	for _, k := range ProfileKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func (p Profile) grouped() bool { return p.Kind == Clustered || p.Kind == Repeated }

func (p Profile) value(i, r int64) float64 { return max(p.Least, p.shape(i, r)) }

// shape is value without the floor.
func (p Profile) shape(i, r int64) float64 {
	switch p.Kind {
	case Exponential:
		return math.Pow(p.Decay, float64(i))
	case Polynomial:
		return math.Pow(float64(i+1), -p.Power)
	case Linear:
		return 1 - float64(i)/float64(r)
	case TwoValues:
		return 1 - float64(i)*p.Gap
	}
	v := math.Pow(p.Decay, float64(i/p.Group))
	if p.Kind == Clustered {
		v *= 1 - p.Width*float64(i%p.Group)/float64(p.Group)
	}
	return v
}
