package parquet

import "github.com/gdsvd/gdsvd/ingest/format"

// Describe tells the roles of the columns and the number of rows.
func (p *reader) Describe() format.Description {
	d := p.a.Describe(true, -1)
	for _, g := range p.groups {
		d.Entries += g.rows
	}
	return d
}
