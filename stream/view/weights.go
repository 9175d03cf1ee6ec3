package view

import (
	"fmt"
	"math"
	"slices"
)

func (c *compiler) tfidf(s Step, documents float64) {
	idf := func(df float64) float64 { return math.Log((1+documents)/(1+df)) + 1 }
	switch {
	case s.Mode == "gensim":
		idf = func(df float64) float64 { return logOver(math.Log2, documents, df) }
	case s.Mode == "implicit":
		c.mapped(math.Sqrt)
		idf = func(df float64) float64 { return math.Log(documents / (1 + df)) }
	case s.Sublinear:
		c.mapped(func(v float64) float64 { return math.Log(v) + 1 })
	}
	if s.Raw {
		idf = func(df float64) float64 { return logOver(math.Log, documents, df) + 1 }
	}
	c.factors("columns", "idf", count, idf)
	switch {
	case s.Mode == "gensim" || s.Norm == "l2" && s.Mode != "implicit":
		c.factors("rows", "factor", length2, inverse)
	case s.Norm == "l1" && s.Mode != "implicit":
		c.factors("rows", "factor", length1, inverse)
	}
}

// logOver is log(x/y), and 0 without any y.
func logOver(log func(float64) float64, x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return log(x / y)
}

func (c *compiler) bm25(s Step, rows float64) {
	idf := func(df float64) float64 { return math.Log(rows / (1 + df)) }
	at, average := len(c.ops), 0.0
	if c.local("rows") {
		derive := func() { c.ops[at].col = []float64{average} }
		c.derive(derive)
		c.stage(ofStat(count, total), func(sums *sums) {
			average = c.meanOf(s, sums, rows)
			derive()
			c.ops[at+1].col = each(sums.stat(count), idf)
		})
		c.op(op{kind: bm25Rows, c: s.X, k: s.Y})
		i := c.op(op{kind: colFactor})
		c.told(i, "columns", "idf")
	} else {
		c.stage(ofStat(total), func(sums *sums) {
			average = c.meanOf(s, sums, rows)
			c.ops[at].col = each(sums.stat(total), func(l float64) float64 { return s.X * (1 - s.Y + s.Y*l/average) })
		})
		c.op(op{kind: bm25Columns, c: s.X})
		i := c.op(op{kind: rowFactor, stat: count, factor: idf})
		c.kept(i, "columns", "idf")
	}
	c.number("average-length", &average)
}

// meanOf is the mean of the lengths of rows, which a step divides by.
func (c *compiler) meanOf(s Step, sums *sums, rows float64) float64 {
	if sums.all() == 0 && sums.magnitude > 0 {
		c.refused = fmt.Errorf("view: %v divides by the mean of the sums of the rows, which is 0: put it before what makes entries cancel", s)
	}
	return sums.all() / rows
}

// bias takes the mean first, then that of each column of what is left, then that of each row.
func (c *compiler) bias(s Step) {
	at := len(c.ops)
	rows, columns := s.Axis == "rows" || s.Axis == "both", s.Axis == "columns" || s.Axis == "both"
	local, other := rows, columns // of the store
	if c.transposed {
		local, other = columns, rows
	}
	// In the store the columns come first unless these are the user's rows and both are wanted.
	first := local && (!other || c.transposed)
	var counts []float64
	means := func(sums, counts []float64, mean float64) []float64 {
		b := make([]float64, len(sums))
		for j, n := range counts {
			if n > 0 {
				b[j] = (sums[j] - n*mean) / (n + s.X)
			}
		}
		return b
	}
	mean := 0.0
	derive := func() { c.ops[at].c = mean }
	c.derive(derive)
	c.stage(ofStat(count, total), func(sums *sums) {
		n := 0.0
		counts = sums.stat(count)
		for _, k := range counts {
			n += k
		}
		if n > 0 {
			mean = sums.entire.over(n)
		}
		derive()
		if other && !first {
			c.ops[at].col = means(sums.stat(total), counts, mean)
		}
	})
	c.op(op{kind: bias, k: s.X, local: local, other: other, first: first})
	if other && first {
		c.stage(ofStat(total), func(sums *sums) { c.ops[at].col = means(sums.stat(total), counts, 0) })
	}
	c.number("mean", &mean)
	if columns && c.transposed {
		c.kept(at, "columns", "bias")
	} else if columns {
		c.told(at, "columns", "bias")
	}
}

