package view

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
)

// need lists the sums that a read forms.
type need struct {
	stats   [largest + 1]bool // of each column of the store
	squares bool              // of each column, with P·Qᵀ, and its sum
	totals  bool              // of each row
	norm    bool              // ‖B‖²
	known   bool              // of each column: the sum of the numbers, and the count of NaNs

	rounding float64 // of the values: see View.rounding
	flat     int     // 1 + the column of P with the centring of the columns of the store; 0: none

	moments func(float64) float64 // function of the entries of which moments are formed, for each of the user's columns; nil: none
	byRow   bool                  // these columns are rows of the store
}

// sums holds the sums of a read over a matrix S + P·Qᵀ, formed in the order of its rows.
type sums struct {
	need need

	count, largest    []float64      // of each column
	magnitudes        []float64      // of each column, if totals are wanted: sums of magnitudes, which bound the rounding of totals
	of                [largest][]sum // total and length1 of each column, and the squares of length2
	sum, squares, own []sum          // of S + P·Qᵀ, and of the squares of S alone
	cross             [][]sum
	entire            sum       // of all entries
	magnitude         float64   // of all entries
	totals            []float64 // of each row
	p                 [2]sum
	pp                [2][2]sum
	norm              sum
	q                 [][]float64
	qq                [][]sum
	moments           *moments
	known             []sum     // of each column: sum of the numbers
	unknown           []float64 // of each column: count of NaNs
	rows              int64     // rows added so far, if moments are wanted
	top, size         float64   // of S: the largest magnitude, if squares are wanted, and the sum of squares, if the norm is
}

// numbers returns the sums of each column that add up as float64s.
func (s *sums) numbers() [][]float64 { return [][]float64{s.count, s.magnitudes, s.unknown} }

// exact returns the sums of each column that add up with twice the precision.
func (s *sums) exact() [][]sum {
	return slices.Concat([][]sum{s.sum, s.own, s.known}, s.of[:], s.cross)
}

// bytes returns the memory of sums of the given columns and rows, for a matrix with P and Q of a rank.
func (n need) bytes(cols, rows int64, rank int) (b int64) {
	for s, each := range [...]int64{count: 8, total: 16 + 8 + 8, length1: 16 + 8, length2: 16 + 8, largest: 8} {
		if n.stats[s] {
			b += each * cols
		}
	}
	if n.squares {
		b += (32 + 16*int64(min(rank, 1)+rank)) * cols
	}
	if n.totals {
		b += 8 * rows
	}
	if n.known {
		b += (24 + 8) * cols
	}
	if n.moments != nil {
		b += 32 * n.columns(cols, rows)
	}
	return b
}

// columns returns the number of the user's columns, of which moments are formed.
func (n need) columns(cols, rows int64) int64 {
	if n.byRow {
		return rows
	}
	return cols
}

func newSums(n need, cols int, rows int64, q [][]float64, qq [][]sum) *sums {
	s := &sums{need: n, q: q, qq: qq}
	if n.stats[count] {
		s.count = make([]float64, cols)
	}
	if n.stats[largest] {
		s.largest = make([]float64, cols)
	}
	for _, k := range [...]stat{total, length1, length2} {
		if n.stats[k] {
			s.of[k] = make([]sum, cols)
		}
	}
	if n.stats[total] {
		s.magnitudes = make([]float64, cols)
	}
	if n.totals {
		s.totals = make([]float64, 0, rows)
	}
	if n.known {
		s.known, s.unknown = make([]sum, cols), make([]float64, cols)
	}
	if n.moments != nil {
		s.moments = newMoments(n.columns(int64(cols), rows))
	}
	if n.squares {
		s.sum, s.own = make([]sum, cols), make([]sum, cols)
		if s.squares = s.own; len(q) > 0 {
			s.squares = make([]sum, cols)
		}
		for range q {
			s.cross = append(s.cross, make([]sum, cols))
		}
	}
	return s
}

func (s *sums) stat(of stat) []float64 {
	switch of {
	case count:
		return s.count
	case largest:
		return s.largest
	}
	from := s.of[of]
	x := make([]float64, len(from))
	for j, v := range from {
		x[j] = v.value()
		switch of {
		case length2:
			x[j] = math.Sqrt(x[j])
		case total:
			x[j] = settled(x[j], s.magnitudes[j], s.need.rounding)
		}
	}
	return x
}

func (s *sums) all() float64 {
	return settled(s.entire.value(), s.magnitude, s.need.rounding)
}

// terms is the sum of the squares of the terms of a column of S + P·Qᵀ.
func (s *sums) terms(j int) float64 {
	x := s.own[j].value()
	for t, q := range s.q {
		if t+1 != s.need.flat {
			x += q[j] * q[j] * s.pp[t][t].value()
		}
	}
	return x
}

