package panel

import "gonum.org/v1/gonum/blas/blas64"

// sliceRows is the number of rows of two panels that stay in the first-level cache while they are multiplied.
const sliceRows = 64

// maxVectors is the largest number of vectors of a tile.
const maxVectors = 3

// set is a set of micro-kernels for tiles of vectors.
type set struct {
	lanes int // float64 in a vector
	// cross adds yᵀv to c for at most p columns of y and q ≤ maxVectors·lanes of v, and returns the number of columns of y
	// done.
	cross func(c, y, v []float64, ldc, ldy, ldv, rows, p, q int) int
	// product adds v·d to y for p columns of y in nv vectors, and returns the number of rows done.
	product func(y, v, d []float64, ldy, ldv, rows, q, p, nv int) int
	// rotate applies rotations to rows of z from row first on, in at most cols columns, and returns the number of columns
	// done.
	rotate func(z, cs []float64, first, ld, cols int) int
}

// sets lists the kernel sets of this machine. The first set is used unless another set fits better.
var sets = append(available(), generic)

// AddCross sets c += yᵀv. c is p×q, y has p columns, v has q columns, and both panels have the same number of rows. c may
// not overlap the panels.
func AddCross(c, y, v blas64.General) { addCross(c, y, v, false) }

// AddGram adds xᵀx to the entries of c on and above the diagonal, as AddCross(c, x, x) does. It changes some entries below
// it, too: see Mirror.
func AddGram(c, x blas64.General) { addCross(c, x, x, true) }

// Mirror makes c symmetric: it copies the entries above the diagonal to those below.
func Mirror(c blas64.General) {
	for i := range c.Rows {
		for j := range i {
			c.Data[i*c.Stride+j] = c.Data[j*c.Stride+i]
		}
	}
}

func addCross(c, y, v blas64.General, upper bool) {
	check(c.Rows == y.Cols && c.Cols == v.Cols && y.Rows == v.Rows)
	k := fitting(v.Cols)
	for r := 0; r < y.Rows; r += sliceRows {
		rows := min(sliceRows, y.Rows-r)
		for j := 0; j < v.Cols; {
			q, end := k.columns(v.Cols-j), y.Cols
			if upper {
				end = j + q
			}
			for i := 0; i < end; {
				i += k.cross(c.Data[i*c.Stride+j:], y.Data[r*y.Stride+i:], v.Data[r*v.Stride+j:], c.Stride, y.Stride, v.Stride, rows, end-i, q)
			}
			j += q
		}
	}
}

// Factor is the small factor D of a product, packed for the kernels.
type Factor struct {
	k    *set
	q, p int
	data []float64 // tile after tile, each of q rows of whole vectors
}

// Pack returns alpha·dᵀ for a d of p rows and q columns.
func Pack(alpha float64, d blas64.General) (f Factor) {
	f.Pack(alpha, d)
	return f
}

// Pack sets f to alpha·dᵀ. It reuses the memory of f if that is enough.
func (f *Factor) Pack(alpha float64, d blas64.General) {
	k := fitting(d.Rows)
	f.k, f.q, f.p = k, d.Cols, d.Rows
	if size := (d.Rows + k.lanes - 1) / k.lanes * k.lanes * d.Cols; cap(f.data) < size {
		f.data = make([]float64, size)
	} else {
		f.data = f.data[:size]
		clear(f.data)
	}
	at := 0
	for i := 0; i < f.p && f.q > 0; {
		p := k.columns(f.p - i)
		wide := k.vectors(p) * k.lanes
		for r := range p {
			for j, x := range d.Data[(i+r)*d.Stride:][:f.q] {
				f.data[at+j*wide+r] = alpha * x
			}
		}
		i, at = i+p, at+wide*f.q
	}
}

// AddProduct sets y += v·d for panels with the same number of rows. y and v may not overlap.
func AddProduct(y, v blas64.General, d Factor) {
	check(y.Rows == v.Rows && y.Cols == d.p && v.Cols == d.q)
	if d.q == 0 {
		return
	}
	k := d.k
	for r := 0; r < y.Rows; r += sliceRows {
		end, at := min(r+sliceRows, y.Rows), 0
		for i := 0; i < d.p; {
			p := k.columns(d.p - i)
			nv := k.vectors(p)
			for s := r; s < end; {
				s += k.product(y.Data[s*y.Stride+i:], v.Data[s*v.Stride:], d.data[at:], y.Stride, v.Stride, end-s, d.q, p, nv)
			}
			i, at = i+p, at+nv*k.lanes*d.q
		}
	}
}

// Rotate applies plane rotations to pairs of neighbouring rows of z, from row first on: towards higher rows if step is 1,
// towards lower rows if it is -1. Each c, s in cs replaces row x and the next row y by c·x + s·y and c·y − s·x; the
// following rotation takes the new y and the row after it.
func Rotate(z blas64.General, cs []float64, first, step int) {
	last := first + step*len(cs)/2
	check(len(cs)%2 == 0 && (step == 1 || step == -1) && min(first, last) >= 0 && max(first, last) < z.Rows)
	if len(cs) == 0 {
		return
	}
	for j := 0; j < z.Cols; {
		j += sets[0].rotate(z.Data[j:], cs, first, step*z.Stride, z.Cols-j)
	}
}

func check(ok bool) {
	if !ok {
		panic("panel: dimensions do not match")
	}
}

// fitting returns the first set, or a set with shorter vectors if those of the first would be half empty.
func fitting(columns int) *set {
	best := &sets[0]
	for i := range sets[1:] {
		if s := &sets[i+1]; s.lanes > 1 && 2*s.vectors(columns)*s.lanes <= best.vectors(columns)*best.lanes {
			best = s
		}
	}
	return best
}

// vectors returns the number of vector registers that hold the columns.
func (k *set) vectors(columns int) int { return (columns + k.lanes - 1) / k.lanes }

// columns returns the width of the first tile of the columns; tiles are about equally wide.
func (k *set) columns(columns int) int {
	vectors := k.vectors(columns)
	tiles := (vectors + maxVectors - 1) / maxVectors
	return min(columns, (vectors+tiles-1)/tiles*k.lanes)
}
