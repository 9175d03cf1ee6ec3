// Command _gen writes kernels_amd64.s and its Go declarations. Run it by "go
// generate" in the directory above; it is a module of its own, so that avo is
// no dependency of the library.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	linesAVX2()
	Generate()
}

// Offsets in a Form.
const (
	formLast = 8 * iota
	formRoom
	formSep
	formMask
	formSize
	formStamp
)

// bytes32 is 32 bytes of memory.
func bytes32(name string, at func(i int) byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(at(i)))
	}
	return m
}

// digitsAt is what shuffles: 8 bytes from place n of either half bring the first n of 8 bytes,
// those of the low or those of the high word, to the end of their word, with zeros before them.
func digitsAt() Mem {
	return bytes32("digitsAt", func(i int) byte {
		if i%16 < 8 {
			return 0x80
		}
		return byte(i%16 - 8 + i/16*8)
	})
}

// powers are 10⁰ … 10⁷, as integers and as floating point numbers.
func powers() Mem {
	m := GLOBL("powers", RODATA|NOPTR)
	for i := range 16 {
		p := math.Pow10(i % 8)
		if i < 8 {
			DATA(8*i, U64(p))
		} else {
			DATA(8*i, F64(p))
		}
	}
	return m
}

// weights are by what pairs of neighbours are multiplied, to be added up: digits, numbers of two, of four digits.
func weights(name string, w ...byte) Mem {
	return bytes32(name, func(i int) byte { return w[i%len(w)] })
}

