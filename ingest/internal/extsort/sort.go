package extsort

import (
	"cmp"
	"slices"
	"unsafe"
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
	largest int // entries of a run, at most
	load    []Entry
	coder   Coder

	scratch       []Entry // made when first needed, as is the next
	packedScratch []uint64
}

// item is an entry, or one that is packed: its key above the code of its value.
type item interface{ Entry | uint64 }

// keyOf is the key of an item. Which case applies is known when a sort is compiled.
func keyOf[T item](x *T) uint64 {
	if unsafe.Sizeof(*x) == PackedBytes {
		return *(*uint64)(unsafe.Pointer(x)) >> codeBits
	}
	return (*Entry)(unsafe.Pointer(x)).Key
}

const (
	digitBits = 11 // 2048 counters stay in the first-level cache
	digits    = 1 << digitBits
	// fewEntries is where a comparison sort beats clearing and summing the counters.
	fewEntries = 1 << 10
)

func (s *sorter) sort(e []Entry) {
	sortItems(s, e, &s.scratch, func(x Entry) float64 { return x.Val })
}

// sortItems sorts e stably by key: least significant digit first radix sort
// (Knuth, TAOCP vol. 3, §5.2.5) over the bits that keys have. Entries in order,
// as most ratings files have them, cost one look.
func sortItems[T item](s *sorter, e []T, scratch *[]T, value func(T) float64) {
	switch {
	case inOrder(e):
	case len(e) < fewEntries:
		slices.SortStableFunc(e, func(a, b T) int { return cmp.Compare(keyOf(&a), keyOf(&b)) })
	default:
		if cap(*scratch) < len(e) {
			*scratch = make([]T, s.largest)
		}
		radixSort(e, (*scratch)[:len(e)], s.by.KeyBits)
	}
	if s.by.ByValue {
		sortGroups(e, value)
	}
}

func inOrder[T item](e []T) bool {
	before := uint64(0)
	for i := range e {
		key := keyOf(&e[i])
		if key < before {
			return false
		}
		before = key
	}
	return true
}

func radixSort[T item](e, scratch []T, keyBits int) {
	src, dst := e, scratch
	for shift := 0; shift < keyBits; shift += digitBits {
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
func radixPass[T item](dst, src []T, shift int) bool {
	var count [digits]int
	for i := range src {
		count[keyOf(&src[i])>>(shift&63)&(digits-1)]++
	}
	if count[keyOf(&src[0])>>(shift&63)&(digits-1)] == len(src) {
		return false
	}
	sum := 0 // the number of entries of each digit becomes the place of the first of them
	for i, n := range &count {
		count[i] = sum
		sum += n
	}
	for _, x := range src {
		c := &count[keyOf(&x)>>(shift&63)&(digits-1)]
		dst[*c] = x
		*c++
	}
	return true
}

func sortGroups[T item](e []T, value func(T) float64) {
	for i := 0; i < len(e); {
		j := i + 1
		for j < len(e) && keyOf(&e[j]) == keyOf(&e[i]) {
			j++
		}
		if j > i+1 {
			slices.SortFunc(e[i:j], func(a, b T) int { return cmp.Compare(value(a), value(b)) })
		}
		i = j
	}
}
