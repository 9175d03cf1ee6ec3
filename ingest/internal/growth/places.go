package growth

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
)

// most is the number of entries that Places keeps, the first ones.
const most = 1 << 18

// Places are the rows and columns of the first entries of a stream. They determine how many bytes the places of all entries
// take in a store.
type Places struct {
	rows, cols []uint32
	descents   int // number of places that are not behind the place before
	last       uint64
}

func (p *Places) Add(row, col uint32) {
	at := uint64(row)<<32 | uint64(col)
	if len(p.rows) > 0 && at <= p.last {
		p.descents++
	}
	p.last = at
	if len(p.rows) < most {
		p.rows, p.cols = append(p.rows, row), append(p.cols, col)
	}
}

// InOrder reports whether every entry is behind the entry before it, by row and within the row by column.
func (p *Places) InOrder() bool { return p.descents == 0 }

// Bytes returns the mean bytes of the place of an entry in a store, its gap in a block and its share of the length of its row,
// for n entries of a rows × cols matrix that is stored transposed or not. transposed also exchanges the sides of Add.
//
// If each row of the sample is contiguous, Bytes encodes the rows of the sample. If their mean length is unlike n/rows, it also
// encodes random rows of that length, with columns of the sample, and returns the mean of both. Otherwise it encodes random
// rows: their lengths are those in the sample times n over its size, and their columns are drawn from the entries of the sample
// or, if each column is contiguous, uniformly from all columns.
func (p *Places) Bytes(n, rows, cols float64, transposed bool) float64 {
	r, c := csr.Exchanged(transposed, p.rows, p.cols)
	rows, cols = csr.Exchanged(transposed, rows, cols)
	if len(r) == 0 {
		return 0
	}
	s := synthesis{random: rand.New(rand.NewPCG(1, 1)), cols: cols}
	if !whole(r) {
		if !whole(c) {
			s.pool = c
		}
		s.draw(r, n/float64(len(r)))
		return s.bytes() + rows/n
	}
	s.read(r, c)
	each := s.bytes()
	different := len(slices.Compact(slices.Clone(r))) // rows are contiguous: equal neighbours are the same row
	if times := n / rows / (float64(len(r)) / float64(different)); times < 1/unlike || times > unlike {
		s.pool, s.gaps = c, s.gaps[:0]
		s.draw(r, times)
		each = (each + s.bytes()) / 2
	}
	return each + rows/n
}

func (s *synthesis) bytes() float64 {
	return float64(csr.PackedBytes(s.gaps)) / float64(max(1, len(s.gaps)))
}

// unlike is the ratio of mean lengths of rows above which they are taken to differ.
const unlike = 1.2

// whole reports whether there are several lines, each contiguous: none occurs again behind another line.
func whole(lines []uint32) bool {
	seen := map[uint32]bool{}
	for i, line := range lines {
		if i > 0 && line == lines[i-1] {
			continue
		}
		if seen[line] {
			return false
		}
		seen[line] = true
	}
	return len(seen) > 1
}

type synthesis struct {
	random *rand.Rand
	cols   float64
	pool   []uint32 // columns to draw from; nil: all columns, uniformly
	gaps   []uint32
	row    []uint32
}

func (s *synthesis) read(rows, cols []uint32) {
	for from, to := 0, 0; to < len(rows); from = to {
		for to = from; to < len(rows) && rows[to] == rows[from]; to++ {
		}
		s.row = append(s.row[:0], cols[from:to]...)
		s.add()
	}
}

// draw makes rows with the lengths of the given rows, multiplied by times, until there are most/2 entries.
func (s *synthesis) draw(rows []uint32, times float64) {
	count := map[uint32]float64{}
	for _, r := range rows {
		count[r]++
	}
	lengths := slices.Sorted(maps.Values(count))
	s.random.Shuffle(len(lengths), func(i, j int) { lengths[i], lengths[j] = lengths[j], lengths[i] })
	for _, n := range lengths {
		if len(s.gaps) >= most/2 {
			return
		}
		s.row = s.row[:0]
		for range int(min(n*times+0.5, s.cols, most)) {
			c := uint32(s.random.Float64() * s.cols)
			if s.pool != nil {
				c = s.pool[s.random.IntN(len(s.pool))]
			}
			s.row = append(s.row, c)
		}
		s.add()
	}
}

func (s *synthesis) add() {
	slices.Sort(s.row)
	s.row = slices.Compact(s.row)
	next := uint32(0)
	for _, c := range s.row {
		s.gaps = append(s.gaps, c-next)
		next = c + 1
	}
}
