//go:build !noasm

package panel

import "github.com/gdsvd/gdsvd/internal/cpu"

// available returns the sets of vector kernels that the processor can run.
func available() []set {
	var out []set
	if cpu.Best() >= cpu.AVX512 {
		out = append(out, vectors(8, 3, crossAVX512, productAVX512, rotateAVX512, func(c int) *uint64 { return &bits[c] }))
	}
	if cpu.Best() >= cpu.AVX2 {
		out = append(out, vectors(4, 2, crossAVX2, productAVX2, rotateAVX2, func(c int) *uint64 { return &lanes[c][0] }))
	}
	return out
}

// The first argument of a kernel is the number of a tile. Tile 3·i+j of cross has 1<<i rows and j+1 vectors. Tiles j and 3+j
// of product have j+1 vectors, for single rows and for groups of as many rows as a vector has lanes. Tiles 0 and 1 of rotate
// have one vector and four.
type (
	crossKernel   = func(tile, rows int, y *float64, ldy int, v *float64, ldv int, c *float64, ldc int, mask *uint64)
	productKernel = func(tile, groups, q int, y *float64, ldy int, v *float64, ldv int, d *float64, mask *uint64)
	rotateKernel  = func(tile, n int, cs *float64, z *float64, ld int)
)

// Tiles of product for groups of eight rows of one vector: masked and whole.
const eight, eightWhole = 2 * maxVectors, 2*maxVectors + 1

// Masks of the first c lanes of a vector: bits of a number for AVX-512, sign bits of the lanes for AVX2.
var (
	bits  = [...]uint64{0, 0x01, 0x03, 0x07, 0x0f, 0x1f, 0x3f, 0x7f, 0xff}
	lanes = [...][4]uint64{{}, {1 << 63}, {1 << 63, 1 << 63}, {1 << 63, 1 << 63, 1 << 63}, {1 << 63, 1 << 63, 1 << 63, 1 << 63}}
)

// vectors returns the set of kernels for vectors of the given lanes and tiles of up to 1<<most rows. The kernels do not
// check bounds: each function here first accesses the last elements that its kernel touches.
func vectors(lanes, most int, cross crossKernel, product productKernel, rotate rotateKernel, mask func(c int) *uint64) set {
	return set{
		lanes: lanes,
		cross: func(c, y, v []float64, ldc, ldy, ldv, rows, p, q int) int {
			log := 0
			for log < most && 2<<log <= p {
				log++
			}
			mr := 1 << log
			_, _, _ = c[(mr-1)*ldc+q-1], y[(rows-1)*ldy+mr-1], v[(rows-1)*ldv+q-1]
			if lanes == 4 && q > 8 && q < 12 {
				// Tiles of three vectors have no mask: the last vector must be whole.
				cross(maxVectors*log+1, rows, &y[0], ldy, &v[0], ldv, &c[0], ldc, mask(4))
				c, v, q = c[8:], v[8:], q-8
			}
			nv := (q + lanes - 1) / lanes
			cross(maxVectors*log+nv-1, rows, &y[0], ldy, &v[0], ldv, &c[0], ldc, mask(q-lanes*(nv-1)))
			return mr
		},
		product: func(y, v, d []float64, ldy, ldv, rows, q, p, nv int) int {
			tile, group := maxVectors+nv-1, lanes
			switch {
			case rows < lanes:
				tile, group = nv-1, 1
			case lanes == 4 && nv == 1 && rows >= 8 && p == 4:
				tile, group = eightWhole, 8
			case lanes == 4 && nv == 1 && rows >= 8:
				tile, group = eight, 8
			}
			rows -= rows % group
			_, _, _ = y[(rows-1)*ldy+p-1], v[(rows-1)*ldv+q-1], d[q*nv*lanes-1]
			product(tile, rows/group, q, &y[0], ldy, &v[0], ldv, &d[0], mask(p-lanes*(nv-1)))
			return rows
		},
		rotate: func(z, cs []float64, first, ld, cols int) int {
			tile, done := 1, 4*lanes
			if cols < done {
				tile, done = 0, lanes
			}
			if cols < done {
				return rotateGeneric(z, cs, first, ld, cols)
			}
			size := max(ld, -ld)
			end := first*size + len(cs)/2*ld
			_, _ = z[end:end+done], z[first*size:first*size+done]
			rotate(tile, len(cs)/2, &cs[0], &z[first*size], ld)
			return done
		},
	}
}
