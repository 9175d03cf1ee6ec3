package main

import (
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// foldBytes is the number of bytes taken at a time, in as many registers as hide the latency of the multiplications.
const (
	foldRegisters = 4
	foldBytes     = 64 * foldRegisters
)

// crcs writes both kernels that fold (V. Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel, 2009): bytes that stand d bytes before others are
// multiplied by x^8d mod P and added to the others. The CRC stays the same. Each 16 bytes
// are two halves of 64 bits, the first of which has the higher powers; their product is the sum of both products. In
// the end 64 bytes are left for the CRC-32C instruction.
func crcs() {
	far, near := foldBy("fold", foldBytes), foldBy("join", 64)

	kernel("crcAVX512", "func(state uint32, src *byte, n int) uint32", "continues a CRC-32C, not complemented, by n bytes, a positive multiple of FoldBytes.")
	src := Load(Param("src"), GP64())
	crc(far, near, src, func(i int) VecVirtual {
		x := ZMM()
		VMOVDQU64(Mem{Base: src, Disp: 64 * i}, x)
		return x
	}, func() {})
	VZEROUPPER()
	RET()

	kernel("float64CRCAVX512", "func(state uint32, src *byte, n int, dst *float64) (next uint32, over bool)", "is crcAVX512 that copies the bytes, which are values, and tells whether one is not finite.")
	src, dst := Load(Param("src"), GP64()), Load(Param("dst"), GP64())
	expo, one, over := ZMM(), ZMM(), ZMM()
	VPTERNLOGQ(Imm(0xff), one, one, one) // all ones
	VPSRLQ(Imm(53), one, expo)
	VPSLLQ(Imm(52), expo, expo)
	VPSRLQ(Imm(63), one, one)
	VPSLLQ(Imm(52), one, one)
	VPXORQ(over, over, over)
	crc(far, near, src, func(i int) VecVirtual {
		x, t := ZMM(), ZMM()
		VMOVDQU64(Mem{Base: src, Disp: 64 * i}, x)
		VMOVDQU64(x, Mem{Base: dst, Disp: 64 * i})
		VPANDQ(expo, x, t)
		VPADDQ(one, t, t)
		VPORQ(t, over, over)
		return x
	}, func() { ADDQ(U32(foldBytes), dst) })
	signs, bits := K(), GP32()
	VPMOVQ2M(over, signs)
	KMOVB(signs, bits)
	storeAny(bits, 1)
}

// crc folds n bytes at src, which take reads 64 at a time, and returns the state. advance
// is emitted after each round.
func crc(far, near Mem, src Register, take func(i int) VecVirtual, advance func()) {
	n, by, first := Load(Param("n"), GP64()), ZMM(), ZMM()
	fold := func(x, add VecVirtual) {
		low := ZMM()
		VPCLMULQDQ(Imm(0x00), by, x, low)
		VPCLMULQDQ(Imm(0x11), by, x, x)
		VPTERNLOGQ(Imm(0x96), add, low, x) // the exclusive or of all three
	}
	var acc [foldRegisters]VecVirtual
	for i := range acc {
		acc[i] = take(i)
	}
	VMOVD(Load(Param("state"), GP32()), first.AsX())
	VPXORQ(first, acc[0], acc[0])
	VBROADCASTI64X2(far, by)
	JMP(LabelRef("next"))
	Label("loop")
	for i, x := range acc {
		fold(x, take(i))
	}
	Label("next")
	advance()
	ADDQ(U32(foldBytes), src)
	SUBQ(U32(foldBytes), n)
	JNZ(LabelRef("loop"))

	VBROADCASTI64X2(near, by)
	for _, x := range acc[1:] {
		fold(acc[0], x)
	}
	rest, state := AllocLocal(64), GP64()
	VMOVDQU64(acc[0], rest)
	XORL(state.As32(), state.As32())
	for i := range 8 {
		CRC32Q(rest.Offset(8*i), state)
	}
	Store(state.As32(), ReturnIndex(0))
}

// foldBy defines the two factors that move 16 bytes by a number of bytes: x^(8·bytes+64) mod P for the first half,
// which stands 64 bits before the second, and x^(8·bytes) mod P. In CRC-32C the lowest bit of a word is the highest
// power. The product of two such words of 64 bits has 127 bits, and comes out with one power too many; a factor of 32
// bits in the low half of its word has 32 too many.
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
