// Package simd reads lines of plain decimal numbers in vector instructions.
//
// It decides nothing: what it does not take, package delimited reads in plain Go.
package simd

// Margin is how many bytes are looked at from the beginning of a line: nearer to the end of a text none is taken.
const Margin = 64
