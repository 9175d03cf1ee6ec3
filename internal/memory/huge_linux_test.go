package memory_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/gdsvd/gdsvd/internal/memory"
)

// TestPreferHuge checks that the kernel is advised, and that the memory and its neighbourhood are unchanged.
func TestPreferHuge(t *testing.T) {
	memory.PreferHuge(nil)
	memory.PreferHuge(make([]float64, 1))
	all := make([]float64, 3<<20)
	for i := range all {
		all[i] = float64(i)
	}
	x := all[1000 : len(all)-1000]
	memory.PreferHuge(x)
	for i, v := range all {
		if v != float64(i) {
			t.Fatalf("number %d is %v", i, v)
		}
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil || !strings.Contains(string(maps), "VmFlags:") {
		t.Skip("the kernel does not tell")
	}
	if enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil || strings.Contains(string(enabled), "[never]") {
		t.Skip("there are no transparent huge pages")
	}
	middle, asked := uintptr(unsafe.Pointer(&x[len(x)/2])), false
	inside := false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= middle && middle < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			asked = strings.Contains(flags+" ", " hg ")
		}
	}
	if !asked {
		t.Error("the kernel was not asked for huge pages in the middle of the block")
	}
}
