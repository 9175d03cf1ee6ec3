// Package budget reckons what a step of a process takes of a memory budget: a ledger of parts with names, in
// bytes, the default budget, and the one error that refuses a budget in which the ledger does not fit.
package budget

import (
	"fmt"
	"math"
	"strings"

	"github.com/gdsvd/gdsvd/internal/memory"
)

const (
	// Runtime is what a Go process with this program's packages occupies beside its heap, in bytes: code,
	// tables, stacks, the runtime's own; measured at 15 to 19 MiB.
	Runtime = 20 << 20
	// Garbage is what the heap may hold beyond what is planned, in bytes: garbage that has not been collected,
	// and the bookkeeping of the heap. With less the collector never rests.
	Garbage = 3 << 20
)

// Default is 60 % of the memory that the process may have, in bytes, or 1 GiB where that is not known.
func Default() int64 {
	if n := memory.Available(); n > 0 {
		return n / 5 * 3
	}
	return 1 << 30
}

// Part is one line of a ledger.
type Part struct {
	Name  string `json:"name"`  // what the memory is for
	Bytes int64  `json:"bytes"` // bytes of the part
	Heap  bool   `json:"heap"`  // whether the part is in Go's heap
}

// Ledger is what a step takes, part by part.
type Ledger []Part

// Process is the ledger of a process that does nothing yet.
func Process() Ledger { return Ledger{{"runtime", Runtime, false}, {"garbage", Garbage, true}} }

// Take adds a part on Go's heap.
func (l *Ledger) Take(name string, bytes int64) { *l = append(*l, Part{name, bytes, true}) }

// TakeOutside adds a part that is not on Go's heap: mapped pages, code.
func (l *Ledger) TakeOutside(name string, bytes int64) { *l = append(*l, Part{name, bytes, false}) }

func (l Ledger) Total() int64 {
	total := int64(0)
	for _, p := range l {
		total += p.Bytes
	}
	return total
}

// Left is what a budget leaves beside the parts, or an [*Error] if that is less than least.
func (l Ledger) Left(budget, least int64) (int64, error) {
	left := budget - l.Total()
	if left < least {
		if least > 0 {
			l = append(l[:len(l):len(l)], Part{"work", least, true})
		}
		return 0, &Error{Budget: budget, Need: l.Total(), Parts: l}
	}
	return left, nil
}

// Error says that a memory budget cannot work.
type Error struct {
	Budget, Need int64  // bytes
	Parts        []Part // what is needed; empty: What says it
	What         string // needs it
}

func (e *Error) Error() string {
	why := e.What
	if why == "" {
		parts := make([]string, len(e.Parts))
		for i, p := range e.Parts {
			parts[i] = fmt.Sprintf("%s %.1f", p.Name, mib(p.Bytes))
		}
		why = "MiB: " + strings.Join(parts, ", ")
	}
	need := math.Ceil(10*mib(e.Need)) / 10 // written with one digit, it is no less
	return fmt.Sprintf("memory budget of %.1f MiB is too small: at least %.1f MiB are needed (%s)", mib(e.Budget), need, why)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
