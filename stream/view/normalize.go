package view

import (
	"math"
	"slices"
	"strings"
)

// Steps that multiply rows or columns with functions of their entries.

var normalizeStep = kind{
	name: "normalize", usage: "normalize=rows|columns[,l1|l2|max|total:T|total:median]", dense: ofEntries,
	parse: func(s *Step, a *args) {
		s.Axis = a.word("", "rows", "columns")
		f, ok := a.option("total")
		switch {
		case !ok:
			s.Mode = a.word("l2", "l1", "l2", "max")
		case f.text == "median":
			s.Mode = "total:median"
		default:
			s.Mode = "total"
			s.X = a.numberOf(f, "T is a number above 0, or median", positive)
		}
	},
	form: func(s Step) string {
		if s.Mode == "total" {
			return "=" + s.Axis + ",total:" + text(s.X)
		}
		return "=" + s.Axis + "," + s.Mode
	},
	compile: (*compiler).normalize,
	bounds: func(s Step, low, high float64) (float64, float64) {
		switch {
		case s.Mode == "total" && low >= 0:
			return 0, s.X
		case strings.HasPrefix(s.Mode, "total"):
			return asPositive(s, low, high)
		case low >= 0:
			return 0, 1
		}
		return -1, 1
	},
}

var weightStep = kind{
	name: "weight", usage: "weight=rows|columns,count:P|sum:P|norm:P", dense: ofEntries,
	parse: func(s *Step, a *args) {
		s.Axis = a.word("", "rows", "columns")
		for _, mode := range []string{"count", "sum", "norm"} {
			if s.Mode != "" {
				break // what is left is refused
			}
			if f, ok := a.option(mode); ok {
				s.Mode, s.X = mode, a.numberOf(f, "P is a number", nil)
			}
		}
		if s.Mode == "" {
			a.fail(a.step, "what to weight by is missing")
		}
	},
	form: func(s Step) string { return "=" + s.Axis + "," + s.Mode + ":" + text(s.X) },
	compile: func(c *compiler, s Step) {
		of := map[string]stat{"count": count, "sum": total, "norm": length2}
		c.factors(s.Axis, "factor", of[s.Mode], func(x float64) float64 {
			if x == 0 {
				return 0
			}
			return math.Pow(x, s.X)
		})
	},
	bounds: asPositive,
}

// inverse returns 1/x, and 1 for 0: empty rows and columns stay empty.
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
	case "total:median":
		goal, wanted := 0.0, ofStat(total)
		if c.local(s.Axis) {
			wanted = need{totals: true}
		}
		c.stage(wanted, func(sums *sums) {
			goal = median(sums.totals)
			if !c.local(s.Axis) {
				goal = median(sums.stat(total))
			}
		})
		c.factors(s.Axis, "factor", total, func(x float64) float64 { return scaledTo(goal, x) })
		if last := &c.stages[len(c.stages)-1]; !c.local(s.Axis) {
			last.same = true // uses the sums of the stage before
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

// median returns the median of the numbers above 0 in x, 0 if there are none. It changes x.
func median(x []float64) float64 {
	x = slices.DeleteFunc(x, func(v float64) bool { return !(v > 0) })
	if len(x) == 0 {
		return 0
	}
	return middleOf(x)
}

// middleOf returns the median of x, which it sorts.
func middleOf(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
