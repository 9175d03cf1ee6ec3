// Package sieve removes rows and columns that have too few entries.
package sieve

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
)

// A Sieve determines the rows and columns that have enough entries, in passes over all entries by row. It holds 4 bytes a
// column and a bit a row.
//
// A pass removes a row if too few of its entries are in columns that still have enough, and subtracts these entries from their
// columns. When no column falls below its limit in a pass, all remaining rows and columns have enough. They are the union of
// all sets of rows and columns in which each has enough, so they do not depend on the order of removal (Batagelj, Zaveršnik,
// "Generalized cores", arXiv:cs/0202039).
type Sieve struct {
	pack           extsort.Packer
	minRow, minCol uint32 // least entries of a stored row and column; 0: none is removed
	least          float64
	Passes         int // number of finished passes

	rows []uint64 // bit set of the rows that have enough; nil: all have
	cols []uint32 // entries of each column in rows that have enough; finally its place among the columns left, or gone

	// State of the pass.
	Small, Entries int64 // entries below the least value, and all entries
	row            int64
	n              uint32   // entries of the row that count
	open           []uint32 // columns of the first of these, fewer than minRow
	again          bool     // a column no longer has enough

	Left extsort.Packer // layout of the matrix that is left
	Kept int64          // number of entries left
}

const gone = math.MaxUint32

// New returns a sieve for a matrix. perRow and perCol are the least numbers of entries in the user's matrix, least is the
// least value or nil. Unless the shape is declared, rows and columns have ids, and those without entries are removed, too.
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

// EndPass ends a pass and reports whether another one is needed.
func (s *Sieve) EndPass() (again bool) {
	s.endRow()
	again = s.again
	if s.Passes == 0 { // the first pass only counts
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

// A Sifter removes entries, given in ascending order, and gives the others their places in the matrix that is left.
type Sifter struct {
	*Sieve
	words  int64 // number of words of rows that before covers
	before int64 // number of rows left in these words
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

// place returns the number of rows left before row. Rows must not descend.
func (s *Sifter) place(row int64) int64 {
	if s.rows == nil {
		return row
	}
	for ; s.words < row/64; s.words++ {
		s.before += int64(bits.OnesCount64(s.rows[s.words]))
	}
	return s.before + int64(bits.OnesCount64(s.rows[row/64]&(1<<(row%64)-1)))
}
