// Package simd reads lines of plain decimal numbers in vector instructions.
//
// It decides nothing: what it does not take, package ingest reads in plain Go.
package simd

// on says whether vectors are used. It changes in tests only.
var on = available

// Available tells whether this machine has the instructions, AVX2 and BMI1.
func Available() bool { return available }

// Force switches vectors on, where they are available, or off until restore is
// called, for tests. No text may be being read at that time.
func Force(use bool) (restore func()) {
	old := on
	on = use && available
	return func() { on = old }
}

// Margin is how many bytes are looked at from the beginning of a line: nearer to the end of a text none is taken.
const Margin = 64
