package view

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/csr"
)

// A row of a store with a table of values has few different values. Up to the first op that reads columns, results
// depend on the value and the row alone: they are computed once for each value of the table, and looked up for the
// entries.

// ofRow reports whether the result of an op for a value depends on the value and the row alone.
func (o *op) ofRow() bool {
	k := o.kind
	return k == mapValues || k == times || k == rowFactor || k == bm25Rows || k == impute && !o.other
}

// codesOf returns a bound on the codes of a store with a table, padded with zeros. Values ascend, and at most one is 0.
func codesOf(table *[256]float64) (used int) {
	for used = len(table); used > 0 && table[used-1] == 0; used-- {
	}
	if used == 0 || table[used-1] < 0 { // the next value may be a 0 of the table
		used = min(used+1, len(table))
	}
	return used
}

// expand sets val to the results of ops for the coded values of a block whose table has used values or, if step > 0, to a
// table for each row. A row with fewer than used entries gets a table of their values, and other codes.
func expand(ops []op, n, used int, b *csr.Block, val []float64, step int, known *countTables) {
	shared := 0 // leading ops whose results are in a table of the row
	for shared < len(ops) && ops[shared].ofRow() {
		shared++
	}
	sparse := used > 16 && shared == len(ops) // of a larger table only the values that the row has are computed
	counts := sparse && areCounts(ops, b.Table[:used])
	var table, logs [256]float64
	if shared == 0 && ops[0].kind == ppmi { // once for the block, not for each row
		for k, v := range b.Table[:used] {
			logs[k] = logOf(v)
		}
	}
	for i := range b.Rows() {
		lo, hi := b.RowPtr[i], b.RowPtr[i+1]
		at, end := int(lo-b.RowPtr[0]), int(hi-b.RowPtr[0])
		if step > 0 {
			at, end = i*step, i*step+min(used, int(hi-lo))
		}
		r := row{at: b.FirstRow + int64(i), n: n, val: val[at:end], d: 1}
		if int(hi-lo) < used {
			load(r.val, b, b.Table, lo, hi)
			runBlock(ops, len(ops), b, lo, hi, &r)
			for p := lo; step > 0 && p < hi && len(b.Code) > 0; p++ {
				b.Code[p] = uint8(p - lo)
			}
			continue
		}
		var code []uint8
		if len(b.Code) > 0 {
			code = b.Code[lo:hi]
		}
		top, first := used, ops[:shared] // bound on the codes of the row; ops that its table has still to go through
		switch {
		case !sparse || code == nil:
			copy(table[:used], b.Table[:used]) // the others are 0
		case counts:
			clear(table[:used])
			known.ofCounts(ops, &table, b.Table, code)
			first = nil
		default:
			clear(table[:used])
			top = some(&table, b.Table, code)
		}
		for k := range first {
			first[k].ofTable(table[:top], &table, code, int(hi-lo), n)
		}
		if shared > 0 && shared < len(ops) && ops[shared].kind == ppmi {
			for k, v := range table[:used] {
				logs[k] = logOf(v)
			}
		}
		switch rest := ops[shared:]; {
		case step > 0:
			copy(r.val, table[:])
		case len(rest) > 0 && len(b.Col16) > 0:
			runCoded(rest, b.Col16[lo:hi], code, &table, &logs, used, &r)
		case len(rest) > 0:
			runCoded(rest, b.Col[lo:hi], code, &table, &logs, used, &r)
		default:
			lookUp(r.val, code, &table)
		}
	}
}

// some copies the values that codes stand for, and returns a bound on these codes.
func some(to, from *[256]float64, code []uint8) (top int) {
	var seen [len(from)]uint8
	for _, c := range code {
		seen[c] = 1
	}
	for at := 0; at < len(seen); at += 8 {
		for x := binary.LittleEndian.Uint64(seen[at:]); x != 0; x &= x - 1 {
			c := at + bits.TrailingZeros64(x)/8
			to[c], top = from[c], c+1
		}
	}
	return top
}

// countTable holds the results of the first n ops, which multiply a row by d, for the counts least, least+1, … of a row.
type countTable struct {
	n        int
	least, d float64
	to       [16]float64
}

