// Package synth makes matrices whose singular values are known exactly, and
// ratings files that look like real ones at any size.
//
// [Kronecker] is small, exact and the truth of a demonstration; [Ratings] has
// the shape and the format of MovieLens 10M, written in constant memory. Both
// are deterministic: the same parameters give the same bytes.
package synth
