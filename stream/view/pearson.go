package view

import (
	"fmt"
	"math"
	"slices"
)

// pearsonStep computes the residuals (a_ij − μ_ij)/√μ_ij of counts, with μ_ij = r_i·c_j/Σ of the sums of rows, columns
// and entries, clipped to ±√n of n rows: the analytic Pearson residuals of J. Lause, P. Berens and D. Kobak (Genome
// Biology 22 (2021) 258) without overdispersion. An element without an entry has the residual −√μ_ij, of a matrix of
// rank 1. With overdispersion it would be −√(μ_ij/(1 + μ_ij/θ)), of no bounded rank.
var pearsonStep = kind{
	name: "pearson", usage: "pearson=inf[,clip:none|C], of the overdispersion THETA = inf, with C > 0", dense: ofEntries,
	parse: func(s *Step, a *args) {
		if f, ok := a.option("clip"); ok && f.text == "none" {
			s.Mode = f.text
		} else if ok {
			s.X = a.numberOf(f, "C is a number above 0, or none", positive)
		}
		if f, ok := a.take(func(string) bool { return true }); !ok {
			a.fail(a.step, "THETA is missing")
		} else if f.text != "inf" {
			a.fail(f, "a finite THETA makes zeros numbers whose matrix is dense: take inf, or have scanpy's normalize_pearson_residuals make the dense matrix")
		}
	},
	form: func(s Step) string {
		switch {
		case s.Mode != "":
			return "=inf,clip:" + s.Mode
		case s.X != 0:
			return "=inf,clip:" + text(s.X)
		}
		return "=inf"
	},
	fills:   always,
	compile: (*compiler).pearson,
}

func (c *compiler) pearson(s Step) {
	rows, _ := c.dims()
	clip := math.Sqrt(rows)
	switch {
	case s.Mode != "":
		clip = math.Inf(1)
	case s.X != 0:
		clip = s.X
	}
	at, all := len(c.ops), 0.0
	derive := func() {
		of, lift := &c.ops[at], &c.ops[at+1]
		of.c = all
		lift.col = each(of.col, func(x float64) float64 { return -math.Sqrt(x / max(all, math.SmallestNonzeroFloat64)) })
	}
	n := ofStat(total)
	n.totals = true
	c.stage(n, func(sums *sums) {
		all, c.ops[at].col, c.ops[at+1].keep = sums.all(), sums.stat(total), sums.totals
		derive()
		if all > 0 {
			if largest := slices.Max(sums.totals) / all * slices.Max(c.ops[at].col); largest > clip*clip {
				c.refused = fmt.Errorf("view: %v: zeros may have residuals below −%.4g, where they would be clipped: the largest expected count, of the row and the column with the largest sums, is %.4g; clip:none clips none, and clip:%.4g no zeros", s, clip, largest, math.Ceil(math.Sqrt(largest)))
			}
		}
	})
	c.op(op{kind: pearson, k: clip})
	lift := c.op(op{kind: lift, keeps: true})
	if c.local("columns") {
		c.tell("sum", c.src.Rows(), func() []float64 { return c.ops[lift].keep }, nil)
		return
	}
	c.tell("sum", c.src.Cols(), func() []float64 { return c.ops[at].col }, func(x []float64) {
		c.ops[at].col, all = x, added(x).value()
		derive()
	})
}

// runPearson sets entries to their residuals plus √μ_ij, which lift subtracts from every element.
func runPearson[C column](o *op, col []C, r *row) {
	r.total = total.of(r.val, o.rounding)
	for i, v := range r.val {
		if v == 0 {
			continue
		}
		root := math.Sqrt(r.total / o.c * o.col[col[i]]) // of the expected count
		switch {
		case v < 0:
			r.val[i] = math.NaN()
		case root == 0:
			r.val[i] = 0
		default:
			r.val[i] = min(max(v/root, root-o.k), root+o.k)
		}
	}
}
