package view

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream"
)

// ValueError reports that a step makes an entry NaN or infinite.
type ValueError struct {
	Row     int64  `json:"row"`     // row of the user's matrix, from 0
	Col     int64  `json:"col"`     // column of the user's matrix, from 0
	Makes   string `json:"makes"`   // the step and the value, such as "log1p makes -2"
	Becomes string `json:"becomes"` // what the value becomes: NaN or infinite
}

func (e *ValueError) Error() string {
	return e.Say(fmt.Sprintf("row %d (from 0)", e.Row), fmt.Sprintf("column %d", e.Col))
}

// Say returns the text of the error with other names for the row and the column.
func (e *ValueError) Say(row, col string) string {
	return fmt.Sprintf("view: %s in %s, %s, %s", e.Makes, row, col, e.Becomes)
}

// Measure reads the source for the statistics of the view and for ‖B‖_F. Until it has returned
// nil, a View is for plans only. o.Reserve is memory that the caller uses.
func (v *View) Measure(ctx context.Context, o stream.Options) error {
	return v.MeasureBy(func(i int) (*Sums, error) { return v.Sum(ctx, o, i, 0, v.src.NumBlocks()) })
}

// MeasureBy is Measure with reads that are made elsewhere: sum returns the sums of read i of Reads over all rows.
func (v *View) MeasureBy(sum func(i int) (*Sums, error)) error {
	if v.pipeline[0].Name != multiplyStep.name {
		if err := v.inRange(); err != nil {
			return err
		}
	}
	for i := range v.Reads() {
		s, err := sum(i)
		if err != nil {
			return err
		}
		if err := v.Settle(s); err != nil {
			return err
		}
	}
	if v.norm != 0 && !(v.norm >= smallest && v.norm < greatest) { // passes scale a matrix of a larger norm, but not P and Q
		return fmt.Errorf("view: the norm of the matrix after %v is %.3g: %s keeps its squares within the range of numbers", v.pipeline, v.norm, multiplied(v.norm))
	}
	v.prepare(len(v.ops))
	v.measured = true
	return nil
}

// inRange returns an error if squares of the source's values may leave the range of a float64.
func (v *View) inRange() error {
	m, e := v.src.Norm()
	norm := math.Ldexp(m, e)
	if m == 0 || norm >= smallest && norm <= greatest {
		return nil
	}
	return fmt.Errorf("view: the norm of the matrix is %.3g: begin with %s, so that squares stay within the range of numbers", norm, multiplied(norm))
}

// multiplied returns the step that brings numbers of a size to about 1, or as far as a step can.
func multiplied(size float64) string { return fmt.Sprintf("multiply=%.0e", min(1/size, 1e308)) }

// normOf adds up ‖B‖²_F and ‖S‖²_F from sums over the columns before these were centred and scaled.
func (v *View) normOf(s *sums) {
	n := float64(v.src.Rows())
	for j := range s.sum {
		b, e := s.squares[j], 1.0
		for _, o := range v.ops[v.stages[len(v.stages)-1].at:] {
			switch o.kind {
			case colOffset:
				m := o.col[j]
				var square sum
				square.addProduct(m, m)
				b.plusTimes(2*m, s.sum[j])
				b.plusTimes(n, square)
			case colFactor:
				e *= o.col[j]
			case times:
				e *= o.c
			}
		}
		s.norm.plusTimes(e*e, b)
		s.size += e * e * s.own[j].value()
	}
}

// decide sets ‖S‖_F and ‖B‖_F from sums; ‖B‖_F is exactly 0 if all of B may be rounding of S.
func (v *View) decide(s *sums) {
	v.norm, v.terms = math.Sqrt(max(0, s.norm.value())), math.Sqrt(s.size)
	if v.norm <= v.rounding*v.terms {
		v.norm = 0
	}
}

// prepare computes E and Q of the ops before upTo, and the sums and products of Q that these ops use.
func (v *View) prepare(upTo int) {
	v.e, v.q = nil, nil
	for i := range v.ops[:upTo] {
		o := &v.ops[i]
		if o.kind == rowOffset || o.kind == rowStd {
			o.q = v.q
			o.qq, o.qs = products(v.q)
		}
		switch o.kind {
		case rowOffset:
			v.q = append(v.q[:len(v.q):len(v.q)], slices.Repeat([]float64{1}, int(v.src.Cols())))
		case colOffset, correspond, lift:
			v.q = append(v.q[:len(v.q):len(v.q)], o.col)
		case colFactor:
			if i >= v.store {
				v.e = scaledColumn(v.e, o.col)
			}
			q := make([][]float64, len(v.q))
			for t := range q {
				q[t] = scaledColumn(v.q[t], o.col)
			}
			v.q = q
		}
	}
}

