package solver

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// factorisation is a run on a Matrix with its finishing passes.
type factorisation struct {
	*run
	a Matrix
}

// reserve is the number of passes to keep back: the certificate, and the
// product that measures completed left vectors if there may be any.
func (f *factorisation) reserve() int {
	if f.s.Left != nil && (f.found.Nulls > 0 || f.unsettled()) {
		return 2
	}
	return 1
}

// unsettled reports whether a certificate made now may have values that are zero:
// some of its vectors would be random, or their eigenvalues are roundoff.
func (f *factorisation) unsettled() bool {
	open := f.missing(f.work.pairs)
	if open > len(f.work.pairs) {
		return true
	}
	least := math.Inf(1)
	for _, v := range f.found.Values {
		least = min(least, v)
	}
	for _, c := range f.work.pairs[:open] {
		least = min(least, c.Value)
	}
	return least <= judge.NearFloor*tallskinny.FloorFactor*tallskinny.Epsilon*f.found.Lambda1
}

// offenders returns the triplets whose residual misses the tolerance by more
// than rounding in the operator explains. Those without a value are to be
// searched for if their vectors were given, and have been if not.
func (f *factorisation) offenders(given bool) []int {
	var out []int
	if f.s.Stop != StopResidual {
		return nil
	}
	c := f.cert
	for i := range c.Rank {
		r := c.Doubt(i)
		seen := r // by the operator, relative to λ₁
		if !f.found.Linear {
			seen *= c.Sigma[i] / c.Norm
		}
		if r > f.s.Tol && seen > 4*tallskinny.FloorFactor*tallskinny.Epsilon {
			out = append(out, i)
		}
	}
	if given {
		for i := c.Rank; i < len(c.Sigma); i++ {
			out = append(out, i)
		}
	}
	return out
}

// worthwhile reports whether to go on with triplets that miss the tolerance, with more of
// them, or with evidence that they are the leading ones, can gain anything.
func (f *factorisation) worthwhile(again []int) bool {
	if len(again) == 0 {
		return f.short() || f.passes.round.count < maxRounds && !f.leading()
	}
	worst := 0.0
	for i := range f.cert.Residuals {
		worst = max(worst, f.cert.Doubt(i))
	}
	return f.passes.round.another(worst)
}

// reopen makes the triplets of the certificate that are asked for the locked ones, except for
// those in again, which are to be found again: from where they are, multiplied
// by G once more, since the certificate has done that. What has been found
// before is to be found more accurately than last time. Start vectors that are
// left of the given ones come after those.
func (f *factorisation) reopen(again []int, given bool) {
	var spare [][]float64
	switch {
	case given:
		spare = f.starts.warm
	case len(again) > 0:
		f.found.Tol /= 4
		f.passes.round.count++
	case !f.short():
		f.passes.round.count++ // for evidence about the values as they are now
	}
	f.relock(again, f.sufficient())
	f.starts.warm = append(f.starts.warm, spare...)
	f.arena.Free(f.cert.Product)
	f.cert.Product = nil
}

// relock locks the first keep triplets of the certificate but those in again, which become
// the start vectors.
func (f *factorisation) relock(again []int, keep int) {
	c := f.cert
	f.found.Reset()
	f.found.Lambda1 = max(f.found.Lambda1, f.found.Eigenvalue(c.Norm))
	f.outside.Reset() // what is known is of other vectors
	f.starts.warm = nil
	for i := range keep {
		if len(again) > 0 && again[0] == i {
			again = again[1:]
			if i < c.Rank {
				x := tallskinny.Column(f.arena.Dense(f.n, 1))
				f.arena.CopyColumn(x, c.Product, i)
				f.starts.warm = append(f.starts.warm, x)
			}
			continue
		}
		x := f.found.Basis.Next()
		f.arena.CopyColumn(x, c.Right, i)
		f.found.Basis.Orthonormalise(x)
		f.found.Push(f.found.Eigenvalue(c.Sigma[i]), c.Residuals[i])
		if i >= c.Rank {
			f.found.Nulls++
		}
	}
}
