package jsonlines

import "github.com/gdsvd/gdsvd/ingest/format"

// Describe tells the roles of the keys.
func (p *reader) Describe() format.Description { return p.a.Describe(true, -1) }
