package main

import (
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Bytes that crcAVX512 takes at a time: in as many registers as hide the latency of the multiplications.
const (
	foldRegisters = 4
	foldBytes     = 64 * foldRegisters
)

// crcAVX512 folds (V. Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction", Intel, 2009): bytes that stand d bytes before others are replaced
// by their product with x^8d mod P, added to those. The CRC stays what it was. Each 16 bytes are two
// halves of 64 bits, the first of which stands for higher powers; products are sums of both. In the
// end 64 bytes are left, for the instruction that does CRC-32C and nothing else.
func crcAVX512() {
	far, near := foldBy("fold", foldBytes), foldBy("join", 64)
	TEXT("crcAVX512", NOSPLIT, "func(state uint32, src *byte, n int) uint32")
	Doc("crcAVX512 continues a CRC-32C, not complemented, by n bytes, a positive multiple of FoldBytes.")
	Pragma("noescape")
	state, src, n := Load(Param("state"), GP32()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	by, first := ZMM(), ZMM()
	VMOVD(state, first.AsX())
	var acc [foldRegisters]VecVirtual
	for i := range acc {
		acc[i] = ZMM()
		VMOVDQU64(Mem{Base: src, Disp: 64 * i}, acc[i])
	}
	VPXORQ(first, acc[0], acc[0])
	fold := func(x VecVirtual, add Op) {
		low := ZMM()
		VPCLMULQDQ(Imm(0x00), by, x, low)
		VPCLMULQDQ(Imm(0x11), by, x, x)
		VPTERNLOGQ(Imm(0x96), add, low, x) // the exclusive or of all three
	}
	VBROADCASTI64X2(far, by)
	JMP(LabelRef("next"))
	Label("loop")
	for i, x := range acc {
		fold(x, Mem{Base: src, Disp: 64 * i})
	}
	Label("next")
	ADDQ(U32(foldBytes), src)
	SUBQ(U32(foldBytes), n)
	JNZ(LabelRef("loop"))

	VBROADCASTI64X2(near, by)
	for i, x := range acc[1:] {
		fold(acc[i], x)
		acc[i+1] = acc[i]
	}
	rest, crc := AllocLocal(64), GP64()
	VMOVDQU64(acc[len(acc)-1], rest)
	XORL(crc.As32(), crc.As32())
	for i := range 8 {
		CRC32Q(rest.Offset(8*i), crc)
	}
	Store(crc.As32(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// foldBy are the two factors that move 16 bytes by so many: x^(8·bytes+64) mod P for the first half, which
// stands 64 bits before the second, and x^(8·bytes). In CRC-32C the lowest bit of a word is the
// highest power. A product of words of 64 such bits is one of 127, so that it comes out with one power
// too many; a factor of 32 bits, put into the low half of its word, has 32 too many.
func foldBy(name string, bytes int) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	DATA(0, U64(bits.Reverse32(power(8*bytes+64-33))))
	DATA(8, U64(bits.Reverse32(power(8*bytes-33))))
	return m
}

// power is x^n mod P, P the polynomial of CRC-32C (G. Castagnoli et al., 1993).
func power(n int) uint32 {
	const castagnoli = 0x1edc6f41 // without x^32
	r := uint32(1)
	for range n {
		r = r<<1 ^ castagnoli&-(r>>31)
	}
	return r
}
