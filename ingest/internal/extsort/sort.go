package extsort

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// Order says how entries are sorted: by key, and entries with equal keys in order of arrival or, if ByValue is set, by value,
// which makes sums of duplicates independent of the order of arrival.
type Order struct {
	KeyBits int
	ByValue bool
}

// A sorter sorts runs and reuses its buffers.
type sorter struct {
	by      Order
	largest int // largest number of entries of a run
	load    []Entry
	coder   Coder

	scratch       []Entry // allocated when first needed, like packedScratch
	packedScratch []uint64
}

// item is an Entry or a packed entry: a key above the code of a value.
type item interface{ Entry | uint64 }

// keyOf returns the key of an item. The compiler resolves the case for each type.
func keyOf[T item](x *T) uint64 {
	if unsafe.Sizeof(*x) == PackedBytes {
		return *(*uint64)(unsafe.Pointer(x)) >> codeBits
	}
	return (*Entry)(unsafe.Pointer(x)).Key
}

const (
	digitBits = 11 // 2048 counters stay in the first-level cache
	digits    = 1 << digitBits
)

func (s *sorter) sort(e []Entry) {
	sortItems(s, e, &s.scratch, func(x Entry) float64 { return x.Val })
}

// sortItems sorts e stably by key: a radix sort, least significant digit first (Knuth, TAOCP vol. 3, §5.2.5), over the bits of
// the keys. Entries in order, which most ratings files have, cost one scan.
func sortItems[T item](s *sorter, e []T, scratch *[]T, value func(T) float64) {
	if !inOrder(e) {
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

// radixPass moves src to dst, sorted by the digit at shift. It returns false, without a move, if all have the same digit.
func radixPass[T item](dst, src []T, shift int) bool {
	var count [digits]int
	for i := range src {
		count[keyOf(&src[i])>>(shift&63)&(digits-1)]++
	}
	if count[keyOf(&src[0])>>(shift&63)&(digits-1)] == len(src) {
		return false
	}
	sum := 0 // turns the number of entries of each digit into the place of its first entry
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

// Sort sorts the runs, the runs of one generation of ids after those of another, and replaces their keys by means of remap;
// remap is nil if no run is packed and keys are places already. done receives the number of entries of each run sorted.
func (s *Spool) Sort(ctx context.Context, workers int, remap func(users, items int) (*Remap, error), by Order, done func(int)) error {
	for lo, hi := 0, 0; lo < len(s.runs); lo = hi {
		for hi = lo + 1; hi < len(s.runs) && s.runs[hi].users == s.runs[lo].users && s.runs[hi].items == s.runs[lo].items; hi++ {
		}
		if !slices.ContainsFunc(s.runs[lo:hi], func(r run) bool { return !r.sorted }) {
			for _, r := range s.runs[lo:hi] {
				done(r.n)
			}
			continue
		}
		var m *Remap
		if remap != nil {
			var err error
			if m, err = remap(s.runs[lo].users, s.runs[lo].items); err != nil {
				return err
			}
		}
		if m != nil && m.Pack.Bits > 64-codeBits && s.runs[lo].packed != nil { // a packed entry has no room for such a key
			if err := errors.Join(s.loosen(), s.Finish()); err != nil {
				return err
			}
		}
		if err := s.sort(ctx, lo, hi, workers, m, by, done); err != nil {
			return err
		}
	}
	return nil
}

// sort replaces the keys of runs lo … hi−1 by means of remap, unless it is nil (no run is packed then), and sorts each run by
// order. done receives the number of entries of each run sorted.
func (s *Spool) sort(ctx context.Context, lo, hi, workers int, remap *Remap, by Order, done func(int)) error {
	largest := 0
	for _, r := range s.runs[lo:hi] {
		largest = max(largest, r.n)
	}
	each := int64(largest) * s.entryBytes()
	if s.InFiles {
		each *= 2
	}
	if each > 0 {
		workers = int(max(1, min(int64(workers), (s.budget.Space-s.held()-s.bytes)/each)))
	}
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	next.Store(int64(lo))
	var mu sync.Mutex
	for range min(workers, hi-lo) {
		g.Go(func() error {
			w := sorter{by: by, largest: largest}
			for i := int(next.Add(1) - 1); i < hi && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := s.sortRun(ctx, &s.runs[i], remap, &w); err != nil {
					return err
				}
				mu.Lock()
				done(s.runs[i].n)
				mu.Unlock()
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

func (s *Spool) sortRun(ctx context.Context, r *run, remap *Remap, w *sorter) error {
	if r.packed != nil {
		remap.packed(r.packed)
		sortItems(w, r.packed, &w.packedScratch, s.values.value)
		r.sorted, r.least, r.most = true, r.packed[0]>>codeBits, r.packed[len(r.packed)-1]>>codeBits
		return nil
	}
	if r.mem != nil {
		remap.entries(r.mem)
		w.sort(r.mem)
		r.sorted, r.least, r.most = true, r.mem[0].Key, r.mem[len(r.mem)-1].Key
		return nil
	}
	if r.sorted { // sorted before the ingest was interrupted
		return nil
	}
	e, err := s.loadRun(r, w)
	if err != nil {
		return err
	}
	remap.entries(e)
	w.sort(e)
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.replaceRun(r, e, &w.coder)
}

func (s *Spool) loadRun(r *run, w *sorter) ([]Entry, error) {
	if w.load == nil {
		w.load = make([]Entry, w.largest)
	}
	f, err := openRun(s.dir.FS, s.dir.Path(r.name), r.runInfo, runBuffer)
	if err != nil {
		return nil, err
	}
	n := 0
	for {
		k, err := f.next(&w.coder, w.load[n:])
		if err != nil || k == 0 {
			if err == nil && n != r.n {
				err = scratch.ErrDamaged
			}
			return w.load[:n], errors.Join(err, f.close())
		}
		n += k
	}
}

// replaceRun replaces a run by its sorted entries in one step, or writes them beside the run if Beside is set.
func (s *Spool) replaceRun(r *run, e []Entry, c *Coder) error {
	r.name, r.lent = s.Beside+r.name, false
	name := s.dir.Path(r.name)
	half := name[:len(name)-len("run")] + "half"
	f, err := s.dir.FS.Create(half)
	if err != nil {
		return fmt.Errorf("sort entries: %w", err)
	}
	w := newRunWriter(f, runInfo{sorted: true}, c)
	err = errors.Join(w.add(e), w.end())
	if err == nil && s.dir.Durable {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.dir.FS.Rename(half, name); err != nil {
		return fmt.Errorf("sort entries: %w", err)
	}
	s.spilled.Add(w.info.bytes)
	r.runInfo = w.info
	return nil
}
