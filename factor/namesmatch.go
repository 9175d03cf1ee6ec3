package factor

import (
	"cmp"
	"context"

	"github.com/gdsvd/gdsvd/csr"
)

// Sequence is ids in their order: a *csr.IDReader, or those of Names.
type Sequence interface {
	Ordered() bool // they ascend
	Next() bool
	Kind() csr.IDKind
	Int() int64 // of kind csr.IntIDs
	String() string
	Err() error
}

// All are all ids.
func (n *Names) All() Sequence { return &walk{n: n, at: -1} }

type walk struct {
	n   *Names
	at  int64
	id  string
	int int64
	err error
}

func (w *walk) Next() bool {
	w.at++
	if w.err != nil || w.at >= w.n.count {
		return false
	}
	w.id, w.err = w.n.ID(w.at)
	if w.err == nil && w.n.Ints() {
		w.int, w.err = w.n.number(w.id)
	}
	return w.err == nil
}

func (w *walk) Kind() csr.IDKind {
	if w.n.Ints() {
		return csr.IntIDs
	}
	return csr.StringIDs
}

func (w *walk) Ordered() bool  { return w.n.Ordered() }
func (w *walk) Int() int64     { return w.int }
func (w *walk) String() string { return w.id }
func (w *walk) Err() error     { return w.err }

// Match calls found with the number of each id of a sequence, in order, and that of the row or column of the result with the same
// id, −1 if there is none. An error of found ends it.
func (n *Names) Match(ctx context.Context, ids Sequence, found func(i, at int64) error) error {
	ordered := n.ids != nil && (ids.Kind() == csr.IntIDs) == n.Ints() && n.Ordered() && ids.Ordered() // one walk is enough
	at, here := int64(-1), ""
	next := func() (err error) {
		at++
		if at < n.count {
			here, err = line(n.ids, at)
		}
		return err
	}
	if ordered {
		if err := next(); err != nil {
			return err
		}
	}
	for i := int64(0); ids.Next(); i++ {
		if err := ended(ctx, i); err != nil {
			return err
		}
		id := ids.String()
		if !ordered {
			at, err := n.Index(id)
			if err != nil {
				return err
			}
			if err := found(i, at); err != nil {
				return err
			}
			continue
		}
		for at < n.count {
			before := here < id
			if n.Ints() {
				x, err := n.number(here)
				if err != nil {
					return err
				}
				before = x < ids.Int()
			}
			if !before {
				break
			}
			if err := cmp.Or(next(), ended(ctx, at)); err != nil {
				return err
			}
		}
		same := int64(-1)
		if at < n.count && here == id {
			same = at
		}
		if err := found(i, same); err != nil {
			return err
		}
	}
	return ids.Err()
}
