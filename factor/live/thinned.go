package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
)

// ErrEvents says that lines are no events.
var ErrEvents = errors.New("no list of events")

// ReadEvents reads lines of events, Thinned, and returns how many lines there are. A line that has no phase, such as a checksum, is no event.
func ReadEvents(ctx context.Context, in io.Reader) (_ []factor.Event, line int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, layout.LongestEvent)
	var t Thinned
	for lines.Scan() {
		line++
		if line%1024 == 0 && ctx.Err() != nil {
			return nil, line, ctx.Err()
		}
		var e factor.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return t.Events, line, fmt.Errorf("%w: %w", ErrEvents, err)
		}
		if e.Phase != "" {
			t.Add(e)
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		line, err = line+1, fmt.Errorf("%w: it is longer than %d bytes", ErrEvents, layout.LongestEvent)
	}
	return t.Events, line, err
}

// MostPasses are kept of a run: of one with more, each second one, or each fourth, and so on.
const MostPasses = 1500

// Thinned are events of a run in order, MostPasses at most: the first one, the last one, those that found a triplet
// unless there are too many of them, and some between at even distances. The zero value is usable.
type Thinned struct {
	Events []factor.Event

	stride, seen int
}

// Add adds the next event.
func (t *Thinned) Add(e factor.Event) {
	t.stride = max(t.stride, 1)
	if n := len(t.Events); n > 0 && (t.seen-1)%t.stride != 0 && !foundWith(t.Events[n-1], e) {
		t.Events = t.Events[:n-1] // it was the last one
	}
	t.Events = append(t.Events, e)
	t.seen++
	if len(t.Events) > MostPasses {
		t.thin(MostPasses * 3 / 4)
	}
}

// foundWith tells whether the triplet of an event is found with it, and next is about another one.
func foundWith(e, next factor.Event) bool { return next.Triplet > e.Triplet && next.Locked > e.Triplet }

// thin keeps each second event, those that found a triplet unless there are more than most then, and the last one.
func (t *Thinned) thin(most int) {
	t.stride *= 2
	for _, ends := range []bool{true, false} {
		var kept []factor.Event
		for i, e := range t.Events {
			if i%2 == 0 || i == len(t.Events)-1 || ends && foundWith(e, t.Events[i+1]) {
				kept = append(kept, e)
			}
		}
		t.Events = kept
		if len(kept) <= most {
			return
		}
	}
}
