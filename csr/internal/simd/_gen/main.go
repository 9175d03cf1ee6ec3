// Command _gen writes simd_amd64.s and its Go declarations. Run it by "go
// generate" in the directory above; it is a module of its own, so that avo is
// no dependency of the library.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	unpackAVX2()
	unpackAVX512()
	sumRowsAVX2()
	sumRowsAVX512()
	dict4AVX512()
	float32AVX2()
	float64AVX2()
	Generate()
}

// words makes a read-only table of 32-bit words.
func words(name string, w ...uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, x := range w {
		DATA(4*i, U32(x))
	}
	return m
}

const ones = 1<<32 - 1

// unpackAVX2: eight numbers take exactly b bytes. The low lane gets the 16
// bytes from where the first number begins, the high lane those from the byte
// where the fifth begins; then a shuffle brings the four bytes that hold
// number i into word i, and a shift and a mask cut it out.
func unpackAVX2() {
	TEXT("unpackAVX2", NOSPLIT, "func(dst *uint32, src *byte, n, width int, t *[17]uint32)")
	Doc("unpackAVX2 reads n numbers, a positive multiple of 8, of 1 ≤ width ≤ 25 bits. It reads up to 16 bytes after their last.")
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, width := Load(Param("n"), GP64()), Load(Param("width"), GP64())
	t := Load(Param("t"), GP64())
	shuffle, shift, mask := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: t}, shuffle)
	VMOVDQU(Mem{Base: t, Disp: 32}, shift)
	VPBROADCASTD(Mem{Base: t, Disp: 64}, mask)
	half := GP64()
	MOVQ(width, half)
	SHRQ(Imm(1), half)
	Label("loop")
	x := YMM()
	VMOVDQU(Mem{Base: src}, x.AsX())
	VINSERTI128(Imm(1), Mem{Base: src, Index: half, Scale: 1}, x, x)
	VPSHUFB(shuffle, x, x)
	VPSRLVD(shift, x, x)
	VPAND(mask, x, x)
	VMOVDQU(x, Mem{Base: dst})
	ADDQ(width, src)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// unpackAVX512 is the same for sixteen numbers in 2·width bytes, with a
