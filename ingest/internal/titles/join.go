package titles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// A Join walks the ids of an axis and finds their titles in a list in any order. It reads the list as often as needed to keep
// the titles within Most bytes: each time it keeps the titles of the smallest ids that are still to come.
type Join struct {
	Ctx    context.Context
	Most   int64                                                // largest number of bytes of titles in memory
	EachID func(visit func(num int64, text string) error) error // visits the ids of the axis
	Open   Source
	Text   bool // ids are texts
	Any    bool // ids of the axis are in any order: all titles have to fit in memory

	IDs      int64 // number of ids of the axis
	Found    int64
	Repeated int64 // number of further titles of an id, which are left out

	begun bool
	whole bool // no titles are left for a further load
	above titled
	kept  []titled
	size  int64
}

type titled struct {
	num   int64
	id    string
	title string
	long  *format.ParseError // error about a title that a store cannot hold; nil: it can
}

// titledBytes is the memory in bytes of a titled beside its texts.
const titledBytes = 96

func (a *titled) compare(b *titled) int {
	return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.id, b.id))
}

// Each returns the title of each id of the axis, "" for an id without a title.
func (j *Join) Each() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		stopped := false
		err := j.EachID(func(num int64, text string) error {
			j.IDs++
			if j.IDs%(1<<14) == 0 && j.Ctx.Err() != nil {
				return j.Ctx.Err()
			}
			title, err := j.find(&titled{num: num, id: text})
			if err == nil && !yield(title, nil) {
				stopped, err = true, io.EOF // io.EOF ends EachID
			}
			return err
		})
		if err != nil && !stopped {
			yield("", err)
		}
	}
}

func IDsOf(s *csr.Store, axis csr.Axis, visit func(num int64, text string) error) (err error) {
	r, err := s.IDs(axis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		num, text := r.Int(), ""
		if r.Kind() == csr.StringIDs {
			num, text = 0, r.String()
		}
		if err := visit(num, text); err != nil {
			return err
		}
	}
	return r.Err()
}

// find returns the title of an id. Ids must ascend unless Any is set.
func (j *Join) find(id *titled) (string, error) {
	for {
		for !j.Any && len(j.kept) > 0 && j.kept[0].compare(id) < 0 {
			j.kept = j.kept[1:]
		}
		if len(j.kept) > 0 || j.whole {
			break
		}
		if err := j.load(); err != nil {
			return "", err
		}
	}
	at, found := 0, len(j.kept) > 0 && j.kept[0].compare(id) == 0
	if j.Any {
		at, found = slices.BinarySearchFunc(j.kept, id, func(a titled, id *titled) int { return a.compare(id) })
	}
	if !found {
		return "", nil
	}
	if err := j.kept[at].long; err != nil {
		return "", err
	}
	if j.kept[at].title != "" {
		j.Found++
	}
	return j.kept[at].title, nil
}

// load keeps the titles of the smallest ids above those of the load before.
func (j *Join) load() (err error) {
	list, err := j.Open()
	if err != nil {
		return err
	}
	j.kept, j.size, j.whole = nil, 0, true
	limit := (*titled)(nil) // titles of ids above it are left for the next load
	err = text.ReadLabels(list, func(n int64, l format.Label) error {
		if n%(1<<14) == 1<<14-1 && j.Ctx.Err() != nil {
			return j.Ctx.Err()
		}
		x, ok := titled{title: string(l.Title)}, true
		if j.Text {
			x.id = string(l.ID)
		} else {
			x.num, ok = format.ParseID(l.ID)
		}
		if !ok || j.begun && x.compare(&j.above) <= 0 {
			return nil
		}
		if limit != nil && x.compare(limit) > 0 {
			j.whole = false
			return nil
		}
		if len(x.title) >= csr.MaxTitle {
			x.long = &format.ParseError{File: l.File, Line: l.Line, Text: text.Shorten(l.Title), Err: fmt.Errorf("a title of %d bytes", len(x.title)), Want: fmt.Sprintf("%d at most", csr.MaxTitle-1)}
		}
		j.kept = append(j.kept, x)
		j.size += int64(len(x.id)+len(x.title)) + titledBytes
		if j.size > j.Most {
			if j.Any {
				return fmt.Errorf("titles of ids that keep their order have to be in memory, of which %d bytes are left for them: %w", j.Most, format.ErrUnsupported)
			}
			limit = j.shorten()
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.settle()
	j.begun = true
	if limit != nil {
		j.above = *limit
	}
	return nil
}

// shorten keeps the half with the smallest ids, and returns the last of these.
func (j *Join) shorten() *titled {
	j.settle()
	n := cmp.Or(len(j.kept)/2, len(j.kept))
	limit := j.kept[n-1]
	if n < len(j.kept) {
		j.whole = false
	}
	j.kept = slices.Clone(j.kept[:n])
	j.size = 0
	for i := range j.kept {
		j.size += int64(len(j.kept[i].id)+len(j.kept[i].title)) + titledBytes
	}
	return &limit
}

// settle sorts kept; of several titles of an id it keeps the first.
func (j *Join) settle() {
	slices.SortStableFunc(j.kept, func(a, b titled) int { return a.compare(&b) })
	j.kept = slices.CompactFunc(j.kept, func(a, b titled) bool {
		same := a.compare(&b) == 0
		if same && a.title != b.title {
			j.Repeated++
		}
		return same
	})
}

// A Source opens a list of ids with their titles, at its beginning.
type Source func() (format.IDs, error)

// Of returns the source of the titles of a store; nil: it has no titles.
func Of(s *csr.Store, axis csr.Axis) (Source, error) {
	titles, err := s.Titles(axis)
	if titles == nil || err != nil {
		return nil, err
	}
	return func() (format.IDs, error) {
		titles, err := s.Titles(axis)
		if err != nil {
			return nil, err
		}
		ids, err := s.IDs(axis)
		if err != nil {
			return nil, errors.Join(err, titles.Close())
		}
		return &storeTitles{ids: ids, titles: titles}, nil
	}, titles.Close()
}

type storeTitles struct {
	ids    *csr.IDReader
	titles *csr.Titles
	n      int64
}

func (s *storeTitles) Next() (l format.Label, err error) {
	for s.ids.Next() { // ids without a title are left out: an empty title would be another title of the id
		title, err := s.titles.At(s.n)
		s.n++
		if title != "" || err != nil {
			return format.Label{ID: []byte(s.ids.String()), Title: []byte(title)}, err
		}
	}
	return l, cmp.Or(s.ids.Err(), io.EOF)
}

func (s *storeTitles) Close() error { return errors.Join(s.ids.Close(), s.titles.Close()) }

// Chain returns the source of the titles of a, followed by those of b: of an id in both, the title of a counts.
func Chain(a, b Source) Source {
	return func() (format.IDs, error) {
		first, err := a()
		return &chainedTitles{IDs: first, next: b}, err
	}
}

type chainedTitles struct {
	format.IDs
	next Source
}

func (c *chainedTitles) Next() (format.Label, error) {
	l, err := c.IDs.Next()
	if err != io.EOF || c.next == nil {
		return l, err
	}
	next, err := c.next()
	if err != nil {
		return l, err
	}
	c.next = nil
	if err := c.Close(); err != nil {
		return l, errors.Join(err, next.Close())
	}
	c.IDs = next
	return c.Next()
}
