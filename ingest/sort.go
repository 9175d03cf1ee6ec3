package ingest

import (
	"cmp"
	"math"
	"slices"
)

// sortOrder is how entries are sorted: by key, and entries of one key by
// arrival, or by value, which makes sums of duplicates independent of arrival.
type sortOrder struct {
	keyBits int
	byValue bool
}

// A sorter sorts runs; it keeps its buffers from run to run.
type sorter struct {
	by      sortOrder
	scratch []entry
	load    []entry
	codec   fileCodec
}

const (
	digitBits = 11 // 2048 counters stay in the first-level cache
	digits    = 1 << digitBits
	// fewEntries is where a comparison sort beats clearing and summing the counters.
	fewEntries = 1 << 10
)

// sort sorts e stably by key: least significant digit first radix sort
// (Knuth, TAOCP vol. 3, §5.2.5) over the bits that keys have.
func (s *sorter) sort(e []entry) {
	if len(e) < fewEntries {
		slices.SortStableFunc(e, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	} else {
		src, dst := e, s.scratch[:len(e)]
		for shift := 0; shift < s.by.keyBits; shift += digitBits {
			if radixPass(dst, src, shift) {
				src, dst = dst, src
			}
		}
		if &src[0] != &e[0] {
			copy(e, src)
		}
	}
	if s.by.byValue {
		sortGroups(e)
	}
}

// radixPass moves src to dst by the digit at shift. It does nothing and tells
// so when all entries have the same digit.
func radixPass(dst, src []entry, shift int) bool {
	var count [digits]int
	for i := range src {
		count[src[i].key>>shift&(digits-1)]++
	}
	if count[src[0].key>>shift&(digits-1)] == len(src) {
		return false
	}
	sum := 0
	for i, n := range count {
		count[i] = sum
		sum += n
	}
	for _, x := range src {
		d := x.key >> shift & (digits - 1)
		dst[count[d]] = x
		count[d]++
	}
	return true
}

// sortGroups sorts the entries of each key by value.
func sortGroups(e []entry) {
	for i := 0; i < len(e); {
		j := i + 1
		for j < len(e) && e[j].key == e[i].key {
			j++
		}
		if j > i+1 {
			slices.SortFunc(e[i:j], func(a, b entry) int { return cmp.Compare(a.val, b.val) })
		}
		i = j
	}
}

// finite: neither NaN nor infinite.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }
