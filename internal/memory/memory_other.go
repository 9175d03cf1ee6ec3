//go:build !linux && !darwin

package memory

// Available is 0: not known on this system.
func Available() int64 { return 0 }

func Total() int64 { return 0 }

func PeakRSS() int64 { return 0 }

func RSS() int64 { return 0 }
