//go:build unix

package harness

import "golang.org/x/sys/unix"

// ProcessorSeconds returns the processor time of the process so far. It does not include other work on the machine.
func ProcessorSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot happen for the own process
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
