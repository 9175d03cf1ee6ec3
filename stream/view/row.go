package view

import "math"

// Squares of values outside of this range may leave that of a float64.
const smallest, greatest = 0x1p-100, 0x1p100

// op is the effect of a step, or of a part of it, on a row of the store.
type op struct {
	kind   opKind
	step   int                   // of the pipeline
	f      func(float64) float64 // mapValues
	stat   stat                  // rowFactor: statistic of the row
	factor func(float64) float64 // rowFactor: factor of the row as a function of stat
	col    []float64             // a number for each column of the store, or for each row (rowMask); nil until it is measured
	keeps  bool                  // numbers of the op for rows of the store are wanted
	keep   []float64             // these numbers, for each row of the store
	t      int                   // the column of P and Q that the op makes
	c, k   float64
	local  bool // bias and impute: with the mean of the row
	other  bool // bias and impute: with a mean of each column
	first  bool // bias: the mean of the row is taken before that of the column

	rounding float64 // of the values before the op: see View.rounding
	flat     int     // rowStd: 1 + the column of P with the centring of the same axis, which is constant in a row; 0: none

	// The columns of Q before the op, their sums and their products.
	q  [][]float64
	qs []sum
	qq [][]sum
}

type opKind uint8

const (
	mapValues   opKind = iota // f(v)
	times                     // c·v, and P, too
	rowFactor                 // factor(stat)·v, and P, too
	colFactor                 // col_j·v, and Q, too
	bm25Rows                  // (c+1)·v/(c·(1−k+k·Σ/col_0)+v), of the sum Σ of the row
	bm25Columns               // (c+1)·v/(col_j+v)
	ppmi                      // max(0, log v − log Σ − col_j + c)
	impute                    // the mean of the row, or col_j, or else 0, in place of NaN
	bias                      // v − c − the mean of the row − col_j
	rowOffset                 // p_t = −the mean of the row, q_t = 1
	colOffset                 // p_t = 1, q_t = col
	rowStd                    // v over the standard deviation of the row, and P, too
	rowMask                   // col_i·v of row i of the store, and P, too
	pearson                   // the residual of v, clipped to ±k, and √(Σ·col_j/c), of the sum Σ of the row
	lift                      // p_t = √ of the sum of the row before pearson, q_t = col
	correspond                // p_t = √(Σ/c), v/√Σ, q_t = col
)

// diagonal reports whether an op keeps the form D·S·E + P·Qᵀ without computing values anew.
func (k opKind) diagonal() bool {
	switch k {
	case times, rowFactor, colFactor, rowOffset, colOffset, rowStd, rowMask, lift, correspond:
		return true
	}
	return false
}

// ofValues reports whether an op needs the values of the row.
func (k opKind) ofValues() bool {
	return k != times && k != colFactor && k != colOffset && k != rowMask && k != lift
}

func (k opKind) makes() bool { return k == rowOffset || k == colOffset || k == lift || k == correspond }

// stat is a number that belongs to the entries of a row or column.
type stat uint8

const (
	count   stat = iota // of values that are not 0
	total               // sum
	length1             // sum of magnitudes
	length2             // root of the sum of squares
	largest             // largest magnitude
)

func (s stat) of(val []float64, rounding float64) float64 {
	x := 0.0
	switch s {
	case count:
		for _, v := range val {
			if v != 0 {
				x++
			}
		}
	case total:
		size := 0.0
		for _, v := range val {
			x += v
			size += math.Abs(v)
		}
		return settled(x, size, rounding)
	case length1:
		for _, v := range val {
			x += math.Abs(v)
		}
	case length2:
		for _, v := range val {
			x += float64(v * v)
		}
		if x < smallest*smallest || x > greatest*greatest { // squares may have left the range of numbers
			return length2Scaled(val, largest.of(val, 0))
		}
		x = math.Sqrt(x)
	case largest:
		top := uint64(0) // magnitudes are in the order of their bits, and NaN is above all numbers
		for _, v := range val {
			top = max(top, math.Float64bits(v)<<1)
		}
		x = math.Float64frombits(top >> 1)
	}
	return x
}

