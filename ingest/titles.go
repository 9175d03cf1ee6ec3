package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/titles"
)

// Titles are put beside a store that is complete: they are no part of the matrix, and what is
// wrong with them leaves the store as it is.

// A titleSource opens a list of ids with their titles, at its beginning.
type titleSource func() (format.IDs, error)

// attach puts the titles that the options name, and those the input has, beside the store of a report.
func attach(ctx context.Context, names []string, report *Report, o Options, p plan) (err error) {
	own := len(names) == 1 && names[0] != "-" && (report.Titled || report.Finished)
	if !own && o.Titles+o.RowTitles+o.ColTitles == "" {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the store %s is complete (--resume leaves it as it is), but for its titles: %w", report.Store, err)
		}
	}()
	t := &titler{ctx: ctx, o: o, most: p.Space / 2}
	t.open = o.opener(p.window)
	var known [2]titleSource
	if own {
		src, err := openSource(ctx, t.open, names[0], o, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, src.Close()) }()
		if known, err = t.known(src); err != nil {
			return err
		}
	}
	if t.store, err = csr.Open(report.Store, csr.OpenOptions{FS: o.FS}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.store.Close()) }()
	for side, name := range map[format.Side]string{format.RowSide: o.RowTitles, format.ColSide: o.ColTitles} {
		if name == "" {
			continue
		}
		known[side] = t.file(name)
		if o.base != nil { // beside those of before
			had, err := titlesOf(t.store, t.axis(side))
			if err != nil {
				return err
			}
			if had != nil {
				known[side] = oneAfterTheOther(known[side], had)
			}
		}
	}
	if o.Titles != "" {
		side, err := t.side(o.Titles)
		if err != nil {
			return err
		}
		known[side] = t.file(o.Titles)
	}
	for _, side := range sides {
		if known[side] == nil {
			continue
		}
		j := t.join(side, known[side])
		if err := t.store.WriteTitles(t.axis(side), j.each()); err != nil {
			return err
		}
		if side == format.RowSide {
			report.RowTitles = j.found
		} else {
			report.ColTitles = j.found
		}
		o.Log.Debug("titles", "side", side.String(), "ids", j.ids, "with a title", j.found)
		if j.repeated > 0 {
			o.Log.Warn("some ids have several titles: the first is taken", "side", side.String(), "titles left out", j.repeated)
		}
	}
	return nil
}

// A titler finds the titles of the ids of a store.
type titler struct {
	ctx   context.Context
	o     Options
	open  input.Opener
	store *csr.Store
	most  int64 // bytes of titles in memory
}

// known are the titles that an input itself has.
func (t *titler) known(src *source) (known [2]titleSource, err error) {
	reader, ok := src.reader.(format.Identified)
	for _, side := range sides {
		if !ok || t.o.file(side) != "" {
			continue
		}
		ids, err := reader.IDs(side)
		if err != nil {
			return known, err
		}
		if ids == nil {
			continue
		}
		if first, err := ids.Next(); err == nil && len(first.Title) > 0 {
			known[side] = func() (format.IDs, error) { return reader.IDs(side) }
		}
		if err := ids.Close(); err != nil {
			return known, err
		}
	}
	return known, nil
}

