// Command gen writes the micro-kernels of package panel, ../kernel_amd64.s, and their Go declarations.
//
//	go run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg panel
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is a vector instruction set.
type isa struct {
	name  string
	lanes int // float64 in a vector
	rows  []int
	whole bool // all vectors are whole: no masks
	reg   func() reg.VecVirtual
}

var avx2 = isa{"AVX2", 4, []int{1, 2, 4}, false, YMM}

var avx512 = isa{"AVX512", 8, []int{1, 2, 4, 8}, false, ZMM}

const maxVectors = 3

// rotated is the number of vectors of a row that are rotated at a time: a rotation has to wait for the result of the
// rotation before it, and the other vectors fill that time.
const rotated = 4

func main() {
	ConstraintExpr("!noasm")
	for _, set := range []isa{avx2, avx512} {
		var cross, product, rotate []func()
		most := set.rows[len(set.rows)-1]
		for _, mr := range set.rows {
			for nv := 1; nv <= maxVectors; nv++ {
				cross = append(cross, func() { set.cross(mr, nv) })
			}
		}
		for _, mr := range []int{1, most} {
			for nv := 1; nv <= maxVectors; nv++ {
				product = append(product, func() { set.product(mr, nv) })
			}
		}
		if set.lanes == 4 {
			// Eight accumulators keep two units busy. On some processors a masked store takes as long as all the rest, so
			// whole vectors are stored without a mask.
			whole := set
			whole.whole = true
			product = append(product, func() { set.product(8, 1) }, func() { whole.product(8, 1) })
		}
		for _, nv := range []int{1, rotated} {
			rotate = append(rotate, func() { set.rotate(nv) })
		}
		kernel("cross"+set.name, "rows int, y *float64, ldy int, v *float64, ldv int, c *float64, ldc int, mask *uint64", cross)
		kernel("product"+set.name, "groups, q int, y *float64, ldy int, v *float64, ldv int, d *float64, mask *uint64", product)
		kernel("rotate"+set.name, "n int, cs *float64, z *float64, ld int", rotate)
	}
	Generate()
}

// at is the number of the tile that is being written, a part of its labels.
var at int

func label(name string) string { return fmt.Sprintf("%s%d", name, at) }

// kernel writes a function that jumps to the tile with the given number.
func kernel(name, params string, tiles []func()) {
	TEXT(name, NOSPLIT, "func(tile int, "+params+")")
	Pragma("noescape")
	which := Load(Param("tile"), GP64())
	for at = len(tiles) - 1; at > 0; at-- { // the largest tiles, which have the most work, are tested first
		CMPQ(which, U8(uint8(at)))
		JEQ(LabelRef(label("tile")))
	}
	for at = range tiles {
		if at > 0 {
			Label(label("tile"))
		}
		tiles[at]()
		VZEROUPPER()
		RET()
	}
}

// tile is an mr×nv tile of accumulators.
type tile [][]reg.VecVirtual

func (s isa) tile(mr, nv int) tile {
	t := make(tile, mr)
	for m := range t {
		t[m] = make([]reg.VecVirtual, nv)
		for v := range t[m] {
			t[m][v] = s.reg()
		}
	}
	return t
}

func (s isa) vector(base Mem, v int) Mem { return base.Offset(8 * s.lanes * v) }

// masked loads or stores the last vector of a row under a mask: a k register,
// or a vector of ones and zeros in the sign bits.
type masked struct {
	load  func(src Mem, dst reg.VecVirtual)
	store func(src reg.VecVirtual, dst Mem)
}

var unmasked = masked{
	func(src Mem, dst reg.VecVirtual) { VMOVUPD(src, dst) },
	func(src reg.VecVirtual, dst Mem) { VMOVUPD(src, dst) },
}

// mask loads the mask that the argument points to.
func (s isa) mask() masked {
	if s.whole {
		return unmasked
	}
	p := Load(Param("mask"), GP64())
	if s.lanes == 8 {
		k := K()
		KMOVW(Mem{Base: p}, k)
		return masked{
			func(src Mem, dst reg.VecVirtual) { VMOVUPD_Z(src, k, dst) },
			func(src reg.VecVirtual, dst Mem) { VMOVUPD(src, k, dst) },
		}
	}
	m := YMM()
	VMOVUPD(Mem{Base: p}, m)
	return masked{
		func(src Mem, dst reg.VecVirtual) { VMASKMOVPD(src, m, dst) },
		func(src reg.VecVirtual, dst Mem) { VMASKMOVPD(src, m, dst) },
	}
}

func (s isa) edge(t tile, row func(m int) Mem, mask masked, store bool) {
	for m := range t {
		for v, x := range t[m] {
			at := s.vector(row(m), v)
			switch last := v == len(t[m])-1; {
			case last && store:
				mask.store(x, at)
			case last:
				mask.load(at, x)
			case store:
				VMOVUPD(x, at)
			default:
				VMOVUPD(at, x)
			}
		}
	}
}

// strided returns a function that gives the address of row m, for rows a stride apart, with few registers.
func strided(base, stride reg.Register, mr int) func(m int) Mem {
	three := GP64()
	if mr > 3 {
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	}
	four := GP64()
	if mr > 4 {
		LEAQ(Mem{Base: base, Index: stride, Scale: 4}, four)
	}
	return func(m int) Mem {
		b := base
		if m >= 4 {
			b, m = four, m-4
		}
		switch m {
		case 1, 2:
			return Mem{Base: b, Index: stride, Scale: uint8(m)}
		case 3:
			return Mem{Base: b, Index: three, Scale: 1}
		}
		return Mem{Base: b}
	}
}

