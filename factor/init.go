package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/npy"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
)

// startVectors reads up to columns of the vectors of a result, of the side that
// the solver iterates on, as start vectors for a store. Where the ids of the
// store are not those of the store the result is of, every entry finds its
// place by its id, and ids without an entry get zeros.
func (t *task) startVectors(ctx context.Context, columns int, space *spill.Dir) (_ *mat.Dense, err error) {
	about := func(err error) error {
		if err == nil || errors.Is(err, context.Canceled) {
			return err
		}
		return told(err, "%v %s: %v", Option("Init"), t.Init, err)
	}
	from, err := OpenFS(t.FS, t.Init)
	if err != nil {
		return nil, about(err)
	}
	_, name := Orient(t.store, leftFile, rightFile)
	v, err := npy.Open(t.FS, filepath.Join(t.Init, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, told(nil, "%v %s: there is no %s, whose vectors this store needs: the result was made with %v %s or interrupted",
			Option("Init"), t.Init, name, Option("Vectors"), from.Settings.Vectors)
	}
	if err != nil {
		return nil, told(err, "%v: %v", Option("Init"), err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()

	n := t.store.Cols()
	place, err := t.places(from, v.Rows)
	if err != nil {
		return nil, about(err)
	}
	defer func() { err = errors.Join(err, place.close()) }()
	k := int(min(v.Cols, int64(columns)))
	var data []float64
	if space != nil {
		if data, err = space.Make(int(n) * k); err != nil {
			return nil, told(err, "%v: %v", Option("Init"), err)
		}
	}
	m := mat.NewDense(int(n), k, data)
	const window = 1 << 20 // numbers of a file that are in memory at a time
	passed := 0
	err = v.Each(ctx, k, func(i int64, row []float64) {
		at := int(place.of(i))
		if at < 0 {
			return
		}
		m.SetRow(at, row)
		if space != nil && (at-passed)*k >= window {
			space.Evict(data[passed*k : at*k])
			passed = at
		}
	})
	if space != nil {
		space.Evict(data[passed*k:])
	}
	if err = errors.Join(err, place.err()); err != nil {
		return nil, about(err)
	}
	if was, is := from.pipeline(), t.View.String(); was != is {
		t.Log.Warn("the start vectors are of another view", "view", was, "of this run", is)
	}
	t.Log.Info("start vectors", "result", t.Init, "vectors", m.RawMatrix().Cols, "entries", place.found, "of", n)
	return m, nil
}

// places finds the columns of a store that rows of a result belong to.
type places struct {
	stores   *csr.Store    // the one opened for its ids, nil if none was
	old, now *csr.IDReader // nil: entries are taken to be in order
	at       int64         // place of now
	live     bool          // now has an id
	found    int64
}

// places compares ids if the store of the result is still there; otherwise the
// entries are taken to be in order, and at the beginning.
func (t *task) places(from *Result, rows int64) (*places, error) {
	store := t.store
	if from.Store.Fingerprint == store.Fingerprint() {
		return &places{}, checkRows(rows, store.Cols())
	}
	old, err := t.storeOf(from)
	if old == nil || err != nil {
		t.Log.Warn("the store of the start vectors is gone; they are taken to be in the order of this one",
			"store", from.Store.Path)
		return &places{}, errors.Join(err, checkRows(rows, store.Cols()))
	}
	p := &places{stores: old, at: -1}
	// The columns of this store are a side of the user's matrix, and that a side of the old store.
	userRows, userCols := Orient(old, csr.RowAxis, csr.ColAxis)
	_, was := Orient(store, userRows, userCols)
	if p.old, err = old.IDs(was); err == nil {
		p.now, err = store.IDs(csr.ColAxis)
	}
	switch {
	case err != nil:
	case p.old.Count() != rows:
		err = fmt.Errorf("its vectors have %d entries, its store %s has %d ids", rows, from.Store.Path, p.old.Count())
	case p.old.Kind() != p.now.Kind():
		err = fmt.Errorf("the ids of its store are of kind %v, those of this one of kind %v", p.old.Kind(), p.now.Kind())
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.step()
	return p, nil
}

// storeOf opens the store of a result; nil if it is not there any more or cannot
// be read: its ids are a help, no more.
func (t *task) storeOf(r *Result) (*csr.Store, error) {
	s, err := csr.Open(r.Store.Path, csr.OpenOptions{FS: t.FS})
	if err != nil {
		return nil, nil
	}
	if s.Fingerprint() != r.Store.Fingerprint {
		return nil, s.Close()
	}
	return s, nil
}

func checkRows(rows, columns int64) error {
	if rows > columns {
		return fmt.Errorf("its vectors have %d entries, for %d in this store", rows, columns)
	}
	return nil
}

func (p *places) step() {
	p.live = p.now.Next()
	p.at++
}

// of returns the place of row i, −1 if it has none. Rows are asked for in
// order: both lists of ids ascend.
func (p *places) of(i int64) int64 {
	if p.old == nil {
		p.found++
		return i
	}
	if !p.old.Next() {
		return -1
	}
	for p.live && p.now.Compare(p.old) < 0 {
		p.step()
	}
	if !p.live || p.now.Compare(p.old) != 0 {
		return -1
	}
	p.found++
	return p.at
}

func (p *places) err() error {
	if p.old == nil {
		return nil
	}
	return errors.Join(p.old.Err(), p.now.Err())
}

func (p *places) close() (err error) {
	for _, r := range []*csr.IDReader{p.old, p.now} {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	if p.stores != nil {
		err = errors.Join(err, p.stores.Close())
	}
	return err
}
