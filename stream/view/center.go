package view

import (
	"math"
	"slices"
)

var centerStep = kind{
	name: "center", usage: "center=columns|rows|both",
	parse: func(s *Step, a *args) { s.Axis = a.word("", "columns", "rows", "both") },
	form:  func(s Step) string { return "=" + s.Axis },
	fills: always,
	compile: func(c *compiler, s Step) {
		for _, axis := range axes {
			if s.centres(axis) {
				c.center(axis)
			}
		}
	},
}

var scaleStep = kind{
	name: "scale", usage: "scale=columns[,ddof:0|1]",
	parse: func(s *Step, a *args) {
		s.Axis = a.word("", "columns")
		if f, ok := a.option("max"); ok {
			a.fail(f, "scale=columns | clip=-%[1]s,%[1]s bounds what is scaled, before any centring, after which every zero would have to be computed", f.text)
		}
		if f, ok := a.option("ddof"); ok {
			s.X = a.numberOf(f, "ddof is 0 or 1", func(x float64) bool { return x == 0 || x == 1 })
		}
	},
	form:    func(s Step) string { return "=" + s.Axis + ",ddof:" + text(s.X) },
	compile: (*compiler).scale,
}

// center subtracts the mean of each of the user's columns or rows.
func (c *compiler) center(axis string) {
	if c.local(axis) {
		i := c.op(op{kind: rowOffset})
		c.tells(i, axis, "mean")
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
	c.tells(at, axis, "mean")
}

// scale divides the user's columns by their standard deviations. If they have just been
// centred, it uses the sums of the centring.
func (c *compiler) scale(s Step) {
	n, _ := c.dims()
	centred := slices.ContainsFunc(c.pipeline[:c.step], func(s Step) bool { return s.centres("columns") })
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
		c.tells(i, "columns", "factor")
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
	if at > 0 && c.ops[at-1].kind == colOffset {
		c.stages = append(c.stages, stage{c.stages[len(c.stages)-1].at, need{squares: true}, done, true, c.step})
	} else {
		c.stage(need{squares: true, flat: c.flat(colOffset)}, done)
	}
	c.op(op{kind: colFactor})
	c.tells(at, "columns", "factor")
}
