//go:build race

package main

// raceDetector: the largest inputs would take minutes under it and show nothing that the smaller ones do not.
const raceDetector = true
