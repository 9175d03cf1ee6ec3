//go:build unix

package harness

import "golang.org/x/sys/unix"

// ProcessorSeconds is the processor time of the process so far: other work on the machine is not in it.
func ProcessorSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no such error for one's own process
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
