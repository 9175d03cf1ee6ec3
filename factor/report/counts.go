package report

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/stream"
)

// counts holds the numbers of entries of the rows and columns of the user's matrix, and the values of the entries.
type counts struct {
	rows, cols map[int64]int64 // number of rows or columns for each number of entries
	values     []bar           // ascending; n values lie in [lo, hi) or, if hi is lo, equal lo
}

// Values that are not in a table are counted in bins that share the sign, the exponent and fineBits of the mantissa: a bin is
// about 1/64 of its values wide.
const (
	fineBits  = 6
	fineShift = 52 - fineBits
	fineBins  = 1 << (12 + fineBits)
)

// fine returns the bin of a value. Bins ascend by value.
func fine(x float64) int {
	b := math.Float64bits(x + 0)
	if b>>63 == 1 {
		return int(^b >> fineShift)
	}
	return int((b | 1<<63) >> fineShift)
}

// fineEdge returns the least value of a bin.
func fineEdge(bin int) float64 {
	b := uint64(bin) << fineShift
	if b>>63 == 1 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	// The bits of negative numbers are complemented: the least value has all of the lower bits of its magnitude.
	return math.Float64frombits(^b)
}

type counter struct {
	lengths map[int64]int64
	codes   [256]int64
	fine    []int64
}