// settled returns x, or exactly 0 if x may be no more than the rounding of terms whose magnitudes add up to size.
func settled(x, size, rounding float64) float64 {
	if math.Abs(x) <= rounding*size {
		return 0
	}
	return x
}

// length2Scaled is length2 of values the largest of which has the given magnitude.
func length2Scaled(val []float64, top float64) float64 {
	if top == 0 || !finite(top) {
		return top
	}
	_, e := math.Frexp(top)
	x := 0.0
	for _, v := range val {
		v = math.Ldexp(v, -e)
		x += float64(v * v)
	}
	return math.Ldexp(math.Sqrt(x), e)
}

// column is the type of a column index.
type column interface{ uint16 | uint32 }

// row is a row of the store that ops are applied to.
type row struct {
	at  int64 // number of the row
	n   int   // columns of the store
	val []float64
	d   float64    // product of the factors of the row
	p   [2]float64 // its row of P

	total float64 // sum of the row before pearson

	record bool // put numbers in op.keep
}

// scale multiplies d and p of a row, and its values if values is true.
func (r *row) scale(d float64, values bool) {
	r.d *= d
	r.p[0] *= d
	r.p[1] *= d
	if values {
		for i := range r.val {
			r.val[i] *= d
		}
	}
}

func (r *row) keeps(o *op, x float64) {
	if r.record && o.keep != nil {
		o.keep[r.at] = x
	}
}

// run applies ops to a row. Only the first values of them have to change the values of the row;
// the effect of the others is in d and p.
func run[C column](ops []op, values int, col []C, r *row) {
	val := r.val
	col = col[:len(val)]
	for i := range ops {
		o, values := &ops[i], i < values
		switch o.kind {
		case mapValues:
			mapEach(o.f, val)
		case times:
			r.scale(o.c, values)
		case rowFactor:
			d := o.factor(o.stat.of(val, o.rounding))
			r.keeps(o, d)
			r.scale(d, values)
		case colFactor:
			if values {
				for i, c := range col {
					val[i] *= o.col[c]
				}
			}
		case bm25Rows:
			l := o.c * (1 - o.k + o.k*total.of(val, o.rounding)/o.col[0])
			for i, v := range val {
				if v != 0 {
					val[i] = v * (o.c + 1) / (l + v)
				}
			}
		case bm25Columns:
			for i, v := range val {
				if v != 0 {
					val[i] = v * (o.c + 1) / (o.col[col[i]] + v)
				}
			}
		case ppmi:
			s := logSum(total.of(val, 0))
			r.keeps(o, s)
			l := o.c - s
			for i, v := range val {
				if v == 0 {
					continue
				}
				v = math.Log(v)
				x := v + l - o.col[col[i]]
				if math.Abs(x) <= o.near(v, s, v+l) {
					x = 0
				}
				val[i] = max(0, x)
			}
		case impute:
			mean := 0.0
			if o.local {
				mean = meanOfKnown(val, r.n)
				r.keeps(o, mean)
			}
			for i, v := range val {
				switch {
				case v == v:
				case o.other:
					val[i] = o.col[col[i]]
				default:
					val[i] = mean
				}
			}
		case bias:
			runBias(o, col, r)
		case pearson:
			runPearson(o, col, r)
		case lift:
			if o.keep != nil {
				r.total = o.keep[r.at]
			}
			r.p[o.t] = math.Sqrt(r.total)
		case rowOffset:
			s, own := rowSum(o, r)
			mean := s.mean(float64(r.n), o.size(own, r), o.rounding)
			r.keeps(o, mean)
			r.p[o.t] = -mean
		case colOffset:
			r.p[o.t] = 1
		case rowStd:
			d := o.factor(rowVariance(o, col, r))
			if top := largest.of(val, 0); top != 0 && !(top > 0x1p-480 && top < 0x1p480) {
				d = math.NaN() // squares are out of range: the NaN becomes a ValueError
			}
			r.keeps(o, d)
			r.scale(d, values)
		case rowMask:
			r.scale(o.col[r.at], values)
		case correspond:
			s := total.of(val, o.rounding)
			if s == 0 {
				r.keeps(o, 0)
				r.scale(0, values)
				continue
			}
			r.keeps(o, s)
			r.scale(1/math.Sqrt(s), values)
			r.p[o.t] = math.Sqrt(s / o.c)
		}
	}
}

