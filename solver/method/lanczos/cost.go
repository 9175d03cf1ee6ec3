package lanczos

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// footprint returns the bytes of m columns of the basis, the block, and the product, n×(m+2b) in all, of spare
// columns of panels, which are not full or which blocks are merged into, and of some matrices of the order of the
// basis. b is the width of blocks that look for more copies of values, which may be larger than Columns.
func (k Krylov) footprint(n, rank int) int64 {
	b, m := min(k.probe(rank), n), min(k.Basis, n)
	spare := tallskinny.WideFor(b)
	if spare > b {
		spare *= 2
	}
	return tallskinny.Bytes(n, m+2*b+spare) + tallskinny.Bytes(m, 2*tallskinny.MaxSegments*tallskinny.ChunkRows) + tallskinny.Bytes(m, 4*tallskinny.Segments(n)*b+16*m)
}

// smallBasis returns the least number of columns of a basis with which Krylov loses few passes.
func smallBasis(rank, b int) int { return rank + max(12, rank/4) + 2*b }

// options returns variants with the default basis and with the small basis. Their widths are powers of two, which
// the kernels are made for. Other widths would gain little: the times of two neighbouring powers rarely differ by
// 20 %.
func (Krylov) options(w method.Workload) (all []method.Method) {
	for b := 1; b <= 64; b *= 2 {
		all = append(all, Krylov{Columns: b}.fit(w.Rank))
		if small := smallBasis(w.Rank, b); int64(small) < w.Order {
			all = append(all, Krylov{Columns: b, Basis: small})
		}
	}
	return all
}

// effort takes Krylov to need, the certificate not counted,
//
//	(3.5 + 3.2·ln k)/b^0.075 + 2.96·k^0.98/b^0.97
//
// passes to residuals of 10⁻⁸ with the default basis. The formula is fitted to observations for k from 3 to 200
// and b from 1 to 32 on MovieLens 1M, MNIST, soc-Slashdot0902, and generated matrices of 10 and 12 million
// ratings. It is accurate to a factor of 1.5, except for MNIST with k ≥ 50, where it is 1.7 times too large. The
// factor depends on the matrix, and is the same for all b up to a tenth. A small basis is restarted after few
// blocks, and loses up to a pass for each restart: see the factor below. A polynomial of degree p gains as if p
// were squared, so that twice the digits take 1.5 times the passes.
func (k Krylov) effort(w method.Workload) method.Effort {
	n, b, m := float64(w.Order), float64(k.Columns), math.Min(float64(k.Basis), float64(w.Order))
	rank := float64(w.Rank)
	passes := ((3.5+3.2*math.Log(rank))/math.Pow(b, 0.075) + 2.96*math.Pow(rank, 0.98)/math.Pow(b, 0.97)) * (1 + 0.5*(w.Digits-1))
	if w.Linear {
		passes *= math.Sqrt2 // gaps are half as wide
	}
	columns := passes * b
	kept := rank + (m-b-rank)/3 // columns that a restart keeps
	if k.Basis <= smallBasis(w.Rank, k.Columns) && columns > m {
		passes *= 1 + 0.19*math.Sqrt(rank)*b/math.Max(m-b-kept, 1)*(1-m/columns)
		columns = passes * b
	}
	if columns > n { // the basis spans everything before that
		passes, columns = math.Ceil(n/b)+1, n
	}
	restarts, mean := 0.0, columns/2
	if columns > m {
		restarts = math.Ceil((columns - m) / math.Max(m-b-kept, b))
		mean = (m/2*m + (kept+m)/2*(columns-m)) / columns
	}
	// In about one step of three two blocks are orthogonalised against all others, in
	// every step one block against the last two. At the end the vectors are formed.
	flops := n * (passes*(2.8*b*mean+20*b*b) + restarts*2*m*kept + rank*(2*math.Min(m, columns)+8*rank))
	// A step reads the block, its product twice, the last two blocks, and the next block;
	// in one step of eight the product is orthogonalised against all blocks. A restart
	// cleans and rotates the basis, and the step after it reads all of the basis. At the
	// end the vectors are formed, locked, and certified.
	e := method.Effort{
		Width: k.Columns, Passes: passes + 1, Flops: flops,
		Read:    passes*(7*b+mean/4) + restarts*(3*m+2*kept) + math.Min(m, columns) + 16*rank + 12*b,
		Written: passes*3*b + restarts*kept + 12*rank + 8*b,
	}
	if k.Columns == 1 && w.Rank > 1 {
		// Every value may have a second copy, which a block of one column does not see.
		// To rule that out takes about three passes.
		e.Others, e.Beside = 3, k.probe(w.Rank)
		l := float64(e.Beside)
		e.Flops += 3 * n * (26*l*l + 4*l*rank)
		e.Read += 32*l + 8*rank
		e.Written += 16 * l
	}
	return e
}
