package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	// ahead is the number of entries by which a row of the dense block is prefetched before its use. It reaches into the
	// next rows: where these are short, a misprediction at the end of each would otherwise keep the processor from
	// running ahead.
	ahead = 24
	// prefetchWidth is the width of the narrowest panel for which prefetching is worth its instructions.
	prefetchWidth = 8
)

// form is how the entries of the sparse rows lie in memory.
type form struct {
	name  string
	col   uint8 // bytes of a column index
	value uint8 // bytes of a value: 8, or 1 for an index into the table, or 0 if it is the table's first
}

var forms = []form{
	{"Col32Val", 4, 8}, {"Col32Code", 4, 1}, {"Col32One", 4, 0},
	{"Col16Val", 2, 8}, {"Col16Code", 2, 1}, {"Col16One", 2, 0},
}

// rows are the registers that walk over the sparse rows. Numbers that are needed once a
// row stay in the arguments: there are not enough registers for all.
type rows struct {
	form
	lo, hi, col, val Register  // pointers
	table            Register  // of values, unless the entries have them
	row              GPVirtual // index into lo and hi
	p, stop          GPVirtual // entry of the row, last one at which a round may begin
	sooner           GPVirtual // col, ahead entries further, or 0: nothing to prefetch
	only             func()    // loads the one value of a row, if entries have none
}

func argument(name string) Register { return Load(Param(name), GP64()) }

func loadRows(f form) rows {
	r := rows{
		form: f,
		lo:   argument("lo"), hi: argument("hi"), col: argument("col"),
		row: GP64(), p: GP64(), stop: GP64(), sooner: GP64(),
	}
	if f.value > 0 {
		r.val = argument("val")
	}
	if f.value < 8 {
		r.table = argument("table")
	}
	return r
}

// each loops over the rows, of which there is at least one.
func (r rows) each(body func()) {
	XORL(r.row.As32(), r.row.As32())
	Label(r.name + "Row")
	MOVL(Mem{Base: r.lo, Index: r.row, Scale: 4}, r.p.As32())
	MOVL(Mem{Base: r.hi, Index: r.row, Scale: 4}, r.stop.As32())
	SUBQ(U8(4), r.stop)
	if r.only != nil {
		r.only()
	}
	body()
	if r.form.value < 8 {
		ADDQ(argument("step"), r.table)
	}
	INCQ(r.row)
	CMPQ(r.row, argument("rows"))
	JB(LabelRef(r.name + "Row"))
	VZEROUPPER()
	RET()
}

// entries walks over the row's entries in rounds of four, then at most one round of
// two and one of one. before is called before a round of n, body for its i-th entry.
func (r rows) entries(before func(n int), body func(i int, col GPVirtual, val func() Mem)) {
	round := func(n int) {
		before(n)
		col, val := r.columns(n), r.values(n)
		for i := range n {
			body(i, col(), val)
		}
	}
	CMPQ(r.p, r.stop)
	JGT(LabelRef(r.name + "Two"))
	Label(r.name + "Four")
	round(4)
	ADDQ(U8(4), r.p)
	CMPQ(r.p, r.stop)
	JLE(LabelRef(r.name + "Four"))
	Label(r.name + "Two")
	ADDQ(U8(2), r.stop)
	CMPQ(r.p, r.stop)
	JGT(LabelRef(r.name + "One"))
	round(2)
	ADDQ(U8(2), r.p)
	Label(r.name + "One")
	ADDQ(U8(2), r.stop)
	CMPQ(r.p, r.stop)
	JEQ(LabelRef(r.name + "End"))
	round(1)
	Label(r.name + "End")
}

// columns returns a function that gives the column indices of entries p … p+n−1 one after the other.
// Those of a full round are loaded together: the number of loads bounds
// the narrow kernels.
func (r rows) columns(n int) func() GPVirtual {
	size, word, i := int(r.form.col), GP64(), -1
	return func() GPVirtual {
		i++
		c, m := GP64(), Mem{Base: r.col, Index: r.p, Scale: r.form.col, Disp: size * i}
		if n < 4 {
			r.extend(m, size, c)
			return c
		}
		if i*size%8 == 0 {
			MOVQ(m, word)
		}
		if (i+1)*size%8 == 0 {
			return word
		}
		r.extend(word, size, c)
		SHRQ(U8(8*size), word)
		return c
	}
}

// extend sets c to the first size bytes of from.
func (r rows) extend(from Op, size int, c GPVirtual) {
	word, register := from.(GPVirtual)
	switch size {
	case 1:
		if register {
			from = word.As8()
		}
		MOVBLZX(from, c.As32())
	case 2:
		if register {
			from = word.As16()
		}
		MOVWLZX(from, c.As32())
	case 4:
		if register {
			from = word.As32()
		}
		MOVL(from, c.As32())
	}
}

