package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// A spool holds entries in runs: in memory while the budget lasts, then each in
// a file of its own, which its sorted form replaces. Those in memory are either
// all packed or none is.
type spool struct {
	plan    plan
	scratch *scratch
	held    func() int64 // bytes held elsewhere out of plan.space
	durable bool         // files are to outlive the process

	n      int64
	cur    []entry  // the run being filled
	tight  bool     // entries are packed, as long as they are in memory
	packed []uint64 // the run being filled, if they are
	values valueTable
	runs   []run
	bytes  int64 // of the runs in memory
	onto   bool  // files: the budget for memory is used up
	users  int   // generations of the ids of the run being filled
	items  int

	// spilled counts the bytes written to temporary files.
	spilled atomic.Int64
	most    int // runs there were at a time
	coder   blockCoder
}

// A run is a sequence of entries, in arrival order until sorted.
type run struct {
	mem    []entry  // nil: packed or in the file
	packed []uint64 // nil: not packed
	name   string
	runInfo
}

func (r *run) inFile() bool { return r.mem == nil && r.packed == nil }

// newSpool makes a spool; if keys are pairs of temporary ids it may be tight.
func newSpool(p plan, s *scratch, tight bool, held func() int64) *spool {
	return &spool{plan: p, scratch: s, tight: tight, held: held}
}

// add adds entries.
func (s *spool) add(keys []uint64, vals []float64) error {
	for len(keys) > 0 {
		n, err := 0, error(nil)
		if s.tight && !s.onto {
			n, err = s.addPacked(keys, vals)
		} else {
			n, err = s.addLoose(keys, vals)
		}
		if err != nil {
			return err
		}
		s.n += int64(n)
		keys, vals = keys[n:], vals[n:]
	}
	return nil
}

// addLoose adds at least one entry and returns how many.
func (s *spool) addLoose(keys []uint64, vals []float64) (int, error) {
	if len(s.cur) == cap(s.cur) {
		if err := s.seal(); err != nil {
			return 0, err
		}
	}
	at := len(s.cur)
	n := min(len(keys), cap(s.cur)-at)
	s.cur = s.cur[:at+n]
	room, vals := s.cur[at:], vals[:n]
	for i, key := range keys[:n] {
		room[i] = entry{key, vals[i]}
	}
	return n, nil
}

// seal ends the run being filled and begins another.
func (s *spool) seal() error {
	if s.onto {
		return s.sealFile()
	}
	next := s.nextRun(cap(s.cur))
	s.keep()
	if s.full(int64(next) * entrySize) {
		return s.spill()
	}
	s.cur = make([]entry, 0, next)
	return nil
}

// nextRun is the length of the run after one that had n.
func (s *spool) nextRun(n int) int { return max(s.plan.first, min(2*n, s.plan.run)) }

// sealFile writes the run being filled, if there is anything in it.
func (s *spool) sealFile() error {
	if len(s.cur) == 0 {
		return nil
	}
	if err := s.writeRun(&run{mem: s.cur}); err != nil {
		return err
	}
	s.cur = s.cur[:0]
	return nil
}

// full tells whether so many bytes are too many beside the runs in memory.
func (s *spool) full(more int64) bool {
	b := s.bytes + more
	return b > s.plan.keep || b+s.sortBytes() > s.plan.space-s.held()
}

// keep adds the run being filled, if there is anything in it, to those in memory.
func (s *spool) keep() {
	if len(s.cur) > 0 {
		s.addRun(run{mem: s.cur, runInfo: runInfo{n: len(s.cur), users: s.users, items: s.items}})
		s.bytes += int64(cap(s.cur)) * entrySize
	}
	s.cur = nil
}

func (s *spool) addRun(r run) {
	s.runs = append(s.runs, r)
	s.most = max(s.most, len(s.runs))
}

// sortBytes is set aside for the scratch of one sorter.
func (s *spool) sortBytes() int64 {
	if s.tight && !s.onto {
		return int64(s.plan.run) * packedSize
	}
	return int64(s.plan.run) * entrySize
}

// spill moves all runs to files and goes on there.
func (s *spool) spill() error {
	s.keep()
	s.keepPacked()
	s.onto = true
	mem := s.runs
	s.runs, s.bytes = nil, 0
	for i := range mem {
		if err := s.writeRun(&mem[i]); err != nil {
			return err
		}
		mem[i].mem, mem[i].packed = nil, nil
	}
	s.cur = make([]entry, 0, s.plan.run)
	return nil
}

// adjust makes room for what is held elsewhere; it tells whether there is any to make.
func (s *spool) adjust() (ok bool, err error) {
	if !s.onto && s.full(int64(cap(s.cur))*entrySize+int64(cap(s.packed))*packedSize) {
		if err := s.spill(); err != nil {
			return false, err
		}
	}
	return !s.onto || 2*s.sortBytes() <= s.plan.space-s.held(), nil
}

