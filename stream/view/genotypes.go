package view

import "math"

// Steps of matrices with missing entries, which are NaN until one of these steps has replaced them.

var imputeStep = kind{
	name: "impute", usage: "impute=mean|zero", dense: entrywise,
	parse:   func(s *Step, a *args) { s.Mode = a.word("", "mean", "zero") },
	form:    func(s Step) string { return "=" + s.Mode },
	zeroes:  func(s Step) bool { return s.Mode == "zero" },
	compile: (*compiler).impute,
	bounds:  withZero,
}

var pattersonStep = kind{
	name: "patterson", usage: "patterson", dense: entrywise,
	fills:   always,
	compile: (*compiler).patterson,
}

// Imputes reports whether the first step of the pipeline replaces missing entries by numbers.
func (p Pipeline) Imputes() bool {
	return len(p) > 0 && (p[0].Name == imputeStep.name || p[0].Name == pattersonStep.name)
}

// ImputesMeans reports whether the pipeline replaces missing entries by the means of their columns.
func (p Pipeline) ImputesMeans() bool {
	return p.Imputes() && (p[0].Name == pattersonStep.name || p[0].Mode == "mean")
}

func (c *compiler) missing() {
	src, ok := c.src.(interface{ Missing() (float64, bool) })
	if !ok {
		return
	}
	if code, some := src.Missing(); some {
		c.op(op{kind: mapValues, f: func(v float64) float64 {
			if v == code {
				return math.NaN()
			}
			return v
		}})
	}
}

// means adds a stage that calls done with the means of the known elements of the columns of the store.
func (c *compiler) means(done func(means []float64)) {
	n := float64(c.src.Rows())
	c.stage(need{known: true}, func(sums *sums) {
		means := make([]float64, len(sums.known))
		for j, s := range sums.known {
			if known := n - sums.unknown[j]; known > 0 {
				means[j] = s.over(known)
			}
		}
		done(means)
	})
}

// impute replaces missing entries by the mean of the known elements of their columns, or by 0.
func (c *compiler) impute(s Step) {
	c.missing()
	at, mean, local := len(c.ops), s.Mode == "mean", c.local("columns")
	if mean && !local {
		c.means(func(means []float64) { c.ops[at].col = means })
	}
	c.op(op{kind: impute, local: mean && local, other: mean && !local})
	if mean {
		c.tells(at, "columns", "mean")
	}
}

// patterson computes (a_ij − 2p_j)/√(2p_j(1−p_j)) of the counts of an allele with the frequency p_j among the known
// ones, and 0 for missing counts and in columns that do not vary (N. Patterson, A. Price, D. Reich, Population
// structure and eigenanalysis, PLoS Genetics 2 (2006) e190).
func (c *compiler) patterson(Step) {
	local, first := c.local("columns"), c.step == 0 // only the first step gets missing entries
	if first {
		c.missing()
	}
	imputed, offset, factor := len(c.ops), 0, 0
	derive := func() {
		factors := each(c.ops[offset].col, func(minus float64) float64 { return alleles(-minus) })
		if c.ops[factor].col = factors; first {
			c.ops[imputed].col = each(c.ops[offset].col, negative)
		}
	}
	if !local {
		c.derive(derive)
		c.means(func(means []float64) {
			c.ops[offset].col = each(means, negative)
			derive()
		})
	}
	if first {
		c.op(op{kind: impute, local: local, other: !local})
	}
	c.mapped(func(v float64) float64 {
		if v < 0 || v > 2 {
			return math.NaN()
		}
		return v
	})
	if local {
		samples := float64(c.src.Cols())
		offset = c.op(op{kind: rowOffset})
		c.op(op{kind: rowFactor, stat: total, factor: func(x float64) float64 { return alleles(x / samples) }})
	} else {
		offset = c.op(op{kind: colOffset})
		factor = c.op(op{kind: colFactor})
	}
	c.tells(offset, "columns", "mean")
	means := c.statistics[len(c.statistics)-1].of
	c.tell("monomorphic", 1, func() []float64 {
		constant := 0.0
		for _, m := range means() {
			if alleles(m) == 0 {
				constant++
			}
		}
		return []float64{constant}
	}, nil)
	c.statistics[len(c.statistics)-1].Number = true
}

func negative(x float64) float64 { return -x }

// alleles is 1/√(2p(1−p)) of the mean 2p, and 0 where all alleles are the same.
func alleles(mean float64) float64 {
	v := mean * (1 - mean/2)
	if !(v > 0x1p-48) { // a smaller v would take more samples than there can be
		return 0
	}
	return 1 / math.Sqrt(v)
}
