package live

import "github.com/gdsvd/gdsvd/factor"

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
