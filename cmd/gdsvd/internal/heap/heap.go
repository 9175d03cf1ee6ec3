// Package heap configures the garbage collector of the process. Only the command does so, no library.
package heap

import (
	"os"
	"runtime/debug"
	"slices"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream"
)

// notHeap is the memory of the process outside the Go heap that is assumed before there is a plan: the runtime and a few pages
// of the store.
const notHeap = budget.Runtime + 4<<20

// Unplanned returns the limit of the Go heap before there is a plan.
func Unplanned(budget int64) int64 { return max(budget-notHeap, budget/2) }

// Planned returns the limit of the Go heap for a planned run: the budget without the memory that the plan has outside the heap.
func Planned(m factor.Memory) int64 {
	_, outside := m.Heap()
	// The collector aims at 3 % less than its limit, to allow for fragmentation. Blocks do not fragment and stay until the end;
	// without 3 % of their size added the collector would run all the time.
	return m.Budget - outside + m.Resident*3/97
}

// Limit limits the Go heap until the returned function is called.
func Limit(bytes int64) (restore func()) {
	before := debug.SetMemoryLimit(bytes)
	return func() { debug.SetMemoryLimit(before) }
}

// Garbage is the amount of garbage below which a collection does not pay, however small the heap: otherwise the collector would
// interrupt a run of some ten milliseconds several times.
const Garbage = 128 << 20

// Parts returns the memory of a planned run: the planned parts, and the garbage that CollectLate allows within the budget.
func Parts(m factor.Memory) []stream.Part {
	inside, outside := m.Heap()
	late := min(max(inside, Garbage), m.Budget-inside-outside)
	if late <= 0 {
		return m.Parts
	}
	return append(slices.Clone(m.Parts), stream.Part{Name: "garbage collected late", Bytes: late, Heap: true})
}

// CollectLate delays collections, until the returned function is called, to the point where a heap of the given size has
// as much garbage as data, or Garbage bytes if that is more. Limits of the heap still hold. It does nothing if GOGC is set.
func CollectLate(heap int64) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	const byDefault = 100
	before := debug.SetGCPercent(int(max(byDefault, byDefault*Garbage/heap)))
	return func() { debug.SetGCPercent(before) }
}

// PreferHuge requests huge pages where a small heap will grow, if the budget can afford partly used pages. It is for the
// beginning of a run: a run of some ten milliseconds spends a tenth of its time on faults of small pages. A heap of hundreds of
// megabytes does not gain: memory that is returned to the system meanwhile is cleared again, and in larger pages.
func PreferHuge(budget int64) {
	const least = 1 << 30
	if budget < least {
		return
	}
	before := debug.SetGCPercent(-1) // the slice takes only addresses, and is freed by the first collection
	memory.PreferHuge(make([]float64, Garbage/8))
	debug.SetGCPercent(before)
}
