// Package synth makes matrices whose singular values are known exactly, and
// ratings files that look like real ones at any size.
//
// [Kronecker] is small, exact and the truth of a demonstration; [Ratings] has
// the shape and the format of MovieLens 10M; [Expansion] makes of a store one of
// any size whose leading values are known; [Spectrum] makes one of any size with
// values of choice and all vectors known. All but the first take constant
// memory, and all are deterministic: the same parameters give the same bytes.
package synth
