package ids

import "errors"

// Known are ids in ascending order that an axis has before all others: those of a store.
type Known struct {
	Text bool
	N    int64
	// Each visits the ids in order; the ID is valid during the call only.
	Each func(visit func(*ID) error) error

	inserts []int64 // by new id in order: number of known ids before it
}

// ErrReorder: known ids are integers and new ids are texts, or new ids do not fit in memory, so that all must be sorted anew.
var ErrReorder = errors.New("the ids there were do not stay in their order")

// Walk returns a function whose calls return the ranks of the known ids 0, 1, 2, ….
func (k *Known) Walk() func() int64 {
	i, n := int64(-1), 0
	return func() int64 {
		for i++; n < len(k.inserts) && k.inserts[n] <= i; n++ {
		}
		return i + int64(n)
	}
}

// SettleKnown is Settle for an axis that has the ids of k, too.
func (a *Axis) SettleKnown(k *Known) error {
	if len(a.closed) > 0 || a.dict.isText && !k.Text && k.N > 0 {
		return ErrReorder
	}
	if k.Text && !a.dict.isText {
		a.dict.toText()
	}
	a.order, a.Text = a.dict.order(false), a.dict.isText
	a.now = make([]uint32, len(a.order))
	at, fresh, count := 0, 0, int64(0)
	k.inserts = k.inserts[:0]
	before := func(old *ID) (same bool) { // ranks the ids before old, and old itself; nil: all ids left
		for at < len(a.order) {
			t, c := a.order[at], 1
			own := a.dict.id(t)
			if old != nil {
				c = old.compare(&own, a.Text)
			}
			if c < 0 {
				return false
			}
			a.now[t] = uint32(count + int64(len(k.inserts)))
			at++
			if c == 0 {
				return true
			}
			k.inserts = append(k.inserts, count)
			a.order[fresh] = t
			fresh++
		}
		return false
	}
	err := k.Each(func(old *ID) error {
		before(old)
		count++
		return nil
	})
	before(nil)
	a.order = a.order[:fresh] // new ids alone, in the order of inserts
	a.N, a.known = count+int64(len(k.inserts)), k
	if err == nil && a.N > maxIDs {
		err = errTooMany
	}
	return err
}

func (a *Axis) eachKnown(visit func(*ID) error) error {
	n, count := 0, int64(0)
	insert := func() error {
		for ; n < len(a.known.inserts) && a.known.inserts[n] <= count; n++ {
			r := a.dict.id(a.order[n])
			if err := visit(&r); err != nil {
				return err
			}
		}
		return nil
	}
	err := a.known.Each(func(old *ID) error {
		if err := insert(); err != nil {
			return err
		}
		count++
		return visit(old)
	})
	if err != nil {
		return err
	}
	return insert()
}

// Natural reports whether the ids are known to be 0 … n−1, which a store omits. It is false if ids keep their order.
func (a *Axis) Natural() bool {
	if d, n := a.dict, len(a.order); !a.keep && a.known == nil && len(a.closed) == 0 && !d.isText && n > 0 {
		return d.ints.at(int(a.order[0])) == 0 && d.ints.at(int(a.order[n-1])) == int64(n-1)
	}
	return false
}