// linesAVX2 marks the bytes of a line that are no digits in a word of 64 bits,
// walks over the marks, and gathers the digits of the user, the item and the
// value, before and behind the point, in four words of eight digits, which are
// made numbers together. That the next line begins behind the line end is
// known at once, so that the work on several lines overlaps.
func linesAVX2() {
	nines := bytes32("nines", func(int) byte { return 9 })
	zeros := bytes32("zeros", func(int) byte { return '0' })
	ends := bytes32("ends", func(int) byte { return '\n' })
	tens := weights("tens", 10, 1)
	hundreds := weights("hundreds", 100, 0, 1, 0)
	myriads := weights("myriads", 10000&0xff, 10000>>8, 1, 0)
	shuffles, pow10 := digitsAt(), powers()

	TEXT("linesAVX2", NOSPLIT, "func(text *byte, f *[6]uint64, users, items *int64, vals *float64) (taken, lines int)")
	Doc("linesAVX2 is Lines.")
	Pragma("noescape")
	at, f := Load(Param("text"), GP64()), Load(Param("f"), GP64())
	users, items, vals := Load(Param("users"), GP64()), Load(Param("items"), GP64()), Load(Param("vals"), GP64())
	last, lines, shuffle := GP64(), GP64(), GP64()
	MOVQ(Mem{Base: f, Disp: formLast}, last)
	ADDQ(at, last)
	XORQ(lines, lines)
	LEAQ(shuffles, shuffle)
	zero, nine, end := YMM(), YMM(), YMM()
	VMOVDQU(zeros, zero)
	VMOVDQU(nines, nine)
	VMOVDQU(ends, end)

	Label("line")
	CMPQ(at, last)
	JA(LabelRef("done"))
	CMPQ(lines, Mem{Base: f, Disp: formRoom})
	JAE(LabelRef("done"))

	// Marks, and the place of the line end.
	marks, high, newline := GP64(), GP64(), GP64()
	for half, to := range []GPVirtual{marks, high} {
		x, y := YMM(), YMM()
		VMOVDQU(Mem{Base: at, Disp: 32 * half}, x)
		VPSUBB(zero, x, y)
		VPMINUB(nine, y, x)
		VPCMPEQB(x, y, x)
		VPMOVMSKB(x, to.As32())
	}
	SHLQ(Imm(32), high)
	ORQ(high, marks)
	NOTQ(marks)
	high = GP64()
	for half, to := range []GPVirtual{newline, high} {
		x := YMM()
		VPCMPEQB(Mem{Base: at, Disp: 32 * half}, end, x)
		VPMOVMSKB(x, to.As32())
	}
	SHLQ(Imm(32), high)
	ORQ(high, newline)
	TZCNTQ(newline, newline)

	// s is a place in the line: the beginning of a field, then the byte behind its digits.
	s := GP64()
	XORL(s.As32(), s.As32())
	// digits goes behind the digits, most at most, and leaves their number.
	digits := func(most uint64) GPVirtual {
		n, less := GP64(), GP64()
		SHRXQ(s, marks, n)
		TZCNTQ(n, n)
		LEAQ(Mem{Base: n, Disp: -1}, less)
		CMPQ(less, U32(most))
		JAE(LabelRef("done"))
		return n
	}
	// canonical leaves the lines alone that have a zero before other digits.
	canonical := func(name string, n GPVirtual) {
		CMPB(Mem{Base: at, Index: s, Scale: 1}, U8('0'))
		JNE(LabelRef(name))
		CMPQ(n, U8(1))
		JNE(LabelRef("done"))
		Label(name)
	}
	separator := func() {
		x := GP32()
		MOVWLZX(Mem{Base: at, Index: s, Scale: 1}, x)
		XORL(Mem{Base: f, Disp: formSep}, x)
		TESTL(x, Mem{Base: f, Disp: formMask})
		JNE(LabelRef("done"))
		ADDQ(Mem{Base: f, Disp: formSize}, s)
	}
	ids, idsBy := XMM(), XMM()
	n := digits(8)
	canonical("user", n)
	VMOVQ(Mem{Base: at}, ids)
	VMOVQ(Mem{Base: shuffle, Index: n, Scale: 1}, idsBy)
	ADDQ(n, s)
	separator()

	n = digits(8)
	canonical("item", n)
	VMOVHPS(Mem{Base: at, Index: s, Scale: 1}, ids, ids)
	VMOVHPS(Mem{Base: shuffle, Index: n, Scale: 1, Disp: 16}, idsBy, idsBy)
	ADDQ(n, s)
	separator()

	val, valBy := XMM(), XMM()
	n = digits(8)
	VMOVQ(Mem{Base: at, Index: s, Scale: 1}, val)
	VMOVQ(Mem{Base: shuffle, Index: n, Scale: 1}, valBy)
	ADDQ(n, s)
	// Without a point there are 0 digits behind it; with one, at least one. No
	// branch: some ratings have a point and some do not.
	point, k := GP64(), GP64()
	XORL(point.As32(), point.As32())
	CMPB(Mem{Base: at, Index: s, Scale: 1}, U8('.'))
	SETEQ(point.As8())
	ADDQ(point, s)
	SHRXQ(s, marks, k)
	TZCNTQ(k, k)
	NEGQ(point)
	ANDQ(point, k)
	ADDQ(k, point) // k−1 or 0
	CMPQ(point, U8(7))
	JAE(LabelRef("done"))
	VMOVHPS(Mem{Base: at, Index: s, Scale: 1}, val, val)
	VMOVHPS(Mem{Base: shuffle, Index: k, Scale: 1, Disp: 16}, valBy, valBy)
	ADDQ(k, s)

	CMPQ(Mem{Base: f, Disp: formStamp}, U8(0))
	JE(LabelRef("end"))
	separator()
	n = digits(16)
	canonical("stamp", n)
	ADDQ(n, s)
	Label("end")
	CMPB(Mem{Base: at, Index: s, Scale: 1}, U8('\r'))
	JNE(LabelRef("newline"))
	INCQ(s)
	Label("newline")
	CMPQ(s, newline)
	JNE(LabelRef("done"))

	// Digits to numbers.
	x, by := ids.AsY(), idsBy.AsY()
	VINSERTI128(Imm(1), val, x, x)
	VINSERTI128(Imm(1), valBy, by, by)
	VPSUBB(zero, x, x)
	VPSHUFB(by, x, x)
	VPMADDUBSW(tens, x, x)
	VPMADDWD(hundreds, x, x)
	VPACKUSDW(x, x, x)
	VPMADDWD(myriads, x, x)
	VEXTRACTI128(Imm(1), x, val)
	VPMOVZXDQ(ids, ids)
	VMOVQ(ids, Mem{Base: users, Index: lines, Scale: 8})
	VMOVHPS(ids, Mem{Base: items, Index: lines, Scale: 8})
	// The value is below 10¹⁵, so that it and the power of ten are exact.
	pow, whole, part, v := GP64(), GP64(), GP64(), XMM()
	LEAQ(pow10, pow)
	VMOVQ(val, part)
	MOVL(part.As32(), whole.As32())
	SHRQ(Imm(32), part)
	IMULQ(Mem{Base: pow, Index: k, Scale: 8}, whole)
	ADDQ(part, whole)
	VXORPS(v, v, v)
	VCVTSI2SDQ(whole, v, v)
	VDIVSD(Mem{Base: pow, Index: k, Scale: 8, Disp: 64}, v, v)
	VMOVSD(v, Mem{Base: vals, Index: lines, Scale: 8})

	INCQ(lines)
	LEAQ(Mem{Base: at, Index: newline, Scale: 1, Disp: 1}, at)
	JMP(LabelRef("line"))

	Label("done")
	text := Load(Param("text"), GP64())
	SUBQ(text, at)
	Store(at, ReturnIndex(0))
	Store(lines, ReturnIndex(1))
	VZEROUPPER()
	RET()
}
