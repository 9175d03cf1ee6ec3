//go:build unix

package kernel

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/internal/must"
)

// fenced returns a copy of s in memory of its own, between two pages that
// cannot be touched: it ends at the second one, or begins after the first one.
// A read or write beyond that end is a fault.
func fenced[T any](t testing.TB, s []T, atEnd bool) []T {
	t.Helper()
	page := os.Getpagesize()
	size := len(s) * int(unsafe.Sizeof(*new(T)))
	body := (size + page - 1) / page * page
	mem := must.Get(unix.Mmap(-1, 0, body+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))(t)
	t.Cleanup(func() { unix.Munmap(mem) })
	for _, fence := range [][]byte{mem[:page], mem[page+body:]} {
		must.Do(t, unix.Mprotect(fence, unix.PROT_NONE))
	}
	at := page
	if atEnd {
		at += body - size
	}
	if size == 0 {
		return []T{}
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(&mem[at])), len(s))
	copy(out, s)
	return out
}
