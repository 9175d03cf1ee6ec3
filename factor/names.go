package factor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/lines"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/escape"
)

// IDs describes the ids of rows and columns in result.json. A side without vectors is absent.
type IDs struct {
	Rows *SideIDs `json:"rows,omitempty"` // ids of the rows
	Cols *SideIDs `json:"cols,omitempty"` // ids of the columns
}

// SideIDs describes the ids of one side. The ids of a range are First, First+1, …; other ids are in a file.
type SideIDs struct {
	Kind  string      `json:"kind"`            // "range" (consecutive integers), "int" or "string"
	Order csr.IDOrder `json:"order,omitempty"` // "given" if the ids are in the order of an input read with `--keep-order`; absent if they are ascending
	First int64       `json:"first,omitempty"` // the first id of a range
	Text
	Titles *Text `json:"titles,omitempty"` // file with the titles, one per line
}

// Text is a file with a line for each row or column. If it is escaped, \\, \n and \r in it stand for a
// backslash, the end of a line and a carriage return.
type Text struct {
	File    string `json:"file,omitempty"`    // name of the file
	Escaped bool   `json:"escaped,omitempty"` // whether line breaks and backslashes in the file are escaped
}

const (
	rangeIDs  = "range"
	intIDs    = "int"
	stringIDs = "string"
)

// Name identifies a row or column.
type Name struct {
	Index int64  `json:"index"`           // index of the row or column, from 0
	ID    any    `json:"id"`              // id of the row or column: an integer or a string
	Title string `json:"title,omitempty"` // title, if there is one
}

// String returns the id, and the title in brackets, on one line of visible characters: characters that move a cursor or
// change the direction of a text are escaped.
func (n Name) String() string {
	text := fmt.Sprint(n.ID)
	if n.Title != "" {
		text = fmt.Sprintf("%s (%s)", text, n.Title)
	}
	return escape.Line(text)
}

// Names holds the ids of the rows or columns of a result, and their titles if they have any. It finds ids by index and
// indices by id. Only a small part of the files is in memory. Names is safe for concurrent use.
type Names struct {
	side   SideIDs
	count  int64
	path   string
	ids    *lines.File // nil: a range
	titles *lines.File // nil: no titles

	once   sync.Once
	seed   maphash.Seed
	low    int64   // mask of the bits of an index
	hashes []int64 // for ids in any order: ascending; the index in the bits of low, the hash of the id in the others
	bad    error   // error of filling hashes
}

// RowNames opens the names of the rows, one for each row of U.
func (r *Result) RowNames(ctx context.Context) (*Names, error) {
	return r.names(ctx, layout.Rows, r.IDs.Rows, r.Rows)
}

// ColNames opens the names of the columns, one for each row of V.
func (r *Result) ColNames(ctx context.Context) (*Names, error) {
	return r.names(ctx, layout.Cols, r.IDs.Cols, r.Cols)
}

func (r *Result) names(ctx context.Context, name layout.Side, side *SideIDs, count int64) (*Names, error) {
	if side == nil {
		if r.Lambda != nil {
			return nil, says(nil, "%s has no ids of its %s, nor their vectors: eigenvectors are of its cols, with %v %s; rows are those of singular triplets", r.dir, name, Option("Vectors"), Right)
		}
		return nil, says(nil, "%s has no ids of its %s, nor their vectors: it was made with %v %s; compute it again with %v %s", r.dir, name, Option("Vectors"), r.Settings.Vectors, Option("Vectors"), Both)
	}
	n, err := OpenNames(ctx, r.fs, r.dir, side, r.Files, count)
	return n, r.OrReplaced(err)
}

// OpenNames opens the names of count rows or columns that WriteNames has written.
func OpenNames(ctx context.Context, fsys vfs.FS, dir string, side *SideIDs, files []File, count int64) (_ *Names, err error) {
	n := &Names{side: *side, count: count, path: filepath.Join(dir, side.File)}
	defer durable.Undo(&err, n.Close)
	if side.Kind != rangeIDs {
		if n.ids, err = text(ctx, fsys, dir, files, side.Text, count); err != nil {
			return nil, err
		}
	}
	if side.Titles != nil {
		n.titles, err = text(ctx, fsys, dir, files, *side.Titles, count)
	}
	return n, err
}

// text opens a file of ids or titles that is listed in a result.json or the like.
func text(ctx context.Context, fsys vfs.FS, dir string, files []File, t Text, count int64) (*lines.File, error) {
	path := filepath.Join(dir, t.File)
	for _, f := range files {
		if f.Name != t.File || !layout.OfNames(t.File) {
			continue
		}
		x, err := lines.Open(ctx, fsys, path, lines.Sum{Size: f.Size, CRC: uint32(f.CRC), Escaped: t.Escaped}, count)
		return x, ofLines(path, err)
	}
	return nil, damagedResult(dir, "files: %.60q is not listed", t.File)
}

// ofLines turns an error of package lines into an error about a damaged result.
func ofLines(path string, err error) error {
	if errors.Is(err, lines.ErrDamaged) {
		return damagedResult(path, "%v", err)
	}
	return err
}

func line(x *lines.File, i int64) (string, error) {
	text, err := x.At(i)
	return text, ofLines(x.Name(), err)
}

func (n *Names) Count() int64 { return n.count }

// Ints reports whether the ids are integers. Other ids are bytes.
func (n *Names) Ints() bool { return n.side.Kind != stringIDs }

