package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/ingest/internal/titles"
)

// Titles are written beside a complete store: they are not part of the matrix, and an error in them leaves the store
// unchanged.

// TitlesError says why a store that is published lacks titles.
type TitlesError struct {
	Store string
	error
}

func (e *TitlesError) Unwrap() error { return e.error }

// attach writes the titles of the files in the options and of the input beside the store of a report.
func attach(ctx context.Context, names []string, report *Report, o request, p plan) (err error) {
	own := len(names) == 1 && names[0] != "-" && (report.Titled || report.Finished)
	if !own && o.Titles+o.RowTitles+o.ColTitles == "" {
		return nil
	}
	defer func() {
		if err != nil {
			err = &TitlesError{report.Store, fmt.Errorf("the store %s is complete (--resume leaves it as it is), but for its titles: %w", report.Store, err)}
		}
	}()
	t := &titler{ctx: ctx, o: o, open: o.opener(p.window), most: p.Space / 2}
	var known [2]titles.Source
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
	if t.store, err = csr.Open(report.Store, csr.OpenOptions{FS: o.FS, Missing: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.store.Close()) }()
	files := [...]string{format.RowSide: o.RowTitles, format.ColSide: o.ColTitles}
	if o.Titles != "" {
		side, err := t.side(o.Titles)
		if err != nil {
			return err
		}
		files[side] = o.Titles
	}
	for side, name := range files {
		if name == "" {
			continue
		}
		side := format.Side(side)
		known[side] = t.file(name)
		if o.base != nil { // an id without a new title keeps that of the store before
			had, err := titles.Of(t.store, axisOf(t.store, side))
			if err != nil {
				return err
			}
			if had != nil {
				known[side] = titles.Chain(known[side], had)
			}
		}
	}
	if o.Graph != NoGraph { // rows and columns are the same nodes
		known[format.ColSide] = known[format.RowSide]
	}
	for _, side := range sides {
		if known[side] == nil {
			continue
		}
		j := t.join(side, known[side])
		if err := t.store.WriteTitles(axisOf(t.store, side), j.Each()); err != nil {
			return err
		}
		*[...]*int64{&report.RowTitles, &report.ColTitles}[side] = j.Found
		o.Log.Debug("titles", "side", side.String(), "ids", j.IDs, "with a title", j.Found)
		if j.Repeated > 0 {
			o.Log.Warn("some ids have several titles: the first is taken", "side", side.String(), "titles left out", j.Repeated)
		}
	}
	return nil
}

type titler struct {
	ctx   context.Context
	o     request
	open  input.Opener
	store *csr.Store
	most  int64 // bytes of titles in memory, at most
}

func (t *titler) known(src *source) (known [2]titles.Source, err error) {
	reader, ok := src.reader.(format.Identified)
	for _, side := range sides {
		find := func() (format.IDs, error) { return reader.IDs(side) }
		if t.o.labels[side] != nil {
			find = func() (format.IDs, error) { return t.o.openLabels(t.ctx, t.open, side) }
		} else if !ok || t.o.file(side) != "" {
			continue
		}
		ids, err := find()
		if err != nil {
			return known, err
		}
		if ids == nil {
			continue
		}
		if first, err := ids.Next(); err == nil && len(first.Title) > 0 {
			known[side] = find
		}
		if err := ids.Close(); err != nil {
			return known, err
		}
	}
	return known, nil
}

// readable returns an error unless the files of titles can be read to their ends. It is called before the ingest begins.
func readable(ctx context.Context, o request, p plan) error {
	t := &titler{ctx: ctx, o: o, open: o.opener(p.window)}
	for _, name := range []string{o.Titles, o.RowTitles, o.ColTitles} {
		if name == "" {
			continue
		}
		r, err := t.openFile(name)
		if err == nil {
			err = text.ReadLabels(r, func(int64, format.Label) error { return ctx.Err() })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *titler) file(name string) titles.Source {
	return func() (format.IDs, error) { return t.openFile(name) }
}

func (t *titler) openFile(name string) (*titles.Reader, error) {
	f, err := t.open.Open(t.ctx, name)
	if err != nil {
		return nil, err
	}
	return titles.Open(&format.Input{Name: f.Name, Stream: f}, f.Close)
}

// axisOf returns the axis of a store on which a side of the user's matrix lies.
func axisOf(s *csr.Store, side format.Side) csr.Axis {
	rows, cols := csr.Orient(s, csr.RowAxis, csr.ColAxis)
	return [...]csr.Axis{format.RowSide: rows, format.ColSide: cols}[side]
}

// side determines whose titles a file has: by the name of its column of ids, or by the ids. If the file has titles for all ids
// of one side only, it is that side: ids of the other side may occur in it by accident, as numbers do.
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
		for _, err := range j.Each() {
			if err != nil {
				return 0, err
			}
		}
		found[side], ids[side] = j.Found, j.IDs
	}
	var whole [2]bool
	for i, n := range found {
		whole[i] = n > 0 && n == ids[i]
	}
	switch {
	case found[0] > 0 && found[1] > 0 && whole[0] == whole[1]:
		reading := func(side format.Side, flag string) format.Reading {
			return format.Reading{Text: fmt.Sprintf("titles of %v, %d of %d of which are in it", side, found[side], ids[side]), Flag: flag + " " + input.DisplayName(name)}
		}
		return 0, fmt.Errorf("%s: %w", input.DisplayName(name), &format.AmbiguityError{Readings: []format.Reading{reading(format.RowSide, "--row-titles"), reading(format.ColSide, "--col-titles")}})
	case found[0] > 0 && !whole[1]:
		return format.RowSide, nil
	case found[1] > 0:
		return format.ColSide, nil
	}
	return 0, &format.ParseError{File: input.DisplayName(name), Err: errors.New("it has no ids of the matrix"), Want: "the id in the first column, the title in the second, or names of the columns in the first line"}
}

func (t *titler) join(side format.Side, open titles.Source) *titles.Join {
	axis := axisOf(t.store, side)
	file := t.store.Manifest().IDs.Of(axis)
	return &titles.Join{
		Ctx: t.ctx, Most: t.most, Open: open, Text: file != nil && file.Kind == csr.StringIDs, Any: file != nil && file.Order != csr.Ascending,
		EachID: func(visit func(int64, string) error) error { return titles.IDsOf(t.store, axis, visit) },
	}
}
