package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/budget"
)

func (o Options) file(side format.Side) string { return [...]string{o.RowIDs, o.ColIDs}[side] }

// labels opens the ids of a side of an input of a declared shape; nil: the side has no ids.
func (t *task) labels(ctx context.Context, src *source, side format.Side) (format.IDs, error) {
	if t.o.file(side) != "" {
		return t.o.openLabels(ctx, t.o.opener(t.plan.window), side)
	}
	if known, ok := src.reader.(format.Identified); ok {
		return known.IDs(side)
	}
	return nil, nil
}

func (o request) openLabels(ctx context.Context, op input.Opener, side format.Side) (format.IDs, error) {
	f, err := op.Open(ctx, o.file(side))
	if err != nil {
		return nil, err
	}
	in := &format.Input{Name: f.Name, Stream: f}
	if read := o.labels[side]; read != nil {
		return read(in, f.Close)
	}
	return text.FieldLabels(in, -1, -1, f.Close)
}

// declare takes over the shape of an input and numbers the ids of its sides.
func (r *reading) declare(ctx context.Context, src *source) error {
	if err := r.o.square(src); err != nil {
		return err
	}
	for _, side := range sides {
		if r.o.Graph != NoGraph && side == format.ColSide {
			continue // columns have the ids of the rows
		}
		if name := r.o.file(side); name != "" && src.shape == nil {
			return fmt.Errorf("%s: ids of %v beside an input that has ids of its own: %w; they go with inputs of indices, as Matrix Market", input.DisplayName(name), side, format.ErrUnsupported)
		}
		if src.shape == nil && r.o.KeepOrder {
			return fmt.Errorf("%s: the order of its %v is not kept: they are known by their ids alone: %w", input.DisplayName(src.Name), side, format.ErrUnsupported)
		}
		if src.shape == nil {
			continue
		}
		ids, err := r.labels(ctx, src, side)
		if err == nil && ids != nil {
			err = r.number(ctx, src, ids, side)
		}
		if err != nil {
			return err
		}
	}
	r.shape = src.shape
	if r.named() && max(r.shape.Rows, r.shape.Cols) > math.MaxUint32 {
		return fmt.Errorf("ids for a %d × %d matrix: %w", r.shape.Rows, r.shape.Cols, format.ErrUnsupported)
	}
	if r.straighten != nil && r.shape != nil && !r.shape.Late && !r.named() {
		return r.straighten(*r.shape)
	}
	return nil
}

const labelBatch = 1 << 10

// number numbers the ids of a side, one for each row or column. If only the largest index tells the number of columns, there
// may be more ids than that: each id is a column.
func (r *reading) number(ctx context.Context, src *source, labels format.IDs, side format.Side) error {
	a, want, last := r.of(side), src.shape.Of(side), format.Label{}
	widens := src.shape.Late && side == format.ColSide && r.o.Features == 0
	var keys format.Keys
	var base, count int64 // number of ids of the generations before, and of all ids
	flush := func() error {
		had := keys.Len()
		if n, was := a.Number(&keys); n < had {
			return r.repeated(ctx, src, side, base+int64(was), count-int64(had-n))
		}
		keys.Reset()
		err := r.adjust()
		base = a.Closed()
		return err
	}
	err := text.ReadLabels(labels, func(n int64, l format.Label) error {
		last = l
		if n == want && !widens {
			return &format.ParseError{File: l.File, Line: l.Line, Err: fmt.Errorf("%w: more ids than the %d %v of the matrix", format.ErrCount, want, side)}
		}
		keys.Add(l.ID)
		r.Titled = r.Titled || len(l.Title) > 0
		count++
		if keys.Len() < labelBatch {
			return nil
		}
		return errors.Join(flush(), ctx.Err())
	})
	if err == nil {
		err = flush()
	}
	if err == nil && count < want {
		err = &format.ParseError{File: last.File, Line: last.Line, Err: fmt.Errorf("%w: %d ids for the %d %v of the matrix", format.ErrCount, count, want, side)}
	}
	if err == nil && widens {
		src.shape.Cols = count
	}
	return err
}

var errRepeated = errors.New("an id that another has")

// repeated returns the error for two equal ids of a side, at the indices i < j, with the lines of both.
func (t *task) repeated(ctx context.Context, src *source, side format.Side, i, j int64) error {
	labels, err := t.labels(ctx, src, side)
	if err != nil {
		return err
	}
	var first format.Label
	return text.ReadLabels(labels, func(n int64, l format.Label) error {
		switch n {
		case i:
			first = l
		case j:
			return &format.ParseError{File: l.File, Line: l.Line, Text: text.Shorten(l.ID),
				Err: fmt.Errorf("%w: that of %s:%d", errRepeated, first.File, first.Line), Want: fmt.Sprintf("different ids for the %v", side)}
		}
		return nil
	})
}

