// Package panel multiplies panels: blocks of float64 with many rows and few columns, row-major. The block methods of package
// solver work on panels between two passes, and the scores of recommendations are computed from panels.
//
// There are two products, both of which read their panels once, from first row to last, and neither packs nor copies them:
//
//	C += YᵀV   AddCross, the coefficients of a projection or a Gram matrix
//	Y += VD    AddProduct, the projection itself, or a rotation
//
// and one other sweep, which the small eigenproblems spend their time in:
//
//	Rotate      plane rotations of neighbouring rows
//
// The micro-kernels keep a tile of C or of Y in registers. They are written by the program in _gen for AVX2 and AVX-512 and
// chosen at run time; with the build tag noasm and on other processors plain Go takes their place.
//
// Bits: every entry is its old value plus a chain of fused multiply-adds, in the order of the rows for AddCross and of the
// columns of V for AddProduct; an entry of a rotated row is one product and one fused multiply-add. All kernels use this
// order, so they give the same bits.
package panel

//go:generate go -C _gen run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg panel
