// Package source reads a store for package factor and the packages below it: it shows how much has been read, finds
// the rows and columns that a view keeps by their ids, and says errors of a view in ids.
package source

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Source is a store that shows how much of it has been read.
type Source struct {
	*csr.Store
	rows, cols csr.Axis // of the store, that the user's are

	read     atomic.Int64
	toRead   int64
	progress atomic.Pointer[func(done, total int64)] // may be nil
}

// New is a source of a store, of which the user's rows and columns are these axes.
func New(store *csr.Store, rows, cols csr.Axis) *Source {
	return &Source{Store: store, rows: rows, cols: cols}
}

// Count starts the progress, in bytes, of a phase that reads all blocks so often.
func (s *Source) Count(reads int, progress func(done, total int64)) {
	s.read.Store(0)
	s.toRead = 0
	for i := range s.NumBlocks() {
		s.toRead += int64(reads) * s.Block(i).Size
	}
	s.progress.Store(&progress)
}

// DecodeBlock is that of the store, counted.
func (s *Source) DecodeBlock(i int, dst *csr.Block) error {
	err := s.Store.DecodeBlock(i, dst)
	s.Read(s.Block(i).Size)
	return err
}

// Read says that bytes of the store have been read.
func (s *Source) Read(bytes int64) {
	if f := s.progress.Load(); f != nil {
		(*f)(s.read.Add(bytes), s.toRead)
	}
}

// Interrupted is what there is to be said of a Measure that was cancelled.
const Interrupted = "interrupted while the statistics of the view were measured; nothing is written"

// Measure reads the store for the statistics of a view of it.
func (s *Source) Measure(ctx context.Context, v *view.View, o stream.Options, progress func(done, total int64)) error {
	return s.MeasureBy(v, progress, func() error { return v.Measure(ctx, o) })
}

// MeasureBy is Measure by a function, which calls Read for what is read otherwise than through s.
func (s *Source) MeasureBy(v *view.View, progress func(done, total int64), measure func() error) error {
	s.Count(v.Reads(), progress)
	err := measure()
	s.progress.Store(nil)
	return s.Named(err)
}

// Named is an error of a read through a view, with the ids of the row and column that it is about.
func (s *Source) Named(err error) error {
	var at *view.ValueError
	if !errors.As(err, &at) {
		return err
	}
	row, col := s.IDOf(csr.RowAxis, at.Row), s.IDOf(csr.ColAxis, at.Col)
	return &named{at.Say("row "+row, "column "+col), err}
}

type named struct {
	text string
	err  error
}

func (n *named) Error() string { return n.text }
func (n *named) Unwrap() error { return n.err }

// IDOf is the id of a row or column of the user's matrix, for an error.
func (s *Source) IDOf(axis csr.Axis, i int64) string {
	of := s.rows
	if axis == csr.ColAxis {
		of = s.cols
	}
	plain := fmt.Sprintf("%d (from 0)", i)
	r, err := s.IDs(of)
	if r == nil || err != nil {
		return plain
	}
	defer r.Close()
	for at := int64(0); r.Next(); at++ {
		if at == i {
			if r.Kind() == csr.IntIDs {
				return r.String()
			}
			return fmt.Sprintf("%q", r.String())
		}
	}
	return plain
}

// Value is the current id of a reader: an int64 or a string.
func Value(r *csr.IDReader) any {
	if r.Kind() == csr.IntIDs {
		return r.Int()
	}
	return r.String()
}