// scaledColumn is x·by, number by number; x nil is ones.
func scaledColumn(x, by []float64) []float64 {
	y := slices.Clone(by)
	for j, v := range x {
		y[j] *= v
	}
	return y
}

// lane holds the results for the rows that a worker is at.
type lane struct {
	val []float64
	p   [][2]float64
	top float64 // the largest magnitude
	bad int     // index of a row with a value that is NaN or infinite, or −1

	numbers []Numbers // of the rows, for a Summary
}

// fits returns the options of a scan of the source that leaves reserve bytes to its caller; a small budget has fewer workers. The
// error is a *stream.BudgetError if the budget cannot work: a file may say that there are any number of columns.
func (v *View) fits(o stream.Options, reserve int64) (stream.Options, error) {
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	largest := v.src.MaxBlock()
	o.Width, o.Rank, o.Once = 1, 1, true
	o.Reserve += v.bytes() + reserve
	for ; ; o.Workers /= 2 {
		scan := o
		scan.Reserve += int64(o.Workers) * (8*largest.NNZ + 24*largest.Rows)
		if _, err := stream.PlanFor(v.src, scan); err == nil || o.Workers == 1 {
			return scan, err
		}
	}
}

// scan applies the ops before upTo to the rows of blocks from … to−1 of the source. It calls compute, unless nil, on any
// worker, and add in the order of the rows. reserve is the memory that these two use.
func (v *View) scan(ctx context.Context, o stream.Options, from, to, upTo int, record bool, reserve int64, compute func(b *csr.Block, l *lane), add func(b *csr.Block, l *lane) error) error {
	o, err := v.fits(o, reserve)
	if err != nil {
		return err
	}
	src, first := v.src, int64(0)
	if from > 0 || to < v.src.NumBlocks() {
		src, first = stream.Range(v.src, from, to), v.src.Block(from).FirstRow
	}
	lanes := make([]lane, o.Workers)
	return stream.Scan(ctx, src, o, func(worker int, b *csr.Block) error {
		l := &lanes[worker]
		b.FirstRow += first
		l.compute(v, b, upTo, record)
		if compute != nil {
			compute(b, l)
		}
		return nil
	}, func(worker int, b *csr.Block) error {
		l := &lanes[worker]
		if l.bad >= 0 {
			return v.blame(b, l.bad, upTo)
		}
		return add(b, l)
	})
}

// compute applies the ops before upTo to the rows of a block.
func (l *lane) compute(v *View, b *csr.Block, upTo int, record bool) {
	rows := b.Rows()
	first, end := b.RowPtr[0], b.RowPtr[rows]
	l.val, l.p, l.top, l.bad = memory.Resized(l.val, int(end-first)), memory.Resized(l.p, rows), 0, -1
	ops, coded, done := v.ops[:upTo], *b, 0 // ops that have been applied to coded rows
	missing := upTo < len(v.ops) && v.ops[upTo].kind == impute
	if b.Table != nil {
		lead := min(v.lead, upTo)
		mapped := mappedTable(b.Table, ops[:lead])
		coded.Table, ops = &mapped, ops[lead:]
		for done < len(ops) && ops[done].ofRow() && (!record || ops[done].keep == nil) {
			done++
		}
	}
	if done > 0 {
		expand(ops[:done], int(v.src.Cols()), codesOf(b.Table), &coded, l.val, 0, &v.known)
		ops = ops[done:]
	} else {
		load(l.val, b, coded.Table, first, end)
	}
	for i := range rows {
		lo, hi := b.RowPtr[i], b.RowPtr[i+1]
		r := row{at: b.FirstRow + int64(i), n: int(v.src.Cols()), val: l.val[lo-first : hi-first], d: 1, record: record}
		runBlock(ops, len(ops), b, lo, hi, &r)
		l.p[i] = r.p
		top := largest.of(r.val, 0)
		if l.top = max(l.top, top); l.bad < 0 && !missing && !finite(top) {
			l.bad = i
		}
	}
}

// load sets val to the values of entries first … end−1: those of table, or b.Val if table is nil and b has no codes.
func load(val []float64, b *csr.Block, table *[256]float64, first, end uint32) {
	switch {
	case len(b.Code) > 0:
		lookUp(val, b.Code[first:end], table)
	case table == nil:
		copy(val, b.Val[first:end])
	default:
		lookUp(val, nil, table)
	}
}

