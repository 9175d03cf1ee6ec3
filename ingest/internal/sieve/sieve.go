// Package sieve leaves out rows and columns that have too few entries.
package sieve

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
)

// A Sieve finds the rows and columns that have enough entries, in passes over all of them by
// rows. It holds 4 bytes a column and a bit a row.
//
// In a pass a row is given up when too few of its entries are in columns that still have enough;
// those are then taken off their columns. After a pass in which no column has lost what it needs,
// all that is left has enough. What is left is the union of all sets of rows and columns in which
// each has enough, so it does not depend on the order in which the others go (Batagelj,
// Zaveršnik, "Generalized cores", arXiv:cs/0202039).
type Sieve struct {
	pack           extsort.Packer
	minRow, minCol uint32 // entries of a stored row and column; 0: none is left out
	least          float64
	Passes         int // ended

	rows []uint64 // a bit for each that has enough; nil: all have
	cols []uint32 // entries of each column in rows that have enough; then the place among those left, or gone

	// Of the pass.
	Small, Entries int64 // entries below the least value, others
	row            int64
	n              uint32   // entries of the row
	open           []uint32 // columns of the first ones, fewer than minRow
	again          bool     // a column does not have enough any more

	Left extsort.Packer // of the matrix that is left
	Kept int64          // entries
}

const gone = math.MaxUint32

// New makes a sieve for a matrix, whose rows and columns have ids unless it is declared, from the least number of entries
// of a row and a column of the user's matrix, and the least value; nil: any.
func New(pack extsort.Packer, perRow, perCol int64, least *float64, declared bool) *Sieve {
	s := &Sieve{pack: pack, minRow: uint32(perRow), minCol: uint32(perCol), least: math.Inf(-1), row: -1}
	if pack.Transposed {
		s.minRow, s.minCol = s.minCol, s.minRow
	}
	if least != nil {
		s.least = *least
	}
	if !declared {
		s.minRow, s.minCol = max(s.minRow, 1), max(s.minCol, 1)
	}
	if s.minRow > 0 {
		s.rows = make([]uint64, (pack.Rows+63)/64)
	}
	s.cols = make([]uint32, pack.Cols)
	return s
}

func Bytes(p extsort.Packer) int64 { return p.Rows/8 + 4*p.Cols }

func (s *Sieve) Add(part []extsort.Entry) {
	for _, e := range part {
		row, col := s.pack.Stored(e.Key)
		if row != s.row {
			s.endRow()
			s.row = row
		}
		switch {
		case e.Val < s.least:
			s.Small++
		case s.Passes > 0 && (!s.HasRow(row) || s.cols[col] < s.minCol):
		default:
			s.n++
			if s.n < s.minRow {
				s.open = append(s.open, col)
			}
			if s.Passes == 0 {
				s.cols[col]++
			}
		}
		s.Entries++
	}
}

func (s *Sieve) endRow() {
	switch {
	case s.rows == nil || s.row < 0:
	case s.n >= s.minRow:
		s.rows[s.row/64] |= 1 << (s.row % 64)
	default:
		s.rows[s.row/64] &^= 1 << (s.row % 64)
		for _, c := range s.open {
			s.cols[c]--
			s.again = s.again || s.cols[c] == s.minCol-1
		}
	}
	s.n, s.open = 0, s.open[:0]
}

// EndPass tells whether another one is needed.
func (s *Sieve) EndPass() (again bool) {
	s.endRow()
	again = s.again
	if s.Passes == 0 { // so far they were counted
		again = slices.ContainsFunc(s.cols, func(n uint32) bool { return n > 0 && n < s.minCol })
	}
	s.Passes++
	s.row, s.again = -1, false
	if again {
		s.Small, s.Entries = 0, 0
		return true
	}
	s.settle()
	return false
}

func (s *Sieve) settle() {
	rows, cols := s.pack.Rows, int64(0)
	if s.rows != nil {
		rows = 0
		for _, w := range s.rows {
			rows += int64(bits.OnesCount64(w))
		}
	}
	for c, n := range s.cols {
		s.cols[c] = gone
		if n >= s.minCol {
			s.cols[c] = uint32(cols)
			cols++
			s.Kept += int64(n)
		}
	}
	s.Left = extsort.NewPacker(rows, cols, false)
	s.Left.Transposed = s.pack.Transposed
}

func (s *Sieve) HasRow(row int64) bool {
	return s.rows == nil || s.rows[row/64]>>(row%64)&1 == 1
}

func (s *Sieve) HasCol(col int64) bool { return s.cols[col] != gone }

// A Sifter leaves out entries in ascending order and gives the others their places in the matrix that is left.
type Sifter struct {
	*Sieve
	words  int64 // of rows that have been counted
	before int64 // rows left in them
}

// Sift returns the entries whose rows and columns the sieve keeps, and their times if they have times.
func (s *Sifter) Sift(part []extsort.Entry, times []format.Time) ([]extsort.Entry, []format.Time) {
	kept := 0
	for i, e := range part {
		row, col := s.pack.Stored(e.Key)
		if e.Val < s.least || s.cols[col] == gone || !s.HasRow(row) {
			continue
		}
		part[kept] = extsort.Entry{Key: uint64(s.place(row))<<s.Left.ColBits | uint64(s.cols[col]), Val: e.Val}
		if len(times) > 0 {
			times[kept] = times[i]
		}
		kept++
	}
	return part[:kept], times[:min(kept, len(times))]
}

// place is the number of rows left before one. Rows must not descend.
func (s *Sifter) place(row int64) int64 {
	if s.rows == nil {
		return row
	}
	for ; s.words < row/64; s.words++ {
		s.before += int64(bits.OnesCount64(s.rows[s.words]))
	}
	return s.before + int64(bits.OnesCount64(s.rows[row/64]&(1<<(row%64)-1)))
}
