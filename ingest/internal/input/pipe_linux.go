package input

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pipeBytes is the capacity of a pipe that is read: in the 64 KiB that it has by itself a writer and the reader wait for each other.
const pipeBytes = 1 << 20

// widen makes r larger if it is a pipe. Where that is refused, reading is slower.
func widen(r io.Reader) {
	f, ok := r.(*os.File)
	if !ok {
		return
	}
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) {
			if size, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && size < pipeBytes {
				_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes)
			}
		})
	}
}
