package csr

// Outline describes a store that does not exist yet: its frame without its contents.
type Outline struct {
	Path       string
	Rows, Cols int64 // of the store
	NNZ        int64
	Transposed bool
	Values     Values
	Size       int64 // bytes of all blocks
}

// Plan returns a closed Store for planning. It has the shape of o and the blocks that equally long rows would give, and
// decodes none of them.
func (o Outline) Plan() *Store {
	rows, nnz := max(1, o.Rows), max(1, o.NNZ)
	// A block ends with as many entries or rows as fit into it, at the end of a row.
	each := min(BlockRows, max(1, BlockNNZ*rows/nnz))
	s := &Store{path: o.Path, size: o.Size, manifest: &Manifest{
		Format: formatName, Version: Version, Rows: o.Rows, Cols: o.Cols, NNZ: o.NNZ, Transposed: o.Transposed, Values: o.Values, Source: map[string]any{},
	}}
	part := func(all, row int64) int64 { return int64(float64(all) * float64(row) / float64(rows)) }
	for row := int64(0); row < o.Rows; row += each {
		end := min(row+each, o.Rows)
		b := blockMeta{firstRow: row, rows: uint32(end - row), nnz: uint32(part(o.NNZ, end) - part(o.NNZ, row)), size: uint32(part(o.Size, end) - part(o.Size, row))}
		s.manifest.MaxBlock.include(&b)
		s.blocks, s.shardOf = append(s.blocks, b), append(s.shardOf, 0)
	}
	s.closed.Store(true)
	return s
}

// Planned reports whether the store is the Plan of an Outline.
func (s *Store) Planned() bool { return s.fs == nil }
