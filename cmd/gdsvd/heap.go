package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// The settings of the garbage collector belong to the process: the command makes them, no
// library does.

// notHeap is what the process occupies outside Go's heap as long as there is no plan
// that says so: its code, stacks and a few pages of the store.
const notHeap = 24 << 20

// unplanned is the limit of Go's heap as long as there is no plan.
func unplanned(budget int64) int64 { return max(budget-notHeap, budget/2) }

// heapLimit is the limit of Go's heap for a run: what the plan leaves of the budget.
func heapLimit(m factor.Memory) int64 {
	_, outside := m.Heap()
	// The collector aims at 3 % less than its limit, against fragments. Blocks leave
	// none and stay to the end; without their 3 % it would never rest.
	return m.Budget - outside + m.Resident*3/97
}

// budget is the budget of a command, found out if it is 0. It says so if that is more than
// there is.
func (a *app) budget(bytes int64) int64 {
	if bytes == 0 {
		return factor.DefaultMemory()
	}
	if total := memory.Total(); total > 0 && bytes > total {
		a.display.Logger().Warn("--memory is more than the machine, or the control group, has: the system may end the process",
			"memory", memory.FormatSize(bytes), "has", memory.FormatSize(total))
	}
	return bytes
}

// sortingBudget is what an ingest stays within: --memory, or without it ingest.DefaultMemory
// or 60 % of what is available, whichever is less.
func (a *app) sortingBudget(cmd *cobra.Command, bytes int64) int64 {
	if cmd.Flags().Changed("memory") {
		return bytes
	}
	return min(bytes, a.budget(0))
}

// limitHeap bounds Go's heap until the returned function is called.
func limitHeap(bytes int64) (restore func()) {
	before := debug.SetMemoryLimit(bytes)
	return func() { debug.SetMemoryLimit(before) }
}

// garbage is what may lie about before it is worth the while to collect it, however
// small the heap: a run of some ten milliseconds would else be interrupted several times.
const garbage = 128 << 20

// collectLate has garbage collected in a heap that is to be of heap bytes when there
// is as much of it, or garbage if that is more, until the returned function is called.
// Limits of the heap hold all the same, and so does GOGC.
func collectLate(heap int64) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	const byDefault = 100
	before := debug.SetGCPercent(int(max(byDefault, byDefault*garbage/heap)))
	return func() { debug.SetGCPercent(before) }
}
