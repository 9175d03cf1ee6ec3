// Package synth makes matrices whose singular values are known exactly, and
// ratings files that look like real ones at any size.
//
// [Kronecker] is small, exact and the truth of a demonstration; [Ratings] has
// the shape and the format of MovieLens 10M, and [Expansion] makes of a store
// one of any size whose leading values are known, both in constant memory. All
// are deterministic: the same parameters give the same bytes.
package synth