// laplacian is D_r^{-1/2}·(A + τ/n)·D_c^{-1/2} with the sums of rows and columns of A + τ/n.
func (c *compiler) laplacian(s Step, rows, cols float64) {
	ofRows, ofCols := s.X, s.X*rows/cols // what τ adds to sums of the user's rows and columns
	if c.transposed {
		ofRows, ofCols = ofCols, ofRows
	}
	rounding := c.rounding
	root := func(tau float64) func(float64) float64 {
		return func(x float64) float64 {
			if x = settled(x+tau, math.Abs(x)+tau, rounding); x == 0 {
				return 0
			}
			return 1 / math.Sqrt(x)
		}
	}
	at := len(c.ops)
	derive := func() {
		if s.X > 0 {
			c.ops[at].col = slices.Repeat([]float64{s.X / cols}, int(c.src.Cols()))
		}
	}
	c.derive(derive)
	c.stage(ofStat(total), func(sums *sums) {
		i := at
		if s.X > 0 {
			i++
		}
		derive()
		c.ops[i+1].col = each(sums.stat(total), root(ofCols))
	})
	if s.X > 0 {
		c.op(op{kind: colOffset})
	}
	i := c.op(op{kind: rowFactor, stat: total, factor: root(ofRows)})
	c.kept(i, "columns", "factor")
	i = c.op(op{kind: colFactor})
	c.told(i, "columns", "factor")
}

// correspondence is D_r^{-1/2}·(A/Σ − r·cᵀ)·D_c^{-1/2} with the masses r and c, sums of rows
// and columns over Σ: in the op, p_i is √r_i and q_j is −c_j·√Σ before it is divided by √(c_j·Σ).
func (c *compiler) correspondence() {
	at, all := len(c.ops), 0.0
	var masses []float64 // times Σ
	derive := func() {
		c.ops[at].c = all
		c.ops[at].col = each(masses, func(x float64) float64 {
			if x == 0 {
				return 0 // also where there is nothing at all
			}
			return -x / math.Sqrt(all)
		})
		c.ops[at+1].col = each(masses, func(x float64) float64 {
			if x == 0 {
				return 0
			}
			return 1 / math.Sqrt(x)
		})
	}
	c.stage(ofStat(total), func(sums *sums) {
		all, masses = sums.all(), sums.stat(total)
		derive()
	})
	i := c.op(op{kind: correspond})
	c.kept(i, "columns", "sum")
	c.op(op{kind: colFactor})
	if !c.transposed {
		c.tell("sum", c.src.Cols(), func() []float64 { return masses }, func(x []float64) {
			masses = x
			var s sum
			for _, v := range x {
				s.add(v)
			}
			all = s.value()
			derive()
		})
	}
}

// ppmi is max(0, log(a_ij·Σ/(r_i·c_j)) − log shift) with the sums r and c of rows and columns and that of all entries, Σ.
func (c *compiler) ppmi(s Step) {
	at, all := len(c.ops), 0.0
	derive := func() { c.ops[at].c = all - math.Log(s.X) }
	c.derive(derive)
	c.stage(ofStat(total), func(sums *sums) {
		c.ops[at].col, all = each(sums.stat(total), logSum), logSum(sums.all())
		derive()
	})
	c.op(op{kind: ppmi})
	c.kept(at, "columns", "log-sum")
	c.told(at, "columns", "log-sum")
	c.number("log-total", &all)
}