// add adds the rows of a block that are in l.
func (s *sums) add(b *csr.Block, l *lane) {
	if s.need.squares || s.need.norm || s.need.stats[length2] {
		s.top = max(s.top, l.top)
	}
	if len(b.Col16) > 0 {
		addRows(s, b.RowPtr, b.Col16, l.val, l.p)
	} else {
		addRows(s, b.RowPtr, b.Col, l.val, l.p)
	}
}

func addRows[C column](s *sums, ptr []uint32, cols []C, val []float64, p [][2]float64) {
	first := ptr[0]
	for i := range len(ptr) - 1 {
		lo, hi := ptr[i], ptr[i+1]
		col, v := cols[lo:hi], val[lo-first:hi-first]
		if s.need.totals {
			s.totals = append(s.totals, total.of(v, s.need.rounding))
		}
		if s.count != nil {
			for k, c := range col {
				if v[k] != 0 {
					s.count[c]++
				}
			}
		}
		if to := s.of[total]; to != nil {
			for k, c := range col {
				to[c].add(v[k])
				s.entire.add(v[k])
				s.magnitudes[c] += math.Abs(v[k])
				s.magnitude += math.Abs(v[k])
			}
		}
		if to := s.of[length1]; to != nil {
			for k, c := range col {
				to[c].add(math.Abs(v[k]))
			}
		}
		if to := s.of[length2]; to != nil {
			for k, c := range col {
				to[c].addProduct(v[k], v[k])
			}
		}
		if s.largest != nil {
			for k, c := range col {
				s.largest[c] = max(s.largest[c], math.Abs(v[k]))
			}
		}
		if s.known != nil {
			for k, c := range col {
				if v[k] != v[k] {
					s.unknown[c]++
				} else {
					s.known[c].add(v[k])
				}
			}
		}
		if s.moments != nil {
			addMoments(s, col, v)
			s.rows++
		}
		if s.need.squares {
			addSquares(s, col, v, p[i])
		}
		if s.need.norm {
			addNorm(s, col, v, p[i])
		}
	}
}

func addMoments[C column](s *sums, col []C, val []float64) {
	for k, c := range col {
		j := int64(c)
		if s.need.byRow {
			j = s.rows
		}
		s.moments.add(int(j), s.need.moments(val[k]))
	}
}

// addSquares adds a row to the sums of S, of its squares and of its products with P.
func addSquares[C column](s *sums, col []C, val []float64, p [2]float64) {
	for k, c := range col {
		s.sum[c].add(val[k])
		s.own[c].addProduct(val[k], val[k])
	}
	for t, x := range s.cross {
		for k, c := range col {
			x[c].addProduct(val[k], p[t])
		}
		s.p[t].add(p[t])
		for u := range s.cross {
			s.pp[t][u].addProduct(p[t], p[u])
		}
	}
}

// addNorm adds ‖b‖² of a row: Σ s² + 2·Σ s·pᵀq_j + pᵀQᵀQ·p. Each product that may cancel has
// twice the precision.
func addNorm[C column](s *sums, col []C, val []float64, p [2]float64) {
	for _, v := range val {
		s.size += float64(v * v)
		s.norm.addProduct(v, v)
	}
	for t, q := range s.q {
		for k, c := range col {
			h := float64(p[t] * q[c])
			s.norm.addProduct(2*val[k], h)
			s.norm.lo += 2 * val[k] * math.FMA(p[t], q[c], -h)
		}
		for u := range s.q {
			h := float64(p[t] * p[u])
			s.norm.plusTimes(h, s.qq[t][u])
			s.norm.plusTimes(math.FMA(p[t], p[u], -h), s.qq[t][u])
		}
	}
}

// finish adds P·Qᵀ to the sums of the columns.
func (s *sums) finish() {
	if !s.need.squares {
		return
	}
	for j := range s.sum {
		s.squares[j] = s.own[j]
		for t, q := range s.q {
			s.sum[j].plusTimes(q[j], s.p[t])
			s.squares[j].plusTimes(2*q[j], s.cross[t][j])
			for u := range s.q {
				s.squares[j].plusProduct(q[j], s.q[u][j], s.pp[t][u])
			}
		}
	}
}

func products(q [][]float64) (qq [][]sum, qs []sum) {
	for t := range q {
		row := make([]sum, len(q))
		for u := range q {
			for j, v := range q[t] {
				row[u].addProduct(v, q[u][j])
			}
		}
		qs, qq = append(qs, added(q[t])), append(qq, row)
	}
	return qq, qs
}
