package view

import (
	"math"
	"slices"
)

// stage is where ops need numbers of all rows: of the matrix as the ops before at make it.
type stage struct {
	at   int
	need need
	done func(*sums)
	same bool // what the stage before sums up serves
	step int  // of the pipeline
}

// need is what is summed up in a read.
type need struct {
	stats   [largest + 1]bool // of each column of the store
	squares bool              // of each column, with P·Qᵀ, and its sum
	totals  bool              // of each row
	norm    bool              // ‖B‖²

	rounding float64 // of the values: see View.rounding
	flat     int     // 1 + the column of P of the centring of the columns of the store, 0 without

	moments func(float64) float64 // of f of the entries of each of the user's columns,
	byRow   bool                  // which are rows of the store
}

func ofStat(s ...stat) (n need) {
	for _, s := range s {
		n.stats[s] = true
	}
	return n
}

// compiler makes ops and stages of steps. Sides are those of the store: local numbers
// belong to its rows.
type compiler struct {
	*View
	step    int  // under way
	columns bool // the step before centred the columns of the store in the last stage
	masks   []masking
}

// compile fills in what is known of a view before anything is read.
func (v *View) compile() {
	c := &compiler{View: v}
	c.rounding = 0x1p-52 * (64 + 8*math.Sqrt(float64(v.src.Rows()+v.src.Cols())))
	centred := map[string]bool{}
	for i, s := range v.pipeline {
		c.step = i
		c.add(s, centred)
		if s.cancels() {
			c.rounding = max(c.rounding, 0x1p-36)
		}
	}
	v.form()
}

// local tells whether the rows or columns of the user are the rows of the store.
func (c *compiler) local(axis string) bool { return (axis == "rows") != c.transposed }

// dims returns the numbers of rows and columns of the user's matrix.
func (c *compiler) dims() (rows, cols float64) {
	rows, cols = float64(c.src.Rows()), float64(c.src.Cols())
	if c.transposed {
		return cols, rows
	}
	return rows, cols
}

// op adds an op and returns its number.
func (c *compiler) op(o op) int {
	o.step, o.rounding = c.step, c.rounding
	if o.kind.makes() {
		o.t = c.rank
		c.rank++
	}
	c.ops = append(c.ops, o)
	return len(c.ops) - 1
}

// stage adds a stage before the next op.
func (c *compiler) stage(n need, done func(*sums)) {
	n.rounding = c.rounding
	c.stages = append(c.stages, stage{len(c.ops), n, done, false, c.step})
}

// mapped adds an op that changes each value by itself.
func (c *compiler) mapped(f func(float64) float64) { c.op(op{kind: mapValues, f: f}) }

// factors multiplies each row or column of the user with a function of its statistic.
func (c *compiler) factors(axis string, name string, s stat, f func(float64) float64) {
	if c.local(axis) {
		i := c.op(op{kind: rowFactor, stat: s, factor: f})
		c.kept(i, axis, name)
		return
	}
	at := len(c.ops)
	c.stage(ofStat(s), func(sums *sums) { c.ops[at].col = each(sums.stat(s), f) })
	c.op(op{kind: colFactor})
	c.told(at, axis, name)
}

