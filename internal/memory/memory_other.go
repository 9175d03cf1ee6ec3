//go:build !linux && !darwin

package memory

// Available is 0: not known on this system.
func Available() int64 { return 0 }

// Total is 0: not known on this system.
func Total() int64 { return 0 }

// PeakRSS is 0: not known on this system.
func PeakRSS() int64 { return 0 }

// RSS is 0: not known on this system.
func RSS() int64 { return 0 }
