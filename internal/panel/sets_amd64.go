//go:build !noasm

package panel

import "github.com/gdsvd/gdsvd/internal/cpu"

// available returns the sets of vector kernels that the processor can run.
func available() []set {
	var out []set
	if cpu.Best() >= cpu.AVX512 {
		out = append(out, set{lanes: 8, rows: 8, cross: crossAVX512, product: productAVX512, rotate: rotateAVX512})
	}
	if cpu.Best() >= cpu.AVX2 {
		out = append(out, set{lanes: 4, rows: 4, cross: crossAVX2, product: productAVX2, rotate: rotateAVX2})
	}
	return out
}

type (
	crossKernel   = func(rows int, y *float64, ldy int, v *float64, ldv int, c *float64, ldc int, mask *uint64)
	productKernel = func(groups, q int, y *float64, ldy int, v *float64, ldv int, d *float64, mask *uint64)
)

// Kernels by rows of the tile (1, 2, 4, 8) and vectors.
var (
	crossesAVX512 = [...][maxVectors]crossKernel{
		{crossAVX512_1x1, crossAVX512_1x2, crossAVX512_1x3},
		{crossAVX512_2x1, crossAVX512_2x2, crossAVX512_2x3},
		{crossAVX512_4x1, crossAVX512_4x2, crossAVX512_4x3},
		{crossAVX512_8x1, crossAVX512_8x2, crossAVX512_8x3},
	}
	crossesAVX2 = [...][maxVectors]crossKernel{
		{crossAVX2_1x1, crossAVX2_1x2, crossAVX2_1x3},
		{crossAVX2_2x1, crossAVX2_2x2, crossAVX2_2x3},
		{crossAVX2_4x1, crossAVX2_4x2, crossAVX2_4x3},
	}
	productsAVX512 = [...][maxVectors]productKernel{
		{productAVX512_1x1, productAVX512_1x2, productAVX512_1x3},
		{productAVX512_8x1, productAVX512_8x2, productAVX512_8x3},
	}
	productsAVX2 = [...][maxVectors]productKernel{
		{productAVX2_1x1, productAVX2_1x2, productAVX2_1x3},
		{productAVX2_4x1, productAVX2_4x2, productAVX2_4x3},
	}
)

// Masks of c of the lanes of a vector. For AVX-512 they are the bits of a number.
var (
	bits  = [...]uint64{0, 0x01, 0x03, 0x07, 0x0f, 0x1f, 0x3f, 0x7f, 0xff}
	lanes = [...][4]uint64{{}, {1 << 63}, {1 << 63, 1 << 63}, {1 << 63, 1 << 63, 1 << 63}, {1 << 63, 1 << 63, 1 << 63, 1 << 63}}
)

// tileRows returns the largest power of two up to p and 1<<most, and its
// logarithm.
func tileRows(p, most int) (rows, log int) {
	for log < most && 2<<log <= p {
		log++
	}
	return 1 << log, log
}

// The kernels check nothing: the last elements that they touch are read here.

func crossAVX512(c, y, v []float64, ldc, ldy, ldv, rows, p, q int) int {
	mr, log := tileRows(p, 3)
	_, _, _ = c[(mr-1)*ldc+q-1], y[(rows-1)*ldy+mr-1], v[(rows-1)*ldv+q-1]
	nv := (q + 7) / 8
	crossesAVX512[log][nv-1](rows, &y[0], ldy, &v[0], ldv, &c[0], ldc, &bits[q-8*(nv-1)])
	return mr
}

func crossAVX2(c, y, v []float64, ldc, ldy, ldv, rows, p, q int) int {
	mr, log := tileRows(p, 2)
	_, _, _ = c[(mr-1)*ldc+q-1], y[(rows-1)*ldy+mr-1], v[(rows-1)*ldv+q-1]
	if q > 8 && q < 12 {
		// Of the largest tile the last vector must be whole.
		crossesAVX2[log][1](rows, &y[0], ldy, &v[0], ldv, &c[0], ldc, &lanes[4][0])
		c, v, q = c[8:], v[8:], q-8
	}
	nv := (q + 3) / 4
	crossesAVX2[log][nv-1](rows, &y[0], ldy, &v[0], ldv, &c[0], ldc, &lanes[q-4*(nv-1)][0])
	return mr
}

func productAVX512(y, v, d []float64, ldy, ldv, rows, q, p, nv int) int {
	if rows < 8 {
		_, _, _ = y[(rows-1)*ldy+p-1], v[(rows-1)*ldv+q-1], d[q*nv*8-1]
		productsAVX512[0][nv-1](rows, q, &y[0], ldy, &v[0], ldv, &d[0], &bits[p-8*(nv-1)])
		return rows
	}
	rows &^= 7
	_, _, _ = y[(rows-1)*ldy+p-1], v[(rows-1)*ldv+q-1], d[q*nv*8-1]
	productsAVX512[1][nv-1](rows/8, q, &y[0], ldy, &v[0], ldv, &d[0], &bits[p-8*(nv-1)])
	return rows
}

func productAVX2(y, v, d []float64, ldy, ldv, rows, q, p, nv int) int {
	if rows < 4 {
		_, _, _ = y[(rows-1)*ldy+p-1], v[(rows-1)*ldv+q-1], d[q*nv*4-1]
		productsAVX2[0][nv-1](rows, q, &y[0], ldy, &v[0], ldv, &d[0], &lanes[p-4*(nv-1)][0])
		return rows
	}
	if rows >= 8 && nv == 1 {
		rows &^= 7
		_, _, _ = y[(rows-1)*ldy+p-1], v[(rows-1)*ldv+q-1], d[q*4-1]
		kernel := productAVX2_8x1
		if p == 4 {
			kernel = productAVX2_8x1whole
		}
		kernel(rows/8, q, &y[0], ldy, &v[0], ldv, &d[0], &lanes[p][0])
		return rows
	}
	rows &^= 3
	_, _, _ = y[(rows-1)*ldy+p-1], v[(rows-1)*ldv+q-1], d[q*nv*4-1]
	productsAVX2[1][nv-1](rows/4, q, &y[0], ldy, &v[0], ldv, &d[0], &lanes[p-4*(nv-1)][0])
	return rows
}

func rotateAVX512(z, cs []float64, first, ld, cols int) int {
	return rotate(rotateAVX512_4, rotateAVX512_1, 8, z, cs, first, ld, cols)
}

func rotateAVX2(z, cs []float64, first, ld, cols int) int {
	return rotate(rotateAVX2_4, rotateAVX2_1, 4, z, cs, first, ld, cols)
}

// rotate uses the kernel for four vectors, or for one if there are no more.
func rotate(four, one func(n int, cs, z *float64, ld int), lanes int, z, cs []float64, first, ld, cols int) int {
	f, done := four, 4*lanes
	if cols < done {
		f, done = one, lanes
	}
	if cols < done {
		return rotateGeneric(z, cs, first, ld, cols)
	}
	size := max(ld, -ld)
	end := first*size + len(cs)/2*ld
	_, _ = z[end:end+done], z[first*size:first*size+done]
	f(len(cs)/2, &cs[0], &z[first*size], ld)
	return done
}