func runBias[C column](o *op, col []C, r *row) {
	val, b := r.val, 0.0
	if o.local {
		s, n := 0.0, 0.0
		for i, v := range val {
			if v == 0 {
				continue
			}
			v -= o.c
			if o.col != nil && !o.first {
				v -= o.col[col[i]]
			}
			s, n = s+v, n+1
		}
		if n > 0 {
			b = s / (n + o.k)
		}
		r.keeps(o, b)
	}
	b += o.c
	base := o.near(0, b, 0)
	for i, v := range val {
		if v == 0 {
			continue
		}
		x := v - b
		near := base + o.rounding*(math.Abs(v)+math.Abs(x))
		if o.col != nil {
			x -= o.col[col[i]]
		}
		if math.Abs(x) <= near {
			x = 0
		}
		val[i] = x
	}
}

// near bounds the rounding of a difference of terms in ppmi or bias: a result within the bound becomes 0.
func (o *op) near(a, b, c float64) float64 {
	one := 0.0
	if o.kind == ppmi {
		one = 1 // a relative error of a number is an absolute error of its logarithm
	}
	return o.rounding * (one + math.Abs(a) + math.Abs(b) + math.Abs(c) + math.Abs(o.c))
}

// rowSum returns the sum of the row of S + P·Qᵀ; own is the sum of the squares of S.
func rowSum(o *op, r *row) (s sum, own float64) {
	for _, v := range r.val {
		s.add(v)
		own += float64(v * v)
	}
	for t := range o.q {
		s.plusTimes(r.p[t], o.qs[t])
	}
	return s, own
}

// size returns the sum of the squares of the terms of a row of S + P·Qᵀ; own is that of S.
func (o *op) size(own float64, r *row) float64 {
	for t := range o.q {
		if t+1 != o.flat {
			own += r.p[t] * r.p[t] * o.qq[t][t].value()
		}
	}
	return own
}

// rowVariance is Σ(b−mean)² of the row of S + P·Qᵀ, 0 if that may be rounding.
func rowVariance[C column](o *op, col []C, r *row) float64 {
	var squares sum
	for _, v := range r.val {
		squares.addProduct(v, v)
	}
	for t, q := range o.q {
		var cross sum
		for i, v := range r.val {
			cross.addProduct(v, q[col[i]])
		}
		squares.plusTimes(2*r.p[t], cross)
		for u := range o.q {
			squares.plusProduct(r.p[t], r.p[u], o.qq[t][u])
		}
	}
	s, size := rowSum(o, r)
	return variance(squares, s, o.size(size, r), float64(r.n), o.rounding)
}

// variance is Σ(b−mean)² of n numbers, of their sum of squares and their sum: 0 if it is no more than the rounding of
// terms whose squares add up to size. This is taken to be at least n units in the last place, the bound of
// scikit-learn's StandardScaler.
func variance(squares, s sum, size, n, rounding float64) float64 {
	m := s.over(n)
	squares.plusTimes(-2*m, s)
	var square sum
	square.addProduct(m, m)
	squares.plusTimes(n, square)
	v := max(0, squares.value())
	if u := max(n*0x1p-52, rounding); v <= u*u*size {
		return 0
	}
	return v
}

// meanOfKnown is the mean of the known values of a row of n elements, the others of which are 0.
func meanOfKnown(val []float64, n int) float64 {
	s, known := 0.0, float64(n)
	for _, v := range val {
		if v != v {
			known--
		} else {
			s += v
		}
	}
	if known == 0 {
		return 0
	}
	return s / known
}
