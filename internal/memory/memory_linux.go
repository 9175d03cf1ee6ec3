package memory

import "os"

// Available is the memory the process may take now without swapping or
// meeting a limit of its control groups, in bytes; 0 if unknown.
func Available() int64 { return procAvailable(os.DirFS("/")) }

// Total is the memory of the machine, or the least limit of the control groups of
// the process if that is less, in bytes; 0 if unknown.
func Total() int64 { return procTotal(os.DirFS("/")) }

// PeakRSS is the largest resident set the process has had, mapped pages
// included, in bytes; 0 if unknown. (getrusage would report the parent's peak
// where the process was forked from a larger one.)
func PeakRSS() int64 { return status("VmHWM:") }

// RSS is the resident set of the process, mapped pages included, in bytes; 0 if unknown.
func RSS() int64 { return status("VmRSS:") }

// status is a line of the kernel about the process, in bytes; 0 if there is none.
func status(line string) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	n, _ := statLine(data, line, 1<<10)
	return n
}