// countTables caches a countTable by the sum of a row, which other rows often have, too. Workers share it.
type countTables [2048]atomic.Pointer[countTable]

// areCounts reports whether values are integers ≥ 0, the first of which are consecutive, and whether the ops multiply a
// row by a function of its sum and then change each value by itself.
func areCounts(ops []op, values []float64) bool {
	for k, v := range values {
		if v != float64(uint32(v)) || k < len(countTable{}.to) && v != values[0]+float64(k) {
			return false
		}
	}
	return ops[0].kind == rowFactor && ops[0].stat == total && !slices.ContainsFunc(ops[1:], func(o op) bool { return o.kind != mapValues && o.kind != times })
}

// ofCounts sets table, which is 0, to the results of ops for the counts that codes stand for.
func (known *countTables) ofCounts(ops []op, table, counts *[256]float64, code []uint8) {
	const few, pairs, ones = len(countTable{}.to), 0x00ff00ff00ff00ff, 0x0001000100010001
	const large = uint64(256-few) * 0x0101010101010101 // bits that only codes ≥ few have; few is a power of two
	least, sum, top := uint64(counts[0]), uint64(0), few
	for len(code) > 0 {
		some := code[:min(8, len(code))]
		code = code[len(some):]
		if len(some) == 8 {
			if x := binary.LittleEndian.Uint64(some); x&large == 0 {
				sum += 8*least + (x&pairs+x>>8&pairs)*ones>>48
				continue
			}
		}
		for _, c := range some {
			sum += uint64(counts[c])
			if int(c) >= few {
				table[c], top = counts[c], max(top, int(c)+1)
			}
		}
	}
	d := ops[0].factor(float64(sum))
	through := func(values []float64) {
		floats.Scale(d, values)
		for k := range ops[1:] {
			ops[1+k].ofTable(values, nil, nil, 0, 0)
		}
	}
	at := &known[sum%uint64(len(known))]
	first := at.Load()
	if first == nil || first.n != len(ops) || first.d != d || first.least != counts[0] {
		first = &countTable{n: len(ops), least: counts[0], d: d, to: [few]float64(counts[:])}
		through(first.to[:])
		at.Store(first)
	}
	if top > few {
		through(table[few:top])
	}
	copy(table[:], first.to[:])
}

// lookUp sets val to the values that codes stand for; without codes, to the first of the table.
func lookUp(val []float64, code []uint8, table *[256]float64) {
	if code == nil {
		for i := range val {
			val[i] = table[0]
		}
		return
	}
	code = code[:len(val)]
	for i, c := range code {
		val[i] = table[c]
	}
}

// sumCoded adds up the values of n codes.
func sumCoded(code []uint8, table *[256]float64, n int) float64 {
	if code == nil {
		return float64(n) * table[0]
	}
	var a, b, c, d float64
	for len(code) >= 4 {
		a += table[code[0]]
		b += table[code[1]]
		c += table[code[2]]
		d += table[code[3]]
		code = code[4:]
	}
	for _, k := range code {
		a += table[k]
	}
	return (a + b) + (c + d)
}

// ofCodes returns the statistic of a row of n codes.
func (s stat) ofCodes(used []float64, table *[256]float64, code []uint8, n int, rounding float64) float64 {
	if s == total {
		x := sumCoded(code, table, n)
		for _, v := range used {
			if v < 0 {
				return settled(x, length1.ofCodes(used, table, code, n, 0), rounding)
			}
		}
		return x
	}
	var g [256]float64
	for k, v := range used {
		switch s {
		case count:
			if v != 0 {
				g[k] = 1
			}
		case length1, largest:
			g[k] = math.Abs(v)
		case length2:
			g[k] = v * v
		}
	}
	if s == largest {
		x := 0.0
		for _, c := range code {
			x = max(x, g[c])
		}
		if code == nil && n > 0 {
			x = g[0]
		}
		return x
	}
	x := sumCoded(code, &g, n)
	if s == length2 && (x < smallest*smallest || x > greatest*greatest) { // squares may have left the range of numbers
		val := make([]float64, n)
		lookUp(val, code, table)
		return s.of(val, rounding)
	}
	if s == length2 {
		x = math.Sqrt(x)
	}
	return x
}

