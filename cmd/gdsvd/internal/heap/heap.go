// Package heap sets what the garbage collector of the process does: the command decides that, no library does.
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

// notHeap is what the process occupies outside Go's heap as long as there is no plan
// that says so: the runtime and a few pages of the store.
const notHeap = budget.Runtime + 4<<20

// Unplanned is the limit of Go's heap as long as there is no plan.
func Unplanned(budget int64) int64 { return max(budget-notHeap, budget/2) }

// Planned is the limit of Go's heap for a run: what the plan leaves of the budget.
func Planned(m factor.Memory) int64 {
	_, outside := m.Heap()
	// The collector aims at 3 % less than its limit, against fragments. Blocks leave
	// none and stay to the end; without their 3 % it would never rest.
	return m.Budget - outside + m.Resident*3/97
}

// Limit bounds Go's heap until the returned function is called.
func Limit(bytes int64) (restore func()) {
	before := debug.SetMemoryLimit(bytes)
	return func() { debug.SetMemoryLimit(before) }
}

// Garbage is what may lie about before it is worth the while to collect it, however
// small the heap: a run of some ten milliseconds would else be interrupted several times.
const Garbage = 128 << 20

// Parts are what a run with a plan may have resident: what is planned, and the garbage that CollectLate leaves within the budget.
func Parts(m factor.Memory) []stream.Part {
	inside, outside := m.Heap()
	late := min(max(inside, Garbage), m.Budget-inside-outside)
	if late <= 0 {
		return m.Parts
	}
	return append(slices.Clone(m.Parts), stream.Part{Name: "garbage collected late", Bytes: late, Heap: true})
}

// CollectLate has garbage collected in a heap that is to be of heap bytes when there
// is as much of it, or Garbage if that is more, until the returned function is called.
// Limits of the heap hold all the same, and so does GOGC.
func CollectLate(heap int64) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	const byDefault = 100
	before := debug.SetGCPercent(int(max(byDefault, byDefault*Garbage/heap)))
	return func() { debug.SetGCPercent(before) }
}

// PreferHuge asks for huge pages where a small heap is going to grow, if the budget has plenty of room for what does not fill one.
// It is for the beginning of a run: one of some ten milliseconds spends a tenth of them on faults of small pages. A heap of
// hundreds of megabytes gains nothing from it: what is given back to the system meanwhile is cleared anew in larger pages, too.
func PreferHuge(budget int64) {
	const least = 1 << 30
	if budget < least {
		return
	}
	before := debug.SetGCPercent(-1) // what is allocated takes addresses only, and is free when the collector begins
	memory.PreferHuge(make([]float64, Garbage/8))
	debug.SetGCPercent(before)
}
