// Package synth makes matrices whose singular values are known, and ratings files that resemble real ones at any size.
//
// [Kronecker] is a small ratings matrix with exactly known values, for the demonstration. [Ratings] has the shape and the format
// of MovieLens 10M. [Expansion] expands a store to any size, with known leading values. [Spectrum] has any size, prescribed
// values, and known vectors. All but Kronecker take constant memory. All are deterministic: the same parameters give the same
// bytes.
package synth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gdsvd/gdsvd/internal/mix"
)

// Profile is a descending list of singular values, of any length.
type Profile struct {
	Kind ProfileKind
	// Decay is the factor from one value, or group of equal or close values, to the next: Exponential, Clustered, Repeated.
	// Between 0 and 1.
	Decay float64
	// Power is the exponent of Polynomial. Positive.
	Power float64
	// Gap is the relative difference of the two values of TwoValues. Between 0 and 1.
	Gap float64
	// Group is the number of values in a group: Clustered, Repeated.
	Group int64
	// Width is the relative width of a group of Clustered, at most 1−Decay.
	Width float64
	// Least is a floor: smaller values are replaced by it. 0 to 1.
	Least float64
}

// ProfileKind is the dependence of values on their index i, from 0, among r.
type ProfileKind string

const (
	Exponential ProfileKind = "exponential" // Decay^i
	Polynomial  ProfileKind = "polynomial"  // (i+1)^−Power
	Linear      ProfileKind = "linear"      // 1 − i/r
	TwoValues   ProfileKind = "gap"         // 1 and 1−Gap, at most two values
	Clustered   ProfileKind = "clustered"   // Decay^g·(1 − Width·j/Group), j of Group in group g
	Repeated    ProfileKind = "repeated"    // Decay^g, each Group times
)

func ProfileKinds() []ProfileKind {
	return []ProfileKind{Exponential, Polynomial, Linear, TwoValues, Clustered, Repeated}
}

// tiniest is the least positive value of a Profile: above it entries and their squares keep all their digits.
const tiniest = 1e-100

