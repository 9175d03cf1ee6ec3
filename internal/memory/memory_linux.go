package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
	data, _ := os.ReadFile("/proc/self/status") // without it there are no lines
	n, _ := statLine(data, line, 1<<10)
	return n
}

// hugePage is the size of a huge page of the processors that the program is built for, and of a multiple of one.
const hugePage = 2 << 20

// PreferHuge asks for huge pages where x is going to lie, for as much of it as whole ones have room in. It is to be called before x is
// written to. It changes nothing but speed: what is read in no order needs an entry of the processor's table of pages for 2 MiB
// instead of 4 KiB.
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
	// Only a hint.
	_ = unix.Madvise(bytes[from:from+(size-from)/hugePage*hugePage], unix.MADV_HUGEPAGE)
}
