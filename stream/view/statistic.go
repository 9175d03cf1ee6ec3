package view

// Statistic is what a step has measured: a number, or one for each of the user's columns (of a
// mask of rows, for each of these).
// A new row needs them to be seen as the rows of the matrix are.
type Statistic struct {
	Step   int    // of the pipeline, from 0
	Name   string // "idf", "mean", "factor", "bias", "log-sum", "sum", "median", "average-length", "mask"
	Number bool   // Values has one number, not one for each column
	Values []float64

	of func() []float64
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

// kept has the numbers that belong to the user's columns recorded where these are rows of the
// store.
func (c *compiler) kept(i int, axis, name string) {
	if axis != "columns" || !c.transposed {
		return
	}
	c.ops[i].keeps = true
	c.tell(name, func() []float64 { return c.ops[i].keep })
}

// told is kept where they are columns of the store.
func (c *compiler) told(i int, axis, name string) {
	if axis != "columns" || c.transposed {
		return
	}
	c.tell(name, func() []float64 {
		if c.ops[i].kind == colOffset {
			return each(c.ops[i].col, func(x float64) float64 { return -x })
		}
		return c.ops[i].col
	})
}

// number is a statistic of one number.
func (c *compiler) number(name string, x *float64) {
	c.tell(name, func() []float64 { return []float64{*x} })
	c.statistics[len(c.statistics)-1].Number = true
}

func (c *compiler) tell(name string, of func() []float64) {
	c.statistics = append(c.statistics, Statistic{Step: c.step, Name: name, of: of})
}
