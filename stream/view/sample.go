package view

import (
	"context"
	"fmt"
	"sort"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/stream"
)

// Line describes a row of the user's view, for display.
type Line struct {
	Row     int64
	Count   int64   // of entries that are not 0
	Entries []Entry // the first of them by column, as elements of B
	// Empty is the number of elements without an entry, whose values are between Low and High: 0 unless
	// steps have filled them.
	Empty     int64
	Low, High float64
}

// Entry is an element of B that has an entry.
type Entry struct {
	Col   int64
	Value float64
}

// meet adds element at, s + rest, which has an entry unless s is 0. A line has no more than most Entries.
func (l *Line) meet(at int64, s, rest float64, most int) {
	if s == 0 {
		l.Empty++
		if l.Empty == 1 {
			l.Low, l.High = rest, rest
		}
		l.Low, l.High = min(l.Low, rest), max(l.High, rest)
		return
	}
	l.Count++
	if len(l.Entries) < most {
		l.Entries = append(l.Entries, Entry{at, s + rest})
	}
}

// SomeRows returns rows of the user's matrix by their numbers, in the order given, with at most most entries each.
func (v *View) SomeRows(ctx context.Context, o stream.Options, rows []int64, most int) (lines []Line, err error) {
	n, _ := csr.Exchanged(v.transposed, v.src.Rows(), v.src.Cols())
	for _, row := range rows {
		if row < 0 || row >= n {
			return nil, fmt.Errorf("view: row %d of %d", row, n)
		}
	}
	if !v.local("rows") {
		return v.columns(ctx, o, rows, most)
	}
	for _, row := range rows {
		i := sort.Search(v.src.NumBlocks(), func(i int) bool { return v.src.Block(i).FirstRow > row }) - 1
		line, err := v.storedRows(ctx, o, i, i+1, most, func(l *Line) bool { return l.Row == row }, 1)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line...)
	}
	return lines, nil
}

// FirstRows returns the first n rows of the user's matrix that have entries, with at most most
// entries each.
func (v *View) FirstRows(ctx context.Context, o stream.Options, n, most int) ([]Line, error) {
	if v.local("rows") {
		return v.storedRows(ctx, o, 0, v.src.NumBlocks(), most, func(l *Line) bool { return l.Count > 0 }, n)
	}
	s, err := v.sum(ctx, o, read{at: len(v.ops), need: ofStat(count)}, 0, v.src.NumBlocks())
	if err != nil {
		return nil, err
	}
	var at []int64
	for j, c := range s.count {
		if c > 0 && len(at) < n {
			at = append(at, int64(j))
		}
	}
	if len(at) == 0 {
		return nil, nil
	}
	return v.columns(ctx, o, at, most)
}

// EachRow calls each for the rows of the source in order, with the columns and values of their entries in S: 0 where a
// step takes an entry away. Elements that a step fills are left out; see Sides. The slices are valid until each
// returns, and an error of each ends the read.
func (v *View) EachRow(ctx context.Context, o stream.Options, each func(row int64, cols []uint32, val []float64) error) error {
	var cols []uint32
	return v.blocks(ctx, o, 0, v.src.NumBlocks(), func(b *csr.Block, l *lane) (bool, error) {
		for k := range b.Rows() {
			at, end := b.RowPtr[k], b.RowPtr[k+1]
			cols = cols[:0]
			for p := at; p < end; p++ {
				cols = append(cols, uint32(columnAt(b, p)))
			}
			if err := each(b.FirstRow+int64(k), cols, l.val[at:end]); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// blocks calls each for blocks from … to−1 with their values, until more is false.
func (v *View) blocks(ctx context.Context, o stream.Options, from, to int, each func(*csr.Block, *lane) (more bool, err error)) error {
	largest := v.src.MaxBlock()
	parts := budget.Process()
	parts.Take("block", v.src.DecodedSize(largest.Rows, largest.NNZ)+8*largest.NNZ+16*largest.Rows)
	parts.Take("view", v.bytes())
	if _, err := parts.Left(o.Memory, 0); o.Memory > 0 && err != nil {
		return err
	}
	b, l := v.src.Scratch(), new(lane)
	for i, more := from, true; i < to && more; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := v.src.DecodeBlock(i, b)
		if err != nil {
			return err
		}
		l.compute(v, b, len(v.ops), false)
		if l.bad >= 0 {
			return v.blame(b, l.bad, len(v.ops))
		}
		if more, err = each(b, l); err != nil {
			return err
		}
		v.src.Release(i, i+1)
	}
	return nil
}

// storedRows returns the first n rows of blocks from … to−1 for which wanted is true.
func (v *View) storedRows(ctx context.Context, o stream.Options, from, to, most int, wanted func(*Line) bool, n int) (lines []Line, err error) {
	err = v.blocks(ctx, o, from, to, func(b *csr.Block, l *lane) (bool, error) {
		for k := 0; k < b.Rows() && len(lines) < n; k++ {
			line := Line{Row: b.FirstRow + int64(k), Count: int64(count.of(l.val[b.RowPtr[k]:b.RowPtr[k+1]], 0))}
			if wanted(&line) {
				line.Count = 0
				v.fill(&line, b, l, k, most)
				lines = append(lines, line)
			}
		}
		return len(lines) < n, nil
	})
	return lines, err
}

// fill adds the elements of row k of a block to a line.
func (v *View) fill(line *Line, b *csr.Block, l *lane, k, most int) {
	at, end := b.RowPtr[k], b.RowPtr[k+1]
	if len(v.q) == 0 { // elements without an entry are 0, and there may be billions
		line.Empty = v.src.Cols() - int64(end-at)
		for ; at < end; at++ {
			line.meet(columnAt(b, at), l.val[at], 0, most)
		}
		return
	}
	for j := range v.src.Cols() {
		s := 0.0
		if at < end && columnAt(b, at) == j {
			s = l.val[at]
			at++
		}
		line.meet(j, s, v.rest(l.p[k], j), most)
	}
}

// rest is an element of P·Qᵀ.
func (v *View) rest(p [2]float64, j int64) (x float64) {
	for t, q := range v.q {
		x += float64(p[t] * q[j])
	}
	return x
}

func columnAt(b *csr.Block, i uint32) int64 {
	if len(b.Col16) > 0 {
		return int64(b.Col16[i])
	}
	return int64(b.Col[i])
}

func (v *View) columns(ctx context.Context, o stream.Options, at []int64, most int) ([]Line, error) {
	lines := make([]Line, len(at))
	for i, j := range at {
		lines[i].Row = j
	}
	const entry, limit = 16, 1 << 60 // bytes
	reserve := int64(min(limit, entry*float64(len(at))*min(float64(most), float64(v.src.Rows()))))
	err := v.scan(ctx, o, 0, v.src.NumBlocks(), len(v.ops), false, reserve, nil, func(b *csr.Block, l *lane) error {
		first := b.RowPtr[0]
		for k := range b.Rows() {
			lo, hi := b.RowPtr[k], b.RowPtr[k+1]
			for i, j := range at {
				n := sort.Search(int(hi-lo), func(n int) bool { return columnAt(b, lo+uint32(n)) >= j })
				s := 0.0
				if p := lo + uint32(n); p < hi && columnAt(b, p) == j {
					s = l.val[p-first]
				}
				lines[i].meet(b.FirstRow+int64(k), s, v.rest(l.p[k], j), most)
			}
		}
		return nil
	})
	return lines, err
}