// readable tells whether the files of titles can be read, before anything else is done.
func readable(ctx context.Context, o Options, p plan) error {
	t := &titler{ctx: ctx, o: o}
	t.open = o.opener(p.window)
	for _, name := range []string{o.Titles, o.RowTitles, o.ColTitles} {
		if name == "" {
			continue
		}
		r, err := t.openFile(name)
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file is a source of the titles of a file.
func (t *titler) file(name string) titleSource {
	return func() (format.IDs, error) { return t.openFile(name) }
}

func (t *titler) openFile(name string) (*titles.Reader, error) {
	f, err := t.open.Open(t.ctx, name)
	if err != nil {
		return nil, err
	}
	return titles.Open(&format.Input{Name: f.Name, Stream: f}, f.Close)
}

// axis is that of the store on which a side of the user's matrix lies.
func (t *titler) axis(side format.Side) csr.Axis {
	if (side == format.RowSide) == t.store.Transposed() {
		return csr.ColAxis
	}
	return csr.RowAxis
}

// side finds out whose titles a file has: by the name of its column of ids, or by the ids.
func (t *titler) side(name string) (format.Side, error) {
	r, err := t.openFile(name)
	if err != nil {
		return 0, err
	}
	role := r.Role
	if err := r.Close(); err != nil {
		return 0, err
	}
	switch role {
	case roles.Row:
		return format.RowSide, nil
	case roles.Col:
		return format.ColSide, nil
	}
	var found, ids [2]int64
	for _, side := range sides {
		j := t.join(side, t.file(name))
		for _, err := range j.each() {
			if err != nil {
				return 0, err
			}
		}
		found[side], ids[side] = j.found, j.ids
	}
	switch {
	case found[0] > 0 && found[1] > 0:
		reading := func(side format.Side, flag string) format.Reading {
			return format.Reading{Text: fmt.Sprintf("titles of %v, %d of %d of which are in it", side, found[side], ids[side]), Flag: flag + " " + input.DisplayName(name)}
		}
		return 0, fmt.Errorf("%s: %w", input.DisplayName(name), &format.AmbiguityError{Readings: []format.Reading{reading(format.RowSide, "--row-titles"), reading(format.ColSide, "--col-titles")}})
	case found[0] > 0:
		return format.RowSide, nil
	case found[1] > 0:
		return format.ColSide, nil
	}
	return 0, &format.ParseError{File: input.DisplayName(name), Err: errors.New("none of its ids is one of the matrix"), Want: "the id in the first column, the title in the second, or names of the columns in the first line"}
}

// join is about to find the titles of the ids of a side.
func (t *titler) join(side format.Side, open titleSource) *titleJoin {
	axis, ids := t.axis(side), t.store.Manifest().IDs
	file := ids.Rows
	if axis == csr.ColAxis {
		file = ids.Cols
	}
	return &titleJoin{
		t: t, open: open, first: true, text: file != nil && file.Kind == csr.StringIDs,
		eachID: func(visit func(int64, string) error) error { return idsOfStore(t.store, axis, visit) },
	}
}

// titlesOf is the source of the titles that a store has; nil: it has none.
func titlesOf(s *csr.Store, axis csr.Axis) (titleSource, error) {
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

// storeTitles are the ids and titles of an axis of a store.
type storeTitles struct {
	ids    *csr.IDReader
	titles *csr.Titles
	n      int64
}

// Next is the next id with its title.
func (s *storeTitles) Next() (l format.Label, err error) {
	if !s.ids.Next() {
		return l, cmp.Or(s.ids.Err(), io.EOF)
	}
	title, err := s.titles.At(s.n)
	s.n++
	return format.Label{ID: []byte(s.ids.String()), Title: []byte(title)}, err
}

// Close closes both files.
func (s *storeTitles) Close() error { return errors.Join(s.ids.Close(), s.titles.Close()) }

// oneAfterTheOther are the titles of both sources; of an id that is in both, that of the first.
func oneAfterTheOther(a, b titleSource) titleSource {
	return func() (format.IDs, error) {
		first, err := a()
		return &chainedTitles{IDs: first, next: b}, err
	}
}

type chainedTitles struct {
	format.IDs
	next titleSource
}

// Next is the next of the first, then of the second.
func (c *chainedTitles) Next() (format.Label, error) {
	l, err := c.IDs.Next()
	if err != io.EOF || c.next == nil {
		return l, err
	}
	next := c.next
	c.next = nil
	if err := c.Close(); err != nil {
		return l, err
	}
	if c.IDs, err = next(); err != nil {
		return l, err
	}
	return c.Next()
}

// keepTitles has a store that is written keep the titles of the one appended to. They are walked
// when it is sealed; closing is for afterwards.
func (g *ingestion) keepTitles(ctx context.Context, w *csr.Writer) (closing func() error, err error) {
	closing = func() error { return nil }
	if g.o.base == nil {
		return closing, nil
	}
	old, err := csr.Open(g.o.base.path, csr.OpenOptions{FS: g.o.FS})
	if err != nil {
		return closing, err
	}
	before, now := &titler{store: old}, csr.RowAxis
	t := &titler{ctx: ctx, o: g.o, most: g.plan.Space / 8}
	for i, a := range g.reading.axes() {
		open, err := titlesOf(old, before.axis(sides[i]))
		if err != nil {
			return old.Close, err
		}
		if open == nil {
			continue
		}
		if now = csr.RowAxis; (sides[i] == format.RowSide) == g.pack.Transposed {
			now = csr.ColAxis
		}
		j := &titleJoin{t: t, open: open, first: true, text: a.Text, eachID: func(visit func(int64, string) error) error {
			return a.Each(g.scratch, func(id *ids.ID) error {
				if a.Text {
					return visit(0, string(id.Text))
				}
				return visit(id.Int, "")
			})
		}}
		w.SetTitles(now, j.each())
	}
	return old.Close, nil
}