func (p Profile) validate(r int64) error {
	open := func(x float64) bool { return x > 0 && x < 1 }
	decays := p.Kind == Exponential || p.grouped()
	switch {
	case !slices.Contains(ProfileKinds(), p.Kind):
		return fmt.Errorf("values of kind %q: choose one of %q", p.Kind, ProfileKinds())
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

func (p Profile) grouped() bool            { return p.Kind == Clustered || p.Kind == Repeated }
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

// Ratings describes a ratings file in the format of MovieLens 10M's ratings.dat, user::item::rating::timestamp, sorted by user
// and item: log-normal activity of users and popularity of items (with the medians and means of the real file), half stars
// given only by some users, tastes of low rank in both the choice of items and the ratings, and ids not all of which occur.
//
// Every user has at least [MinPerUser] ratings. Every user and every item occurs, and no pair occurs twice. The same values
// give the same bytes on one architecture; on another one a fused multiply-add may round a rating differently.
type Ratings struct {
	Users, Items int
	Ratings      int64
	Seed         uint64
}

const MinPerUser = 20

func MovieLens10M(seed uint64) Ratings {
	return Ratings{Users: 69878, Items: 10677, Ratings: 10000054, Seed: seed}
}

func (g Ratings) Validate() error {
	switch {
	case g.Users < 1 || g.Items < MinPerUser:
		return fmt.Errorf("generate ratings: %d users and %d items: at least 1 and %d are needed", g.Users, g.Items, MinPerUser)
	case g.Users > 1<<30 || g.Items > 1<<30:
		return fmt.Errorf("generate ratings: %d users and %d items: at most %d of each", g.Users, g.Items, 1<<30)
	case g.Ratings < int64(g.Users)*MinPerUser:
		return fmt.Errorf("generate ratings: %d ratings are too few: each of %d users has at least %d", g.Ratings, g.Users, MinPerUser)
	case g.Ratings < int64(g.Items):
		return fmt.Errorf("generate ratings: %d ratings are too few for %d items", g.Ratings, g.Items)
	case g.Ratings > int64(g.Users)*int64(g.Items):
		return fmt.Errorf("generate ratings: %d ratings are more than %d users × %d items", g.Ratings, g.Users, g.Items)
	}
	return nil
}

const (
	factors = 6 // rank of the tastes in the ratings
	// mainShare is the share of items that users find through their main taste; they find the others through a second one.
	mainShare = 0.6
	// wholeStarShare is the share of users who give only whole stars, as in the real file, where half stars came late.
	wholeStarShare = 0.55
	// meanRating and the deviations give the 3.51 ± 1.06 of the real file.
	meanRating, userBias, itemBias, tasteWeight, ratingNoise = 3.28, 0.42, 0.38, 0.22, 0.78
)

// Streams of random numbers, one for each purpose.
const (
	streamItems = iota + 1
	streamActivity
	streamUser
)

func (g Ratings) source(purpose, index uint64) *rand.PCG {
	return rand.NewPCG(mix.Next(g.Seed+mix.Next(purpose)), mix.Next(index))
}

// Write writes the file to w. Memory depends only on the numbers of users and items. progress, unless nil, is called from
// time to time with the number of ratings written so far.
func (g Ratings) Write(ctx context.Context, w io.Writer, progress func(done int64)) error {
	if err := g.Validate(); err != nil {
		return err
	}
	var (
		counts  = g.activity()
		cat     = newCatalogue(rand.New(g.source(streamItems, 0)), g.Items)
		mandate = mandatory{ratings: g.Ratings, items: int64(g.Items)}
		userIDs = spreadIDs(g.Users, 71567./69878, 1)
		itemIDs = spreadIDs(g.Items, 65133./10677, 8)
		buf     = make([]byte, 0, 1<<18)
		done    int64
	)
	for u, n := range counts {
		r := rand.New(g.source(streamUser, uint64(u)))
		usr := newUser(r)
		cat.choose(r, usr, n, &mandate)
		for _, item := range cat.chosen {
			rating := usr.rate(r, &cat.items[item])
			usr.time += int64(r.Uint32() >> 27) // most ratings of a user are given in one sitting
			buf = appendRating(buf, userIDs(u), itemIDs(int(item)), rating, usr.time)
		}
		done += int64(n)
		if len(buf) >= 1<<17 || u == g.Users-1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
			if progress != nil {
				progress(done)
			}
		}
	}
	if done != g.Ratings {
		return errors.New("synth: the ratings written are not the ratings wanted")
	}
	return nil
}

// activity returns the number of ratings of each user: log-normal above the minimum, with the exact sum, and no user with
// more than 69 % of the items (as in the real file) unless the sum requires it.
func (g Ratings) activity() []int {
	r := rand.New(g.source(streamActivity, 0))
	most := max(MinPerUser, g.Items*69/100)
	if g.Ratings > int64(g.Users)*int64(most) {
		most = g.Items
	}
	weight := make([]float64, g.Users)
	for u := range weight {
		weight[u] = math.Exp(1.35 * r.NormFloat64())
	}
	counts := make([]int, g.Users)
	fill := func(scale float64) (sum int64) {
		for u, w := range weight {
			counts[u] = MinPerUser + int(min(scale*w, float64(most-MinPerUser)))
			sum += int64(counts[u])
		}
		return sum
	}
	low, high := 0.0, 1.0
	for high < 1e12 && fill(high) <= g.Ratings {
		low, high = high, 2*high
	}
	for range 60 {
		if mid := (low + high) / 2; fill(mid) <= g.Ratings {
			low = mid
		} else {
			high = mid
		}
	}
	// The ratings lost by rounding down go to the users in turn.
	for left := g.Ratings - fill(low); left > 0; {
		for u := 0; u < g.Users && left > 0; u++ {
			if counts[u] < most {
				counts[u]++
				left--
			}
		}
	}
	return counts
}

// spreadIDs returns ascending ids from 1 for n users or items; the last id is near n·stretch. The larger power is, the more
// of the unused ids lie toward the end.
func spreadIDs(n int, stretch, power float64) func(i int) int {
	holes := float64(n) * (stretch - 1)
	last := float64(max(1, n-1))
	return func(i int) int {
		return 1 + i + int(math.Round(holes*math.Pow(float64(i)/last, power)))
	}
}

// mandatory assigns every item to one rating, spread evenly over the ratings, so that no item is missing.
type mandatory struct {
	ratings, items int64
	slot, item     int64 // ratings and items processed so far
}

// take calls add with the items assigned to the next n ratings.
func (m *mandatory) take(n int, add func(item int32)) {
	m.slot += int64(n)
	each, rest := m.ratings/m.items, m.ratings%m.items
	// Item i is assigned to rating ⌊i·ratings/items⌋: these ratings are distinct, as items ≤ ratings.
	for m.item < m.items && m.item*each+m.item*rest/m.items < m.slot {
		add(int32(m.item))
		m.item++
	}
}
