package view

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// read is a read of the source for statistics: for stages that share it or, without any, for the norm.
type read struct {
	at     int // ops before it
	need   need
	stages []stage
	last   bool
}

func (v *View) read(i int) read {
	r, n := read{at: len(v.ops), need: need{norm: true}, last: i == v.Reads()-1}, -1
	for _, s := range v.stages {
		if !s.same {
			n++
		}
		if n == i {
			r.stages = append(r.stages, s)
		}
	}
	if len(r.stages) > 0 {
		r.at, r.need = r.stages[0].at, r.stages[0].need
	}
	return r
}

// records reports whether numbers of rows are recorded in the ops that keep them.
func (r read) records() bool { return r.need.norm || r.need.moments != nil }

// Sums are the sums of a read over consecutive rows. Sums of adjoining ranges add up to those of all rows.
type Sums struct {
	*sums
	v           *View
	read        read
	first, rows int64
}

// NewSums returns empty sums of read i, for rows from first on. The reads before i have been settled.
func (v *View) NewSums(i int, first, rows int64) *Sums {
	r := v.read(i)
	v.prepare(r.at)
	return v.noSums(r, first, rows)
}

func (v *View) noSums(r read, first, rows int64) *Sums {
	for k := range v.ops {
		if o := &v.ops[k]; o.keeps && r.records() && o.keep == nil {
			o.keep = make([]float64, v.src.Rows())
		}
	}
	qq, _ := products(v.q)
	return &Sums{newSums(r.need, int(v.src.Cols()), rows, v.q, qq), v, r, first, rows}
}

// Sum makes read i over blocks from … to−1. The reads before i have been settled.
func (v *View) Sum(ctx context.Context, o stream.Options, i, from, to int) (*Sums, error) {
	return v.sum(ctx, o, v.read(i), from, to)
}

func (v *View) sum(ctx context.Context, o stream.Options, r read, from, to int) (*Sums, error) {
	first, end := int64(0), v.src.Rows()
	if from > 0 {
		first = v.src.Block(from).FirstRow
	}
	if to < v.src.NumBlocks() {
		end = v.src.Block(to).FirstRow
	}
	room := v.room(r, end-first)
	if _, err := v.fits(o, room); err != nil {
		return nil, err
	}
	v.prepare(r.at)
	s := v.noSums(r, first, end-first)
	err := v.scan(ctx, o, from, to, r.at, r.records(), room, nil, func(b *csr.Block, l *lane) error {
		s.add(b, l)
		return nil
	})
	return s, err
}

// room returns the bytes that sums take.
func (v *View) room(r read, rows int64) int64 {
	rank := 0
	for _, o := range v.ops[:r.at] {
		if o.kind.makes() {
			rank++
		}
	}
	return r.need.bytes(v.src.Cols(), rows, rank)
}

// Fits returns a *stream.BudgetError if the given count of sums of read i does not fit in the budget.
func (v *View) Fits(o stream.Options, i int, sums int64) error {
	_, err := v.fits(o, sums*v.room(v.read(i), v.src.Rows()))
	return err
}

// Settle takes over the sums of a read over all rows, of the first read that has not been settled.
func (v *View) Settle(s *Sums) error {
	s.finish()
	if s.top != 0 && !(s.top >= smallest && s.top <= greatest) {
		steps := "the matrix"
		if s.read.at > 0 {
			steps = fmt.Sprintf("what %v makes of it", v.pipeline[:v.ops[s.read.at-1].step+1])
		}
		return fmt.Errorf("view: the largest number of %s has the size %.3g: %s after that keeps its squares within the range of numbers", steps, s.top, multiplied(s.top))
	}
	for _, stage := range s.read.stages {
		stage.done(s.sums)
	}
	if v.refused != nil {
		return v.refused
	}
	if s.read.last && v.analytic && s.sums == v.last {
		v.normOf(s.sums)
	}
	if s.read.last && (!v.analytic || s.sums == v.last) {
		v.decide(s.sums)
	}
	v.last = nil
	return nil
}

// Add adds the sums of the rows that come next.
func (s *Sums) Add(next *Sums) {
	a, b := s.sums, next.sums
	plusSums := func(x, y []sum) {
		for j := range y {
			x[j].plus(y[j])
		}
	}
	for k, x := range a.numbers() {
		floats.Add(x, b.numbers()[k])
	}
	for k, x := range a.exact() {
		plusSums(x, b.exact()[k])
	}
	for j, v := range b.largest {
		a.largest[j] = max(a.largest[j], v)
	}
	a.totals = append(a.totals, b.totals...)
	for t := range a.cross {
		a.p[t].plus(b.p[t])
		plusSums(a.pp[t][:], b.pp[t][:])
	}
	a.entire.plus(b.entire)
	a.norm.plus(b.norm)
	if a.moments != nil {
		at := int64(0)
		if a.need.byRow {
			at = next.first
		}
		plusSums(a.moments.sum[at:], b.moments.sum)
		plusSums(a.moments.square[at:], b.moments.square)
	}
	a.rows += b.rows
	a.magnitude += b.magnitude
	a.size += b.size
	a.top = max(a.top, b.top)
}

// Each calls f with all numbers, some at a time, and stores what f leaves: it serves to write and to read sums.
func (s *Sums) Each(f func(x []float64) error) error {
	x := s.sums
	few := []float64{x.magnitude, x.size, x.top, float64(x.rows)}
	if err := f(few); err != nil {
		return err
	}
	x.magnitude, x.size, x.top, x.rows = few[0], few[1], few[2], int64(few[3])
	if x.need.totals {
		x.totals = x.totals[:s.rows]
	}
	numbers := append(x.numbers(), x.largest, x.totals)
	for k := range s.v.ops {
		if o := &s.v.ops[k]; o.keeps && s.read.records() {
			numbers = append(numbers, o.keep[s.first:s.first+s.rows])
		}
	}
	for _, part := range numbers {
		if err := f(part); err != nil {
			return err
		}
	}
	small := []sum{x.entire, x.norm, x.p[0], x.p[1], x.pp[0][0], x.pp[0][1], x.pp[1][0], x.pp[1][1]}
	all := append([][]sum{small}, x.exact()...)
	if x.moments != nil {
		all = append(all, x.moments.sum, x.moments.square)
	}
	const some = 1 << 12
	var buf [2 * some]float64
	for _, part := range all {
		for len(part) > 0 {
			n := min(len(part), some)
			for j, v := range part[:n] {
				buf[2*j], buf[2*j+1] = v.hi, v.lo
			}
			if err := f(buf[:2*n]); err != nil {
				return err
			}
			for j := range part[:n] {
				part[j] = sum{buf[2*j], buf[2*j+1]}
			}
			part = part[n:]
		}
	}
	x.entire, x.norm, x.p = small[0], small[1], [2]sum{small[2], small[3]}
	x.pp = [2][2]sum{{small[4], small[5]}, {small[6], small[7]}}
	return nil
}

// Length returns the number of float64s that Each passes to f.
func (s *Sums) Length() (n int64) {
	_ = s.Each(func(x []float64) error { // f returns no error
		n += int64(len(x))
		return nil
	})
	return n
}
