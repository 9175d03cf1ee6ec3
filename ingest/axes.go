package ingest

import (
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// lateKey is the key of a place as long as the shape is not known, and beside ids.
func lateKey(row, col int64) uint64 { return uint64(row)<<32 | uint64(col) }

// packer makes the keys of a matrix as it is going to be stored.
func (o Options) packer(s format.Shape) (extsort.Packer, error) {
	k := extsort.NewPacker(s.Rows, s.Cols, o.Orient.Transposes(s.Rows, s.Cols))
	if k.Cols > csr.MaxCols || k.Bits > 63 {
		return k, fmt.Errorf("a %d × %d matrix is too large: %w", s.Rows, s.Cols, format.ErrUnsupported)
	}
	return k, nil
}

// sides are both.
var sides = [...]format.Side{format.RowSide, format.ColSide}

// Axes are the rows and columns of a matrix: ids, or indices of a declared shape, or both. An input of a declared shape
// may have ids on either side (Options.RowIDs and ColIDs, or a format.Identified): index i is then the temporary id i of
// the axis of that side, and the rest is as with an input of ids. All generations of an axis are of one
// sequence of indices, whatever generation a run of entries has.
type axes struct {
	users, items *ids.Axis     // one and the same of a graph
	shape        *format.Shape // declared: keys are indices; else nil
}

// all are those of the rows and columns, one for both of a graph.
func (a *axes) all() []*ids.Axis {
	if a.users == a.items {
		return []*ids.Axis{a.users}
	}
	return []*ids.Axis{a.users, a.items}
}

// of is that of a side.
func (a *axes) of(s format.Side) *ids.Axis {
	if s == format.RowSide {
		return a.users
	}
	return a.items
}

// named tells whether there are ids for indices of some side.
func (a *axes) named() bool { return a.shape != nil && (a.users.Any() || a.items.Any()) }

// lengths are the rows and columns so far.
func (a *axes) lengths() format.Shape {
	if a.shape != nil {
		return *a.shape
	}
	return format.Shape{Rows: int64(a.users.Len()), Cols: int64(a.items.Len())}
}

// size is the bytes of the dictionaries.
func (a *axes) size() (n int64) {
	for _, one := range a.all() {
		n += one.Size()
	}
	return n
}

// generations is the number of lists of ids.
func (a *axes) generations() (n int) {
	for _, one := range a.all() {
		n += one.Generations()
	}
	return n
}

// larger is the one whose generation being numbered takes most.
func (a *axes) larger() *ids.Axis {
	if a.items.Held() > a.users.Held() {
		return a.items
	}
	return a.users
}

// name is the id of a place on a side, or its index from 1, and what the input has for it.
func (a *axes) name(s *scratch.Dir, side format.Side, i int64) (id, key string) {
	axis := a.of(side)
	if a.shape == nil {
		id, _ = axis.Name(s, i)
		return id, id
	}
	id = fmt.Sprint(i + 1)
	if axis.Any() {
		id, i = axis.Name(s, i)
	}
	if side == format.ColSide {
		i += a.shape.First
	}
	return id, fmt.Sprint(i)
}