// runBlock applies ops to the row with entries lo … hi−1 of a block.
func runBlock(ops []op, values int, b *csr.Block, lo, hi uint32, r *row) {
	if len(b.Col16) > 0 {
		run(ops, values, b.Col16[lo:hi], r)
	} else {
		run(ops, values, b.Col[lo:hi], r)
	}
}

// mappedTable applies ops that change values one by one to the values of a table.
func mappedTable(table *[256]float64, ops []op) (t [256]float64) {
	for i, v := range table {
		r := row{val: []float64{v}}
		run(ops, len(ops), []uint16{0}, &r)
		t[i] = r.val[0]
	}
	return t
}

// blame returns the ValueError for row i of a block, which has an entry that a step makes NaN or infinite.
func (v *View) blame(b *csr.Block, i, upTo int) error {
	lo, hi := b.RowPtr[i], b.RowPtr[i+1]
	r := &row{at: b.FirstRow + int64(i), n: int(v.src.Cols()), val: make([]float64, hi-lo), d: 1}
	load(r.val, b, b.Table, lo, hi)
	if len(b.Col16) > 0 {
		return blame(v, r, v.ops[:upTo], b.Col16[lo:hi])
	}
	return blame(v, r, v.ops[:upTo], b.Col[lo:hi])
}

// blame returns the ValueError for a row with an entry that a step makes NaN or infinite.
func blame[C column](v *View, r *row, ops []op, cols []C) error {
	for len(ops) > 0 {
		n, before := 1, slices.Clone(r.val)
		for n < len(ops) && ops[n].step == ops[0].step {
			n++
		}
		run(ops[:n], n, cols, r)
		for k, x := range r.val {
			if finite(x) {
				continue
			}
			e := &ValueError{Makes: fmt.Sprintf("%v makes %v", v.pipeline[ops[0].step], before[k]), Becomes: fmt.Sprint(x)}
			e.Row, e.Col = csr.Exchanged(v.transposed, r.at, int64(cols[k]))
			return e
		}
		ops = ops[n:]
	}
	return fmt.Errorf("view: the term added to row %d of the store is not a number, or differs from the one before", r.at)
}

// Measured returns all numbers that Measure has found. Their order depends on the pipeline and on the
// orientation of the source: see Recall.
func (v *View) Measured() [][]float64 {
	all := [][]float64{{v.norm, v.terms}}
	for _, s := range v.statistics {
		if s.set != nil {
			all = append(all, s.of())
		}
	}
	for _, o := range v.ops {
		all = append(all, []float64{o.c}, o.col, o.keep)
	}
	return all
}

// Lengths returns how many numbers each part of Measured has.
func (v *View) Lengths() []int64 {
	all := []int64{2}
	for _, s := range v.statistics {
		if s.set != nil {
			all = append(all, s.n)
		}
	}
	for i := range v.ops {
		col, keep := v.numbers(&v.ops[i])
		all = append(all, 1, col, keep)
	}
	return all
}

// Recall sets what Measure would measure to the numbers that Measured of a view of the same Fingerprint has returned: the
// source is not read. The slices are v's from then on.
func (v *View) Recall(measured [][]float64) error {
	want := v.Lengths()
	if len(measured) != len(want) {
		return fmt.Errorf("view: %d parts have been measured, %v has %d", len(measured), v.pipeline, len(want))
	}
	for i, part := range measured {
		if int64(len(part)) != want[i] {
			return fmt.Errorf("view: part %d that has been measured has %d numbers, %v has %d", i, len(part), v.pipeline, want[i])
		}
	}
	next := func() (part []float64) {
		part, measured = measured[0], measured[1:]
		return part
	}
	first := next()
	v.norm, v.terms = first[0], first[1]
	for _, s := range v.statistics {
		if s.set != nil {
			s.set(next())
		}
	}
	for i := range v.ops { // among these are the numbers derived from statistics, with the same bits
		o := &v.ops[i]
		o.c, o.col, o.keep = next()[0], next(), next()
		if len(o.col) == 0 {
			o.col = nil
		}
	}
	v.last, v.measured = nil, true
	v.prepare(len(v.ops))
	return nil
}

// Numbers describe a row or column. Mean and Variance are those of all its elements, the ones
// without an entry included, and 0 if it has no elements; Variance is divided by their number.
type Numbers struct {
	Count               int64 // of entries that are not 0: steps that fill do not change it
	Sum, Mean, Variance float64
}
