// Package heldout chooses the entries of a matrix that are held out for tests.
package heldout

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/mix"
)

// Kind is the rule by which entries are held out.
type Kind uint8

const (
	None Kind = iota
	// Random holds out each entry with probability Fraction, determined by a hash of its ids and the seed.
	Random
	// Last holds out the newest N entries of each row.
	Last
	// Time holds out the entries of the newest moments, as many as do not exceed a fraction of all entries.
	Time
	// After holds out the entries from a given time on.
	After
)

// A Splitter decides which entries are held out, row by row.
type Splitter struct {
	Kind       Kind
	Fraction   float64 // for Random
	N          int64   // for Last
	Seed       uint64  // for Random
	Transposed bool    // the user's rows are the stored columns

	Cut    format.Time  // for Time and After: entries from this time on are held out
	Rows   *Hashes      // for Random: hashes of the ids of the stored rows
	Cols   []uint64     // for Random: hashes of the ids of the stored columns
	Newest []NewestOnes // for Last, if Transposed: the newest entries of each stored column
	order  []int        // indices of the entries of a row, by time
	held   []bool
}

func (s *Splitter) Mark(row int64, cols []uint32, times []format.Time) ([]bool, error) {
	s.held = slices.Grow(s.held[:0], len(cols))[:len(cols)]
	switch s.Kind {
	case Random:
		r, err := s.Rows.At(row)
		if err != nil {
			return nil, err
		}
		for i, c := range cols {
			s.held[i] = s.draws(r, s.Cols[c])
		}
	case Last:
		s.markLast(row, cols, times)
	default:
		for i, t := range times {
			s.held[i] = t >= s.Cut
		}
	}
	return s.held, nil
}

// markLast marks the newest entries of the row or, if transposed, the entries that are among the newest of their columns.
func (s *Splitter) markLast(row int64, cols []uint32, times []format.Time) {
	if s.Transposed {
		for i, c := range cols {
			s.held[i] = s.Newest[c][0].compare(Moment{times[i], row}) <= 0
		}
		return
	}
	s.order = s.order[:0]
	for i := range times {
		s.order = append(s.order, i) // columns ascend with i
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	clear(s.held)
	for _, i := range s.order[max(0, len(s.order)-int(s.N)):] {
		s.held[i] = true
	}
}

type Moment struct {
	Time format.Time
	At   int64
}

func (m Moment) compare(o Moment) int {
	return cmp.Or(cmp.Compare(m.Time, o.Time), cmp.Compare(m.At, o.At))
}

// NewestOnes are the newest moments, up to some number, in ascending order.
type NewestOnes []Moment

// Add inserts m if there are fewer than n moments, and replaces the oldest moment by m if m is newer.
func (s *NewestOnes) Add(m Moment, n int64) {
	at, _ := slices.BinarySearchFunc(*s, m, Moment.compare)
	switch {
	case int64(len(*s)) < n:
		*s = slices.Insert(*s, at, m)
	case at > 0:
		copy((*s)[:at-1], (*s)[1:at])
		(*s)[at-1] = m
	}
}

// draws reports whether Random holds out the entry of a stored row and column, given by the hashes of their ids.
//
// With the finaliser F of SplitMix64, the hash of an id is F of the 64-bit FNV-1a hash of its text. The entry is held out if
// the upper 53 bits of h = F(F(F(seed + ⌊2⁶⁴/φ⌋) ⊕ user) + item), divided by 2⁵³, are less than the fraction.
func (s *Splitter) draws(row, col uint64) bool {
	if s.Transposed {
		row, col = col, row
	}
	h := mix.Finalise(mix.Finalise(mix.Next(s.Seed)^row) + col)
	return float64(h>>11)/(1<<53) < s.Fraction
}

func Hash(id []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range id {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return mix.Finalise(h)
}

// Hashes returns the hashes of the ids of a side, in ascending order of index.
type Hashes struct {
	Stop func() // must be called when no more hashes are needed
	next func() (uint64, error, bool)
	n    int64 // number of hashes read so far
	now  uint64
}

func NewHashes(all iter.Seq2[uint64, error]) *Hashes {
	h := &Hashes{}
	h.next, h.Stop = iter.Pull2(all)
	return h
}

func (h *Hashes) At(n int64) (uint64, error) {
	for h.n <= n {
		now, err, ok := h.next()
		if err == nil && !ok {
			err = fmt.Errorf("hold out entries: %d ids instead of more than %d", h.n, n)
		}
		if err != nil {
			return 0, err
		}
		h.now = now
		h.n++
	}
	return h.now, nil
}
