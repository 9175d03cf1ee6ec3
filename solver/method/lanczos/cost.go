package lanczos

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// footprint is that of m columns of the basis, the block, and the product, n×(m+2b)
// in all, what panels are not filled with or blocks are put together in, and some
// matrices of the order of the basis. Blocks are wider than b when they look for more
// copies of values.
func (k Krylov) footprint(n, rank int) int64 {
	b, m := min(k.probe(rank), n), min(k.Basis, n)
	spare := tallskinny.WideFor(b)
	if spare > b {
		spare *= 2
	}
	return tallskinny.Bytes(n, m+2*b+spare) + tallskinny.Bytes(m, 2*tallskinny.MaxSegments*tallskinny.ChunkRows) + tallskinny.Bytes(m, 4*tallskinny.Segments(n)*b+16*m)
}

// smallBasis is the least one with which Krylov loses few passes.
func smallBasis(rank, b int) int { return rank + max(12, rank/4) + 2*b }

// options are bases of the default size and of the least one. Widths are powers of
// two, the ones that the kernels are made for, and within them the choice is flat:
// between two neighbours there are rarely 20 %.
func (Krylov) options(w method.Workload) (all []method.Method) {
	for b := 1; b <= 64; b *= 2 {
		all = append(all, Krylov{Columns: b}.fit(w.Rank))
		if small := smallBasis(w.Rank, b); int64(small) < w.Order {
			all = append(all, Krylov{Columns: b, Basis: small})
		}
	}
	return all
}

// effort is, the certificate not counted,
//
//	(3.5 + 3.2·ln k)/b^0.075 + 2.96·k^0.98/b^0.97
//
// passes to residuals of 10⁻⁸ with the default basis. It is fitted to what was
// observed for k from 3 to 200 and b from 1 to 32 on MovieLens 1M, MNIST,
// soc-Slashdot0902, and generated matrices of 10 and 12 million ratings: within a
// factor of 1.5, but for MNIST with k ≥ 50, where it is 1.7 times too many. That
// factor belongs to the matrix and is the same for all b up to a tenth. A small
// basis is restarted after few blocks, and loses up to a pass for each; see the
// factor below. A polynomial of degree p gains as if p were squared, so half of
// the digits are for free.
func (k Krylov) effort(w method.Workload) method.Effort {
	n, b, m := float64(w.Order), float64(k.Columns), math.Min(float64(k.Basis), float64(w.Order))
	rank := float64(w.Rank)
	passes := ((3.5+3.2*math.Log(rank))/math.Pow(b, 0.075) + 2.96*math.Pow(rank, 0.98)/math.Pow(b, 0.97)) * (1 + 0.5*(w.Digits-1))
	if w.Linear {
		passes *= math.Sqrt2 // gaps are half as wide
	}
	columns := passes * b
	kept := rank + (m-b-rank)/3 // by a restart
	if k.Basis <= smallBasis(w.Rank, k.Columns) && columns > m {
		passes *= 1 + 0.19*math.Sqrt(rank)*b/math.Max(m-b-kept, 1)*(1-m/columns)
		columns = passes * b
	}
	if columns > n { // the basis spans everything first
		passes, columns = math.Ceil(n/b)+1, n
	}
	restarts, mean := 0.0, columns/2
	if columns > m {
		restarts = math.Ceil((columns - m) / math.Max(m-b-kept, b))
		mean = (m/2*m + (kept+m)/2*(columns-m)) / columns
	}
	// In one step of three or so two blocks are orthogonalised against all others, in
	// every step one against the last two. In the end vectors are formed.
	flops := n * (passes*(2.8*b*mean+20*b*b) + restarts*2*m*kept + rank*(2*math.Min(m, columns)+8*rank))
	// A step reads the block, its product twice, the last two blocks, and what comes of
	// it; in one of eight it is orthogonalised against all others. A restart cleans the
	// basis, turns it, and is followed by a step against all of it. Then the vectors
	// are formed, locked, and certified.
	e := method.Effort{
		Width: k.Columns, Passes: passes + 1, Flops: flops,
		Read:    passes*(7*b+mean/4) + restarts*(3*m+2*kept) + math.Min(m, columns) + 16*rank + 12*b,
		Written: passes*3*b + restarts*kept + 12*rank + 8*b,
	}
	if k.Columns == 1 && w.Rank > 1 {
		// Every value may have a second copy, which one vector does not see. To be sure
		// that none has takes three passes or so.
		e.Others, e.Beside = 3, k.probe(w.Rank)
		l := float64(e.Beside)
		e.Flops += 3 * n * (26*l*l + 4*l*rank)
		e.Read += 32*l + 8*rank
		e.Written += 16 * l
	}
	return e
}
