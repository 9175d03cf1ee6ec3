package factor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/lines"
	"github.com/gdsvd/gdsvd/internal/crc"
)

// IDs say in result.json what the ids of rows and columns are. Those of a side without vectors are absent.
type IDs struct {
	Rows *SideIDs `json:"rows,omitempty"`
	Cols *SideIDs `json:"cols,omitempty"`
}

// SideIDs say what the ids of one side are: those of a range are First, First+1, …; others are in a text.
type SideIDs struct {
	Kind  string `json:"kind"` // "range", "int" or "string"
	First int64  `json:"first,omitempty"`
	Text
	Titles *Text `json:"titles,omitempty"` // what people call them, one a line
}

// Text is a file with a line for each row or column. If it is escaped, \\, \n and \r in it stand for a
// backslash, the end of a line and a carriage return.
type Text struct {
	File    string `json:"file,omitempty"`
	Escaped bool   `json:"escaped,omitempty"`
}

// Kinds of ids.
const (
	rangeIDs  = "range"
	intIDs    = "int"
	stringIDs = "string"
)

// sideName begins the names of the files of a side.
type sideName string

const (
	rowSide sideName = "rows"
	colSide sideName = "cols"
)

func (s sideName) ids() string    { return string(s) + ".ids" }
func (s sideName) titles() string { return string(s) + ".titles" }

// ofNames tells whether a file of OUT has ids or titles.
func ofNames(name string) bool {
	for _, s := range []sideName{rowSide, colSide} {
		if name == s.ids() || name == s.titles() {
			return true
		}
	}
	return false
}

// writeNames writes the ids and titles of the sides whose vectors the result keeps.
func (o *output) writeNames(ctx context.Context, t *task) (all IDs, err error) {
	rows, cols := Orient(t.store, csr.RowAxis, csr.ColAxis)
	if t.Vectors.u() {
		all.Rows, err = o.writeSide(ctx, t.store, rows, rowSide)
	}
	if t.Vectors.v() && err == nil {
		all.Cols, err = o.writeSide(ctx, t.store, cols, colSide)
	}
	if err != nil && ctx.Err() != nil {
		err = told(context.Canceled, "interrupted before the first pass; nothing is written")
	}
	return all, err
}

func (o *output) writeSide(ctx context.Context, store *csr.Store, axis csr.Axis, name sideName) (_ *SideIDs, err error) {
	side := new(SideIDs)
	if side.Kind, side.First, err = kindOf(ctx, store, axis); err != nil {
		return nil, err
	}
	if side.Kind != rangeIDs {
		if side.Text, err = o.writeLines(name.ids(), idsOf(ctx, store, axis)); err != nil {
			return nil, err
		}
	}
	titles, err := store.Titles(axis)
	if titles == nil || err != nil {
		return side, err
	}
	defer func() { err = errors.Join(err, titles.Close()) }()
	text, err := o.writeLines(name.titles(), titlesOf(ctx, titles))
	side.Titles = &text
	return side, err
}

func (o *output) writeLines(name string, all iter.Seq2[string, error]) (Text, error) {
	sum, err := lines.Write(o.fsys, o.path(name), all)
	o.files = append(o.files, File{name, sum.Size, crc.Sum(sum.CRC)})
	return Text{name, sum.Escaped}, err
}

// kindOf finds out whether ids are consecutive numbers.
func kindOf(ctx context.Context, store *csr.Store, axis csr.Axis) (kind string, first int64, err error) {
	r, err := store.IDs(axis)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Kind() != csr.IntIDs {
		return stringIDs, 0, nil
	}
	for n := int64(0); r.Next(); n++ {
		if n == 0 {
			first = r.Int()
		}
		if r.Int() != first+n {
			return intIDs, 0, nil
		}
		if err := ended(ctx, n); err != nil {
			return "", 0, err
		}
	}
	return rangeIDs, first, r.Err()
}

// ended is the error of a context, which it asks for now and then.
func ended(ctx context.Context, n int64) error {
	if n%(1<<14) == 0 {
		return ctx.Err()
	}
	return nil
}

// idsOf are the ids of a side of the stored matrix in order.
func idsOf(ctx context.Context, store *csr.Store, axis csr.Axis) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r, err := store.IDs(axis)
		if err != nil {
			yield("", err)
			return
		}
		n := int64(0)
		for ; err == nil && r.Next(); n++ {
			if err = ended(ctx, n); err == nil && !yield(r.String(), nil) {
				_ = r.Close() // it was read
				return
			}
		}
		if err = errors.Join(err, r.Err(), r.Close()); err != nil {
			yield("", err)
		}
	}
}

// titlesOf are titles in order.
func titlesOf(ctx context.Context, titles *csr.Titles) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range titles.Count() {
			title, err := titles.At(i)
			if err = cmp.Or(err, ended(ctx, i)); !yield(title, err) || err != nil {
				return
			}
		}
	}
}

// Names are the ids of the rows or columns of a result, and their titles if they have any. They are found
// by number, and numbers by id. In memory is a small part of their files. They are safe for concurrent use.
type Names struct {
	side   SideIDs
	count  int64
	path   string
	ids    *lines.File // nil: a range
	titles *lines.File // nil: there are none
}

// RowNames opens the names of the rows, which U has a row for each of.
func (r *Result) RowNames(ctx context.Context) (*Names, error) {
	return r.names(ctx, rowSide, r.IDs.Rows, r.Rows)
}

// ColNames opens the names of the columns, which V has a row for each of.
func (r *Result) ColNames(ctx context.Context) (*Names, error) {
	return r.names(ctx, colSide, r.IDs.Cols, r.Cols)
}

