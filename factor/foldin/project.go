package foldin

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sort"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/internal/parallel"
	"github.com/gdsvd/gdsvd/stream"
)

// leastLeft is the least number of bytes that are planned for lines and vectors.
const leastLeft = 16 << 20

// ledger returns the memory that is taken before the store is read.
func (p *projecting) ledger() budget.Ledger {
	l := budget.Process()
	l.Take("ids", 4*p.others+p.n+4*int64(len(p.absent)))
	return l
}

// plan divides the budget. The memory that is left is for a window of the vectors, for lines, and for their rows of X.
func (p *projecting) plan(ctx context.Context) (err error) {
	block, k := p.store.MaxBlock(), int64(p.K)
	l := p.ledger()
	l.Take("lines", 12*p.store.Cols()+8*int64(p.store.NumBlocks()))
	l.Take("blocks", int64(p.o.Workers)*p.store.DecodedSize(block.Rows, block.NNZ))
	l.Take("vectors", 256*8*k)
	if p.fitted != nil {
		l.Take("view", p.fitted.Bytes())
	}
	if p.left, err = l.Left(p.o.Memory, leastLeft); err != nil {
		return err
	}
	p.window = npy.Window{N: p.n, Most: p.left / 2 / (8 * k), K: p.K, Read: p.vectors.ReadRows}
	p.reader, err = history.New(ctx, p.store, p.o.Columns, stream.Options{Memory: p.o.Memory, Workers: p.o.Workers, Reserve: p.o.Memory - p.left/4 - budget.Process().Total()})
	if err != nil {
		return err
	}
	if err := p.shrink(ctx); err != nil {
		return err
	}
	return p.add(ctx)
}

// shrink computes the share of the squares of each vector in the columns that the store has.
func (p *projecting) shrink(ctx context.Context) error {
	if p.absent == nil {
		return nil
	}
	p.Shrinkage = make([]float64, p.K)
	absent := p.absent
	return p.window.Each(ctx, func(first int64, v *mat.Dense) error {
		for i := range v.RawMatrix().Rows {
			if len(absent) > 0 && int64(absent[0]) == first+int64(i) {
				absent = absent[1:]
				continue
			}
			for j, x := range v.RawRowView(i) {
				p.Shrinkage[j] += x * x
			}
		}
		return nil
	})
}

// budget returns the number of lines taken at a time, and the largest number of their entries. If lines are rows of the store
// and all vectors are in memory, the number of lines makes no difference.
func (p *projecting) budget() (lines, entries int64) {
	const enough = 1 << 16
	lines, entries = p.left/8/int64(8*p.K+64), p.left/8/(4*history.EntryBytes)
	rows, _ := csr.Orient(p.store, !p.o.Columns, p.o.Columns)
	if rows && p.window.Most >= p.n {
		lines = min(lines, enough)
	}
	if absent := int64(len(p.absent)); absent > 0 {
		entries /= 2
		lines = min(lines, entries/absent)
	}
	return max(1, lines), entries
}

