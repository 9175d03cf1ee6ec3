package extsort

import (
	"cmp"
	"slices"
)

// Order is how entries are sorted: by key, and entries of one key by
// arrival, or by value, which makes sums of duplicates independent of arrival.
type Order struct {
	KeyBits int
	ByValue bool
}

// A sorter sorts runs; it keeps its buffers from run to run.
type sorter struct {
	by      Order
	largest int     // entries of a run, at most
	scratch []Entry // made when first needed
	load    []Entry
	coder   Coder

	packedScratch []uint64
}

const (
	digitBits = 11 // 2048 counters stay in the first-level cache
	digits    = 1 << digitBits
	// fewEntries is where a comparison sort beats clearing and summing the counters.
	fewEntries = 1 << 10
)

// sort sorts e stably by key: least significant digit first radix sort
// (Knuth, TAOCP vol. 3, §5.2.5) over the bits that keys have. Entries in order,
// as most ratings files have them, cost one look.
func (s *sorter) sort(e []Entry) {
	switch {
	case inOrder(e):
	case len(e) < fewEntries:
		slices.SortStableFunc(e, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	default:
		s.radixSort(e)
	}
	if s.by.ByValue {
		sortGroups(e)
	}
}

// inOrder tells whether keys do not descend.
func inOrder(e []Entry) bool {
	before := uint64(0)
	for i := range e {
		if e[i].Key < before {
			return false
		}
		before = e[i].Key
	}
	return true
}

func (s *sorter) radixSort(e []Entry) {
	if cap(s.scratch) < len(e) {
		s.scratch = make([]Entry, s.largest)
	}
	src, dst := e, s.scratch[:len(e)]
	for shift := 0; shift < s.by.KeyBits; shift += digitBits {
		if radixPass(dst, src, shift) {
			src, dst = dst, src
		}
	}
	if &src[0] != &e[0] {
		copy(e, src)
	}
}

// radixPass moves src to dst by the digit at shift. It does nothing and tells
// so when all entries have the same digit.
func radixPass(dst, src []Entry, shift int) bool {
	var count [digits]int
	for i := range src {
		count[src[i].Key>>(shift&63)&(digits-1)]++
	}
	if count[src[0].Key>>(shift&63)&(digits-1)] == len(src) {
		return false
	}
	startsOf(&count)
	for i := range src {
		c := &count[src[i].Key>>(shift&63)&(digits-1)]
		dst[*c] = src[i]
		*c++
	}
	return true
}

// startsOf turns the number of entries of each digit into the place of the first of them.
func startsOf(count *[digits]int) {
	sum := 0
	for i, n := range count {
		count[i] = sum
		sum += n
	}
}

// sortGroups sorts the entries of each key by value.
func sortGroups(e []Entry) {
	for i := 0; i < len(e); {
		j := i + 1
		for j < len(e) && e[j].Key == e[i].Key {
			j++
		}
		if j > i+1 {
			slices.SortFunc(e[i:j], func(a, b Entry) int { return cmp.Compare(a.Val, b.Val) })
		}
		i = j
	}
}
