// Package history reads rows or columns of the user's matrix from a store, whichever side the store has as its rows, some at
// a time.
package history

import (
	"context"
	"math"
	"slices"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// EntryBytes is the memory in bytes of an entry of Rows.
const EntryBytes = 4 + 8

// Rows are rows of the user's matrix: row i has the columns Cols[Ptr[i]:Ptr[i+1]], ascending, and their values in Vals. No value
// is 0 unless Reader.Zeros is set.
type Rows struct {
	Ptr  []int
	Cols []uint32
	Vals []float64
}

func (r *Rows) Len() int { return len(r.Ptr) - 1 }

func (r *Rows) Row(i int) ([]uint32, []float64) {
	return r.Cols[r.Ptr[i]:r.Ptr[i+1]], r.Vals[r.Ptr[i]:r.Ptr[i+1]]
}

// Has tells whether row i has an entry in a column.
func (r *Rows) Has(i int, col uint32) bool {
	_, ok := slices.BinarySearch(r.Cols[r.Ptr[i]:r.Ptr[i+1]], col)
	return ok
}

// Reader reads rows of a store. It is not safe for concurrent use.
type Reader struct {
	Keep  func(row int64, col uint32) bool // reports whether an entry is kept; nil: all are
	Zeros bool                             // entries of value 0 are kept, too; only for rows that are rows of the store

	store   *csr.Store
	options stream.Options
	across  bool    // whether columns of the stored matrix are read
	first   []int64 // first row of each block; nil if columns of the store are read
	counts  []int64 // number of entries of each stored column; nil if rows of the store are read
}

// New returns a Reader that decodes with o.Workers within o.Memory bytes, of which o.Reserve are taken. If columns is true, it
// reads columns of the user's matrix, which are then called rows here. If the rows to read are columns of the store, New reads
// the store once for their lengths.
func New(ctx context.Context, store *csr.Store, columns bool, o stream.Options) (*Reader, error) {
	r := &Reader{store: store, options: o}
	r.across, _ = csr.Orient(store, columns, !columns)
	if !r.across {
		for i := range store.NumBlocks() {
			r.first = append(r.first, store.Block(i).FirstRow)
		}
		return r, nil
	}
	r.counts = make([]int64, store.Cols())
	return r, r.scan(ctx, func(_, col uint32, _ float64) { r.counts[col]++ })
}

// MaxColumns is the largest number of columns of the user's matrix.
const MaxColumns = math.MaxUint32

// Bytes returns the memory in bytes that a Reader keeps.
func Bytes(store *csr.Store) int64 {
	n, _ := csr.Orient(store, 8*int64(store.NumBlocks()), 12*store.Cols())
	return n
}

// scan calls f with each entry that is not 0, in the order of the stored rows.
func (r *Reader) scan(ctx context.Context, f func(row, col uint32, val float64)) error {
	nothing := func(int, *csr.Block) error { return nil }
	return stream.Scan(ctx, r.store, r.options, nothing, func(_ int, b *csr.Block) error {
		for i := range b.Rows() {
			for col, val := range b.Row(i) {
				if val != 0 {
					f(uint32(b.FirstRow)+uint32(i), col, val)
				}
			}
		}
		return nil
	})
}

// Read reads the first of the given rows, which ascend: at least one, and as many as have at most the given number of entries.
func (r *Reader) Read(ctx context.Context, rows []int64, entries int64) (*Rows, error) {
	read := r.slice
	if r.across {
		read = r.gather
	}
	out, err := read(ctx, rows, entries)
	if err == nil && r.Keep != nil {
		out.keep(rows, r.Keep)
	}
	return out, err
}

// keep removes the entries for which keep is false. rows holds the numbers of the rows.
func (r *Rows) keep(rows []int64, keep func(row int64, col uint32) bool) {
	n, from := 0, 0
	for i, end := range r.Ptr[1:] {
		for p := from; p < end; p++ {
			if keep(rows[i], r.Cols[p]) {
				r.Cols[n], r.Vals[n] = r.Cols[p], r.Vals[p]
				n++
			}
		}
		r.Ptr[i+1], from = n, end
	}
	r.Cols, r.Vals = r.Cols[:n], r.Vals[:n]
}

// gather collects rows that are columns of the store.
func (r *Reader) gather(ctx context.Context, rows []int64, entries int64) (*Rows, error) {
	out := &Rows{Ptr: []int{0}}
	place := make([]int32, len(r.counts)) // index of each row in rows, from 1; 0: not read
	total := int64(0)
	for i, row := range rows {
		total += r.counts[row]
		if i > 0 && total > entries || i == math.MaxInt32-1 {
			total -= r.counts[row]
			break
		}
		place[row] = int32(i + 1)
		out.Ptr = append(out.Ptr, int(total))
	}
	out.Cols, out.Vals = make([]uint32, total), make([]float64, total)
	at := slices.Clone(out.Ptr)
	return out, r.scan(ctx, func(col, row uint32, val float64) {
		if i := place[row]; i > 0 {
			p := &at[i-1]
			out.Cols[*p], out.Vals[*p] = col, val
			*p++
		}
	})
}

// slice decodes the blocks that the rows are in.
func (r *Reader) slice(ctx context.Context, rows []int64, entries int64) (*Rows, error) {
	var blocks []int
	taken, total := 0, int64(0) // number of rows, and of entries of their blocks
	for taken < len(rows) {
		block := sort.Search(len(r.first), func(i int) bool { return r.first[i] > rows[taken] }) - 1
		info := r.store.Block(block)
		total += int64(info.NNZ)
		if len(blocks) > 0 && total > entries {
			break
		}
		blocks = append(blocks, block)
		end := info.FirstRow + int64(info.Rows)
		taken += sort.Search(len(rows)-taken, func(i int) bool { return rows[taken+i] >= end })
	}
	parts, err := r.decode(ctx, blocks, rows[:taken])
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	out, size := &Rows{Ptr: make([]int, 1, taken+1)}, 0
	for _, p := range parts {
		size += len(p.Cols)
	}
	out.Cols, out.Vals = make([]uint32, 0, size), make([]float64, 0, size)
	for _, p := range parts {
		for _, end := range p.Ptr[1:] {
			out.Ptr = append(out.Ptr, len(out.Cols)+end)
		}
		out.Cols, out.Vals = append(out.Cols, p.Cols...), append(out.Vals, p.Vals...)
	}
	return out, nil
}

func (r *Reader) decode(ctx context.Context, blocks []int, rows []int64) ([]*Rows, error) {
	parts := make([]*Rows, len(blocks))
	group, ctx := errgroup.WithContext(ctx)
	workers := min(r.options.Workers, len(blocks))
	for w := range workers {
		group.Go(func() error {
			b := r.store.Scratch()
			for i := w; i < len(blocks); i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := r.store.DecodeBlock(blocks[i], b); err != nil {
					return err
				}
				r.store.Release(blocks[i], blocks[i]+1)
				parts[i] = pick(b, rows, r.Zeros)
			}
			return nil
		})
	}
	return parts, group.Wait()
}

