package panel

import "math"

// generic is the set of kernels in plain Go, for tiles of one row and up to maxVectors columns.
var generic = set{lanes: 1, cross: crossGeneric, product: productGeneric, rotate: rotateGeneric}

func crossGeneric(c, y, v []float64, _, ldy, ldv, rows, _, q int) int {
	switch q {
	case 3:
		c0, c1, c2 := c[0], c[1], c[2]
		for r := range rows {
			a, b := y[r*ldy], v[r*ldv:][:3]
			c0, c1, c2 = math.FMA(a, b[0], c0), math.FMA(a, b[1], c1), math.FMA(a, b[2], c2)
		}
		c[0], c[1], c[2] = c0, c1, c2
	default:
		for j := range q {
			sum := c[j]
			for r := range rows {
				sum = math.FMA(y[r*ldy], v[r*ldv+j], sum)
			}
			c[j] = sum
		}
	}
	return 1
}

func productGeneric(y, v, d []float64, _, _, _, q, p, nv int) int {
	switch p {
	case 3:
		y0, y1, y2 := y[0], y[1], y[2]
		for j, a := range v[:q] {
			b := d[j*nv:][:3]
			y0, y1, y2 = math.FMA(a, b[0], y0), math.FMA(a, b[1], y1), math.FMA(a, b[2], y2)
		}
		y[0], y[1], y[2] = y0, y1, y2
	default:
		for i := range p {
			sum := y[i]
			for j, a := range v[:q] {
				sum = math.FMA(a, d[j*nv+i], sum)
			}
			y[i] = sum
		}
	}
	return 1
}

func rotateGeneric(z, cs []float64, first, ld, cols int) int {
	at := first * max(ld, -ld)
	for i := 0; i < len(cs); i += 2 {
		x, y := z[at:][:cols], z[at+ld:][:cols]
		for j, c, s := 0, cs[i], cs[i+1]; j < cols; j++ {
			a, b := x[j], y[j]
			x[j] = math.FMA(s, b, c*a)
			y[j] = math.FMA(-s, a, c*b)
		}
		at += ld
	}
	return cols
}
