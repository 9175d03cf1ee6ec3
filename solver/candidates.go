package solver

import "math"

// candidate is a method with the work that it is expected to take.
type candidate struct {
	method Method
	width  int     // columns of a pass
	passes float64 // the certificate included
	flops  float64 // between passes
	moved  moved   // of vectors, by passes and between them
	others int     // passes that look for more copies of values, beside passes
	beside int     // columns of each of those
}

// moved is how many columns of n float64s a run reads and writes.
type moved struct{ read, written float64 }

// work is what a method is expected to take, whether Choose considers it or not.
func (p Problem) work(m Method) candidate {
	switch m := m.(type) {
	case Krylov:
		return p.krylov(m.asked(p.Rank))
	case Block:
		return p.block(Block{Columns: m.Width(p.Rank)})
	case Nesterov:
		return p.single(m, 80)
	case Polyak:
		return p.single(m, 85)
	case Power:
		return p.single(m, 180)
	case NesterovGeneral:
		return p.single(m, 220)
	}
	return p.single(m, 360)
}

// asked is the method as Settings could ask for it, with no default left open.
func (k Krylov) asked(rank int) Krylov {
	f := k.fit(rank).(Krylov)
	return Krylov{Columns: f.Columns, Basis: f.Basis}
}

// smallBasis is the least one with which Krylov loses few passes.
func smallBasis(rank, b int) int { return rank + max(12, rank/4) + 2*b }

// candidates are the methods that Choose considers: for what the methods of one
// vector are needed for those, in all other cases the joint ones in a number of
// widths, and two that need next to no memory for when nothing else fits.
//
// Widths are powers of two, the ones that the kernels are made for, and within
// them the choice is flat: between two neighbours there are rarely 20 %.
func (p Problem) candidates() []candidate {
	if p.Stop == StopPaper {
		return []candidate{p.work(GradientDescent{})}
	}
	little := []candidate{p.work(Nesterov{}), p.work(Power{})}
	if p.Operator == Dilation {
		return little
	}
	var all []candidate
	for b := 1; b <= 64 && p.allows(b); b *= 2 {
		all = append(all, p.krylov(Krylov{Columns: b}.asked(p.Rank)))
		if small := smallBasis(p.Rank, b); int64(small) < p.Columns {
			all = append(all, p.krylov(Krylov{Columns: b, Basis: small}))
		}
	}
	for _, l := range []int{Block{}.Width(p.Rank), 2 * p.Rank, 3 * p.Rank} {
		if l > p.Rank && p.allows(l) {
			all = append(all, p.block(Block{Columns: l}))
		}
	}
	return append(all, little...)
}

// allows tells whether a pass can have so many columns and be of use.
func (p Problem) allows(width int) bool {
	return (p.MaxWidth == 0 || width <= p.MaxWidth) && (width == 1 || int64(width) < p.Columns)
}

// digits is the logarithm of the tolerance relative to that of DefaultTol, for
// which the numbers of passes are.
func (p Problem) digits() float64 {
	if p.Tol <= 0 || p.Tol >= 1 {
		return 1
	}
	return math.Log(p.Tol) / math.Log(DefaultTol)
}

// Krylov takes, its certificate not counted,
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
func (p Problem) krylov(k Krylov) candidate {
	n, b, m := float64(p.Columns), float64(k.Columns), math.Min(float64(k.Basis), float64(p.Columns))
	rank := float64(p.Rank)
	passes := ((3.5+3.2*math.Log(rank))/math.Pow(b, 0.075) + 2.96*math.Pow(rank, 0.98)/math.Pow(b, 0.97)) * (1 + 0.5*(p.digits()-1))
	if p.Operator == Symmetric {
		passes *= math.Sqrt2 // gaps are half as wide
	}
	columns := passes * b
	kept := rank + (m-b-rank)/3 // by a restart
	if k.Basis <= smallBasis(p.Rank, k.Columns) && columns > m {
		passes *= 1 + 0.6*b/math.Max(m-b-kept, 1)*(1-m/columns)
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
	move := moved{
		read:    passes*(7*b+mean/4) + restarts*(3*m+2*kept) + math.Min(m, columns) + 16*rank + 12*b,
		written: passes*3*b + restarts*kept + 12*rank + 8*b,
	}
	c := candidate{method: k, width: k.Columns, passes: passes + 1, flops: flops, moved: move}
	if k.Columns == 1 && p.Rank > 1 {
		// Every value may have a second copy, which one vector does not see. To be sure
		// that none has takes three passes or so.
		c.others, c.beside = 3, k.fit(p.Rank).(Krylov).probe(p.Rank)
		l := float64(c.beside)
		c.flops += 3 * n * (26*l*l + 4*l*rank)
		c.moved.read += 32*l + 8*rank
		c.moved.written += 16 * l
	}
	return c
}

// block takes about as many passes as the rate of Block says for eigenvalues
// that fall like i^-1.4, as those of ratings do.
func (p Problem) block(b Block) candidate {
	l := float64(b.Columns)
	ratio := math.Pow(math.Max(1.02, l/float64(p.Rank)), 1.4)
	passes := 4 + 20*p.digits()/math.Acosh(ratio)
	if p.Operator == Symmetric {
		passes *= math.Sqrt2
	}
	passes = math.Max(passes, 5)
	move := moved{passes*9*l + 16*float64(p.Rank), passes*4*l + 12*float64(p.Rank)}
	return candidate{method: b, width: b.Columns, passes: passes, flops: float64(p.Columns) * passes * 12 * l * l, moved: move}
}

// single is a method of one vector with so many passes for each of them.
func (p Problem) single(m Method, each float64) candidate {
	passes := 1 + each*float64(p.Rank)*p.digits()
	n := float64(p.Columns)
	if p.Operator == Dilation {
		n += float64(p.Rows)
	}
	move := moved{passes * (9 + float64(p.Rank)), passes * 4}
	return candidate{method: m, width: 1, passes: passes, flops: passes * n * (20 + 2*float64(p.Rank)), moved: move}
}
