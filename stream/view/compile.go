package view

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
)

// stage is a point where ops need sums over all rows of the matrix that the ops before at make.
type stage struct {
	at   int
	need need
	done func(*sums)
	same bool // the sums of the stage before are used
	step int  // of the pipeline
}

func ofStat(s ...stat) (n need) {
	for _, s := range s {
		n.stats[s] = true
	}
	return n
}

// compiler turns steps into ops and stages. Its sides are those of the store: local numbers
// belong to rows of the store.
type compiler struct {
	*View
	step  int // number of the current step
	masks []masking
}

// compile sets all parts of a view that are known before the source is read.
func (v *View) compile() {
	c := &compiler{View: v}
	c.rounding = 0x1p-52 * (64 + 8*math.Sqrt(float64(v.src.Rows()+v.src.Cols())))
	for i, s := range v.pipeline {
		c.step = i
		k := s.kind()
		if k.compile != nil {
			k.compile(c, s)
		} else {
			c.mapped(func(v float64) float64 { return k.value(&s, v) })
		}
		if s.is(k.cancels) {
			c.rounding = max(c.rounding, 0x1p-36)
		}
	}
	v.form()
}

// dims returns the numbers of rows and columns of the user's matrix.
func (c *compiler) dims() (rows, cols float64) {
	n, k := csr.Exchanged(c.transposed, c.src.Rows(), c.src.Cols())
	return float64(n), float64(k)
}

func (c *compiler) op(o op) int {
	o.step, o.rounding = c.step, c.rounding
	if o.kind.makes() {
		o.t = c.rank
		c.rank++
	}
	c.ops = append(c.ops, o)
	return len(c.ops) - 1
}

func (c *compiler) stage(n need, done func(*sums)) {
	n.rounding = c.rounding
	c.stages = append(c.stages, stage{len(c.ops), n, done, false, c.step})
}

func (c *compiler) mapped(f func(float64) float64) { c.op(op{kind: mapValues, f: f}) }

// factors multiplies each row or column of the user with a function of its statistic.
func (c *compiler) factors(axis string, name string, s stat, f func(float64) float64) {
	if c.local(axis) {
		i := c.op(op{kind: rowFactor, stat: s, factor: f})
		c.tells(i, axis, name)
		return
	}
	at := len(c.ops)
	c.stage(ofStat(s), func(sums *sums) { c.ops[at].col = each(sums.stat(s), f) })
	c.op(op{kind: colFactor})
	c.tells(at, axis, name)
}

func each(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// flat returns 1 + the column of P that an op of a kind makes, 0 if there is no such op.
func (c *compiler) flat(k opKind) int {
	i := slices.IndexFunc(c.ops, func(o op) bool { return o.kind == k })
	if i < 0 {
		return 0
	}
	return 1 + c.ops[i].t
}

// Statistic is what a step has measured: one number, or one for each of the user's columns (in a mask of rows, for each
// row). New rows need it to be transformed as the rows of the matrix are.
type Statistic struct {
	Step   int    // of the pipeline, from 0
	Name   string // "idf", "mean", "factor", "bias", "log-sum", "log-total", "sum", "median", "average-length", "mask"
	Number bool   // Values has one number, not one for each column
	Values []float64

	of  func() []float64
	set func([]float64) // gives the step the numbers that of has returned; nil: new rows do not need them
	n   int64           // length of Values
}

// Statistics returns the statistics that Measure has measured, for new rows.
func (v *View) Statistics() []Statistic {
	all := make([]Statistic, len(v.statistics))
	for i, s := range v.statistics {
		s.Values = s.of()
		all[i] = s
	}
	return all
}

// tells adds a Statistic of the numbers of an op for the user's columns, recorded if these are rows of the store.
func (c *compiler) tells(i int, axis, name string) {
	switch {
	case axis != "columns":
	case c.local(axis):
		c.ops[i].keeps = true
		c.tell(name, c.src.Rows(), func() []float64 { return c.ops[i].keep }, nil)
	default:
		values := func(x []float64) []float64 { return x }
		if c.ops[i].kind == colOffset {
			values = func(x []float64) []float64 { return each(x, negative) }
		}
		c.tell(name, c.src.Cols(), func() []float64 { return values(c.ops[i].col) }, func(x []float64) { c.ops[i].col = values(x) })
	}
}

func (c *compiler) number(name string, x *float64) {
	c.tell(name, 1, func() []float64 { return []float64{*x} }, func(v []float64) { *x = v[0] })
	c.statistics[len(c.statistics)-1].Number = true
}

func (c *compiler) tell(name string, n int64, of func() []float64, set func([]float64)) {
	c.statistics = append(c.statistics, Statistic{Step: c.step, Name: name, of: of, set: set, n: n})
}

// derive registers f, which computes what depends on the statistics of a step when they have been measured or set.
func (c *compiler) derive(f func()) { c.derived = append(c.derived, f) }
