package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	// ahead is how many entries before its use a row of the dense block is
	// prefetched. It reaches into the next rows: where these are short, a wrong
	// guess at the end of each would otherwise keep the processor from running ahead.
	ahead = 24
	// prefetchWidth is the panel from which on that is worth the instructions.
	prefetchWidth = 8
	// streamAhead is how many entries before their use the entries themselves are
	// prefetched by mul, which meets them first.
	streamAhead = 256
)

// form is how the entries of the sparse rows lie in memory.
type form struct {
	name  string
	col   uint8 // bytes of a column index
	coded bool  // a value is a byte that chooses from the table, not a number
}

var forms = []form{{"Col32Val", 4, false}, {"Col32Code", 4, true}, {"Col16Val", 2, false}, {"Col16Code", 2, true}}

func (f form) value() uint8 {
	if f.coded {
		return 1
	}
	return 8
}

// rows are the registers that walk over the sparse rows.
type rows struct {
	form
	lo, hi, col, val Register // pointers
	table            Register // of values, if they are coded
	count            Register // rows left
	last             Register
	p, end, next     GPVirtual // entry of the row, its end, first entry of the next round
}

func loadRows(f form) rows {
	load := func(name string) Register { return Load(Param(name), GP64()) }
	r := rows{
		form: f,
		lo:   load("lo"), hi: load("hi"), col: load("col"), val: load("val"),
		count: load("rows"), last: load("last"),
		p: GP64(), end: GP64(), next: GP64(),
	}
	if f.coded {
		r.table = load("table")
	}
	return r
}

// each loops over the rows. In body p and end are those of the row.
func (r rows) each(body func()) {
	Label("row")
	TESTQ(r.count, r.count)
	JZ(LabelRef("done"))
	MOVL(Mem{Base: r.lo}, r.p.As32())
	MOVL(Mem{Base: r.hi}, r.end.As32())
	body()
	ADDQ(U8(4), r.lo)
	ADDQ(U8(4), r.hi)
	DECQ(r.count)
	JMP(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}

// entries loops over the row's entries, in rounds of n and then in rounds of
// one. round comes before the body of a round's entries p+i, i < n.
func (r rows) entries(n int, round func(n int), body func(i int)) {
	Label("many")
	LEAQ(Mem{Base: r.p, Disp: n}, r.next)
	CMPQ(r.next, r.end)
	JA(LabelRef("few"))
	round(n)
	for i := range n {
		body(i)
	}
	MOVQ(r.next, r.p)
	JMP(LabelRef("many"))
	Label("few")
	CMPQ(r.p, r.end)
	JAE(LabelRef("end"))
	round(1)
	body(0)
	INCQ(r.p)
	JMP(LabelRef("few"))
	Label("end")
}

// column is the column index of entry p+i.
func (r rows) column(p Register, i int) GPVirtual {
	c := GP64()
	m := Mem{Base: r.col, Index: p, Scale: r.form.col, Disp: int(r.form.col) * i}
	if r.form.col == 2 {
		MOVWLZX(m, c.As32())
	} else {
		MOVL(m, c.As32())
	}
	return c
}

// value is where the value of entry p+i is.
func (r rows) value(i int) Mem {
	m := Mem{Base: r.val, Index: r.p, Scale: r.form.value(), Disp: int(r.form.value()) * i}
	if !r.coded {
		return m
	}
	code := GP64()
	MOVBLZX(m, code.As32())
	return Mem{Base: r.table, Index: code, Scale: 8}
}

// prefetch asks for the rows of d that entries p+ahead … p+ahead+n−1 belong to,
// or the last n entries of all. A round of n means that there are as many.
func (r rows) prefetch(d dense, n int) {
	if d.width < prefetchWidth {
		return
	}
	p, most := GP64(), GP64()
	LEAQ(Mem{Base: r.p, Disp: ahead}, p)
	LEAQ(Mem{Base: r.last, Disp: 1 - n}, most)
	CMPQ(p, most)
	CMOVQHI(most, p)
	for i := range n {
		c := r.column(p, i)
		d.offset(c)
		for line := 0; line < d.width; line += 8 {
			PREFETCHT0(Mem{Base: d.base, Index: c, Scale: 1, Disp: 8 * line})
		}
	}
}

// stream asks for the entries themselves. Prefetching beyond their end is harmless.
func (r rows) stream(n int) {
	if n > 1 {
		for _, s := range []struct {
			base Register
			size uint8
		}{{r.col, r.form.col}, {r.val, r.form.value()}} {
			PREFETCHT0(Mem{Base: s.base, Index: r.p, Scale: s.size, Disp: streamAhead * int(s.size)})
		}
	}
}

func mul(l level, width int, f form) {
	name := fmt.Sprintf("mul%d%s%s", width, l.name, f.name)
	TEXT(name, NOSPLIT, "func(w, x *float64, rows int, lo, hi *uint32, col, val *byte, table *float64, last int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s sets rows of w of width %d to the products of sparse rows with x.", name, width))
	w := Load(Param("w"), GP64())
	x := dense{newPanel(l, width), Load(Param("x"), GP64())}
	r := loadRows(f)
	sums := make([][]VecVirtual, chains(width))
	for c := range sums {
		sums[c] = x.row()
	}
	r.each(func() {
		for _, sum := range sums {
			for _, v := range sum {
				x.zero(v)
			}
		}
		r.entries(len(sums), func(n int) { r.stream(n); r.prefetch(x, n) }, func(i int) {
			at, v := r.column(r.p, i), x.vector()
			x.offset(at)
			x.broadcast(r.value(i), v)
			for k, s := range sums[i] {
				x.fma(x.at(at, k), v, s)
			}
		})
		for n := len(sums) / 2; n > 0; n /= 2 {
			for c := range n {
				for k := range sums[c] {
					x.accumulate(sums[c+n][k], sums[c][k])
				}
			}
		}
		for k, s := range sums[0] {
			x.move(s, Mem{Base: w, Disp: 8 * x.lanes * k})
		}
		ADDQ(U32(8*width), w)
	})
}

func add(l level, width int, f form) {
	name := fmt.Sprintf("add%d%s%s", width, l.name, f.name)
	TEXT(name, NOSPLIT, "func(y, w *float64, rows int, lo, hi *uint32, col, val *byte, table *float64, last int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds the products of transposed sparse rows with rows of w of width %d to y.", name, width))
	y := dense{newPanel(l, width), Load(Param("y"), GP64())}
	w := Load(Param("w"), GP64())
	r := loadRows(f)
	a := y.row()
	r.each(func() {
		for k, v := range a {
			y.move(Mem{Base: w, Disp: 8 * y.lanes * k}, v)
		}
		r.entries(2, func(n int) { r.prefetch(y, n) }, func(i int) {
			at, v := r.column(r.p, i), y.vector()
			y.offset(at)
			y.broadcast(r.value(i), v)
			for k := range a {
				t := y.vector()
				y.move(y.at(at, k), t)
				y.fma(a[k], v, t)
				y.move(t, y.at(at, k))
			}
		})
		ADDQ(U32(8*width), w)
	})
}
