package jsonlines

import "github.com/gdsvd/gdsvd/ingest/format"

// Describe tells the roles of the keys.
func (p *reader) Describe() format.Description {
	time := -1
	if p.time >= 0 {
		time = p.a.Times[0]
	}
	return p.a.Describe(true, time)
}
