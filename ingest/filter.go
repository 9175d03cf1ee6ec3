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

// A Filter leaves out entries, rows and columns. The zero value leaves out nothing.
//
// Times are compared line by line, before duplicates are combined. Values and numbers of entries are those of the matrix,
// after duplicates have been combined. In inputs with ids, rows and columns that have no entry left are removed with their
// ids. Rows and columns of a declared shape and nodes of a graph are removed only if they have too few entries. In a graph,
// numbers of entries are limited only if it is undirected, with equal limits for rows and columns.
type Filter struct {
	// Since and Until limit the times of entries to Since ≤ time < Until; zero: no limit.
	Since, Until time.Time
	// MinValue is the smallest value that is kept; nil: all values are kept.
	MinValue *float64
	// MinPerRow and MinPerCol are the smallest numbers of entries of a row and a column of the user's matrix. Rows and columns
	// with fewer entries are removed until all remaining ones have enough (in a bipartite graph: its core). The result does
	// not depend on the order of removal.
	MinPerRow, MinPerCol int64
}

// Filtered counts what a Filter has left out.
type Filtered struct {
	Outside int64 `json:"outside_times"`   // number of lines with a time outside of `--since` and `--until`
	Small   int64 `json:"below_min_value"` // number of entries below `--min-value`
	Entries int64 `json:"entries"`         // number of entries removed because their row or column has too few entries
	Rows    int64 `json:"rows"`            // number of rows removed
	Cols    int64 `json:"cols"`            // number of columns removed
	Passes  int   `json:"passes"`          // number of rounds of removal until every remaining row and column has enough entries
}

func (f Filter) times() bool { return !f.Since.IsZero() || !f.Until.IsZero() }

// matrix reports whether the filter looks at the matrix, not only at lines.
func (f Filter) matrix() bool { return f.MinValue != nil || f.MinPerRow > 0 || f.MinPerCol > 0 }

func (f Filter) validate() error {
	switch {
	case f.MinPerRow < 0, f.MinPerCol < 0:
		return fmt.Errorf("keep rows with %d and columns with %d entries: want 0 or more", f.MinPerRow, f.MinPerCol)
	case max(f.MinPerRow, f.MinPerCol) > math.MaxUint32:
		return fmt.Errorf("keep rows with %d and columns with %d entries: want less than 2³²", f.MinPerRow, f.MinPerCol)
	case f.MinValue != nil && !(math.Abs(*f.MinValue) <= math.MaxFloat64):
		return fmt.Errorf("keep values from %v on: want a number", *f.MinValue)
	case !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until):
		return fmt.Errorf("keep entries since %s and until %s: want a beginning before the end", stamp(f.Since), stamp(f.Until))
	}
	return nil
}

// shaping returns the names and values of the options that the store depends on.
func (f Filter) shaping() [][2]string {
	value := ""
	if f.MinValue != nil {
		value = strconv.FormatFloat(*f.MinValue, 'g', -1, 64)
	}
	return [][2]string{
		{"since", stamp(f.Since)}, {"until", stamp(f.Until)}, {"least value", value},
		{"least per row", strconv.FormatInt(f.MinPerRow, 10)}, {"least per column", strconv.FormatInt(f.MinPerCol, 10)},
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (f Filter) within(t format.Time) bool {
	return (f.Since.IsZero() || t >= format.Time(f.Since.UnixMicro())) && (f.Until.IsZero() || t < format.Time(f.Until.UnixMicro()))
}

// datesAsNumbers returns an error if the first times of an input's first chunk are dates without hyphens, which read as
// numbers are seconds. Later times may be other numbers, such as 0 for unknown.
func datesAsNumbers(c *format.Chunk, b *format.Batch, src *source) error {
	const first = 40
	if !format.DatesAsNumbers(b.Time[:min(first, len(b.Time))]) {
		return nil
	}
	at := src.reader.Locate(c, 0)
	return &format.ParseError{
		File: src.Name, Line: at.Line, Byte: at.Byte, Text: strconv.FormatInt(int64(b.Time[0]/1e6), 10),
		Err: fmt.Errorf("%w; the times are eight digits, dates without hyphens rather than seconds", format.ErrTime),
	}
}

// A span is the number of entries and the range of their times.
type span struct {
	N           int64
	Least, Most format.Time
}

func (s *span) add(o span) {
	if o.N > 0 && (s.N == 0 || o.Least < s.Least) {
		s.Least = o.Least
	}
	if o.N > 0 && (s.N == 0 || o.Most > s.Most) {
		s.Most = o.Most
	}
	s.N += o.N
}

// apply removes the entries with times outside of the limits from a batch, and returns their span.
func (f Filter) apply(b *format.Batch) (outside span) {
	if !f.times() {
		return span{}
	}
	b.Keep(func(n int) bool {
		t := b.Time[n]
		if f.within(t) {
			return true
		}
		outside.add(span{1, t, t})
		return false
	})
	return outside
}

// nth returns the index, within its chunk, of the n-th entry whose time is within the limits.
func (f Filter) nth(c *format.Chunk, src *source, n int) int {
	if !f.times() {
		return n
	}
	var b format.Batch
	b.Reset(math.MaxInt64)
	_ = src.reader.Parse(c, &b) // the chunk has been parsed before without error
	for i, t := range b.Time {
		if !f.within(t) {
			continue
		}
		n--
		if n < 0 {
			return i
		}
	}
	return 0
}

func (f Filter) nothingWithin(outside span) error {
	what := ""
	if !f.Since.IsZero() {
		what += " since " + stamp(f.Since)
	}
	if !f.Until.IsZero() {
		what += " until " + stamp(f.Until)
	}
	return fmt.Errorf("%w%s: the times of all %d go from %v to %v", format.ErrEmpty, what, outside.N, outside.Least, outside.Most)
}

// TestSuffix is added to the name of a store to name the store of the entries held out of it.
const TestSuffix = ".test"

// A Holdout says which entries go to a second store, for tests, with the same rows and columns. Rows and columns whose entries
// are all held out stay, empty.
//
// Entries are held out of the matrix after the filters, with duplicates combined: no place is in both stores. The time of a
// place is the time of its newest entry. The choice depends on the ids, values and times alone. At most one of Random, Last,
// Time and After is set.
type Holdout struct {
	Random float64   // fraction of entries held out at random, below 1
	Last   int64     // number of newest entries held out of each row; at equal times, the larger id of the column is newer
	Time   float64   // fraction of entries held out, the newest of all, below 1
	After  time.Time // entries from this time on are held out
	Seed   uint64    // seed of Random
}

// ParseHoldout reads "random:0.2", "last:1", "time:0.1", "after:2019-07-28", or "" for no hold-out.
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

// ParseTime reads a date, a datetime or a number of seconds to nanoseconds, like the times of inputs: see format.ParseTime.
func ParseTime(s string) (time.Time, error) {
	t, err := format.ParseTime([]byte(s))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: %w", s, err)
	}
	return time.UnixMicro(int64(t)).UTC(), nil
}

// String returns the form that ParseHoldout reads.
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

func (h Holdout) times() bool { return h.kind() > heldout.Random }
