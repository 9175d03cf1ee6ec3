package view

import (
	"cmp"
	"context"
	"math"
	"runtime"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream"
)

// Summary is the result of Summarise.
type Summary struct {
	Columns []Numbers // of the source
	Count   int64     // of entries that are not 0
	Sum     float64   // of all elements
}

// Identity returns the view without steps, already measured: the source as it is.
func Identity(src stream.Source, transposed bool) *View {
	v := &View{src: src, transposed: transposed, measured: true}
	v.rows.New = func() any { return new(lane) }
	v.norm = math.Ldexp(src.Norm())
	return v
}

// Summarise reads a view that has been measured once. rows is called in order with the numbers of
// consecutive rows of the source, which it must not keep; its error ends the read. Sums have the
// same bits for any number of workers and any budget. o.Reserve is memory that the caller uses.
func (v *View) Summarise(ctx context.Context, o stream.Options, rows func([]Numbers) error) (*Summary, error) {
	if !v.measured {
		panic("view: a View that has not been measured has no values")
	}
	if len(v.ops) == 0 {
		if err := v.inRange(); err != nil {
			return nil, err
		}
	}
	n := need{squares: true}
	n.stats[count] = true
	const each = 32 // bytes of Numbers
	workers := int64(cmp.Or(o.Workers, runtime.GOMAXPROCS(0)))
	reserve := n.bytes(v.src.Cols(), 0, len(v.q)) + each*(v.src.Cols()+workers*v.src.MaxBlock().Rows)
	if _, err := v.fits(o, reserve); err != nil {
		return nil, err
	}
	qq, qs := products(v.q)
	all, upTo := &op{q: v.q, qs: qs, qq: qq}, len(v.ops)
	s := newSums(n, int(v.src.Cols()), v.src.Rows(), v.q, qq)
	err := v.scan(ctx, o, 0, v.src.NumBlocks(), upTo, false, reserve, func(b *csr.Block, l *lane) {
		l.numbers = memory.Resized(l.numbers, b.Rows())
		if len(b.Col16) > 0 {
			numbersOf(all, l, b.RowPtr, b.Col16, int(v.src.Cols()))
		} else {
			numbersOf(all, l, b.RowPtr, b.Col, int(v.src.Cols()))
		}
	}, func(b *csr.Block, l *lane) error {
		s.add(b, l)
		return rows(l.numbers)
	})
	if err != nil {
		return nil, err
	}
	s.finish()
	r := &Summary{Columns: make([]Numbers, len(s.sum))}
	var total sum
	for j := range r.Columns {
		x := &r.Columns[j]
		*x = numbersFrom(s.sum[j], variance(s.squares[j], s.sum[j], s.terms(j), float64(v.src.Rows()), 0), v.src.Rows())
		x.Count = int64(s.count[j])
		r.Count += x.Count
		total.plusTimes(1, s.sum[j])
	}
	r.Sum = total.value()
	return r, nil
}

// numbersFrom returns the Numbers of n elements with a sum, and a sum of squares about the mean.
func numbersFrom(s sum, squares float64, n int64) Numbers {
	if n == 0 {
		return Numbers{}
	}
	return Numbers{Sum: s.value(), Mean: s.over(float64(n)), Variance: squares / float64(n)}
}

func numbersOf[C column](all *op, l *lane, ptr []uint32, cols []C, n int) {
	first := ptr[0]
	for i := range l.numbers {
		lo, hi := ptr[i], ptr[i+1]
		r := row{n: n, val: l.val[lo-first : hi-first], p: l.p[i]}
		sum, _ := rowSum(all, &r)
		x := numbersFrom(sum, rowVariance(all, cols[lo:hi], &r), int64(n))
		x.Count = int64(count.of(r.val, 0))
		l.numbers[i] = x
	}
}
