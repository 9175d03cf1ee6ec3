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
	groupsAVX2()
	sumRowsAVX2(32)
	sumRowsAVX2(16)
	nibblesAVX2()
	bytesAVX2()
	float32AVX2()
	float64AVX2()
	crcs()
	Generate()
}

// kernel begins a function.
func kernel(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Doc(name + " " + doc)
	Pragma("noescape")
}

// next ends a loop over n values: it moves dst and src by their bytes of one step and begins again while values are left.
func next(dst, src, n Register, dstBytes, srcBytes, values uint64) {
	ADDQ(Imm(srcBytes), src)
	ADDQ(Imm(dstBytes), dst)
	SUBQ(Imm(values), n)
	JNZ(LabelRef("loop"))
}

// Constants of package simd and of the format.
const (
	maxWidth = 25
	groupLen = 128
)

// groupsAVX2 reads groups of packed numbers (FORMAT.md). First the low bits: eight numbers of b bits take exactly
// b bytes. The low lane gets the 16 bytes from where the first number begins, the high lane those from
// the byte where the fifth begins; then a shuffle brings the four bytes that hold number i into word i,
// and a shift and a mask cut it out. Then the exceptions, one by one: whether they are sound is known
// after the last one, and unsound exceptions are also written somewhere into the group.
func groupsAVX2() {
	kernel("groupsAVX2", fmt.Sprintf("func(dst *uint32, src *byte, groups, size int, t *[%d][17]uint32) (done, used int)", maxWidth+1), "reads up to n full groups, at least 1, from size bytes, and stops before one that it does not take; see Groups.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	groups, left := Load(Param("groups"), GP64()), Load(Param("size"), GP64())
	width, exceptions, highs := GP64(), GP64(), GP64()

	Label("group")
	need := GP64()
	CMPQ(left, Imm(2))
	JLT(LabelRef("stop"))
	MOVBQZX(Mem{Base: src}, width)
	MOVBQZX(Mem{Base: src, Disp: 1}, exceptions)
	CMPQ(width, Imm(maxWidth))
	JA(LabelRef("stop"))
	CMPQ(exceptions, Imm(groupLen-1))
	JA(LabelRef("stop"))
	MOVQ(width, highs)
	SHLQ(Imm(4), highs)
	LEAQ(Mem{Base: highs, Index: exceptions, Scale: 2, Disp: 2 + 16}, need) // 16 for the last load of low bits
	ADDQ(exceptions, need)
	CMPQ(left, need)
	JLT(LabelRef("stop"))
	LEAQ(Mem{Base: src, Index: highs, Scale: 1, Disp: 2}, highs)
	lowBits(dst, src, width)
	TESTQ(exceptions, exceptions)
	JZ(LabelRef("next"))

	at, end, high, pos, t := GP64(), GP64(), GP64(), GP64(), GP64()
	least, wrong, all := GP64(), GP64(), GP64() // the least position allowed next; negative if something is wrong; OR of the high parts
	MOVQ(highs, at)
	ADDQ(exceptions, highs)
	MOVQ(highs, end)
	XORQ(least, least)
	XORQ(wrong, wrong)
	XORQ(all, all)
	Label("exception")
	MOVBQZX(Mem{Base: at}, pos)
	INCQ(at)
	MOVBQZX(Mem{Base: highs}, high)
	INCQ(highs)
	CMPQ(high, Imm(127))
	JA(LabelRef("long"))
	Label("patch")
	MOVQ(pos, t)
	SUBQ(least, t)
	ORQ(t, wrong)
	LEAQ(Mem{Base: pos, Disp: 1}, least)
	LEAQ(Mem{Base: high, Disp: -1}, t)
	ORQ(t, wrong)
	ORQ(high, all)
	SHLXQ(width, high, high)
	ANDQ(Imm(groupLen-1), pos)
	ORL(high.As32(), Mem{Base: dst, Index: pos, Scale: 4})
	CMPQ(at, end)
	JB(LabelRef("exception"))
	SHLXQ(width, all, all)
	SHRQ(Imm(32), all)
	JNZ(LabelRef("stop"))
	CMPQ(least, Imm(groupLen))
	JA(LabelRef("stop"))
	TESTQ(wrong, wrong)
	JS(LabelRef("stop"))

	Label("next")
	ADDQ(src, left)
	SUBQ(highs, left)
	MOVQ(highs, src)
	ADDQ(U32(4*groupLen), dst)
	DECQ(groups)
	JNZ(LabelRef("group"))

	Label("stop")
	done, used := Load(Param("groups"), GP64()), Load(Param("size"), GP64())
	SUBQ(groups, done)
	SUBQ(left, used)
	Store(done, ReturnIndex(0))
	Store(used, ReturnIndex(1))
	VZEROUPPER()
	RET()

	Label("long") // a high part of two bytes; three are rare
	MOVBQZX(Mem{Base: highs}, t)
	INCQ(highs)
	CMPQ(t, Imm(127))
	JA(LabelRef("stop"))
	DECQ(t) // negative if the second byte is zero, which is not the shortest form
	ORQ(t, wrong)
	INCQ(t)
	SHLQ(Imm(7), t)
	ANDQ(Imm(127), high)
	ORQ(t, high)
	JMP(LabelRef("patch"))
}

// lowBits writes the low bits of the numbers of a group, which begin two bytes after src.
func lowBits(dst, src, width Register) {
	row, bits, half, i := GP64(), GP64(), GP64(), GP64()
	shuffle, shift, mask, x := YMM(), YMM(), YMM(), YMM()
	TESTQ(width, width)
	JNZ(LabelRef("some"))
	VPXOR(x, x, x)
	for k := range groupLen / 8 {
		VMOVDQU(x, Mem{Base: dst, Disp: 32 * k})
	}
	JMP(LabelRef("unpacked"))

	Label("some")
	IMUL3Q(Imm(4*17), width, row)
	ADDQ(Load(Param("t"), GP64()), row)
	VMOVDQU(Mem{Base: row}, shuffle)
	VMOVDQU(Mem{Base: row, Disp: 32}, shift)
	VPBROADCASTD(Mem{Base: row, Disp: 64}, mask)
	LEAQ(Mem{Base: src, Disp: 2}, bits)
	MOVQ(width, half)
	SHRQ(Imm(1), half)
	XORQ(i, i)
	Label("eight")
	VMOVDQU(Mem{Base: bits}, x.AsX())
	VINSERTI128(Imm(1), Mem{Base: bits, Index: half, Scale: 1}, x, x)
	VPSHUFB(shuffle, x, x)
	VPSRLVD(shift, x, x)
	VPAND(mask, x, x)
	VMOVDQU(x, Mem{Base: dst, Index: i, Scale: 4})
	ADDQ(width, bits)
	ADDQ(Imm(8), i)
	CMPQ(i, U32(groupLen))
	JB(LabelRef("eight"))
	Label("unpacked")
}

// sumRowsAVX2 first marks where rows begin. Then it takes eight gaps and their marks at a time, without a branch that
// depends on the lengths of rows. Let p be the sums of gap+1 up to and including each of the eight. In a row that began
// before the eight, a column is p minus less, the negated last column before them. In a row that began with gap g, it
// is p minus the value of p − g there. heads says for each of the 256 patterns of marks where the row of each word
// began, negative for a row that began before.
func sumRowsAVX2(bits int) {
	name, size := fmt.Sprintf("sumRows%dAVX2", bits), uint8(bits/8)
	kernel(name, fmt.Sprintf("func(col *uint%d, gaps *uint32, n int, ptr *uint32, s *[12]uint64, marks *byte, heads *[256][8]int32)", bits),
		"turns n ≥ 1 gaps into columns; see RowSum. It reads and writes up to 7 numbers after the last.")
	col, gaps := Load(Param("col"), GP64()), Load(Param("gaps"), GP64())
	n, s := Load(Param("n"), GP64()), Load(Param("s"), GP64())
	marks := Load(Param("marks"), GP64())
	markRows(n, s, marks)

	heads := Load(Param("heads"), GP64())
	minus, seven, less, all, top := YMM(), YMM(), YMM(), YMM(), YMM()
	VPCMPEQD(minus, minus, minus) // −1 in every word
	VPSRLD(Imm(29), minus, seven)
	VPBROADCASTD(Mem{Base: s, Disp: 16}, less)
	VMOVDQU(Mem{Base: s, Disp: 32}, all)
	VMOVDQU(Mem{Base: s, Disp: 64}, top)
	i, pattern := GP64(), GP64()
	gather := GP64() // brings the lowest bit of byte i to bit 56 + i
	MOVQ(U64(1<<56|1<<49|1<<42|1<<35|1<<28|1<<21|1<<14|1<<7), gather)
	XORQ(i, i)
	Label("eight")
	g, p, t, head := YMM(), YMM(), YMM(), YMM()
	MOVQ(gather, pattern)
	IMULQ(Mem{Base: marks, Index: i, Scale: 1}, pattern)
	SHRQ(Imm(56), pattern)
	SHLQ(Imm(5), pattern)
	VMOVDQU(Mem{Base: heads, Index: pattern, Scale: 1}, head)
	VMOVDQU(Mem{Base: gaps, Index: i, Scale: 4}, g)
	VPOR(g, all, all)
	VPSUBD(minus, g, p)
	VPSLLDQ(Imm(4), p, t)
	VPADDD(t, p, p)
	VPSLLDQ(Imm(8), p, t)
	VPADDD(t, p, p)
	VPERM2I128(Imm(8), p, p, t) // low lane into the high one, 0 into the low
	VPSHUFD(Imm(0xff), t, t)
	VPADDD(t, p, p)
	VPSUBD(g, p, t)
	VPERMD(t, head, t)
	VBLENDVPS(head, less, t, t)
	VPSUBD(p, t, less)
	VPSUBD(t, p, p)
	VPERMD(less, seven, less)
	VPMAXUD(p, top, top)
	if to := (Mem{Base: col, Index: i, Scale: size}); bits == 32 {
		VMOVDQU(p, to)
	} else {
		VEXTRACTI128(Imm(1), p, t.AsX())
		VPACKUSDW(t.AsX(), p.AsX(), p.AsX())
		VMOVDQU(p.AsX(), to)
	}
	ADDQ(Imm(8), i)
	CMPQ(i, n)
	JB(LabelRef("eight"))

	last := GP32()
	if end := (Mem{Base: col, Index: n, Scale: size, Disp: -int(size)}); bits == 32 {
		MOVL(end, last)
	} else {
		MOVWLZX(end, last)
	}
	NEGL(last)
	MOVL(last, Mem{Base: s, Disp: 16})
	VMOVDQU(all, Mem{Base: s, Disp: 32})
	VMOVDQU(top, Mem{Base: s, Disp: 64})
	VZEROUPPER()
	RET()
}

// markRows sets the marks of the next n gaps: 1 where a row begins, else 0. It sets 1 behind the last mark, so that the
// gaps read beyond n make columns of 0.
func markRows(n, s, marks Register) {
	zero, i := YMM(), GP64()
	VPXOR(zero, zero, zero)
	XORQ(i, i)
	Label("clear")
	VMOVDQU(zero, Mem{Base: marks, Index: i, Scale: 1})
	ADDQ(Imm(32), i)
	CMPQ(i, n)
	JB(LabelRef("clear"))
	ones := GP64()
	MOVQ(U64(0x0101010101010101), ones)
	MOVQ(ones, Mem{Base: marks, Index: n, Scale: 1})
	ptr, at, row, start := Load(Param("ptr"), GP64()), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: s}, at)
	MOVQ(Mem{Base: s, Disp: 8}, row)
	JMP(LabelRef("row"))
	Label("mark")
	MOVB(I8(1), Mem{Base: marks, Index: start, Scale: 1})
	INCQ(row)
	Label("row")
	MOVL(Mem{Base: ptr, Index: row, Scale: 4}, start.As32())
	SUBQ(at, start)
	CMPQ(start, n)
	JB(LabelRef("mark"))
	MOVQ(row, Mem{Base: s, Disp: 8})
}