// values returns a function that gives the addresses of the values of entries p … p+n−1, one after the other.
// The entries have values or codes.
func (r rows) values(n int) func() Mem {
	codes, i := GP64(), -1
	return func() Mem {
		i++
		m := Mem{Base: r.val, Index: r.p, Scale: r.form.value, Disp: int(r.form.value) * i}
		if r.form.value == 8 {
			return m
		}
		c := GP64()
		switch {
		case n < 4:
			r.extend(m, 1, c)
			return Mem{Base: r.table, Index: c, Scale: 8}
		case i == 0:
			MOVL(m, codes.As32())
		case i == 3:
			return Mem{Base: r.table, Index: codes, Scale: 8}
		}
		r.extend(codes, 1, c)
		SHRL(U8(8), codes.As32())
		return Mem{Base: r.table, Index: c, Scale: 8}
	}
}

// lookAhead prepares prefetch: it sets sooner to 0 where there is nothing to prefetch, as in the last rows.
func (r rows) lookAhead(d dense) {
	if d.width < prefetchWidth {
		return
	}
	most, none := GP64(), GP64()
	XORL(none.As32(), none.As32())
	LEAQ(Mem{Base: r.stop, Disp: 4 + ahead}, most)
	LEAQ(Mem{Base: r.col, Disp: ahead * int(r.form.col)}, r.sooner)
	CMPQ(most, argument("last"))
	CMOVQGT(none, r.sooner)
}

// prefetch prefetches the rows of d for entries p+ahead … p+ahead+n−1.
func (r rows) prefetch(d dense, n int) {
	if d.width < prefetchWidth {
		return
	}
	label := fmt.Sprintf("%sGo%d", r.name, n)
	TESTQ(r.sooner, r.sooner)
	JZ(LabelRef(label))
	later := r
	later.col = r.sooner
	next := later.columns(n)
	for range n {
		c := next()
		d.offset(c)
		for line := 0; line < d.width; line += 8 {
			PREFETCHT0(Mem{Base: d.base, Index: c, Scale: 1, Disp: 8 * line})
		}
	}
	Label(label)
}

// kernel writes a function for a panel, with the code for each form of the entries one behind the other.
func kernel(name, out, in string, body func(f form)) {
	TEXT(name, NOSPLIT, fmt.Sprintf("func(%s, %s *float64, rows int, lo, hi *uint32, col, val *byte, table *float64, step, last, form int)", out, in))
	Pragma("noescape")
	which := argument("form")
	for i, f := range forms[1:] {
		CMPQ(which, U8(i+1))
		JEQ(LabelRef(f.name))
	}
	for i, f := range forms {
		if i > 0 {
			Label(f.name)
		}
		body(f)
	}
}

func mul(l level, width int) {
	kernel(fmt.Sprintf("mul%d%s", width, l.name), "w", "x", func(f form) {
		w := argument("w")
		x := dense{newPanel(l, width), argument("x")}
		r := loadRows(f)
		value := r.broadcasts(x.panel)
		sums := make([][]VecVirtual, chains)
		for c := range sums {
			sums[c] = x.row()
		}
		r.each(func() {
			r.lookAhead(x)
			for _, sum := range sums {
				for _, v := range sum {
					x.zero(v)
				}
			}
			r.entries(func(n int) { r.prefetch(x, n) }, func(i int, at GPVirtual, val func() Mem) {
				x.offset(at)
				v := value(val)
				for k, s := range sums[i%len(sums)] {
					x.fma(x.at(at, k), v, s)
				}
			})
			for k := range sums[0] {
				x.accumulate(sums[1][k], sums[0][k])
			}
			for k, s := range sums[0] {
				x.move(s, Mem{Base: w, Disp: 8 * x.lanes * k})
			}
			ADDQ(U32(8*width), w)
		})
	})
}

func add(l level, width int) {
	kernel(fmt.Sprintf("add%d%s", width, l.name), "y", "w", func(f form) {
		y := dense{newPanel(l, width), argument("y")}
		w := argument("w")
		r := loadRows(f)
		value := r.broadcasts(y.panel)
		a := y.row()
		r.each(func() {
			r.lookAhead(y)
			for k, v := range a {
				y.move(Mem{Base: w, Disp: 8 * y.lanes * k}, v)
			}
			r.entries(func(n int) { r.prefetch(y, n) }, func(i int, at GPVirtual, val func() Mem) {
				y.offset(at)
				v := value(val)
				for k := range a {
					t := y.vector()
					y.move(y.at(at, k), t)
					y.fma(a[k], v, t)
					y.move(t, y.at(at, k))
				}
			})
			ADDQ(U32(8*width), w)
		})
	})
}

// broadcasts returns a function that makes a vector of the value at a place: the
// same vector for all entries of a row, if they have no values.
func (r *rows) broadcasts(p panel) func(func() Mem) VecVirtual {
	if r.form.value == 0 {
		v := p.vector()
		r.only = func() { p.broadcast(Mem{Base: r.table}, v) }
		return func(func() Mem) VecVirtual { return v }
	}
	return func(at func() Mem) VecVirtual {
		v := p.vector()
		p.broadcast(at(), v)
		return v
	}
}
