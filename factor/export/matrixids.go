package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/tabular"
)

// table writes lines of row, column and value.
func (w *entries) table() (err error) {
	across, kinds, err := w.columnIDs()
	if err != nil {
		return err
	}
	along := func(n int64) (tabular.Value, error) { return tabular.Value{Int: n}, nil }
	if !w.o.Bare {
		ids, err := w.store.IDs(csr.RowAxis)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, ids.Close()) }()
		kinds[csr.RowAxis] = kindOf(ids)
		along = func(int64) (tabular.Value, error) {
			if !ids.Next() {
				return tabular.Value{}, errors.Join(ids.Err(), fmt.Errorf("ids: %w", io.ErrUnexpectedEOF))
			}
			return valueOf(ids), nil
		}
	}
	var id, other, value tabular.Value // of a row of the store, and of a column
	row, col := csr.Orient(w.store, &id, &other)
	first, second := csr.Orient(w.store, kinds[csr.RowAxis], kinds[csr.ColAxis])
	at, _ := csr.Orient(w.store, 0, 1)
	t, err := tabular.New(w.out, w.o.Format, w.o.Guarded, tabular.Column{Name: "row", Kind: first}, tabular.Column{Name: "column", Kind: second}, tabular.Column{Name: "value", Kind: tabular.Float})
	if err != nil {
		return err
	}
	err = w.each(func(n int64, cols []uint32, vals []float64) (err error) {
		if id, err = along(n); err != nil {
			return err
		}
		t.Make(at, &id)
		for i, c := range cols {
			other, value.Float = across(c), vals[i]
			if err := t.Add(row, col, &value); err != nil {
				return err
			}
		}
		return nil
	})
	return cmp.Or(err, t.Close())
}

// columnIDs reads the ids of the columns of the store. kinds are those of ids by the axis of the store.
func (w *entries) columnIDs() (id func(c uint32) tabular.Value, kinds [2]tabular.Kind, err error) {
	kinds = [2]tabular.Kind{tabular.Int, tabular.Int}
	file := w.store.Manifest().IDs.Cols
	if w.o.Bare || file == nil {
		return func(c uint32) tabular.Value { return tabular.Value{Int: int64(c)} }, kinds, nil
	}
	const each = 32 // bytes of an id beside its text
	if need := file.Size + each*file.Count; need > w.m.Memory()/2 {
		return nil, kinds, fmt.Errorf("the ids of %d columns of the store %s take about %d MiB, more than half of the memory budget: give more memory, leave the ids out, or export mtx or npz", file.Count, w.store.Path(), need>>20)
	}
	r, err := w.store.IDs(csr.ColAxis)
	if err != nil {
		return nil, kinds, err
	}
	kinds[csr.ColAxis] = kindOf(r)
	var numbers []int64
	var names []string
	for r.Next() {
		if r.Kind() == csr.IntIDs {
			numbers = append(numbers, r.Int())
		} else {
			names = append(names, r.String())
		}
	}
	id = func(c uint32) tabular.Value { return tabular.Value{Int: numbers[c]} }
	if names != nil {
		id = func(c uint32) tabular.Value { return tabular.Value{Text: names[c]} }
	}
	return id, kinds, errors.Join(r.Err(), r.Close())
}

func kindOf(r *csr.IDReader) tabular.Kind {
	if r.Kind() == csr.IntIDs {
		return tabular.Int
	}
	return tabular.Text
}

// valueOf is the current id of a reader.
func valueOf(r *csr.IDReader) tabular.Value {
	if r.Kind() == csr.IntIDs {
		return tabular.Value{Int: r.Int()}
	}
	return tabular.Value{Text: r.String()}
}
