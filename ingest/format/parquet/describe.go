package parquet

import "github.com/gdsvd/gdsvd/ingest/format"

// Describe tells the roles of the columns and the number of rows.
func (p *reader) Describe() format.Description {
	time := -1
	if p.fields[len(p.fields)-1].isTime {
		time = p.a.Times[0]
	}
	d := p.a.Describe(true, time)
	for _, g := range p.groups {
		d.Entries += g.rows
	}
	return d
}
