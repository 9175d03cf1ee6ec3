package view

// Statistic is what a step has measured: a number, or one for each of the user's columns (of a
// mask of rows, for each of these).
// A new row needs them to be seen as the rows of the matrix are.
type Statistic struct {
	Step   int    // of the pipeline, from 0
	Name   string // "idf", "mean", "factor", "bias", "log-sum", "log-total", "sum", "median", "average-length", "mask"
	Number bool   // Values has one number, not one for each column
	Values []float64

	of  func() []float64
	set func([]float64) // gives the step what of has returned; nil: what is seen by it does not need it
	n   int64           // of Values
}

// Statistics returns what Measure has measured and a new row needs.
func (v *View) Statistics() []Statistic {
	all := make([]Statistic, len(v.statistics))
	for i, s := range v.statistics {
		s.Values = s.of()
		all[i] = s
	}
	return all
}

// tells has the numbers of an op that belong to the user's columns told, and recorded where these are rows of the store.
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

// derive has f make what follows from the statistics of a step, when they have been measured or set.
func (c *compiler) derive(f func()) { c.derived = append(c.derived, f) }