func (r *Result) names(ctx context.Context, name sideName, side *SideIDs, count int64) (_ *Names, err error) {
	if side == nil {
		return nil, told(nil, "%s has no ids of its %s: it was made with %v %s, or before results had ids; compute it again", r.dir, name, Option("Vectors"), r.Settings.Vectors)
	}
	n := &Names{side: *side, count: count, path: filepath.Join(r.dir, side.File)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if side.Kind != rangeIDs {
		if n.ids, err = r.text(ctx, side.Text, count); err != nil {
			return nil, err
		}
	}
	if side.Titles != nil {
		n.titles, err = r.text(ctx, *side.Titles, count)
	}
	return n, err
}

// text opens a file of lines that result.json lists.
func (r *Result) text(ctx context.Context, t Text, count int64) (*lines.File, error) {
	path := filepath.Join(r.dir, t.File)
	for _, f := range r.Files {
		if f.Name != t.File {
			continue
		}
		x, err := lines.Open(ctx, r.fs, path, lines.Sum{Size: f.Size, CRC: uint32(f.CRC), Escaped: t.Escaped}, count)
		if errors.Is(err, lines.ErrDamaged) {
			err = damagedResult(path, "%v", err)
		}
		return x, err
	}
	return nil, damagedResult(filepath.Join(r.dir, ResultFile), "files: %q is not listed", t.File)
}

// Count is the number of rows or columns.
func (n *Names) Count() int64 { return n.count }

// Ints tells whether the ids are integers, in ascending order. Others are bytes, in the order of bytes.
func (n *Names) Ints() bool { return n.side.Kind != stringIDs }

// Titled tells whether there are titles.
func (n *Names) Titled() bool { return n.titles != nil }

// ID is that of row or column i, 0 ≤ i < Count; decimal if it is an integer.
func (n *Names) ID(i int64) (string, error) {
	if n.ids != nil {
		return n.ids.At(i)
	}
	if i < 0 || i >= n.count {
		panic(fmt.Sprintf("factor: id %d of %d", i, n.count))
	}
	return strconv.FormatInt(n.side.First+i, 10), nil
}

// Title is that of row or column i, "" if it has none.
func (n *Names) Title(i int64) (string, error) {
	if n.titles == nil {
		return "", nil
	}
	return n.titles.At(i)
}

// At is the name of row or column i.
func (n *Names) At(i int64) (Name, error) {
	name := Name{Index: i}
	id, err := n.ID(i)
	if err != nil {
		return name, err
	}
	if name.ID = id; n.Ints() {
		if name.ID, err = n.number(id); err != nil {
			return name, err
		}
	}
	name.Title, err = n.Title(i)
	return name, err
}

// number is the integer in a line.
func (n *Names) number(line string) (int64, error) {
	x, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, damagedResult(n.path, "%q is no integer", line)
	}
	return x, nil
}

// Index is the number of the row or column with an id, −1 if there is none.
func (n *Names) Index(id string) (int64, error) {
	if !n.Ints() {
		i, err := n.ids.Find(func(line string) bool { return line >= id })
		return n.only(i, err, func(line string) bool { return line == id })
	}
	x, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(x, 10) != id {
		return -1, nil
	}
	if n.ids == nil {
		if x < n.side.First || uint64(x)-uint64(n.side.First) >= uint64(n.count) {
			return -1, nil
		}
		return x - n.side.First, nil
	}
	var bad error
	number := func(line string) int64 {
		y, err := n.number(line)
		bad = cmp.Or(bad, err)
		return y
	}
	i, err := n.ids.Find(func(line string) bool { return number(line) >= x })
	return n.only(i, cmp.Or(err, bad), func(line string) bool { return number(line) == x })
}

// only is i if its line is the one.
func (n *Names) only(i int64, err error, is func(string) bool) (int64, error) {
	if err != nil || i == n.count {
		return -1, err
	}
	line, err := n.ids.At(i)
	if err != nil || !is(line) {
		return -1, err
	}
	return i, nil
}

// Close closes the files.
func (n *Names) Close() error {
	var errs []error
	for _, f := range []*lines.File{n.ids, n.titles} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// names verifies the ids and titles of a result whose files are as they were written: as many as there are rows
// and columns, of their kind, and in order.
func (c *resultChecker) names(ctx context.Context) error {
	if c.stated == nil || len(c.report.Problems) > 0 {
		return nil
	}
	for _, side := range []struct {
		of   *SideIDs
		open func(context.Context) (*Names, error)
	}{{c.stated.IDs.Rows, c.stated.RowNames}, {c.stated.IDs.Cols, c.stated.ColNames}} {
		if side.of == nil {
			continue
		}
		n, err := side.open(ctx)
		if err == nil {
			err = errors.Join(n.verify(ctx), n.Close())
		}
		if err != nil {
			if err := c.problem(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify makes sure that ids are of their kind and ascend.
func (n *Names) verify(ctx context.Context) error {
	switch n.side.Kind {
	case rangeIDs:
		if last := n.side.First + n.count - 1; last < n.side.First {
			return damagedResult(n.path, "ids: %d from %d on are more than there are integers", n.count, n.side.First)
		}
		return nil
	case intIDs, stringIDs:
	default:
		return damagedResult(n.path, "ids: kind %q is not known", n.side.Kind)
	}
	before, last := "", int64(0)
	for i := range n.count {
		id, err := n.ids.At(i)
		if err = cmp.Or(err, ended(ctx, i)); err != nil {
			return err
		}
		number, later := int64(0), id > before
		if n.Ints() {
			if number, err = n.number(id); err != nil {
				return err
			}
			later = number > last
		}
		if i > 0 && !later {
			return damagedResult(n.path, "line %d: %q does not come after %q", i+1, id, before)
		}
		before, last = id, number
	}
	return nil
}
