package main

import (
	"fmt"
	"strings"

	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream"
)

// memoryPart is what a run is planned to take for one purpose.
type memoryPart struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Heap  bool   `json:"heap"` // part of Go's heap
}

func memoryParts(p stream.Plan) (all []memoryPart) {
	for _, part := range p.Parts {
		heap := part.Name != "runtime" && part.Name != "mapped pages and buffers"
		all = append(all, memoryPart{part.Name, part.Bytes, heap})
	}
	return all
}

// planned is the sum of the parts.
func planned(parts []memoryPart) (total int64) {
	for _, p := range parts {
		total += p.Bytes
	}
	return total
}

// describeMemory lists the parts, those of the heap together.
func describeMemory(parts []memoryPart) string {
	var inside, outside []string
	var heap int64
	for _, p := range parts {
		text := fmt.Sprintf("%s %s", p.Name, memory.FormatSize(p.Bytes))
		if p.Heap {
			heap += p.Bytes
			inside = append(inside, text)
		} else {
			outside = append(outside, text)
		}
	}
	return fmt.Sprintf("%s; heap %s (%s)", strings.Join(outside, ", "), memory.FormatSize(heap), strings.Join(inside, ", "))
}