// shuffle that crosses lanes.
func unpackAVX512() {
	TEXT("unpackAVX512", NOSPLIT, "func(dst *uint32, src *byte, n, width int, t *[33]uint32)")
	Doc("unpackAVX512 reads n numbers, a positive multiple of 16, of 1 ≤ width ≤ 25 bits. It reads up to 62 bytes after their last.")
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, width := Load(Param("n"), GP64()), Load(Param("width"), GP64())
	t := Load(Param("t"), GP64())
	shuffle, shift, mask := ZMM(), ZMM(), ZMM()
	VMOVDQU64(Mem{Base: t}, shuffle)
	VMOVDQU64(Mem{Base: t, Disp: 64}, shift)
	VPBROADCASTD(Mem{Base: t, Disp: 128}, mask)
	Label("loop")
	x := ZMM()
	VPERMB(Mem{Base: src}, shuffle, x)
	VPSRLVD(shift, x, x)
	VPANDD(mask, x, x)
	VMOVDQU64(x, Mem{Base: dst})
	LEAQ(Mem{Base: src, Index: width, Scale: 2}, src)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// A rowLoop is what both widths of sumRows have in common: the walk over the
// rows. Of the vector part it knows only four steps.
type rowLoop struct {
	lanes    int
	begin    func()                             // constants, and the first row's carry from last
	restart  func()                             // carry for a new row
	columns  func(gaps, col Mem) (c VecVirtual) // sums, stored to col; the carry moves on
	gather   func(c VecVirtual)                 // c is all of one row
	gatherAt func(c VecVirtual, n GPVirtual)    // only n of its words are, 1 ≤ n ≤ lanes
	finish   func(any GPVirtual)                // OR of all columns gathered
}

func (l *rowLoop) write() {
	col, gaps := Load(Param("col"), GP64()), Load(Param("gaps"), GP64())
	n, ends := Load(Param("n"), GP64()), Load(Param("ends"), GP64())
	s := Load(Param("s"), GP64())
	at, row := GP64(), GP64()
	MOVQ(Mem{Base: s}, at)
	MOVQ(Mem{Base: s, Disp: 8}, row)
	last, top := GP32(), GP32()
	MOVL(Mem{Base: s, Disp: 24}, top)
	l.begin()
	j, end, limit, left := GP64(), GP64(), GP64(), GP64()
	XORQ(j, j)

	Label("row")
	MOVL(Mem{Base: ends, Index: row, Scale: 4}, end.As32())
	SUBQ(at, end)
	MOVQ(end, limit)
	CMPQ(limit, n)
	CMOVQGT(n, limit)
	MOVQ(limit, left)
	SUBQ(j, left)
	JZ(LabelRef("empty"))
	SUBQ(Imm(uint64(l.lanes)), left)
	JBE(LabelRef("tail"))

	Label("full")
	l.gather(l.columns(Mem{Base: gaps, Index: j, Scale: 4}, Mem{Base: col, Index: j, Scale: 4}))
	ADDQ(Imm(uint64(l.lanes)), j)
	SUBQ(Imm(uint64(l.lanes)), left)
	JA(LabelRef("full"))

	Label("tail")
	c := l.columns(Mem{Base: gaps, Index: j, Scale: 4}, Mem{Base: col, Index: j, Scale: 4})
	ADDQ(Imm(uint64(l.lanes)), left)
	l.gatherAt(c, left)
	MOVQ(limit, j)
	MOVL(Mem{Base: col, Index: j, Scale: 4, Disp: -4}, last)
	CMPL(last, top)
	CMOVLHI(last, top)
	CMPQ(end, n)
	JGT(LabelRef("done")) // the row goes on after the n-th gap

	Label("empty")
	INCQ(row)
	l.restart()
	MOVL(U32(ones), last)
	CMPQ(j, n)
	JB(LabelRef("row"))

	Label("done")
	MOVQ(row, Mem{Base: s, Disp: 8})
	MOVL(last, Mem{Base: s, Disp: 16})
	MOVL(top, Mem{Base: s, Disp: 24})
	any := GP32()
	l.finish(any)
	ORL(any, Mem{Base: s, Disp: 32})
	VZEROUPPER()
	RET()
}

const sumRowsDoc = "turns n ≥ 1 gaps into columns; see RowSum. It reads and writes up to %d words after the last."

func sumRowsAVX2() {
	masks := words("masks", ones, ones, ones, ones, ones, ones, ones, ones, 0, 0, 0, 0, 0, 0, 0, 0)
	TEXT("sumRowsAVX2", NOSPLIT, "func(col, gaps *uint32, n int, ends *uint32, s *[5]uint64)")
	Doc(fmt.Sprintf("sumRowsAVX2 "+sumRowsDoc, 7))
	Pragma("noescape")
	one, carry, any, seven := YMM(), YMM(), YMM(), YMM()
	table := GP64()
	loop := rowLoop{lanes: 8}
	loop.begin = func() {
		VPCMPEQD(one, one, one) // −1 in every word
		VPXOR(any, any, any)
		VPSRLD(Imm(29), one, seven)
		VPBROADCASTD(Mem{Base: Load(Param("s"), GP64()), Disp: 16}, carry)
		LEAQ(masks, table)
	}
	loop.restart = func() { VMOVDQA(one, carry) }
	loop.columns = func(gaps, col Mem) VecVirtual {
		x, t := YMM(), YMM()
		VMOVDQU(gaps, x)
		VPOR(x, any, any)
		VPSUBD(one, x, x)
		VPSLLDQ(Imm(4), x, t)
		VPADDD(t, x, x)
		VPSLLDQ(Imm(8), x, t)
		VPADDD(t, x, x)
		VPERM2I128(Imm(8), x, x, t) // 0, low lane
		VPSHUFD(Imm(0xff), t, t)
		VPADDD(t, x, x)
		VPERMD(x, seven, t)
		VPADDD(carry, x, x)
		VPADDD(carry, t, carry)
		VMOVDQU(x, col)
		return x
	}
	loop.gather = func(c VecVirtual) { VPOR(c, any, any) }
	loop.gatherAt = func(c VecVirtual, n GPVirtual) {
		back := GP64()
		MOVQ(n, back)
		NEGQ(back)
		VPAND(Mem{Base: table, Index: back, Scale: 4, Disp: 32}, c, c)
		VPOR(c, any, any)
	}
	loop.finish = func(bits GPVirtual) {
		t := YMM()
		VEXTRACTI128(Imm(1), any, t.AsX())
		VPOR(t.AsX(), any.AsX(), any.AsX())
		VPSHUFD(Imm(0x4e), any.AsX(), t.AsX())
		VPOR(t.AsX(), any.AsX(), any.AsX())
		VPSHUFD(Imm(0xb1), any.AsX(), t.AsX())
		VPOR(t.AsX(), any.AsX(), any.AsX())
		VMOVD(any.AsX(), bits)
	}
	loop.write()
}

func sumRowsAVX512() {
	// Word 3 of the lane before; of the lane before that.
	before := words("before", 0, 0, 0, 0, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11)
	twice := words("twice", 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 7, 7, 7, 7)
	TEXT("sumRowsAVX512", NOSPLIT, "func(col, gaps *uint32, n int, ends *uint32, s *[5]uint64)")
	Doc(fmt.Sprintf("sumRowsAVX512 "+sumRowsDoc, 15))
	Pragma("noescape")
	one, carry, any, fifteen, prev, prev2 := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	but1, but2, part := K(), K(), K()
	full := GP32()
	loop := rowLoop{lanes: 16}
	loop.begin = func() {
		VPTERNLOGD(Imm(0xff), one, one, one)
		VPXORD(any, any, any)
		VPSRLD(Imm(28), one, fifteen)
		VMOVDQU32(before, prev)
		VMOVDQU32(twice, prev2)
		MOVL(U32(0xfff0), full)
		KMOVW(full, but1)
		MOVL(U32(0xff00), full)
		KMOVW(full, but2)
		MOVL(U32(0xffff), full)
		VPBROADCASTD(Mem{Base: Load(Param("s"), GP64()), Disp: 16}, carry)
	}
	loop.restart = func() { VMOVDQA32(one, carry) }
	loop.columns = func(gaps, col Mem) VecVirtual {
		x, t := ZMM(), ZMM()
		VMOVDQU32(gaps, x)
		VPORD(x, any, any)
		VPSUBD(one, x, x)
		VPSLLDQ(Imm(4), x, t)
		VPADDD(t, x, x)
		VPSLLDQ(Imm(8), x, t)
		VPADDD(t, x, x)
		VPERMD_Z(x, prev, but1, t)
		VPADDD(t, x, x)
		VPERMD_Z(x, prev2, but2, t)
		VPADDD(t, x, x)
		VPERMD(x, fifteen, t)
		VPADDD(carry, x, x)
		VPADDD(carry, t, carry)
		VMOVDQU32(x, col)
		return x
	}
	loop.gather = func(c VecVirtual) { VPORD(c, any, any) }
	loop.gatherAt = func(c VecVirtual, n GPVirtual) {
		bits := GP32()
		BZHIL(n.As32(), full, bits)
		KMOVW(bits, part)
		VPORD(c, any, part, any)
	}
	loop.finish = func(bits GPVirtual) {
		t := ZMM()
		VEXTRACTI64X4(Imm(1), any, t.AsY())
		VPORD(t, any, any)
		VEXTRACTI128(Imm(1), any.AsY(), t.AsX())
		VPOR(t.AsX(), any.AsX(), any.AsX())
		VPSHUFD(Imm(0x4e), any.AsX(), t.AsX())
		VPOR(t.AsX(), any.AsX(), any.AsX())
		VPSHUFD(Imm(0xb1), any.AsX(), t.AsX())
		VPOR(t.AsX(), any.AsX(), any.AsX())
		VMOVD(any.AsX(), bits)
	}
	loop.write()
}

// dict4AVX512: VPERMI2PD takes its index from the low four bits of each
// 64-bit word, so that a shift is all it takes to cut out an index.
func dict4AVX512() {
	low := GLOBL("nibbles", RODATA|NOPTR)
	for i := range 16 {
		DATA(8*i, U64(4*uint64(i)))
	}
	TEXT("dict4AVX512", NOSPLIT, "func(dst *float64, src *byte, n int, table *[16]float64)")
	Doc("dict4AVX512 looks up n values, a positive multiple of 16.")
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, table := Load(Param("n"), GP64()), Load(Param("table"), GP64())
	t0, t1, shift0, shift1 := ZMM(), ZMM(), ZMM(), ZMM()
	VMOVUPD(Mem{Base: table}, t0)
	VMOVUPD(Mem{Base: table, Disp: 64}, t1)
	VMOVDQU64(low, shift0)
	VMOVDQU64(low.Offset(64), shift1)
	Label("loop")
	x, a, b := ZMM(), ZMM(), ZMM()
	VPBROADCASTQ(Mem{Base: src}, x)
	VPSRLVQ(shift0, x, a)
	VPSRLVQ(shift1, x, b)
	VPERMI2PD(t1, t0, a)
	VPERMI2PD(t1, t0, b)
	VMOVUPD(a, Mem{Base: dst})
	VMOVUPD(b, Mem{Base: dst, Disp: 64})
	ADDQ(Imm(8), src)
	ADDQ(Imm(128), dst)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// The float kernels add one to each exponent: it carries into the sign bit of
// over for infinities and NaNs only.

func float32AVX2() {
	TEXT("float32AVX2", NOSPLIT, "func(dst *float64, src *byte, n int) (over bool)")
	Doc("float32AVX2 converts n values, a positive multiple of 8, and tells whether one is not finite.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	expo, one, over := YMM(), YMM(), YMM()
	VPCMPEQD(one, one, one)
	VPSRLD(Imm(24), one, expo)
	VPSLLD(Imm(23), expo, expo)
	VPSRLD(Imm(31), one, one)
	VPSLLD(Imm(23), one, one)
	VPXOR(over, over, over)
	Label("loop")
	x, t, lo, hi := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: src}, x)
	VPAND(expo, x, t)
	VPADDD(one, t, t)
	VPOR(t, over, over)
	VCVTPS2PD(x.AsX(), lo)
	VEXTRACTF128(Imm(1), x, x.AsX())
	VCVTPS2PD(x.AsX(), hi)
	VMOVUPD(lo, Mem{Base: dst})
	VMOVUPD(hi, Mem{Base: dst, Disp: 32})
	ADDQ(Imm(32), src)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	bits := GP32()
	VMOVMSKPS(over, bits)
	storeAny(bits)
}

func float64AVX2() {
	TEXT("float64AVX2", NOSPLIT, "func(dst *float64, src *byte, n int) (over bool)")
	Doc("float64AVX2 copies n values, a positive multiple of 8, and tells whether one is not finite.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	expo, one, over := YMM(), YMM(), YMM()
	VPCMPEQD(one, one, one)
	VPSRLQ(Imm(53), one, expo)
	VPSLLQ(Imm(52), expo, expo)
	VPSRLQ(Imm(63), one, one)
	VPSLLQ(Imm(52), one, one)
	VPXOR(over, over, over)
	Label("loop")
	for i := range 2 {
		x, t := YMM(), YMM()
		VMOVDQU(Mem{Base: src, Disp: 32 * i}, x)
		VPAND(expo, x, t)
		VPADDQ(one, t, t)
		VPOR(t, over, over)
		VMOVDQU(x, Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(Imm(64), src)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	bits := GP32()
	VMOVMSKPD(over, bits)
	storeAny(bits)
}

// storeAny returns whether any bit is set.
func storeAny(bits GPVirtual) {
	any := GP8()
	TESTL(bits, bits)
	SETNE(any)
	Store(any, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