// pick copies the given rows that are in a block, with or without zeros.
func pick(b *csr.Block, rows []int64, zeros bool) *Rows {
	from := sort.Search(len(rows), func(i int) bool { return rows[i] >= b.FirstRow })
	end := b.FirstRow + int64(b.Rows())
	out := &Rows{Ptr: []int{0}}
	rows = rows[from:]
	if int64(len(rows)) >= int64(b.Rows()) {
		out.Cols, out.Vals = make([]uint32, 0, b.NNZ()), make([]float64, 0, b.NNZ())
	}
	for _, row := range rows {
		if row >= end {
			break
		}
		for col, val := range b.Row(int(row - b.FirstRow)) {
			if zeros || val != 0 {
				out.Cols, out.Vals = append(out.Cols, col), append(out.Vals, val)
			}
		}
		out.Ptr = append(out.Ptr, len(out.Cols))
	}
	return out
}

// Each calls f with the numbers of a list, or with all numbers below total if the list is nil, at most most at a time. f returns
// how many of them it has processed; the next call begins behind these.
func Each(list []int64, total, most int64, f func(of []int64) (int, error)) error {
	if list != nil {
		total = int64(len(list))
	}
	for done := int64(0); done < total; {
		n := min(total-done, most)
		var of []int64
		if list != nil {
			of = list[done : done+n]
		} else {
			for i := range n {
				of = append(of, done+i)
			}
		}
		dealt, err := f(of)
		if err != nil {
			return err
		}
		done += int64(dealt)
	}
	return nil
}