// turn ends the run being filled because its ids end with it: those of later
// runs have other generations.
func (s *spool) turn(users, items int) error {
	var err error
	if s.onto {
		err = s.sealFile()
	} else {
		err = s.spill()
	}
	s.users, s.items = users, items
	return err
}

// finish ends the last run: entries can be sorted now.
func (s *spool) finish() error {
	if s.onto {
		if err := s.sealFile(); err != nil {
			return err
		}
	}
	s.keep()
	s.keepPacked()
	return nil
}

// writeRun writes a run in memory to a file.
func (s *spool) writeRun(r *run) error {
	f, err := s.scratch.create("run")
	if err != nil {
		return err
	}
	w := newRunWriter(f, runInfo{users: s.users, items: s.items}, &s.coder)
	if err := errors.Join(s.addTo(w, r), w.end()); err != nil {
		return errors.Join(err, f.Close())
	}
	s.spilled.Add(w.info.bytes)
	s.addRun(run{name: baseName(f), runInfo: w.info})
	if !s.durable {
		return f.Close()
	}
	return s.scratch.complete(f)
}

// addTo writes the entries of a run in memory.
func (s *spool) addTo(w *runWriter, r *run) error {
	if r.packed == nil {
		return w.add(r.mem)
	}
	buf := make([]entry, runBlock)
	for part := range slices.Chunk(r.packed, runBlock) {
		s.values.unpack(buf, part, false)
		if err := w.add(buf[:len(part)]); err != nil {
			return err
		}
	}
	return nil
}

// close lets memory go; the files stay until the scratch is removed.
func (s *spool) close() { s.cur, s.packed, s.runs = nil, nil, nil }

// drop is close for a spool whose files nobody will ask for.
func (s *spool) drop() error {
	var err error
	for _, r := range s.runs {
		if r.inFile() {
			err = errors.Join(err, s.scratch.removeFile(r.name))
		}
	}
	s.close()
	return err
}

// sort rewrites the key of every entry of runs lo … hi−1 with remap (unless
// nil, when none is packed) and sorts each of them by order. done receives the
// number of entries of each run sorted.
func (s *spool) sort(ctx context.Context, lo, hi, workers int, remap *remap, by sortOrder, done func(int)) error {
	largest := 0
	for _, r := range s.runs[lo:hi] {
		largest = max(largest, r.n)
	}
	each := int64(largest) * entrySize
	switch {
	case s.onto:
		each *= 2
	case s.tight:
		each = int64(largest) * packedSize
	}
	if each > 0 {
		workers = int(max(1, min(int64(workers), (s.plan.space-s.held()-s.bytes)/each)))
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

func (s *spool) sortRun(ctx context.Context, r *run, remap *remap, w *sorter) error {
	if r.packed != nil {
		remap.packed(r.packed)
		w.sortPacked(r.packed, &s.values)
		r.sorted, r.least, r.most = true, r.packed[0]>>codeBits, r.packed[len(r.packed)-1]>>codeBits
		return nil
	}
	if r.mem != nil {
		remap.entries(r.mem)
		w.sort(r.mem)
		r.sorted, r.least, r.most = true, r.mem[0].key, r.mem[len(r.mem)-1].key
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

// loadRun reads all of an unsorted run.
func (s *spool) loadRun(r *run, w *sorter) ([]entry, error) {
	if w.load == nil {
		w.load = make([]entry, w.largest)
	}
	f, err := openRun(s.scratch.fs, s.scratch.path(r.name), r.runInfo, runBuffer)
	if err != nil {
		return nil, err
	}
	n := 0
	for {
		k, err := f.next(&w.coder, w.load[n:])
		if err != nil || k == 0 {
			if err == nil && n != r.n {
				err = errTempDamaged
			}
			return w.load[:n], errors.Join(err, f.close())
		}
		n += k
	}
}

// replaceRun puts the sorted entries in the place of a run, in one step.
func (s *spool) replaceRun(r *run, e []entry, c *blockCoder) error {
	name := s.scratch.path(r.name)
	half := name[:len(name)-len("run")] + "half"
	f, err := s.scratch.fs.Create(half)
	if err != nil {
		return fmt.Errorf("sort entries: %w", err)
	}
	w := newRunWriter(f, runInfo{sorted: true}, c)
	err = errors.Join(w.add(e), w.end())
	if err == nil && s.durable {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.scratch.fs.Rename(half, name); err != nil {
		return fmt.Errorf("sort entries: %w", err)
	}
	s.spilled.Add(w.info.bytes)
	r.runInfo = w.info
	return nil
}

// fileBytes is the bytes of the runs in files.
func (s *spool) fileBytes() (n int64) {
	for _, r := range s.runs {
		n += r.bytes
	}
	return n
}
