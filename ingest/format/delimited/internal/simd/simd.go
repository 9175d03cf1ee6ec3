// Package simd reads lines of plain decimal numbers in vector instructions.
//
// It never refuses a line: lines that it does not read are left to the plain Go code of package delimited.
package simd

// Margin is the number of bytes that are examined from the beginning of a line. Lines nearer to the end of a text are not read.
const Margin = 64
