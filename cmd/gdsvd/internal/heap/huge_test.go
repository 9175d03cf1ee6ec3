package heap

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestPreferHuge: with a large budget huge pages are requested for the heap, and the GC percentage is unchanged.
func TestPreferHuge(t *testing.T) {
	asked := func() (bytes uintptr) {
		maps, err := os.ReadFile("/proc/self/smaps")
		if err != nil || !strings.Contains(string(maps), "VmFlags:") {
			t.Skip("the system does not tell")
		}
		var from, to uintptr
		for line := range strings.Lines(string(maps)) {
			_, _ = fmt.Sscanf(line, "%x-%x ", &from, &to)
			if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && strings.Contains(flags+" ", " hg ") {
				bytes += to - from
			}
		}
		return bytes
	}
	percent := debug.SetGCPercent(70)
	defer func() { debug.SetGCPercent(percent) }()
	before := asked()
	PreferHuge(1<<30 - 1)
	if now := asked(); now != before {
		t.Errorf("with a small budget the kernel was asked for %d bytes in huge pages", now-before)
	}
	PreferHuge(1 << 30)
	if got, want := asked()-before, uintptr(Garbage-4<<20); got < want {
		t.Errorf("the kernel was asked for %d bytes in huge pages, not for %d", got, want)
	}
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("the collector is at %d %%", got)
	}
}
