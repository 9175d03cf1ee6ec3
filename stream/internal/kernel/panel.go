package kernel

import (
	"fmt"
	"iter"
)

// A dense n×l block in panels has its columns in groups of 16 and the remaining
// columns in one group of 1, 2, 4, 8 or 16, padded with columns of zeros. Each group
// is a row-major n×width array of its own, one after the other. One panel that
// is too wide costs less than several narrow ones: a pass waits for
// cache lines, and every panel reads the entries of A again.
//
// Were the block row-major, a panel's numbers would lie a power of two apart for
// the usual l, and only a fraction of the cache's sets could hold them.

// MaxPanel is the largest number of columns of a panel. A block of a power of two columns up to
// this is one panel, row-major.
const MaxPanel = 16

// Columns returns the largest l ≥ 0 with Width(l) ≤ numbers.
func Columns(numbers int) int {
	l := numbers
	for l > 0 && Width(l) > numbers {
		l--
	}
	return max(0, l)
}

// panel is a group of adjacent columns.
type panel struct {
	first int // column of the block
	cols  int // columns of the block in it
	width int // cols and the columns of zeros that pad it
	from  int // where it begins in the slice of the block
	n     int // rows
}

// widthFor returns the width of the panel to take from l > 0 remaining columns.
func widthFor(l int) int {
	w := 1
	for w < l && w < MaxPanel {
		w *= 2
	}
	return w
}

// Width is the number of columns of an l-column block in panels, with the
// zeros: a block of n rows occupies n·Width(l) numbers.
func Width(l int) int {
	total := 0
	for l > 0 {
		w := widthFor(l)
		total += w
		l -= w
	}
	return total
}

func panels(l, size int) iter.Seq[panel] {
	if size%Width(l) != 0 {
		panic(fmt.Sprintf("kernel: a block of %d columns cannot have %d numbers", l, size))
	}
	n := size / Width(l)
	return func(yield func(panel) bool) {
		from := 0
		for first := 0; first < l; {
			w := widthFor(l - first)
			p := panel{first: first, cols: min(w, l-first), width: w, from: from, n: n}
			if !yield(p) {
				return
			}
			first += w
			from += n * w
		}
	}
}

func (p panel) of(x []float64) []float64 { return x[p.from : p.from+p.n*p.width] }

// gather sets dst, in the panel's width, to its columns of the row-major src of the given stride.
func (p panel) gather(dst, src []float64, stride int) {
	if p.width == stride && p.cols == stride {
		copy(dst, src)
		return
	}
	for len(dst) > 0 {
		clear(dst[copy(dst[:p.width], src[p.first:p.first+p.cols]):p.width])
		dst = dst[p.width:]
		src = src[min(stride, len(src)):]
	}
}

// scatter is the inverse of gather.
func (p panel) scatter(dst, src []float64, stride int) {
	for len(src) > 0 {
		copy(dst[p.first:], src[:p.cols])
		src = src[p.width:]
		dst = dst[min(stride, len(dst)):]
	}
}

// Pack sets the rows from first on of dst, a block of l columns in panels, to
// those of the row-major src.
func Pack(dst []float64, l, first, rows int, src []float64, stride int) {
	for p := range panels(l, len(dst)) {
		p.gather(p.of(dst)[first*p.width:(first+rows)*p.width], src, stride)
	}
}

// Scale multiplies row first+i of dst, a block of l columns in panels, by by[i].
func Scale(dst []float64, l, first int, by []float64) {
	for p := range panels(l, len(dst)) {
		rows := p.of(dst)[first*p.width:]
		for i, d := range by {
			row := rows[i*p.width:][:p.width]
			for j := range row {
				row[j] *= d
			}
		}
	}
}

// Unpack sets the row-major dst with l columns to the rows from first on of the
// sum of blocks in panels, which are added in order.
func Unpack(dst []float64, stride, l, first, rows int, sums ...[]float64) {
	if stride == l && widthFor(l) == l { // one panel, row-major as dst
		addUp(dst[:rows*l], first*l, sums)
		return
	}
	for p := range panels(l, len(sums[0])) {
		for i := range rows {
			at := p.from + (first+i)*p.width
			row := dst[i*stride+p.first:][:p.cols]
			copy(row, sums[0][at:])
			for _, y := range sums[1:] {
				for j, v := range y[at:][:p.cols] {
					row[j] += v
				}
			}
		}
	}
}

// addUp sets dst to the sum of len(dst) numbers of each of sums, from at on, added
// in order.
func addUp(dst []float64, at int, sums [][]float64) {
	const some = 512 // numbers, which stay in the first-level cache meanwhile
	for len(dst) > 0 {
		d := dst[:min(some, len(dst))]
		part := func(i int) []float64 { return sums[i][at:][:len(d)] }
		copy(d, part(0))
		i := 1
		for ; i+3 <= len(sums); i += 3 {
			a, b, c := part(i), part(i+1), part(i+2)
			for j, v := range d {
				d[j] = v + a[j] + b[j] + c[j]
			}
		}
		for ; i < len(sums); i++ {
			a := part(i)
			for j, v := range d {
				d[j] = v + a[j]
			}
		}
		dst, at = dst[len(d):], at+len(d)
	}
}
