package memory

import "golang.org/x/sys/unix"

// Available is the machine's memory in bytes; 0 if unknown.
func Available() int64 { return Total() }

func Total() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}

// PeakRSS is the largest resident set the process has had, in bytes; 0 if unknown.
func PeakRSS() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss // bytes on this system
}

// RSS is 0: not known on this system.
func RSS() int64 { return 0 }
