package view

import (
	"fmt"
	"math"
)

// Steps that weight entries by their rows and columns.

var tfidfStep = kind{
	name: "tfidf", usage: "tfidf[=sublinear,smooth:yes|no,norm:l2|l1|none], tfidf=gensim or tfidf=implicit", dense: ofEntries,
	parse: func(s *Step, a *args) {
		s.Norm = "l2"
		s.Mode = a.word("sklearn", "gensim", "implicit")
		if s.Mode != "sklearn" {
			return
		}
		s.Sublinear = a.word("counts", "sublinear") == "sublinear"
		s.Raw = a.choice("smooth", "yes", "yes", "no") == "no"
		s.Norm = a.choice("norm", "l2", "l1", "l2", "none")
	},
	form: func(s Step) string {
		if s.Mode != "sklearn" {
			return "=" + s.Mode
		}
		form := "="
		if s.Sublinear {
			form += "sublinear,"
		}
		if s.Raw {
			return form + "smooth:no,norm:" + s.Norm
		}
		return form + "smooth:yes,norm:" + s.Norm
	},
	cancels: func(s Step) bool { return s.Sublinear },
	compile: (*compiler).tfidf,
	bounds: func(s Step, low, _ float64) (float64, float64) {
		switch {
		case s.Mode == "implicit" || s.Norm == "none" && s.Mode == "sklearn":
			return unbounded()
		case low >= 0 && !s.Sublinear:
			return 0, 1
		}
		return -1, 1
	},
}

var bm25Step = kind{
	name: "bm25", usage: "bm25[=K1,B] with K1 ≥ 0 and B from 0 to 1", dense: ofEntries,
	parse: func(s *Step, a *args) {
		s.X, s.Y = 100, 0.8
		if len(a.fields) > 0 {
			s.X = a.number("K1 is a number not below 0", notNegative)
			s.Y = a.number("B is a number from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
		}
	},
	form:    formXY,
	compile: (*compiler).bm25,
}

var ppmiStep = kind{
	name: "ppmi", usage: "ppmi[=SHIFT] with SHIFT ≥ 1", dense: ofEntries,
	parse: func(s *Step, a *args) {
		s.X = 1
		if len(a.fields) > 0 {
			s.X = a.number("SHIFT is a number not below 1", func(x float64) bool { return x >= 1 })
		}
	},
	form:    formX,
	cancels: always,
	zeroes:  always,
	compile: (*compiler).ppmi,
	bounds:  func(Step, float64, float64) (float64, float64) { return 0, math.Inf(1) },
}

var biasStep = kind{
	name: "bias", usage: "bias=global|rows|columns|both[,damping:D] with D ≥ 0", dense: ofEntries,
	parse: func(s *Step, a *args) {
		s.Axis = a.word("", "global", "rows", "columns", "both")
		if f, ok := a.option("damping"); ok {
			s.X = a.numberOf(f, "D is a number not below 0", notNegative)
		}
	},
	form:    func(s Step) string { return "=" + s.Axis + ",damping:" + text(s.X) },
	cancels: always,
	compile: (*compiler).bias,
}

func (c *compiler) tfidf(s Step) {
	documents, _ := c.dims()
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

// logOver returns log(x/y), and 0 for y = 0.
func logOver(log func(float64) float64, x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return log(x / y)
}

func (c *compiler) bm25(s Step) {
	rows, _ := c.dims()
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
		c.tells(i, "columns", "idf")
	} else {
		c.stage(ofStat(total), func(sums *sums) {
			average = c.meanOf(s, sums, rows)
			c.ops[at].col = each(sums.stat(total), func(l float64) float64 { return s.X * (1 - s.Y + s.Y*l/average) })
		})
		c.op(op{kind: bm25Columns, c: s.X})
		i := c.op(op{kind: rowFactor, stat: count, factor: idf})
		c.tells(i, "columns", "idf")
	}
	c.number("average-length", &average)
}

// meanOf is the mean of the lengths of rows, which a step divides by.
func (c *compiler) meanOf(s Step, sums *sums, rows float64) float64 {
	if sums.all() == 0 && sums.magnitude > 0 {
		c.refused = fmt.Errorf("view: %v divides by the mean of the row sums, which is 0: put it before steps that make entries cancel", s)
	}
	return sums.all() / rows
}

// bias subtracts the mean first, then the mean of each column of the differences, then that of each row.
func (c *compiler) bias(s Step) {
	at := len(c.ops)
	rows, columns := s.sides()
	local, other := rows, columns // of the store
	if !c.local("rows") {
		local, other = columns, rows
	}
	// In the store the columns come first unless these are the user's rows and both are wanted.
	first := local && (!other || c.local("columns"))
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
	if columns {
		c.tells(at, "columns", "bias")
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
	c.tells(at, "columns", "log-sum")
	c.number("log-total", &all)
}
