// Command _gen writes kernels_amd64.s and its Go declarations. Run it by "go generate" in the directory above. It is a separate
// module, so that the library does not depend on avo.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	t := tables()
	t.lines("lines1AVX2", 1)
	t.lines("lines2AVX2", 2)
	Generate()
}

// bytes32 defines a read-only table of 32 bytes.
func bytes32(name string, at func(i int) byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(at(i)))
	}
	return m
}

// digitsAt returns the shuffle table: the 8 bytes from offset n of either half move the first n bytes of the low or of the high
// word of 8 bytes to the end of the word, with zeros before them.
func digitsAt() Mem {
	return bytes32("digitsAt", func(i int) byte {
		if i%16 < 8 {
			return 0x80
		}
		return byte(i%16 - 8 + i/16*8)
	})
}

// powers returns a table of the pairs 10⁰ … 10⁷ and 1.
func powers() Mem {
	m := GLOBL("powers", RODATA|NOPTR)
	for i := range 8 {
		DATA(16*i, F64(math.Pow10(i)))
		DATA(16*i+8, F64(1))
	}
	return m
}

// weights returns a table of the factors by which neighbours are multiplied before they are added up to longer numbers.
func weights(name string, w ...byte) Mem {
	return bytes32(name, func(i int) byte { return w[i%len(w)] })
}

// data are the tables that the kernels read.
type data struct {
	nines, zeros, ends, tens, hundreds, myriads, digitsAt, powers Mem
}

func tables() *data {
	return &data{
		nines:    bytes32("nines", func(int) byte { return 9 }),
		zeros:    bytes32("zeros", func(int) byte { return '0' }),
		ends:     bytes32("ends", func(int) byte { return '\n' }),
		tens:     weights("tens", 10, 1),
		hundreds: weights("hundreds", 100, 0, 1, 0),
		myriads:  weights("myriads", 10000&0xff, 10000>>8, 1, 0),
		digitsAt: digitsAt(),
		powers:   powers(),
	}
}

