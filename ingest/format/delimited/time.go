package delimited

import (
	"fmt"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/roles"
)

// timeColumn is the column of times, which have been asked for.
func (p *reader) timeColumn(names []string) (int, error) {
	times := p.roles.Times
	switch {
	case len(times) == 1:
		return times[0], nil
	case len(times) == 0 && p.stamp >= 0:
		return p.stamp, nil
	case len(times) == 0:
		return -1, fmt.Errorf("%w, as far as names tell; the fourth of --columns user,item,value,time says which column has them", format.ErrNoTimes)
	}
	e := &format.AmbiguityError{}
	for _, c := range times[:2] {
		e.Readings = append(e.Readings, roles.Chosen(names, "the time is "+strconv.Quote(names[c]), p.user, p.item, p.value, c))
	}
	return -1, e
}
