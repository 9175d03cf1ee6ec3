package extsort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// Sort sorts the runs, those of one generation of ids after the other, after
// rewriting their keys with what remap gives; remap is nil if no run is packed and keys
// are places already. done receives the number of entries of each run sorted.
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
		if err := s.sort(ctx, lo, hi, workers, m, by, done); err != nil {
			return err
		}
	}
	return nil
}

// sort rewrites the key of every entry of runs lo … hi−1 with remap (unless
// nil, when none is packed) and sorts each of them by order. done receives the
// number of entries of each run sorted.
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
	if r.sorted { // before the ingest was interrupted
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

// replaceRun puts the sorted entries in the place of a run, in one step.
func (s *Spool) replaceRun(r *run, e []Entry, c *Coder) error {
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
