package view

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
)

// Steps that divide by the roots of the sums of rows and columns.

var laplacianStep = kind{
	name: "laplacian", usage: "laplacian[=TAU] with TAU ≥ 0", dense: ofEntries,
	parse: func(s *Step, a *args) {
		if len(a.fields) > 0 {
			s.X = a.number("TAU is a number not below 0", notNegative)
		}
	},
	form:    formX,
	fills:   func(s Step) bool { return s.X > 0 },
	compile: (*compiler).laplacian,
	bounds: func(_ Step, low, _ float64) (float64, float64) {
		if low < 0 {
			return unbounded()
		}
		return 0, 1
	},
}

var correspondenceStep = kind{
	name: "correspondence", usage: "correspondence", dense: ofEntries,
	fills:   always,
	compile: (*compiler).correspondence,
}

// laplacian is D_r^{-1/2}·(A + τ/n)·D_c^{-1/2} with the sums of rows and columns of A + τ/n.
func (c *compiler) laplacian(s Step) {
	rows, cols := c.dims()
	ofRows, ofCols := csr.Exchanged(c.transposed, s.X, s.X*rows/cols) // what τ adds to sums of rows and columns of the store
	rounding := c.rounding
	root := func(tau float64) func(float64) float64 {
		return func(x float64) float64 {
			x = settled(x+tau, math.Abs(x)+tau, rounding)
			if x == 0 {
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
	other := c.op(op{kind: colFactor})
	if !c.local("columns") {
		i = other
	}
	c.tells(i, "columns", "factor")
}

// correspondence is D_r^{-1/2}·(A/Σ − r·cᵀ)·D_c^{-1/2} with the masses r and c, sums of rows
// and columns over Σ: in the op, p_i is √r_i and q_j is −c_j·√Σ before it is divided by √(c_j·Σ).
func (c *compiler) correspondence(Step) {
	at, all := len(c.ops), 0.0
	var masses []float64 // times Σ
	derive := func() {
		c.ops[at].c = all
		c.ops[at].col = each(masses, func(x float64) float64 {
			if x == 0 {
				return 0 // also in an empty matrix
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
	c.op(op{kind: colFactor})
	if c.local("columns") {
		c.tells(i, "columns", "sum")
	} else {
		c.tell("sum", c.src.Cols(), func() []float64 { return masses }, func(x []float64) {
			all, masses = added(x).value(), x
			derive()
		})
	}
}