// memory returns the address of an argument.
func memory(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// lines writes the kernel for separators of size bytes. The kernel marks the bytes of a line that are not digits, walks over
// the marks, and gathers the digits of the user, the item and the value, before and after the point, in four words of eight
// digits, which are converted to numbers together. The next line begins after the line end, which is found first, so that the
// CPU works on several lines at once: the fewer instructions and the shorter their chain, the more lines.
func (d *data) lines(name string, size int) {
	TEXT(name, NOSPLIT, "func(text *byte, last int, users, items *int64, vals *float64, room int, sep uint16, stamp bool) (taken, lines int)")
	Doc(fmt.Sprintf("%s is Lines for separators of %d. Lines begin at last or before, of bytes of text, and are room at most.", name, size))
	Pragma("noescape")
	at, last := Load(Param("text"), GP64()), Load(Param("last"), GP64())
	users, items, vals := Load(Param("users"), GP64()), Load(Param("items"), GP64()), Load(Param("vals"), GP64())
	sep := Load(Param("sep"), GP16())
	room, stamp := memory("room"), memory("stamp")
	lines, shuffle := GP64(), GP64()
	ADDQ(at, last)
	XORL(lines.As32(), lines.As32())
	LEAQ(d.digitsAt, shuffle)
	zero, nine, end := YMM(), YMM(), YMM()
	VMOVDQU(d.zeros, zero)
	VMOVDQU(d.nines, nine)
	VMOVDQU(d.ends, end)

	// digits and lineEnds mark the digits and the line ends in 32 bytes.
	digits := func(offset int, marks GPVirtual) {
		x, y := YMM(), YMM()
		VMOVDQU(Mem{Base: at, Disp: offset}, x)
		VPSUBB(zero, x, y)
		VPMINUB(nine, y, x)
		VPCMPEQB(x, y, x)
		VPMOVMSKB(x, marks.As32())
	}
	lineEnds := func(offset int, marks GPVirtual) {
		x := YMM()
		VPCMPEQB(Mem{Base: at, Disp: offset}, end, x)
		VPMOVMSKB(x, marks.As32())
	}

	Label("line")
	CMPQ(at, last)
	JA(LabelRef("done"))
	CMPQ(lines, room)
	JAE(LabelRef("done"))
	marks, newline := GP64(), GP64()
	digits(0, marks)
	lineEnds(0, newline)
	TZCNTL(newline.As32(), newline.As32())
	JCS(LabelRef("long")) // the line does not end within 32 bytes
	NOTL(marks.As32())

	// p is the offset of the mark at the end of a field, begin the distance from there to the next field.
	Label("fields")
	p, n := GP64(), GP64()
	begin := 0
	next := func(most int) (from GPVirtual) {
		from = p
		p = GP64()
		TZCNTQ(marks, p)
		n = GP64()
		MOVQ(p, n)
		if begin > 0 {
			SUBQ(from, n)
		}
		less := GP64()
		LEAQ(Mem{Base: n, Disp: -1 - begin}, less)
		CMPQ(less, U32(most))
		JAE(LabelRef("done"))
		return from
	}
	// field returns the memory at the beginning of a field; from is the offset of the mark before it.
	field := func(from GPVirtual) Mem {
		if begin == 0 {
			return Mem{Base: at}
		}
		return Mem{Base: at, Index: from, Scale: 1, Disp: begin}
	}
	// how returns the shuffle of the digits of the field.
	how := func(disp int) Mem { return Mem{Base: shuffle, Index: n, Scale: 1, Disp: disp - begin} }
	// canonical ends the kernel at a line whose field has a leading zero.
	canonical := func(name string, from GPVirtual) {
		CMPB(field(from), U8('0'))
		JNE(LabelRef(name))
		CMPQ(n, U8(1+begin))
		JNE(LabelRef("done"))
		Label(name)
	}
	separator := func() {
		m := Mem{Base: at, Index: p, Scale: 1}
		if size == 1 {
			CMPB(m, sep.(GPVirtual).As8())
		} else {
			CMPW(m, sep)
		}
		JNE(LabelRef("done"))
		for range size {
			BLSRQ(marks, marks)
		}
		begin = size
	}

	ids, idsBy := XMM(), XMM()
	from := next(8)
	canonical("user", from)
	VMOVQ(field(from), ids)
	VMOVQ(how(0), idsBy)
	separator()

	from = next(8)
	canonical("item", from)
	VMOVHPS(field(from), ids, ids)
	VMOVHPS(how(16), idsBy, idsBy)
	separator()

	val, valBy := XMM(), XMM()
	from = next(8)
	VMOVQ(field(from), val)
	VMOVQ(how(0), valBy)
	// Without a point there are 0 digits after it; with a point, at least one. There is no branch, because some ratings have
	// a point and some do not.
	behind, q, k, least := GP64(), GP64(), GP64(), GP64()
	XORL(least.As32(), least.As32())
	BLSRQ(marks, behind)
	CMPB(Mem{Base: at, Index: p, Scale: 1}, U8('.'))
	SETEQ(least.As8())
	CMOVQEQ(behind, marks)
	TZCNTQ(marks, q)
	MOVQ(q, k)
	SUBQ(p, k)
	SUBQ(least, k) // digits after the point
	MOVQ(k, n)
	SUBQ(least, n)
	CMPQ(n, U8(7))
	JAE(LabelRef("done"))
	VMOVHPS(Mem{Base: at, Index: p, Scale: 1, Disp: 1}, val, val)
	VMOVHPS(Mem{Base: shuffle, Index: k, Scale: 1, Disp: 16}, valBy, valBy)
	p = q

	CMPB(stamp, U8(0))
	JE(LabelRef("end"))
	separator()
	from = next(16)
	canonical("stamp", from)
	MOVQ(p, q)
	Label("end")
	CMPB(Mem{Base: at, Index: q, Scale: 1}, U8('\r'))
	JNE(LabelRef("newline"))
	INCQ(q)
	Label("newline")
	CMPQ(q, newline)
	JNE(LabelRef("done"))

	// Digits to numbers.
	x, by := ids.AsY(), idsBy.AsY()
	VINSERTI128(Imm(1), val, x, x)
	VINSERTI128(Imm(1), valBy, by, by)
	VPSUBB(zero, x, x)
	VPSHUFB(by, x, x)
	VPMADDUBSW(d.tens, x, x)
	VPMADDWD(d.hundreds, x, x)
	VPACKUSDW(x, x, x)
	VPMADDWD(d.myriads, x, x)
	VEXTRACTI128(Imm(1), x, val)
	VPMOVZXDQ(ids, ids)
	VMOVQ(ids, Mem{Base: users, Index: lines, Scale: 8})
	VMOVHPS(ids, Mem{Base: items, Index: lines, Scale: 8})
	// All digits of the value together form a number below 10¹⁵, so that it and the power of ten are exact.
	pow, v, part := GP64(), XMM(), XMM()
	LEAQ(d.powers, pow)
	SHLQ(Imm(4), k)
	VCVTDQ2PD(val, v)
	VMULPD(Mem{Base: pow, Index: k, Scale: 1}, v, v)
	VUNPCKHPD(v, v, part)
	VADDSD(part, v, v)
	VDIVSD(Mem{Base: pow, Index: k, Scale: 1}, v, v)
	VMOVSD(v, Mem{Base: vals, Index: lines, Scale: 8})

	INCQ(lines)
	LEAQ(Mem{Base: at, Index: newline, Scale: 1, Disp: 1}, at)
	JMP(LabelRef("line"))

	Label("long")
	high := GP64()
	digits(32, high)
	SHLQ(Imm(32), high)
	ORQ(high, marks)
	NOTQ(marks)
	high = GP64()
	lineEnds(32, high)
	TZCNTL(high.As32(), high.As32())
	LEAQ(Mem{Base: high, Disp: 32}, newline) // 64 if there is no line end: no mark is there
	JMP(LabelRef("fields"))

	Label("done")
	text := Load(Param("text"), GP64())
	SUBQ(text, at)
	Store(at, ReturnIndex(0))
	Store(lines, ReturnIndex(1))
	VZEROUPPER()
	RET()
}