// add computes QᵀV; P·QᵀV is added to the rows. It sums up parts of many rows each, so that errors do not grow with n.
func (p *projecting) add(ctx context.Context) error {
	const many = 256
	if p.fitted == nil || len(p.fitted.Q()) == 0 {
		return nil
	}
	q := p.fitted.Q()
	p.base = mat.NewDense(len(q), p.K, nil)
	part := mat.NewDense(len(q), p.K, nil)
	return p.window.Each(ctx, func(first int64, v *mat.Dense) error {
		for i := range v.RawMatrix().Rows {
			at := first + int64(i) + 1
			for t := range q {
				blas64.Axpy(q[t][at-1], vector(v.RawRowView(i)), vector(part.RawRowView(t)))
			}
			if at%many == 0 || at == p.n {
				p.base.Add(p.base, part)
				part.Zero()
			}
		}
		return nil
	})
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func (p *projecting) write(ctx context.Context, out *folder.Folder) (err error) {
	var by []float64
	if p.o.Whiten {
		if by, err = p.deviations(); err != nil {
			return err
		}
	}
	array, err := npy.Create(p.o.FS, out.Path(folder.Vectors), p.lines, int64(p.K))
	if err != nil {
		return err
	}
	most, entries := p.budget()
	done := int64(0)
	err = history.Each(nil, p.lines, most, func(numbers []int64) (int, error) {
		p.o.Progress(done, p.lines)
		lines, err := p.reader.Read(ctx, numbers, entries)
		if err != nil {
			return 0, err
		}
		x, err := p.project(ctx, done, lines)
		if err != nil {
			return 0, p.valueError(err)
		}
		if by != nil {
			x.Apply(func(_, j int, v float64) float64 { return v / by[j] }, x)
		}
		err = array.WriteRows(done, x)
		done += int64(lines.Len())
		return lines.Len(), err
	})
	if err != nil {
		return errors.Join(err, array.Discard())
	}
	sum, err := array.Finish()
	p.Files = append(p.Files, factor.File{Name: folder.Vectors, Size: sum.Size, CRC: sum.CRC, Pieces: sum.Pieces})
	p.o.Progress(p.lines, p.lines)
	return err
}

// project multiplies lines by the vectors; from is the number of the first line.
func (p *projecting) project(ctx context.Context, from int64, lines *history.Rows) (*mat.Dense, error) {
	p.known(lines)
	p.fill(lines)
	n := lines.Len()
	x := mat.NewDense(n, p.K, nil)
	s := make([]float64, len(lines.Vals))
	count := min(n, 4*p.o.Workers)
	parts := func(f func(part, i int)) {
		parallel.Each(p.o.Workers, count, func(_, part int) {
			for i := part * n / count; i < (part+1)*n/count; i++ {
				f(part, i)
			}
		})
	}
	errs := make([]error, count)
	parts(func(part, i int) {
		cols, vals := lines.Row(i)
		own := s[lines.Ptr[i]:lines.Ptr[i+1]]
		if p.fitted == nil {
			copy(own, vals)
			return
		}
		of, err := p.fitted.Line(from+int64(i), cols, vals, own)
		errs[part] = cmp.Or(errs[part], err)
		if p.base != nil {
			for t := range p.base.RawMatrix().Rows {
				blas64.Axpy(of[t], vector(p.base.RawRowView(t)), vector(x.RawRowView(i)))
			}
		}
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	err := p.window.Each(ctx, func(first int64, v *mat.Dense) error {
		end := first + int64(v.RawMatrix().Rows)
		parts(func(_, i int) {
			cols, _ := lines.Row(i)
			own := s[lines.Ptr[i]:lines.Ptr[i+1]]
			begin := sort.Search(len(cols), func(e int) bool { return int64(cols[e]) >= first })
			for e := begin; e < len(cols) && int64(cols[e]) < end; e++ {
				blas64.Axpy(own[e], vector(v.RawRowView(int(int64(cols[e])-first))), vector(x.RawRowView(i)))
			}
		})
		return nil
	})
	return x, err
}

// known removes entries in columns that the matrix does not have, and renumbers the others by the rows of vectors.
func (p *projecting) known(lines *history.Rows) {
	at, begin := 0, 0
	for i := range lines.Len() {
		end, first := lines.Ptr[i+1], at
		for e := begin; e < end; e++ {
			if place := p.place[lines.Cols[e]]; place != nowhere {
				lines.Cols[at], lines.Vals[at] = place, lines.Vals[e]
				if p.some && lines.Vals[e] == p.missing {
					lines.Vals[at] = math.NaN()
				}
				at++
			}
		}
		p.UnknownEntries += int64(end - begin - (at - first))
		begin, lines.Ptr[i+1] = end, at
		if at == first {
			p.Empty++
		}
		if !p.ordered {
			sort.Sort(entries{lines.Cols[first:at], lines.Vals[first:at]})
		}
	}
	lines.Cols, lines.Vals = lines.Cols[:at], lines.Vals[:at]
}

// fill adds missing entries to lines, in the columns that the store does not have.
func (p *projecting) fill(lines *history.Rows) {
	if p.absent == nil {
		return
	}
	n := len(lines.Cols) + lines.Len()*len(p.absent)
	out := history.Rows{Ptr: []int{0}, Cols: make([]uint32, 0, n), Vals: make([]float64, 0, n)}
	add := func(col uint32, val float64) { out.Cols, out.Vals = append(out.Cols, col), append(out.Vals, val) }
	for i := range lines.Len() {
		cols, vals := lines.Row(i)
		for _, gone := range p.absent {
			for len(cols) > 0 && cols[0] < gone {
				add(cols[0], vals[0])
				cols, vals = cols[1:], vals[1:]
			}
			add(gone, math.NaN())
		}
		out.Cols, out.Vals = append(out.Cols, cols...), append(out.Vals, vals...)
		out.Ptr = append(out.Ptr, len(out.Cols))
	}
	*lines = out
}

// entries sorts the entries of a line by column.
type entries struct {
	cols []uint32
	vals []float64
}

func (e entries) Len() int           { return len(e.cols) }
func (e entries) Less(i, j int) bool { return e.cols[i] < e.cols[j] }
func (e entries) Swap(i, j int) {
	e.cols[i], e.cols[j] = e.cols[j], e.cols[i]
	e.vals[i], e.vals[j] = e.vals[j], e.vals[i]
}
