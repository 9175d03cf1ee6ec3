// Package budget computes how much of a memory budget a step of a process needs: a ledger of named parts in bytes, the
// default budget, and the error for a budget that is too small for the ledger.
package budget

import (
	"fmt"
	"math"
	"strings"

	"github.com/gdsvd/gdsvd/internal/memory"
)

const (
	// Runtime is the memory of a Go process with this program's packages outside its heap, in bytes: code, tables, stacks,
	// the data of the Go runtime; measured at 15 to 19 MiB.
	Runtime = 20 << 20
	// Garbage is the heap memory beyond the planned parts, in bytes: garbage not yet collected, and the bookkeeping of the
	// heap. With less room the collector runs without pause.
	Garbage = 3 << 20
)

// Default returns 60 % of the memory that is available to the process, in bytes, or 1 GiB if that is unknown.
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

// Ledger lists the memory that a step needs, part by part.
type Ledger []Part

// Process returns the ledger of a process that does no work yet.
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

// Left returns the bytes of the budget that the parts do not use, or an [*Error] if these are fewer than least.
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

// Error reports that a memory budget is too small.
type Error struct {
	Budget, Need int64  // bytes
	Parts        []Part // parts that add up to Need; printed only if What is empty
	What         string // reason why Need bytes are needed; empty: Parts are printed
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
	need := math.Ceil(10*mib(e.Need)) / 10 // rounded up: the printed number is enough
	return fmt.Sprintf("memory budget of %.1f MiB is too small: at least %.1f MiB are needed (%s)", mib(e.Budget), need, why)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
