// Command _gen writes kernels_amd64.s and its Go declarations. Run it by "go
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
	masks := words("masks", ones, ones, ones, ones, ones, ones, ones, ones, 0, 0, 0, 0, 0, 0, 0, 0)
	sumRowsAVX2(32, masks)
	sumRowsAVX2(16, masks)
	nibblesAVX2()
	bytesAVX2()
	float32AVX2()
	float64AVX2()
	crcAVX512()
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

// sumRowsAVX2 walks over the rows: eight gaps at a time are made prefix sums,
// to which the carry is added, the last column so far in every word. Columns
// are then written with bits bits, saturated; bits of the state tell of those too large.
func sumRowsAVX2(bits int, masks Mem) {
	name, size := fmt.Sprintf("sumRows%dAVX2", bits), uint8(bits/8)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(col *uint%d, gaps *uint32, n int, ends *uint32, s *[5]uint64)", bits))
	Doc(name + " turns n ≥ 1 gaps into columns; see RowSum. It reads and writes up to 7 numbers after the last.")
	Pragma("noescape")
	col, gaps := Load(Param("col"), GP64()), Load(Param("gaps"), GP64())
	n, ends := Load(Param("n"), GP64()), Load(Param("ends"), GP64())
	s := Load(Param("s"), GP64())
	at, row, last, top := GP64(), GP64(), GP32(), GP32()
	minus, carry, all, seven := YMM(), YMM(), YMM(), YMM()
	VPCMPEQD(minus, minus, minus) // −1 in every word
	VPSRLD(Imm(29), minus, seven)
	VPXOR(all, all, all)
	MOVQ(Mem{Base: s}, at)
	MOVQ(Mem{Base: s, Disp: 8}, row)
	VPBROADCASTD(Mem{Base: s, Disp: 16}, carry)
	MOVL(Mem{Base: s, Disp: 24}, top)
	mask := GP64()
	LEAQ(masks, mask)
	j, end, limit, left := GP64(), GP64(), GP64(), GP64()
	XORQ(j, j)

	eight := func() VecVirtual {
		x, t := YMM(), YMM()
		VMOVDQU(Mem{Base: gaps, Index: j, Scale: 4}, x)
		VPOR(x, all, all)
		VPSUBD(minus, x, x)
		VPSLLDQ(Imm(4), x, t)
		VPADDD(t, x, x)
		VPSLLDQ(Imm(8), x, t)
		VPADDD(t, x, x)
		VPERM2I128(Imm(8), x, x, t) // low lane into the high one, 0 into the low
		VPSHUFD(Imm(0xff), t, t)
		VPADDD(t, x, x)
		VPERMD(x, seven, t)
		VPADDD(carry, x, x)
		VPADDD(carry, t, carry)
		to := Mem{Base: col, Index: j, Scale: size}
		if bits == 32 {
			VMOVDQU(x, to)
			return x
		}
		VEXTRACTI128(Imm(1), x, t.AsX())
		VPACKUSDW(t.AsX(), x.AsX(), t.AsX())
		VMOVDQU(t.AsX(), to)
		return x
	}

	Label("row")
	MOVL(Mem{Base: ends, Index: row, Scale: 4}, end.As32())
	SUBQ(at, end)
	MOVQ(end, limit)
	CMPQ(limit, n)
	CMOVQGT(n, limit)
	MOVQ(limit, left)
	SUBQ(j, left)
	JZ(LabelRef("next"))
	SUBQ(Imm(8), left)
	JBE(LabelRef("tail"))

	Label("full")
	x := eight()
	VPOR(x, all, all)
	ADDQ(Imm(8), j)
	SUBQ(Imm(8), left)
	JA(LabelRef("full"))

	Label("tail") // 8 + left words of eight are in the row
	x = eight()
	NEGQ(left)
	VPAND(Mem{Base: mask, Index: left, Scale: 4}, x, x)
	VPOR(x, all, all)
	MOVQ(limit, j)
	if bits == 32 {
		MOVL(Mem{Base: col, Index: j, Scale: 4, Disp: -4}, last)
	} else {
		MOVWLZX(Mem{Base: col, Index: j, Scale: 2, Disp: -2}, last)
	}
	CMPL(last, top)
	CMOVLHI(last, top)
	CMPQ(end, n)
	JGT(LabelRef("done")) // the row goes on after the n-th gap

	Label("next")
	INCQ(row)
	VMOVDQA(minus, carry)
	MOVL(U32(ones), last)
	CMPQ(j, n)
	JB(LabelRef("row"))

	Label("done")
	MOVQ(row, Mem{Base: s, Disp: 8})
	MOVL(last, Mem{Base: s, Disp: 16})
	MOVL(top, Mem{Base: s, Disp: 24})
	t, word := YMM(), GP32()
	VEXTRACTI128(Imm(1), all, t.AsX())
	VPOR(t.AsX(), all.AsX(), all.AsX())
	VPSHUFD(Imm(0x4e), all.AsX(), t.AsX())
	VPOR(t.AsX(), all.AsX(), all.AsX())
	VPSHUFD(Imm(0xb1), all.AsX(), t.AsX())
	VPOR(t.AsX(), all.AsX(), all.AsX())
	VMOVD(all.AsX(), word)
	ORL(word, Mem{Base: s, Disp: 32})
	VZEROUPPER()
	RET()
}

// nibblesAVX2 spreads 16 bytes to words, which have room for both halves.
func nibblesAVX2() {
	low := words("nibbles", 0x0f0f0f0f)
	TEXT("nibblesAVX2", NOSPLIT, "func(dst, src *byte, n int, top *[32]byte)")
	Doc("nibblesAVX2 spreads n nibbles, a positive multiple of 32, to bytes. The greatest of them is in top.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	mask, top := YMM(), YMM()
	VPBROADCASTD(low, mask)
	VPXOR(top, top, top)
	Label("loop")
	x, high := YMM(), YMM()
	VPMOVZXBW(Mem{Base: src}, x)
	VPSLLW(Imm(4), x, high)
	VPOR(high, x, x)
	VPAND(mask, x, x)
	VPMAXUB(x, top, top)
	VMOVDQU(x, Mem{Base: dst})
	ADDQ(Imm(16), src)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(32), n)
	JNZ(LabelRef("loop"))
	VMOVDQU(top, Mem{Base: Load(Param("top"), GP64())})
	VZEROUPPER()
	RET()
}

func bytesAVX2() {
	TEXT("bytesAVX2", NOSPLIT, "func(dst, src *byte, n int, top *[32]byte)")
	Doc("bytesAVX2 copies n bytes, a positive multiple of 32. The greatest of them is in top.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	x, top := YMM(), YMM()
	VPXOR(top, top, top)
	Label("loop")
	VMOVDQU(Mem{Base: src}, x)
	VPMAXUB(x, top, top)
	VMOVDQU(x, Mem{Base: dst})
	ADDQ(Imm(32), src)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(32), n)
	JNZ(LabelRef("loop"))
	VMOVDQU(top, Mem{Base: Load(Param("top"), GP64())})
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