func countEntries(ctx context.Context, store *csr.Store, o Options) (*counts, error) {
	table := store.Values().Table
	bins := either(len(table) == 0, fineBins, 0)
	different := int64(math.Sqrt(2*float64(store.NNZ()))) + 1 // largest number of different lengths: their sum is the number of entries
	workers := make([]counter, o.Workers)
	for w := range workers {
		workers[w] = counter{lengths: map[int64]int64{}, fine: make([]int64, bins)}
	}
	reserve := 8*store.Cols() + int64(o.Workers+1)*(8*int64(bins)+64*min(different, store.Rows())) + pageBytes
	read := stream.Options{Memory: o.Memory, Workers: o.Workers, Reserve: reserve, Once: true}
	if _, err := stream.PlanFor(store, read); err != nil {
		return nil, err
	}
	columns := make([]int64, store.Cols())
	err := stream.Scan(ctx, store, read, func(worker int, b *csr.Block) error {
		workers[worker].add(b)
		return nil
	}, func(_ int, b *csr.Block) error {
		from, to := b.RowPtr[0], b.RowPtr[b.Rows()]
		if len(b.Col16) > 0 {
			each(columns, b.Col16[from:to])
		} else {
			each(columns, b.Col[from:to])
		}
		o.Progress(b.FirstRow+int64(b.Rows()), store.Rows())
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := workers[0]
	for _, w := range workers[1:] {
		all.include(&w)
	}
	c := &counts{rows: all.lengths, cols: map[int64]int64{}, values: all.bins(table)}
	for _, n := range columns {
		c.cols[n]++
	}
	c.rows, c.cols = csr.Orient(store, c.rows, c.cols)
	return c, nil
}

func each[C uint16 | uint32](columns []int64, of []C) {
	for _, j := range of {
		columns[j]++
	}
}

// add counts the rows and values of b, which may be a part of a block.
func (w *counter) add(b *csr.Block) {
	for i := range b.Rows() {
		w.lengths[int64(b.RowPtr[i+1]-b.RowPtr[i])]++
	}
	from, to := b.RowPtr[0], b.RowPtr[b.Rows()]
	switch {
	case len(b.Code) > 0:
		for _, c := range b.Code[from:to] {
			if len(w.fine) == 0 {
				w.codes[c]++
			} else { // the block has a table of its own
				w.fine[fine(b.Table[c])]++
			}
		}
	case len(b.Val) > 0:
		for _, x := range b.Val[from:to] {
			w.fine[fine(x)]++
		}
	default:
		w.codes[0] += int64(to - from)
	}
}

func (w *counter) include(o *counter) {
	for length, n := range o.lengths {
		w.lengths[length] += n
	}
	for c, n := range o.codes {
		w.codes[c] += n
	}
	for k, n := range o.fine {
		w.fine[k] += n
	}
}

// bins returns the values that occur, ascending: single values of the table, or ranges.
func (w *counter) bins(table []float64) (all []bar) {
	for c, x := range table {
		if n := w.codes[c]; n > 0 {
			all = append(all, bar{x, x, n})
		}
	}
	for k, n := range w.fine {
		if n > 0 {
			all = append(all, bar{fineEdge(k), fineEdge(k + 1), n})
		}
	}
	return all
}

// Largest number of bars of a histogram, and of values that have a bar each.
const (
	mostBars   = 36
	mostValues = 24
)

// joined joins bins into at most mostBars bars of the same width on the axis, whose ends are moved to ends of bins.
func joined(bins []bar, log bool) []bar {
	if len(bins) == 0 {
		return nil
	}
	lo, hi := bins[0].lo, bins[len(bins)-1].hi
	edge := func(i int) float64 {
		share := float64(i) / mostBars
		if log {
			return math.Pow(lo, 1-share) * math.Pow(hi, share) // hi/lo may overflow
		}
		return lo*(1-share) + hi*share
	}
	var all []bar
	at := 0
	for i := 1; i <= mostBars && at < len(bins); i++ {
		end := edge(i)
		b := bar{lo: bins[at].lo}
		if len(all) > 0 {
			b.lo = all[len(all)-1].hi
		}
		if i == mostBars {
			end = math.Inf(1)
		}
		if bins[at].lo >= end {
			b.hi = max(b.lo, end)
			all = append(all, b)
			continue
		}
		for ; at < len(bins) && bins[at].lo < end; at++ {
			b.n += bins[at].n
			b.hi = bins[at].hi
		}
		b.hi = max(b.hi, min(end, hi))
		all = append(all, b)
	}
	return all
}

// wholeBars returns bars about bins of one whole number each, and their axis. A bar spans one number or as few consecutive numbers
// as possible, the same count in each bar.
func wholeBars(bins []bar) (all []bar, x axis) {
	lo, last := bins[0].lo, bins[len(bins)-1].lo
	step := math.Ceil((last - lo + 1) / mostBars)
	all = make([]bar, int((last-lo)/step)+1)
	for i := range all {
		from := lo + float64(i)*step - 0.5
		all[i] = bar{from, from + step, 0}
	}
	for _, b := range bins {
		all[int((b.lo-lo)/step)].n += b.n
	}
	return all, counting("", lo-0.5, all[len(all)-1].hi)
}

// lengthBins returns lengths as bins, each from its length to the next number, without the length 0.
func lengthBins(lengths map[int64]int64) (all []bar) {
	for _, length := range slices.Sorted(maps.Keys(lengths)) {
		if length > 0 {
			all = append(all, bar{float64(length), float64(length + 1), lengths[length]})
		}
	}
	return all
}

// mostOf returns the least number above 0 and the largest number of a bar.
func mostOf(bars []bar) (least, most int64) {
	for _, b := range bars {
		if b.n > 0 && (least == 0 || b.n < least) {
			least = b.n
		}
		most = max(most, b.n)
	}
	return least, most
}

// histogram draws bars over an axis. The scale is that of all, the bars that are to be compared.
func (p *page) histogram(about, what string, bars, all []bar, x axis, of string, caption markup) {
	least, most := mostOf(all)
	y, note := counting(of, 0, float64(max(most, 1))), markup("")
	if most > 300*least {
		y, note = logarithmic(of, 0.7, float64(most)), "; the scale of the bars is logarithmic"
	}
	x.title = what
	c := newChart(about, x, y)
	c.bars(bars)
	p.figure(c, caption+note)
}

// lengths draws the numbers of entries of rows and of columns, on the same scales.
func (p *page) lengths(c *counts) {
	sides := []struct {
		one, many string
		of        map[int64]int64
		bins      []bar
	}{{"row", "rows", c.rows, lengthBins(c.rows)}, {"column", "columns", c.cols, lengthBins(c.cols)}}
	lo, hi := math.Inf(1), 0.
	for _, s := range sides {
		if len(s.bins) > 1 {
			lo, hi = min(lo, s.bins[0].lo), max(hi, s.bins[len(s.bins)-1].hi)
		}
	}
	x := counting("", lo-0.5, hi-0.5)
	if hi > 60*lo {
		x = logarithmic("", lo, hi)
	}
	var all []bar
	for i := range sides {
		s := &sides[i]
		switch {
		case len(s.bins) <= 1:
			continue
		case x.log:
			s.bins = joined(s.bins, true)
		default:
			s.bins, _ = wholeBars(s.bins)
			x.hi = max(x.hi, s.bins[len(s.bins)-1].hi)
		}
		all = append(all, s.bins...)
	}
	for _, s := range sides {
		q := append(look.Quantiles(s.of, 0, 0.5, 1), make([]look.Quantile, 3)...) // zeros, if there are no rows or columns
		caption := markedUp("Entries of the %s: %s at least, median %s, %s at most", s.many, count(q[0].Length), count(q[1].Length), count(q[2].Length))
		none := s.of[0]
		switch {
		case len(s.bins) == 1:
			caption = markedUp("Every %s has as many entries: %s", s.one, count(int64(s.bins[0].lo)))
			if none > 0 {
				caption += markedUp(", except %s without any", count(none))
			}
		case none > 0 && len(s.bins) > 1:
			caption += markedUp("; those without entries, %s, are not drawn", count(none))
		}
		if len(s.bins) <= 1 {
			p.f("<figure><figcaption>%s</figcaption></figure>\n", caption)
			continue
		}
		p.histogram("How many "+s.many+" have how many entries", "entries of a "+s.one, s.bins, all, x, s.many, caption)
	}
}

// valuesOf draws the values of the entries.
func (p *page) valuesOf(bins []bar) {
	if len(bins) == 0 {
		return
	}
	single := bins[0].lo == bins[0].hi
	last := bins[len(bins)-1]
	lo, hi := bins[0].lo, max(last.lo, last.hi)
	switch {
	case single && len(bins) == 1:
		p.f("<figure><figcaption>Every entry is %s</figcaption></figure>\n", tickText(lo))
		return
	case single && len(bins) <= mostValues:
		width := math.Inf(1)
		for i := range bins[1:] {
			width = min(width, bins[i+1].lo-bins[i].lo)
		}
		width = max(width, (hi-lo)/200) * 0.4
		bars := make([]bar, len(bins))
		for i, b := range bins {
			bars[i] = bar{b.lo - width, b.lo + width, b.n}
		}
		p.histogram("How often each value occurs", "value", bars, bars, linear("", lo-2*width, hi+2*width), "entries", markedUp("%d different values", len(bins)))
		return
	}
	log := lo > 0 && hi > 300*lo
	x := linear("", lo, hi)
	if log {
		x = logarithmic("", lo, hi)
	}
	// Bins of single whole numbers that are so near to one another can be counted together.
	whole := !slices.ContainsFunc(bins, func(b bar) bool { return b.lo != b.hi || b.lo != math.Trunc(b.lo) || math.Abs(b.lo) > 1e9 })
	if !log && whole {
		bins, x = wholeBars(bins)
	} else {
		bins = joined(bins, log)
	}
	p.histogram("How often values occur", "value", bins, bins, x, "entries", markedUp("Values of the entries, from %s to %s", tickText(lo), tickText(hi)))
}
