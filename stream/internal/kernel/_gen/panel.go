package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// panel is a row of a dense block, in vectors of lanes numbers.
type panel struct{ width, lanes, vectors int }

func newPanel(l level, width int) panel {
	lanes := min(l.lanes, width)
	return panel{width: width, lanes: lanes, vectors: width / lanes}
}

func (p panel) vector() VecVirtual {
	switch p.lanes {
	case 8:
		return ZMM()
	case 4:
		return YMM()
	}
	return XMM()
}

func (p panel) row() []VecVirtual {
	v := make([]VecVirtual, p.vectors)
	for i := range v {
		v[i] = p.vector()
	}
	return v
}

func (p panel) zero(v VecVirtual) { VXORPD(v.AsX(), v.AsX(), v.AsX()) } // clears all of v

func (p panel) move(from, to Op) {
	if p.lanes == 1 {
		VMOVSD(from, to)
		return
	}
	VMOVUPD(from, to)
}

func (p panel) broadcast(m Mem, v VecVirtual) {
	switch p.lanes {
	case 1:
		VMOVSD(m, v)
	case 2:
		VMOVDDUP(m, v)
	default:
		VBROADCASTSD(m, v)
	}
}

func (p panel) fma(a, b, sum Op) {
	if p.lanes == 1 {
		VFMADD231SD(a, b, sum)
		return
	}
	VFMADD231PD(a, b, sum)
}

func (p panel) accumulate(v, sum VecVirtual) {
	if p.lanes == 1 {
		VADDSD(v, sum, sum)
		return
	}
	VADDPD(v, sum, sum)
}

// dense addresses the rows of a dense block by the entries of the sparse one.
type dense struct {
	panel
	base Register
}

// offset turns a column index into the offset that at takes, in place.
func (d dense) offset(col GPVirtual) {
	if d.width > 1 {
		shift := 3
		for w := d.width; w > 1; w /= 2 {
			shift++
		}
		SHLQ(U8(shift), col)
	}
}

func (d dense) at(offset Register, k int) Mem {
	m := Mem{Base: d.base, Index: offset, Scale: 1, Disp: 8 * d.lanes * k}
	if d.width == 1 {
		m.Scale = 8
	}
	return m
}