// The largest AVX2 tile takes all registers, so there is none for a mask: the last of three vectors is always whole.
func (s isa) cross(mr, nv int) {
	mask := unmasked
	if s.lanes != 4 || nv < maxVectors {
		mask = s.mask()
	}
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	SHLQ(U8(3), ldc)
	crow := strided(c, ldc, mr)
	t := s.tile(mr, nv)
	s.edge(t, crow, mask, false)
	rows := Load(Param("rows"), GP64())
	y, ldy := Load(Param("y"), GP64()), Load(Param("ldy"), GP64())
	v, ldv := Load(Param("v"), GP64()), Load(Param("ldv"), GP64())
	SHLQ(U8(3), ldy)
	SHLQ(U8(3), ldv)
	TESTQ(rows, rows)
	JZ(LabelRef(label("done")))
	Label(label("loop"))
	vs := make([]reg.VecVirtual, nv)
	for i := range vs {
		vs[i] = s.reg()
		if at := s.vector(Mem{Base: v}, i); i == nv-1 {
			mask.load(at, vs[i])
		} else {
			VMOVUPD(at, vs[i])
		}
	}
	for i := 0; i < nv; i += 8 / s.lanes {
		PREFETCHT0(s.vector(Mem{Base: v, Index: ldv, Scale: 8}, i))
	}
	for m := range mr {
		b := s.reg()
		VBROADCASTSD(Mem{Base: y, Disp: 8 * m}, b)
		for i := range vs {
			VFMADD231PD(vs[i], b, t[m][i])
		}
	}
	ADDQ(ldy, y)
	ADDQ(ldv, v)
	DECQ(rows)
	JNZ(LabelRef(label("loop")))
	Label(label("done"))
	s.edge(t, crow, mask, true)
}

// product writes the kernel of y += v·d for groups of mr rows and nv vectors of columns of y. d is packed: each of its rows
// is nv whole vectors.
func (s isa) product(mr, nv int) {
	y, ldy := Load(Param("y"), GP64()), Load(Param("ldy"), GP64())
	v, ldv := Load(Param("v"), GP64()), Load(Param("ldv"), GP64())
	SHLQ(U8(3), ldy)
	SHLQ(U8(3), ldv)
	Label(label("group"))
	t := s.tile(mr, nv)
	yrow := strided(y, ldy, mr)
	s.edge(t, yrow, s.mask(), false)
	d, q := Load(Param("d"), GP64()), Load(Param("q"), GP64())
	vrow := strided(v, ldv, mr)
	Label(label("loop"))
	ds := make([]reg.VecVirtual, nv)
	for i := range ds {
		ds[i] = s.reg()
		VMOVUPD(s.vector(Mem{Base: d}, i), ds[i])
	}
	for m := range mr {
		b := s.reg()
		VBROADCASTSD(vrow(m), b)
		for i := range ds {
			VFMADD231PD(ds[i], b, t[m][i])
		}
	}
	ADDQ(U8(8), v)
	if mr > 4 {
		ADDQ(U8(8), vrow(4).Base)
	}
	ADDQ(U32(uint32(8*s.lanes*nv)), d)
	DECQ(q)
	JNZ(LabelRef(label("loop")))
	s.edge(t, yrow, s.mask(), true)
	// Go to the next rows, at their first column.
	back := Load(Param("q"), GP64())
	SHLQ(U8(3), back)
	SUBQ(back, v)
	for _, x := range [][2]reg.Register{{y, ldy}, {v, ldv}} {
		for at := 0; at < mr; at += min(mr, 8) {
			LEAQ(Mem{Base: x[0], Index: x[1], Scale: uint8(min(mr, 8))}, x[0].(reg.GPVirtual))
		}
	}
	groups := Load(Param("groups"), GP64())
	DECQ(groups)
	Store(groups, Param("groups"))
	JNZ(LabelRef(label("group")))
}

// rotate writes the kernel that applies n rotations to nv vectors of consecutive rows, ld numbers apart. The row that the
// next rotation needs stays in registers.
func (s isa) rotate(nv int) {
	n, cs := Load(Param("n"), GP64()), Load(Param("cs"), GP64())
	z, ld := Load(Param("z"), GP64()), Load(Param("ld"), GP64())
	SHLQ(U8(3), ld)
	carry := make([]reg.VecVirtual, nv)
	for i := range carry {
		carry[i] = s.reg()
		VMOVUPD(s.vector(Mem{Base: z}, i), carry[i])
	}
	Label(label("loop"))
	cos, sin := s.reg(), s.reg()
	VBROADCASTSD(Mem{Base: cs}, cos)
	VBROADCASTSD(Mem{Base: cs, Disp: 8}, sin)
	for i := range carry {
		x, y := s.reg(), s.reg()
		VMOVUPD(s.vector(Mem{Base: z, Index: ld, Scale: 1}, i), x)
		VMULPD(carry[i], cos, y)
		VFMADD231PD(x, sin, y)
		VMOVUPD(y, s.vector(Mem{Base: z}, i))
		VMULPD(x, cos, x)
		VFNMADD231PD(carry[i], sin, x)
		VMOVAPD(x, carry[i])
	}
	ADDQ(ld, z)
	ADDQ(U8(16), cs)
	DECQ(n)
	JNZ(LabelRef(label("loop")))
	for i := range carry {
		VMOVUPD(carry[i], s.vector(Mem{Base: z}, i))
	}
}