// ofTable applies the op to the values of a row's table. The row has n entries and cols elements.
func (o *op) ofTable(used []float64, table *[256]float64, code []uint8, n, cols int) {
	switch o.kind {
	case mapValues:
		for k, v := range used {
			if v != 0 && finite(v) {
				used[k] = o.f(v)
			}
		}
	case times, rowFactor:
		d := o.c
		if o.kind == rowFactor {
			d = o.factor(o.stat.ofCodes(used, table, code, n, o.rounding))
		}
		for k := range used {
			used[k] *= d
		}
	case impute:
		var number, none [256]float64
		for k, v := range used {
			if v == v {
				number[k] = v
			} else {
				none[k] = 1
			}
		}
		mean := 0.0
		if known := float64(cols) - sumCoded(code, &none, n); o.local && known > 0 {
			mean = sumCoded(code, &number, n) / known
		}
		for k, v := range used {
			if v != v {
				used[k] = mean
			}
		}
	case bm25Rows:
		l := o.c * (1 - o.k + o.k*sumCoded(code, table, n)/o.col[0])
		for k, v := range used {
			if v != 0 {
				used[k] = v * (o.c + 1) / (l + v)
			}
		}
	}
}

// runCoded applies ops, of which the first reads columns, to a row with a table of its own.
func runCoded[C column](ops []op, col []C, code []uint8, table, logs *[256]float64, used int, r *row) {
	o := &ops[0]
	n := len(col)
	var near [256]float64
	switch {
	case o.kind == ppmi && n > 0:
		s := logSum(sumCoded(code, table, n))
		l := o.c - s
		for k, v := range logs[:used] {
			table[k] = v + l
			near[k] = o.near(v, s, v+l)
		}
	case o.kind == bias && o.col != nil && !slices.Contains(table[:used], 0):
		b := o.c
		if o.local && n > 0 {
			s := 0.0
			if o.first {
				s = sumCoded(code, table, n)
			} else {
				s = sumLess(code, table, col, o.col)
			}
			s -= float64(n) * o.c
			b += s / (float64(n) + o.k)
		}
		for k, v := range table[:used] {
			table[k] -= b
			near[k] = o.near(v, b, table[k])
		}
	default:
		lookUp(r.val, code, table)
		run(ops, len(ops), col, r)
		return
	}
	lookUpLess(r.val, code, table, near[:used], col, o.col, o.kind == ppmi)
	run(ops[1:], len(ops)-1, col, r)
}

// lookUpLess is lookUp minus a number of each column. Differences within near become 0; if positive, so do negative ones.
func lookUpLess[C column](val []float64, code []uint8, table *[256]float64, near []float64, col []C, x []float64, positive bool) {
	col = col[:len(val)]
	most := slices.Max(near)
	if code == nil {
		for i := range val {
			v := table[0] - x[col[i]]
			if math.Abs(v) <= near[0] {
				v = 0
			}
			if positive {
				v = max(0, v)
			}
			val[i] = v
		}
		return
	}
	code = code[:len(val)]
	for i, c := range code {
		v := table[c] - x[col[i]]
		if math.Abs(v) <= most && math.Abs(v) <= near[c] {
			v = 0
		}
		if positive {
			v = max(0, v)
		}
		val[i] = v
	}
}

// sumLess adds up values minus a number of each column.
func sumLess[C column](code []uint8, table *[256]float64, col []C, x []float64) float64 {
	var a, b, c, d float64
	if code == nil {
		a = float64(len(col)) * table[0]
		for _, j := range col {
			a -= x[j]
		}
		return a
	}
	code = code[:len(col)]
	for len(col) >= 4 && len(code) >= 4 {
		a += table[code[0]] - x[col[0]]
		b += table[code[1]] - x[col[1]]
		c += table[code[2]] - x[col[2]]
		d += table[code[3]] - x[col[3]]
		col, code = col[4:], code[4:]
	}
	for i, j := range col {
		a += table[code[i]] - x[j]
	}
	return (a + b) + (c + d)
}
