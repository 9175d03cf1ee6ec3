package roles

import (
	"fmt"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// Time is the field of times, which have been asked for; names are those to choose by. An error
// is format.ErrNoTimes, or an AmbiguityError.
func (a *Assignment) Time(names []string) (int, error) {
	switch len(a.Times) {
	case 0:
		return -1, fmt.Errorf("%w, as far as names tell; the fourth of --columns user,item,value,time says which column has them", format.ErrNoTimes)
	case 1:
		return a.Times[0], nil
	}
	e := &format.AmbiguityError{}
	for _, c := range a.Times[:2] {
		e.Readings = append(e.Readings, Chosen(names, "the time is "+strconv.Quote(names[c]), a.Row, a.Col, a.Value, c))
	}
	return -1, e
}
