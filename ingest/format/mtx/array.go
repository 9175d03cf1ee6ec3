package mtx

// places is how many values an array has: one a line, column after column; of a symmetric matrix those of the lower triangle, of a
// skew-symmetric one without the diagonal.
func (p *reader) places() int64 {
	switch {
	case p.skew:
		return p.rows * max(0, p.rows-1) / 2
	case p.symmetric:
		return p.rows * (p.rows + 1) / 2
	}
	return p.rows * p.cols
}

// top is the first row of a column that has a value.
func (p *reader) top(j int64) int64 {
	switch {
	case p.skew:
		return j + 1
	case p.symmetric:
		return j
	}
	return 0
}

func (p *reader) place(k int64) (i, j int64) {
	if !p.symmetric {
		return k % p.rows, k / p.rows
	}
	lo, hi := int64(0), p.cols // the last column that does not begin behind it
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; p.before(mid) <= k {
			lo = mid
		} else {
			hi = mid
		}
	}
	return p.top(lo) + k - p.before(lo), lo
}

// before is how many values of a triangle stand before column j.
func (p *reader) before(j int64) int64 {
	n := p.rows
	if p.skew {
		n--
	}
	return j*n - j*(j-1)/2
}
