package ingest

import (
	"context"
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/csr"
)

// A combiner walks sorted entries and makes one of those at one place.
type combiner struct {
	policy     Duplicates
	collision  func(key uint64) error // the error for several entries under DuplicatesError
	overflow   func(key uint64) error // the error for a sum that is not finite
	duplicates int64                  // entries merged away
}

// ticks is how many entries pass between two looks at the context.
const ticks = 1 << 14

// each calls emit for every place in ascending order. tick receives the number of entries walked since its last call.
func (c *combiner) each(ctx context.Context, m *merger, tick func(int), emit func(key uint64, v float64) error) error {
	c.duplicates = 0
	var places, told int64
	e, ok, err := m.next()
	for ; err == nil && ok; places++ {
		if places%ticks == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			tick(int(places + c.duplicates - told))
			told = places + c.duplicates
		}
		first := e
		if e, ok, err = m.next(); err != nil {
			return err
		}
		v := first.val
		if ok && e.key == first.key {
			if v, e, ok, err = c.combine(first, e, m); err != nil {
				return err
			}
		}
		if err := emit(first.key, v); err != nil {
			return err
		}
	}
	tick(int(places + c.duplicates - told))
	return err
}

// combine takes all entries at the place of a and b, its first two, and
// returns their value and the entry behind them.
func (c *combiner) combine(a, b entry, m *merger) (v float64, e entry, ok bool, err error) {
	if c.policy == DuplicatesError {
		return 0, e, false, c.collision(a.key)
	}
	// Neumaier's sum of the values in ascending order (the order of Sum and Mean).
	sum, comp, count, last := a.val, 0.0, 1.0, a.val
	for e, ok = b, true; ok && e.key == a.key; {
		c.duplicates++
		t := sum + e.val
		if math.Abs(sum) >= math.Abs(e.val) {
			comp += (sum - t) + e.val
		} else {
			comp += (e.val - t) + sum
		}
		sum, last = t, e.val
		count++
		if e, ok, err = m.next(); err != nil {
			return 0, e, false, err
		}
	}
	switch c.policy {
	case First:
		return a.val, e, ok, nil
	case Last, Max: // Max has its entries in ascending order
		return last, e, ok, nil
	}
	if v = sum + comp; c.policy == Mean {
		v /= count
	}
	if !finite(v) {
		return 0, e, false, c.overflow(a.key)
	}
	return v, e, ok, nil
}

// rowWriter puts entries in ascending order together to rows.
type rowWriter struct {
	w    *csr.Writer
	pack keyPacker
	most int // entries of a row the budget allows
	row  int64
	cols []uint32
	vals []float64
}

func (r *rowWriter) add(key uint64, v float64) error {
	row, col := r.pack.stored(key)
	if row != r.row {
		if err := r.flush(row); err != nil {
			return err
		}
	}
	if len(r.cols) >= r.most {
		return &MemoryError{What: fmt.Sprintf("row %d of the store has more than %d entries", row, r.most)}
	}
	r.cols = append(r.cols, col)
	r.vals = append(r.vals, v)
	return nil
}

// flush writes the row being put together and the empty rows up to next.
func (r *rowWriter) flush(next int64) error {
	if len(r.cols) > 0 {
		if err := r.w.AppendRow(r.cols, r.vals); err != nil {
			return err
		}
		r.cols, r.vals = r.cols[:0], r.vals[:0]
		r.row++
	}
	if next > r.row {
		if err := r.w.AppendEmptyRows(next - r.row); err != nil {
			return err
		}
		r.row = next
	}
	return nil
}
