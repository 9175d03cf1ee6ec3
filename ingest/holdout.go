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

var holdoutNames = []string{"", "random", "last", "time", "after"}

// A Holdout says which entries go to a second store, for tests, of the same rows and
// columns. Rows and columns of which all entries are held out stay, empty.
//
// It is entries of the matrix that are held out, after filters and with duplicates combined: no
// place is in both stores. The time of a place is that of the newest entry there. Which are held
// out depends on the ids, values and times alone. [ParseHoldout] makes one.
type Holdout struct {
	kind     heldout.Kind
	fraction float64 // of Random and Time, above 0 and below 1
	n        int64   // of Last; of entries of one time, those of the columns with the larger ids are the newer ones
	after    time.Time
	Seed     uint64 // of Random
}

// ParseHoldout reads "random:0.2", "last:1", "time:0.1", "after:2019-07-28" or, for none, "".
func ParseHoldout(s string) (h Holdout, err error) {
	if s == "" {
		return h, nil
	}
	name, arg, _ := strings.Cut(s, ":")
	for k, known := range holdoutNames {
		if name == known {
			h.kind = heldout.Kind(k)
		}
	}
	switch h.kind {
	case heldout.Random, heldout.Time:
		h.fraction, err = strconv.ParseFloat(arg, 64)
	case heldout.Last:
		h.n, err = strconv.ParseInt(arg, 10, 64)
	case heldout.After:
		h.after, err = ParseTime(arg)
	}
	if err == nil {
		err = h.validate()
	}
	if err != nil || h.kind == heldout.None {
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
	arg := strconv.FormatFloat(h.fraction, 'g', -1, 64)
	switch h.kind {
	case heldout.None:
		return ""
	case heldout.Last:
		arg = strconv.FormatInt(h.n, 10)
	case heldout.After:
		arg = stamp(h.after)
	}
	return nameOf(holdoutNames, int(h.kind)) + ":" + arg
}

func (h Holdout) validate() error {
	ok := true
	switch h.kind {
	case heldout.None:
	case heldout.Random, heldout.Time:
		ok = h.fraction > 0 && h.fraction < 1
	case heldout.Last:
		ok = h.n >= 1 && h.n <= math.MaxInt32
	case heldout.After:
		ok = !h.after.IsZero()
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("hold out %q: want a fraction between 0 and 1, one entry or more, or a time", h)
	}
	return nil
}

// times tells whether the times of entries decide.
func (h Holdout) times() bool { return h.kind > heldout.Random }

func (h Holdout) shaping() [][2]string {
	return [][2]string{{"hold out", h.String()}, {"seed of what is held out", strconv.FormatUint(h.Seed, 10)}}
}
