//go:build !race

package main

// raceDetector reports whether the race detector is on: the largest inputs, which would take minutes with it, are skipped.
const raceDetector = false
