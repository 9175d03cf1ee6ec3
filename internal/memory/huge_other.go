//go:build !linux

package memory

// PreferHuge does nothing on this system; on Linux it requests huge pages for a slice.
func PreferHuge([]float64) {}
