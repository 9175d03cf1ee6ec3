package ingest

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
)

// partNNZ is how many entries of a block of a store are a chunk.
const partNNZ = 1 << 14

// A baseReader reads a store as an input of ids. A chunk is a part of a block; its data
// are the ids of the rows of the block. Position.Byte counts parts.
type baseReader struct {
	s     *csr.Store
	rows  *csr.IDReader
	parts int64 // of each block
	next  int64
	ids   []byte // of the rows of the block of next
	named int    // blocks of which the ids of rows have been read
	cols  format.Keys
	graph bool
	free  sync.Pool
}

// openBaseSource opens the store that is appended to as the first input.
func openBaseSource(b *base, o Options, begin int64) (*source, error) {
	s, err := csr.Open(b.path, csr.OpenOptions{FS: o.FS})
	if err != nil {
		return nil, err
	}
	r := &baseReader{s: s, parts: (s.MaxBlock().NNZ + partNNZ - 1) / partNNZ, graph: o.Graph == Undirected}
	r.parts = max(r.parts, 1)
	r.free.New = func() any { return s.Scratch() }
	src := &source{File: input.Closing(b.path, r.close), begin: begin, taken: make(chan struct{}), reader: r, shared: true, base: true, format: "store"}
	cols, err := s.IDs(csr.ColAxis)
	if err == nil {
		for cols.Next() {
			if cols.Kind() == csr.IntIDs {
				r.cols.AddInt(cols.Int())
			} else {
				r.cols.AddText([]byte(cols.String()))
			}
		}
		err = errors.Join(cols.Err(), cols.Close())
	}
	if err == nil {
		r.rows, err = s.IDs(csr.RowAxis)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return src, nil
}

func (r *baseReader) close() error {
	err := r.s.Close()
	if r.rows != nil {
		err = errors.Join(err, r.rows.Close())
	}
	return err
}

// Symmetric: the entries of an undirected graph are both there.
func (r *baseReader) Symmetric() (mirrored, skew bool) { return r.graph, false }

// Next is the next part of a block.
func (r *baseReader) Next(c *format.Chunk) error {
	block := int(r.next / r.parts)
	if block >= r.s.NumBlocks() {
		return io.EOF
	}
	for ; r.named <= block; r.named++ {
		if err := r.nameRows(r.s.Block(r.named).Rows); err != nil {
			return err
		}
	}
	c.Data = append(c.Data[:0], r.ids...)
	c.Begin.Byte = r.next
	r.next++
	c.End.Byte = r.next
	return nil
}

// nameRows reads the ids of the next rows.
func (r *baseReader) nameRows(rows int) error {
	r.ids = r.ids[:0]
	for range rows {
		if !r.rows.Next() {
			return errors.Join(errors.New("read ids: too few"), r.rows.Err())
		}
		if r.rows.Kind() == csr.IntIDs {
			r.ids = binary.AppendVarint(r.ids, r.rows.Int())
		} else {
			id := r.rows.String()
			r.ids = append(binary.AppendUvarint(r.ids, uint64(len(id))), id...)
		}
	}
	return nil
}

// Parse decodes a block and takes the entries of one part.
func (r *baseReader) Parse(c *format.Chunk, b *format.Batch) error {
	d := r.free.Get().(*csr.Block)
	defer r.free.Put(d)
	block, part := int(c.Begin.Byte/r.parts), c.Begin.Byte%r.parts
	if err := r.s.DecodeBlock(block, d); err != nil {
		return err
	}
	nnz := int64(r.s.Block(block).NNZ)
	lo, hi, n := nnz*part/r.parts, nnz*(part+1)/r.parts, int64(0)
	rest := c.Data
	for i := range d.Rows() {
		var id int64
		var text []byte
		if r.rows.Kind() == csr.IntIDs {
			v, k := binary.Varint(rest)
			id, rest = v, rest[k:]
		} else {
			v, k := binary.Uvarint(rest)
			text, rest = rest[k:k+int(v)], rest[k+int(v):]
		}
		for col, v := range d.Row(i) {
			if n++; n <= lo || n > hi {
				continue
			}
			row, other := &b.Row, &b.Col
			if r.s.Transposed() {
				row, other = other, row
			}
			if text == nil && r.rows.Kind() == csr.IntIDs {
				row.AddInt(id)
			} else {
				row.AddText(text)
			}
			other.AddOf(&r.cols, int(col))
			b.AddValue(v)
		}
	}
	return nil
}

// Check finds nothing wrong: the store has been checked where it was decoded.
func (r *baseReader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

// Seek goes on behind a part.
func (r *baseReader) Seek(p format.Position) error {
	r.next = p.Byte
	return nil
}

// Locate: a store tells no lines.
func (r *baseReader) Locate(*format.Chunk, int) format.Position { return format.Position{Byte: -1} }