// each applies f to numbers.
func each(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// add adds the ops of a step.
func (c *compiler) add(s Step, centred map[string]bool) {
	rows, cols := c.dims()
	before := c.columns
	c.columns = false
	switch s.Name {
	case "binary":
		c.mapped(func(v float64) float64 {
			switch {
			case !finite(v):
				return v // for the error that names the step before
			case s.Mode == "" || v >= s.X:
				return 1
			}
			return 0
		})
	case "clip":
		c.mapped(func(v float64) float64 {
			if !finite(v) {
				return v
			}
			return min(max(v, s.X), s.Y)
		})
	case "log1p":
		c.mapped(math.Log1p)
	case "sqrt":
		c.mapped(math.Sqrt)
	case "power":
		c.mapped(func(v float64) float64 { return math.Pow(v, s.X) })
	case "confidence":
		c.mapped(func(v float64) float64 { return 1 + float64(s.X*v) })
	case "multiply":
		c.op(op{kind: times, c: s.X})
	case "normalize":
		c.normalize(s)
	case "tfidf":
		c.tfidf(s, rows)
	case "bm25":
		c.bm25(s, rows)
	case "ppmi":
		c.ppmi(s)
	case "bias":
		c.bias(s)
	case "center":
		for _, axis := range []string{"columns", "rows"} {
			if s.Axis == axis || s.Axis == "both" {
				c.center(axis)
				centred[axis] = true
			}
		}
	case "weight":
		statOf := map[string]stat{"count": count, "sum": total, "norm": length2}
		c.factors(s.Axis, "factor", statOf[s.Mode], func(x float64) float64 {
			if x == 0 {
				return 0
			}
			return math.Pow(x, s.X)
		})
	case "scale":
		c.scale(s, before, centred["columns"])
	case "laplacian":
		c.laplacian(s, rows, cols)
	case "correspondence":
		c.correspondence()
	case "keep":
		c.keep(s)
	case "drop":
		c.drop(s)
	}
}

// logSum is the logarithm of the sum of a row or column, and 0 where there is nothing in it.
func logSum(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Log(x)
}

// inverse is 1/x, and 1 for 0: what is empty stays so.
func inverse(x float64) float64 {
	if x == 0 {
		return 1
	}
	return 1 / x
}

func (c *compiler) normalize(s Step) {
	switch s.Mode {
	case "l1":
		c.factors(s.Axis, "factor", length1, inverse)
	case "l2":
		c.factors(s.Axis, "factor", length2, inverse)
	case "max":
		c.factors(s.Axis, "factor", largest, inverse)
	case "total":
		c.factors(s.Axis, "factor", total, func(x float64) float64 { return scaledTo(s.X, x) })
	case "median":
		at, goal := len(c.ops), 0.0
		factor := func(x float64) float64 { return scaledTo(goal, x) }
		if c.local(s.Axis) {
			c.stage(need{totals: true}, func(sums *sums) { goal = median(sums.totals) })
			at = c.op(op{kind: rowFactor, stat: total, factor: factor})
			c.kept(at, s.Axis, "factor")
		} else {
			c.stage(ofStat(total), func(sums *sums) {
				goal = median(slices.Clone(sums.stat(total)))
				c.ops[at].col = each(sums.stat(total), factor)
			})
			c.op(op{kind: colFactor})
			c.told(at, s.Axis, "factor")
		}
		c.number("median", &goal)
	}
}

func scaledTo(goal, x float64) float64 {
	if x == 0 || goal == 0 {
		return 1
	}
	return goal / x
}

// median is that of the numbers above 0, which it sorts; 0 without any.
func median(x []float64) float64 {
	x = slices.DeleteFunc(x, func(v float64) bool { return !(v > 0) })
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// flat is 1 + the column of P that an op of a kind has made, 0 without one.
func (c *compiler) flat(k opKind) int {
	i := slices.IndexFunc(c.ops, func(o op) bool { return o.kind == k })
	if i < 0 {
		return 0
	}
	return 1 + c.ops[i].t
}

// center subtracts the mean of each of the user's columns or rows.
func (c *compiler) center(axis string) {
	c.columns = false
	if c.local(axis) {
		i := c.op(op{kind: rowOffset})
		c.kept(i, axis, "mean")
		return
	}
	at, n := len(c.ops), float64(c.src.Rows())
	c.stage(need{squares: true}, func(sums *sums) {
		c.last = sums
		c.ops[at].col = make([]float64, c.src.Cols())
		for j, s := range sums.sum {
			c.ops[at].col[j] = -s.mean(n, sums.terms(j), sums.need.rounding)
		}
	})
	c.op(op{kind: colOffset})
	c.told(at, axis, "mean")
	c.columns = axis == "columns"
}

// scale divides the user's columns by their standard deviations. Where they have just been
// centred the sums of that serve.
func (c *compiler) scale(s Step, same, centred bool) {
	n, _ := c.dims()
	factor := func(v float64) float64 {
		switch {
		case v > 0 && n > s.X:
			return 1 / math.Sqrt(v/(n-s.X))
		case centred:
			return 0
		}
		return 1
	}
	if c.local("columns") {
		i := c.op(op{kind: rowStd, factor: factor, flat: c.flat(rowOffset)})
		c.kept(i, "columns", "factor")
		return
	}
	at := len(c.ops)
	done := func(sums *sums) {
		c.last = sums
		c.ops[at].col = make([]float64, c.src.Cols())
		for j := range sums.sum {
			c.ops[at].col[j] = factor(variance(sums.squares[j], sums.sum[j], sums.terms(j), n, sums.need.rounding))
		}
	}
	if same {
		c.stages = append(c.stages, stage{c.stages[len(c.stages)-1].at, need{squares: true}, done, true, c.step})
	} else {
		c.stage(need{squares: true, flat: c.flat(colOffset)}, done)
	}
	c.op(op{kind: colFactor})
	c.told(at, "columns", "factor")
}
