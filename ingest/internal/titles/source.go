package titles

import (
	"cmp"
	"errors"
	"io"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
)

// A Source opens a list of ids with their titles, at its beginning.
type Source func() (format.IDs, error)

// Of is the source of the titles that a store has; nil: it has none.
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

// Chain is the titles of both sources; of an id that is in both, that of the first.
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
