//go:build unix

package simd

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestLinesStayInside: Lines does not read beyond the text: the pages around the text cannot be accessed.
func TestLinesStayInside(t *testing.T) {
	needVectors(t)
	page := os.Getpagesize()
	mem := must.Get(unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))(t)
	defer func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	}()
	for _, outside := range [][]byte{mem[:page], mem[2*page:]} {
		must.Do(t, unix.Mprotect(outside, unix.PROT_NONE))
	}
	inside := mem[page : 2*page]
	const line = "12345678::12345678::12345678.1234567::1234567890123456\r\n"
	users, items, vals := make([]int64, page), make([]int64, page), make([]float64, page)
	for n := range 4 * Margin {
		for _, text := range [][]byte{inside[:n], inside[page-n:]} {
			for i := range text {
				text[len(text)-1-i] = line[len(line)-1-i%len(line)] // the text ends with the end of a line
			}
			Lines(text, "::", true, users, items, vals)
			for i := range text {
				text[i] = "1::"[i%3]
			}
			Lines(text, "::", true, users, items, vals)
		}
	}
}