func (g *ordered) settleNamed(ctx context.Context) error {
	for i, a := range g.all() {
		side := sides[i]
		if !a.Any() {
			continue
		}
		if err := a.Settle(ctx, g.scratch, g.plan.Budget, g.held, g.meter); err != nil {
			return err
		}
		want := g.shape.Of(side)
		if need := 4 * want; need > g.plan.Space/2 {
			return &budget.Error{Need: g.o.Memory + 2*need, Budget: g.o.Memory, What: fmt.Sprintf("the places of %d %v have to be at hand", want, side)}
		}
		if a.N == want {
			continue
		}
		ranks, err := a.AllRanks()
		if err != nil {
			return err
		}
		i, j := firstRepeat(ranks, a.N)
		src, err := openSource(ctx, g.o.opener(g.plan.window), g.in.names[0], g.o, nil)
		if err != nil {
			return err
		}
		return errors.Join(g.repeated(ctx, src, side, i, j), src.Close())
	}
	return nil
}

// firstRepeat returns the first place j of ranks, all below n, whose rank is also at a place i before it.
func firstRepeat(ranks []uint32, n int64) (i, j int64) {
	seen := make([]bool, n)
	for k, rank := range ranks {
		if seen[rank] {
			return int64(slices.Index(ranks, rank)), int64(k)
		}
		seen[rank] = true
	}
	return 0, 0
}

// remapIndices returns the ranks of all indices, nil for a side without ids. The generations do not matter.
func (g *ordered) remapIndices(int, int) (_ *extsort.Remap, err error) {
	m := &extsort.Remap{Pack: g.pack, First: g.shape.First}
	for side, ranks := range map[format.Side]*[]uint32{format.RowSide: &m.Users, format.ColSide: &m.Items} {
		if a := g.of(side); a.Any() {
			if *ranks, err = a.AllRanks(); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// packer returns the layout of the keys of a matrix of the shape, as it will be stored.
func (o Options) packer(s format.Shape) (extsort.Packer, error) {
	k := extsort.NewPacker(s.Rows, s.Cols, o.Orient.Transposes(s.Rows, s.Cols))
	if k.Cols > csr.MaxCols || k.Bits > 63 {
		return k, fmt.Errorf("a %d × %d matrix is too large: %w", s.Rows, s.Cols, format.ErrUnsupported)
	}
	return k, nil
}

var sides = [...]format.Side{format.RowSide, format.ColSide}

// axes are the rows and columns of a matrix: ids, or indices of a declared shape, or both. An input of a declared shape may
// have ids on either side (Options.RowIDs and ColIDs, or a format.Identified). Index i is then the temporary id i of the axis
// of that side, and the ids are handled as those of an input of ids. The generations of such an axis form one sequence of
// indices; the generation of a run of entries does not matter.
type axes struct {
	users, items *ids.Axis     // the same axis twice for a graph
	shape        *format.Shape // declared shape, if keys are indices; else nil
}

// all returns the axes of rows and columns; for a graph, the one axis of both.
func (a *axes) all() []*ids.Axis {
	if a.users == a.items {
		return []*ids.Axis{a.users}
	}
	return []*ids.Axis{a.users, a.items}
}

func (a *axes) of(s format.Side) *ids.Axis { return [...]*ids.Axis{a.users, a.items}[s] }

// named reports whether a side of an input of indices has ids.
func (a *axes) named() bool { return a.shape != nil && (a.users.Any() || a.items.Any()) }

func (a *axes) lengths() format.Shape {
	if a.shape != nil {
		return *a.shape
	}
	return format.Shape{Rows: int64(a.users.Len()), Cols: int64(a.items.Len())}
}

func (a *axes) size() (n int64) {
	for _, one := range a.all() {
		n += one.Size()
	}
	return n
}

func (a *axes) generations() (n int) {
	for _, one := range a.all() {
		n += one.Generations()
	}
	return n
}

// larger returns the axis whose open generation takes more memory.
func (a *axes) larger() *ids.Axis {
	if a.items.Held() > a.users.Held() {
		return a.items
	}
	return a.users
}

// name returns the id of a place on a side, or its index from 1, and the key that the input has for it.
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
