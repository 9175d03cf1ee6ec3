package ingest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// TestSuffix is added to the name of a store for the one of the entries held out of it.
const TestSuffix = ".test"

// HoldoutKind is the way entries are chosen to be held out.
type HoldoutKind uint8

const (
	// HoldoutNone holds out nothing.
	HoldoutNone HoldoutKind = iota
	// HoldoutRandom holds out each entry with the probability Fraction, by a hash of its ids and the seed.
	HoldoutRandom
	// HoldoutLast holds out the newest N entries of each row.
	HoldoutLast
	// HoldoutTime holds out the newest entries: as many moments as do not exceed Fraction of all entries.
	HoldoutTime
	// HoldoutAfter holds out the entries from After on.
	HoldoutAfter
)

var holdoutNames = []string{"", "random", "last", "time", "after"}

// A Holdout says which entries go to a second store, for tests, of the same rows and
// columns. Rows and columns of which all entries are held out stay, empty.
//
// It is entries of the matrix that are held out, after filters and with duplicates combined: no
// place is in both stores. The time of a place is that of the newest entry there. Which are held
// out depends on the ids, values and times alone.
type Holdout struct {
	Kind     HoldoutKind
	Fraction float64 // of HoldoutRandom and HoldoutTime, above 0 and below 1
	N        int64   // of HoldoutLast; of entries of one time, those of the columns with the larger ids are the newer ones
	After    time.Time
	Seed     uint64 // of HoldoutRandom
}

// ParseHoldout reads "random:0.2", "last:1", "time:0.1", "after:2019-07-28" or, for none, "".
func ParseHoldout(s string) (h Holdout, err error) {
	if s == "" {
		return h, nil
	}
	name, arg, _ := strings.Cut(s, ":")
	for k, known := range holdoutNames {
		if name == known {
			h.Kind = HoldoutKind(k)
		}
	}
	switch h.Kind {
	case HoldoutRandom, HoldoutTime:
		h.Fraction, err = strconv.ParseFloat(arg, 64)
	case HoldoutLast:
		h.N, err = strconv.ParseInt(arg, 10, 64)
	case HoldoutAfter:
		h.After, err = ParseTime(arg)
	}
	if err == nil {
		err = h.validate()
	}
	if err != nil || h.Kind == HoldoutNone {
		return Holdout{}, fmt.Errorf("hold out %q: want random:0.2, last:1, time:0.1 or after:2019-07-28", s)
	}
	return h, nil
}

// ParseTime reads a date, a datetime or a number of seconds to nanoseconds, as those of inputs: see format.ParseTime.
func ParseTime(s string) (time.Time, error) {
	t, err := format.ParseTime([]byte(s))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: %w", s, err)
	}
	return time.UnixMicro(int64(t)).UTC(), nil
}

// String is what ParseHoldout reads.
func (h Holdout) String() string {
	arg := strconv.FormatFloat(h.Fraction, 'g', -1, 64)
	switch h.Kind {
	case HoldoutNone:
		return ""
	case HoldoutLast:
		arg = strconv.FormatInt(h.N, 10)
	case HoldoutAfter:
		arg = stamp(h.After)
	}
	return nameOf(holdoutNames, int(h.Kind)) + ":" + arg
}

func (h Holdout) validate() error {
	ok := true
	switch h.Kind {
	case HoldoutNone:
	case HoldoutRandom, HoldoutTime:
		ok = h.Fraction > 0 && h.Fraction < 1
	case HoldoutLast:
		ok = h.N >= 1 && h.N <= math.MaxInt32
	case HoldoutAfter:
		ok = !h.After.IsZero()
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("hold out %q: want a fraction between 0 and 1, one entry or more, or a time", h)
	}
	return nil
}

// times tells whether the times of entries decide.
func (h Holdout) times() bool { return h.Kind > HoldoutRandom }

func (h Holdout) shaping() [][2]string {
	return [][2]string{{"hold out", h.String()}, {"seed of what is held out", strconv.FormatUint(h.Seed, 10)}}
}
