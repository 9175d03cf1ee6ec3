package input

import (
	"io"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/internal/vfs"
)

// TestPipe: a pipe on standard input becomes larger, and what is in it already is read.
func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 1<<17); err != nil {
		t.Skip(err)
	}
	if _, err := io.WriteString(w, "0123456789"); err != nil {
		t.Fatal(err)
	}
	f, err := Opener{Files: Files{FS: vfs.OS}, Stdin: r, Bytes: new(atomic.Int64)}.Open(t.Context(), "-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0); err != nil || size < pipeBytes {
		t.Errorf("%d bytes, %v", size, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
}
