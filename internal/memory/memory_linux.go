package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Available returns the memory that the process may allocate now without swapping or reaching a limit of its control groups,
// in bytes; 0 if unknown.
func Available() int64 { return procAvailable(os.DirFS("/")) }

// Total returns the memory of the machine, or the least limit of the control groups if that is less, in bytes; 0 if unknown.
func Total() int64 { return procTotal(os.DirFS("/")) }

// PeakRSS returns the largest resident set that the process has had, mapped pages included, in bytes; 0 if unknown.
// (getrusage would report the parent's peak where the process was forked from a larger one.)
func PeakRSS() int64 { return status("VmHWM:") }

// RSS is the resident set of the process, mapped pages included, in bytes; 0 if unknown.
func RSS() int64 { return status("VmRSS:") }

// status returns the number of bytes in the named line of /proc/self/status; 0 if the line is missing.
func status(line string) int64 {
	data, _ := os.ReadFile("/proc/self/status") // an unreadable file has no lines
	n, _ := statLine(data, line, 1<<10)
	return n
}

// hugePage is a multiple of the size in bytes of a huge page on every processor that the program is built for.
const hugePage = 2 << 20

// PreferHuge requests huge pages for the part of x that whole huge pages cover; the caller has not written to x yet. It
// changes only the speed: at random access an entry of the processor's page table covers 2 MiB instead of 4 KiB.
func PreferHuge(x []float64) {
	if len(x) == 0 {
		return
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	from := (hugePage - at%hugePage) % hugePage
	size := uintptr(len(x)) * unsafe.Sizeof(x[0])
	if size < from+hugePage {
		return
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), size)
	// An error is ignored: the request is only a hint.
	_ = unix.Madvise(bytes[from:from+(size-from)/hugePage*hugePage], unix.MADV_HUGEPAGE)
}
