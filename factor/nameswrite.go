package factor

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/lines"
	"github.com/gdsvd/gdsvd/internal/crc"
)

// writeNames writes the ids and titles of the sides whose vectors the result keeps.
func (o *output) writeNames(ctx context.Context, t *task) (all IDs, err error) {
	write := func(columns bool) (side *SideIDs) {
		var files []File
		side, files, err = WriteNames(ctx, o.fsys, o.stage.Dir(), t.store, columns)
		o.files = append(o.files, files...)
		return side
	}
	if t.Vectors.u() {
		all.Rows = write(false)
	}
	if t.Vectors.v() && err == nil {
		all.Cols = write(true)
	}
	if err != nil && ctx.Err() != nil {
		err = says(context.Canceled, "interrupted before the first pass; nothing is written")
	}
	return all, err
}

// WriteNames writes the ids and titles of the rows of a store, or of its columns, into a directory. It returns the
// description of the ids and the files that it wrote.
func WriteNames(ctx context.Context, fsys vfs.FS, dir string, store *csr.Store, columns bool) (side *SideIDs, files []File, err error) {
	axis, of := csr.Orient(store, csr.RowAxis, csr.ColAxis)
	name := layout.Rows
	if columns {
		axis, name = of, layout.Cols
	}
	write := func(name string, all iter.Seq2[string, error]) (Text, error) {
		sum, err := lines.Write(fsys, filepath.Join(dir, name), all)
		files = append(files, File{Name: name, Size: sum.Size, CRC: crc.Sum(sum.CRC)})
		return Text{name, sum.Escaped}, err
	}
	side = new(SideIDs)
	if side.Kind, side.First, side.Order, err = kindOf(ctx, store, axis); err != nil {
		return nil, nil, err
	}
	if side.Kind != rangeIDs {
		if side.Text, err = write(name.IDs(), IDsOf(ctx, store, axis).IDs); err != nil {
			return nil, nil, err
		}
	}
	titles, err := store.Titles(axis)
	if titles == nil || err != nil {
		return side, files, err
	}
	defer func() { err = errors.Join(err, titles.Close()) }()
	text, err := write(name.Titles(), inOrder(ctx, titles.Count(), titles.At))
	side.Titles = &text
	return side, files, err
}

// Copy writes the ids and titles of a result into a directory, in the form that WriteNames writes.
func (n *Names) Copy(ctx context.Context, fsys vfs.FS, dir string) (side *SideIDs, files []File, err error) {
	for _, c := range []struct {
		from *lines.File
		name string
		at   func(int64) (string, error)
	}{{n.ids, n.side.File, n.ID}, {n.titles, cmp.Or(n.side.Titles, new(Text)).File, n.Title}} {
		if c.from == nil {
			continue
		}
		sum, err := lines.Write(fsys, filepath.Join(dir, c.name), inOrder(ctx, n.count, c.at))
		if err != nil {
			return nil, nil, err
		}
		files = append(files, File{Name: c.name, Size: sum.Size, CRC: crc.Sum(sum.CRC)})
	}
	return new(n.side), files, nil
}

// kindOf returns the kind of ids, rangeIDs if they are consecutive, the first of a range, and their order.
func kindOf(ctx context.Context, store *csr.Store, axis csr.Axis) (kind string, first int64, order csr.IDOrder, err error) {
	r, err := store.IDs(axis)
	if err != nil {
		return "", 0, order, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !r.Ordered() {
		order = csr.Given
	}
	if r.Kind() != csr.IntIDs {
		return stringIDs, 0, order, nil
	}
	for n := int64(0); r.Next(); n++ {
		if n == 0 {
			first = r.Int()
		}
		if r.Int() != first+n {
			return intIDs, 0, order, nil
		}
		if err := ended(ctx, n); err != nil {
			return "", 0, order, err
		}
	}
	return rangeIDs, first, order, r.Err()
}

// ended returns the error of ctx if n is a multiple of 2¹⁴, otherwise nil.
func ended(ctx context.Context, n int64) error {
	if n%(1<<14) == 0 {
		return ctx.Err()
	}
	return nil
}

// Sequence holds ids in their order.
type Sequence struct {
	Kind    csr.IDKind
	Ordered bool // whether the ids ascend
	IDs     iter.Seq2[string, error]
}

// All returns all ids.
func (n *Names) All(ctx context.Context) Sequence {
	kind := csr.StringIDs
	if n.Ints() {
		kind = csr.IntIDs
	}
	return Sequence{kind, n.Ordered(), inOrder(ctx, n.count, func(i int64) (string, error) {
		id, err := n.ID(i)
		if err == nil && n.Ints() {
			_, err = n.number(id)
		}
		return id, err
	})}
}

// IDsOf returns the ids of a side of the stored matrix.
func IDsOf(ctx context.Context, store *csr.Store, axis csr.Axis) Sequence {
	of := cmp.Or(store.Manifest().IDs.Of(axis), &csr.IDFile{Kind: csr.IntIDs})
	return Sequence{of.Kind, of.Order == csr.Ascending, func(yield func(string, error) bool) {
		r, err := store.IDs(axis)
		if err != nil {
			yield("", err)
			return
		}
		n := int64(0)
		for ; err == nil && r.Next(); n++ {
			if err = ended(ctx, n); err == nil && !yield(r.String(), nil) {
				_ = r.Close() // the file was only read
				return
			}
		}
		if err = errors.Join(err, r.Err(), r.Close()); err != nil {
			yield("", err)
		}
	}}
}

// inOrder returns the sequence of the texts at(0) to at(n−1).
func inOrder(ctx context.Context, n int64, at func(i int64) (string, error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range n {
			text, err := at(i)
			if err = cmp.Or(err, ended(ctx, i)); !yield(text, err) || err != nil {
				return
			}
		}
	}
}