// Ordered tells whether the ids ascend: integers by value, others by bytes.
func (n *Names) Ordered() bool { return n.side.Order == csr.Ascending || n.ids == nil }
func (n *Names) Titled() bool  { return n.titles != nil }

// ID returns the id of row or column i, 0 ≤ i < Count; an integer in decimal.
func (n *Names) ID(i int64) (string, error) {
	if n.ids != nil {
		return line(n.ids, i)
	}
	if i < 0 || i >= n.count {
		panic(fmt.Sprintf("factor: id %d of %d", i, n.count))
	}
	return strconv.FormatInt(n.side.First+i, 10), nil
}

// Title returns the title of row or column i, "" if it has none.
func (n *Names) Title(i int64) (string, error) {
	if n.titles == nil {
		return "", nil
	}
	return line(n.titles, i)
}

// At returns the name of row or column i.
func (n *Names) At(i int64) (Name, error) {
	name := Name{Index: i}
	id, err := n.ID(i)
	if err != nil {
		return name, err
	}
	name.ID = id
	if n.Ints() {
		if name.ID, err = n.number(id); err != nil {
			return name, err
		}
	}
	name.Title, err = n.Title(i)
	return name, err
}

func (n *Names) number(line string) (int64, error) {
	x, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, damagedResult(n.path, "%.60q is no integer", line)
	}
	return x, nil
}

// Index returns the index of the row or column with an id, −1 if no id matches.
func (n *Names) Index(id string) (int64, error) {
	if !n.Ordered() {
		return n.lookUp(id)
	}
	if !n.Ints() {
		i, err := n.ids.Find(func(line string) bool { return line >= id })
		return n.only(i, ofLines(n.path, err), func(line string) bool { return line == id })
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
	return n.only(i, cmp.Or(ofLines(n.path, err), bad), func(line string) bool { return number(line) == x })
}

// lookUp is Index for ids in any order. The first call reads all ids, and keeps 8 bytes for each.
func (n *Names) lookUp(id string) (int64, error) {
	n.once.Do(func() {
		n.seed = maphash.MakeSeed()
		n.low = 1<<bits.Len64(uint64(n.count)) - 1
		n.hashes = make([]int64, n.count)
		for i := range n.hashes {
			line, err := line(n.ids, int64(i))
			if err != nil {
				n.bad = err
				return
			}
			n.hashes[i] = n.hash(line) | int64(i)
		}
		slices.Sort(n.hashes)
	})
	if n.bad != nil {
		return -1, n.bad
	}
	hash := n.hash(id)
	at, _ := slices.BinarySearch(n.hashes, hash)
	for ; at < len(n.hashes) && n.hashes[at]&^n.low == hash; at++ {
		i := n.hashes[at] & n.low
		if line, err := line(n.ids, i); err != nil || line == id {
			return i, err
		}
	}
	return -1, nil
}

func (n *Names) hash(id string) int64 { return int64(maphash.String(n.seed, id)) &^ n.low }

func (n *Names) only(i int64, err error, is func(string) bool) (int64, error) {
	if err != nil || i == n.count {
		return -1, err
	}
	line, err := line(n.ids, i)
	if err != nil || !is(line) {
		return -1, err
	}
	return i, nil
}

// ByTitle returns the index of the row or column with a title, or else of the only one whose title begins with the text,
// ignoring case; −1 if no title matches. If several match, the error lists them; what is "row" or "column".
func ByTitle(count int64, titleOf func(int64) (string, error), nameOf func(int64) (Name, error), what, text string) (int64, error) {
	if text == "" {
		return -1, nil
	}
	const listed = 5
	var exact, begin []int64
	folded := strings.ToLower(text)
	for i := range count {
		title, err := titleOf(i)
		switch {
		case err != nil:
			return -1, err
		case title == text:
			exact = append(exact, i)
		case strings.HasPrefix(strings.ToLower(title), folded):
			begin = append(begin, i)
		}
	}
	if len(exact) > 0 {
		begin = exact
	}
	switch len(begin) {
	case 0:
		return -1, nil
	case 1:
		return begin[0], nil
	}
	var all []string
	for _, i := range begin[:min(listed, len(begin))] {
		name, err := nameOf(i)
		if err != nil {
			return -1, err
		}
		all = append(all, fmt.Sprint(name))
	}
	more := ""
	if len(begin) > listed {
		more = fmt.Sprintf(" and %d more", len(begin)-listed)
	}
	return -1, fmt.Errorf("%s %q is the title of several: %s%s; give the id of one", what, text, strings.Join(all, ", "), more)
}

// Verify checks that the ids are of their kind, and that they ascend unless their order is csr.Given.
func (n *Names) Verify(ctx context.Context) error {
	switch n.side.Kind {
	case rangeIDs:
		if last := n.side.First + n.count - 1; last < n.side.First {
			return damagedResult(n.path, "ids: %d from %d on are more than there are integers", n.count, n.side.First)
		}
		return nil
	case intIDs, stringIDs:
	default:
		return damagedResult(n.path, "ids: kind %.60q is not known", n.side.Kind)
	}
	if n.side.Order != csr.Ascending && n.side.Order != csr.Given {
		return damagedResult(n.path, "ids: order %.60q is not known", n.side.Order)
	}
	before, last := "", int64(0)
	for i := range n.count {
		id, err := line(n.ids, i)
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
		if i > 0 && !later && n.Ordered() {
			return damagedResult(n.path, "line %d: %.60q does not come after %.60q", i+1, id, before)
		}
		before, last = id, number
	}
	return nil
}

func (n *Names) Close() (err error) {
	for _, f := range []*lines.File{n.ids, n.titles} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