// nibblesAVX2 spreads 16 bytes to words, which have room for both halves.
func nibblesAVX2() {
	low := GLOBL("nibbles", RODATA|NOPTR)
	DATA(0, U32(0x0f0f0f0f))
	kernel("nibblesAVX2", "func(dst, src *byte, n int, top *[32]byte)", "spreads n nibbles, a positive multiple of 32, to bytes. The greatest of them is in top.")
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
	next(dst, src, n, 32, 16, 32)
	storeTop(top)
}

func storeTop(top VecVirtual) {
	VMOVDQU(top, Mem{Base: Load(Param("top"), GP64())})
	VZEROUPPER()
	RET()
}

func bytesAVX2() {
	kernel("bytesAVX2", "func(dst, src *byte, n int, top *[32]byte)", "copies n bytes, a positive multiple of 32. The greatest of them is in top.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	x, top := YMM(), YMM()
	VPXOR(top, top, top)
	Label("loop")
	VMOVDQU(Mem{Base: src}, x)
	VPMAXUB(x, top, top)
	VMOVDQU(x, Mem{Base: dst})
	next(dst, src, n, 32, 32, 32)
	storeTop(top)
}

// The float kernels add one to each exponent: it carries into the sign bit of
// over for infinities and NaNs only.

func float32AVX2() {
	kernel("float32AVX2", "func(dst *float64, src *byte, n int) (over bool)", "converts n values, a positive multiple of 8, and tells whether one is not finite.")
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
	next(dst, src, n, 64, 32, 8)
	bits := GP32()
	VMOVMSKPS(over, bits)
	storeAny(bits, 0)
}

func float64AVX2() {
	kernel("float64AVX2", "func(dst *float64, src *byte, n int) (over bool)", "copies n values, a positive multiple of 8, and tells whether one is not finite.")
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
	next(dst, src, n, 64, 64, 8)
	bits := GP32()
	VMOVMSKPD(over, bits)
	storeAny(bits, 0)
}

// storeAny returns, as result i, whether any bit is set.
func storeAny(bits GPVirtual, i int) {
	any := GP8()
	TESTL(bits, bits)
	SETNE(any)
	Store(any, ReturnIndex(i))
	VZEROUPPER()
	RET()
}
