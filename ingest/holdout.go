package ingest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
)

// TestSuffix is added to the name of a store for the one of the entries held out of it.
const TestSuffix = ".test"

// A Holdout says which entries go to a second store, for tests, of the same rows and
// columns. Rows and columns of which all entries are held out stay, empty.
//
// It is entries of the matrix that are held out, after filters and with duplicates combined: no
// place is in both stores. The time of a place is that of the newest entry there. Which are held
// out depends on the ids, values and times alone. At most one of Random, Last, Time and After is set.
type Holdout struct {
	Random float64   // the fraction held out by chance, below 1
	Last   int64     // how many of the newest entries of each row; of those of one time the ones of larger ids of columns are newer
	Time   float64   // the fraction held out, the newest of all, below 1
	After  time.Time // from when on entries are held out
	Seed   uint64    // of Random
}

// ParseHoldout reads "random:0.2", "last:1", "time:0.1", "after:2019-07-28" or, for none, "".
func ParseHoldout(s string) (h Holdout, err error) {
	if s == "" {
		return h, nil
	}
	name, arg, _ := strings.Cut(s, ":")
	switch name {
	case "random":
		h.Random, err = strconv.ParseFloat(arg, 64)
	case "last":
		h.Last, err = strconv.ParseInt(arg, 10, 64)
	case "time":
		h.Time, err = strconv.ParseFloat(arg, 64)
	case "after":
		h.After, err = ParseTime(arg)
	}
	if err == nil {
		err = h.validate()
	}
	if err != nil || h.kind() == heldout.None {
		return Holdout{}, fmt.Errorf("hold out %q: want random:0.2, last:1, time:0.1 or after:2019-07-28", s)
	}
	return h, nil
}

// kind is the rule that is set.
func (h Holdout) kind() heldout.Kind {
	switch {
	case h.Random != 0:
		return heldout.Random
	case h.Last != 0:
		return heldout.Last
	case h.Time != 0:
		return heldout.Time
	case !h.After.IsZero():
		return heldout.After
	}
	return heldout.None
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
	fraction := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	switch h.kind() {
	case heldout.Random:
		return "random:" + fraction(h.Random)
	case heldout.Last:
		return "last:" + strconv.FormatInt(h.Last, 10)
	case heldout.Time:
		return "time:" + fraction(h.Time)
	case heldout.After:
		return "after:" + stamp(h.After)
	}
	return ""
}

func (h Holdout) validate() error {
	rules := 0
	for _, set := range []bool{h.Random != 0, h.Last != 0, h.Time != 0, !h.After.IsZero()} {
		if set {
			rules++
		}
	}
	switch {
	case rules > 1:
		return fmt.Errorf("hold out %q, and by another rule: want one", h)
	case !(max(h.Random, h.Time) < 1 && min(h.Random, h.Time) >= 0), h.Last < 0, h.Last > math.MaxInt32:
		return fmt.Errorf("hold out %q: want a fraction between 0 and 1, one entry or more, or a time", h)
	}
	return nil
}

// times tells whether the times of entries decide.
func (h Holdout) times() bool { return h.kind() > heldout.Random }

func (h Holdout) shaping() [][2]string {
	return [][2]string{{"hold out", h.String()}, {"seed of what is held out", strconv.FormatUint(h.Seed, 10)}}
}
