// Package extsort sorts entries, a key and a value each, within a memory budget.
//
// A [Spool] takes entries in any order and keeps them in runs: in memory while they fit, packed to 8 bytes if keys are small
// and values few, then in files. Sort replaces the keys and sorts each run; a sorted file replaces the unsorted file in one
// step. Reduce merges runs until no more are left than can be read at the same time. Merge returns all entries in order.
//
// Entries with equal keys stay in order of arrival, or are ordered by value ([Order]). The file of a run has a CRC-32C; a
// damaged file is scratch.ErrDamaged.
package extsort

import (
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// A Budget limits the memory of a Spool. It affects the speed, not the result.
type Budget struct {
	Space   int64 // bytes for entries, sorting and data held elsewhere
	Keep    int64 // bytes of entries kept in memory, without the memory for sorting
	Run     int   // largest number of entries of a run
	First   int   // entries of the first buffer; each further buffer is twice as large, up to Run
	ReadBuf int   // bytes read at a time from one run while merging
	FanIn   int   // largest number of runs merged at the same time
}

// CursorBytes returns the bytes that reading one run takes while merging.
func (b Budget) CursorBytes() int64 { return int64(b.ReadBuf) + BlockEntries*EntryBytes + 1<<12 }

// A Spool holds entries in runs: in memory while the budget lasts, then each in a file of its own, which its sorted form
// replaces. The runs in memory are either all packed or all unpacked.
type Spool struct {
	Final   bool // keys are places already: a run that comes in order needs no sorting
	N       int64
	Most    int  // largest number of runs at the same time
	InFiles bool // entries no longer fit in memory: runs are in files

	// Beside, unless "", is the prefix of the names of sorted runs. Files of unsorted runs are then kept: they are only lent.
	Beside string

	budget Budget
	dir    *scratch.Dir
	held   func() int64 // bytes held elsewhere out of Budget.Space
	cur    []Entry      // run being filled, if not packed
	tight  bool         // entries are packed while they are in memory
	packed []uint64     // run being filled, if packed
	values valueTable
	runs   []run
	bytes  int64 // bytes of the runs in memory
	users  int   // generations of the ids of the run being filled, with items
	items  int

	spilled atomic.Int64 // bytes written to files
	coder   Coder
}

// A run is a sequence of entries, in arrival order until sorted.
type run struct {
	mem    []Entry  // nil: the run is packed or in a file
	packed []uint64 // nil: the run is not packed
	name   string
	lent   bool
	runInfo
}

// New returns a spool whose files are in dir. tight packs entries and is allowed if keys are pairs of temporary ids, one in
// each half. held returns the bytes of the budget that are held elsewhere.
func New(b Budget, dir *scratch.Dir, tight bool, held func() int64) *Spool {
	return &Spool{budget: b, dir: dir, tight: tight, held: held}
}

// Loose tells an empty spool that keys are not pairs of temporary ids, so that entries are not packed.
func (s *Spool) Loose() { s.tight = false }

func (s *Spool) Files() (names []string) {
	for _, r := range s.runs {
		names = append(names, r.name)
	}
	return names
}

func (s *Spool) Spilled() int64 { return s.spilled.Load() }

// Restore fills an empty spool with the runs in files of an interrupted ingest.
func (s *Spool) Restore(files []string, users, items, most int, spilled int64) error {
	s.InFiles, s.cur = true, make([]Entry, 0, s.budget.Run)
	s.users, s.items = users, items
	err := s.Adopt(files, 0, 0, spilled)
	s.Most = max(s.Most, most)
	return err
}

// Adopt takes over the runs in files. It adds users and items to the generations of their ids.
func (s *Spool) Adopt(files []string, users, items int, spilled int64) error {
	s.spilled.Add(spilled)
	for _, name := range files {
		info, err := readRunInfo(s.dir.FS, s.dir.Path(name))
		if err != nil {
			return err
		}
		info.users, info.items = info.users+users, info.items+items
		if info.n > 0 {
			s.addRun(run{name: name, lent: s.Beside != "", runInfo: info})
		}
		s.N += int64(info.n)
	}
	return nil
}

// Give empties a spool whose runs are files and returns the names of the files.
func (s *Spool) Give() (files []string) {
	files = s.Files()
	s.runs, s.N = nil, 0
	s.spilled.Store(0)
	return files
}

func (s *Spool) Add(keys []uint64, vals []float64) error {
	for len(keys) > 0 {
		n, err := 0, error(nil)
		if s.tight && !s.InFiles {
			n, err = s.addPacked(keys, vals)
		} else {
			n, err = s.addLoose(keys, vals)
		}
		if err != nil {
			return err
		}
		s.N += int64(n)
		keys, vals = keys[n:], vals[n:]
	}
	return nil
}

func (s *Spool) addLoose(keys []uint64, vals []float64) (int, error) {
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
		room[i] = Entry{key, vals[i]}
	}
	return n, nil
}

func (s *Spool) seal() error {
	if s.InFiles {
		return s.Flush()
	}
	next := max(s.budget.First, min(2*(cap(s.cur)+cap(s.packed)), s.budget.Run))
	s.keep()
	switch {
	case s.full(int64(next) * s.entryBytes()):
		return s.spill()
	case s.tight:
		s.packed = make([]uint64, 0, next)
	default:
		s.cur = make([]Entry, 0, next)
	}
	return nil
}

// Flush writes the run being filled to a file, unless it is empty.
func (s *Spool) Flush() error {
	if len(s.cur) == 0 {
		return nil
	}
	if err := s.writeRun(&run{mem: s.cur}); err != nil {
		return err
	}
	s.cur = s.cur[:0]
	return nil
}

// full reports whether the given bytes exceed the budget, in addition to the runs in memory.
func (s *Spool) full(more int64) bool {
	b := s.bytes + more
	return b > s.budget.Keep || b+s.sortBytes() > s.budget.Space-s.held()
}

func (s *Spool) keep() {
	if n := len(s.cur) + len(s.packed); n > 0 {
		s.addRun(run{mem: s.cur, packed: s.packed, runInfo: runInfo{n: n, users: s.users, items: s.items}})
		s.bytes += s.filling()
	}
	s.cur, s.packed = nil, nil
}

func (s *Spool) filling() int64 {
	return int64(cap(s.cur))*EntryBytes + int64(cap(s.packed))*PackedBytes
}

func (s *Spool) addRun(r run) {
	s.runs = append(s.runs, r)
	s.Most = max(s.Most, len(s.runs))
}

// sortBytes returns the bytes reserved for the scratch buffer of one sorter.
func (s *Spool) sortBytes() int64 { return int64(s.budget.Run) * s.entryBytes() }

func (s *Spool) entryBytes() int64 {
	if s.tight && !s.InFiles {
		return PackedBytes
	}
	return EntryBytes
}

// spill moves all runs to files; later runs are files, too.
func (s *Spool) spill() error {
	s.keep()
	s.InFiles = true
	mem := s.runs
	s.runs, s.bytes = nil, 0
	for i := range mem {
		if err := s.writeRun(&mem[i]); err != nil {
			return err
		}
		mem[i].mem, mem[i].packed = nil, nil
	}
	s.cur = make([]Entry, 0, s.budget.Run)
	return nil
}

// Adjust moves the runs to files if the bytes held elsewhere require it; ok: the bytes left suffice for sorting.
func (s *Spool) Adjust() (ok bool, err error) {
	if !s.InFiles && s.full(s.filling()) {
		if err := s.spill(); err != nil {
			return false, err
		}
	}
	return !s.InFiles || 2*s.sortBytes() <= s.budget.Space-s.held(), nil
}

// Turn ends the run being filled and moves runs in memory to files, because a generation of ids ends. Later runs have the
// given generations.
func (s *Spool) Turn(users, items int) error {
	var err error
	if s.InFiles {
		err = s.Flush()
	} else {
		err = s.spill()
	}
	s.users, s.items = users, items
	return err
}

// Finish ends the last run, so that entries can be sorted.
func (s *Spool) Finish() error {
	if s.InFiles {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	s.keep()
	return nil
}

func (s *Spool) writeRun(r *run) error {
	f, err := s.dir.Create("run")
	if err != nil {
		return err
	}
	w := newRunWriter(f, runInfo{users: s.users, items: s.items, sorted: s.Final && ascending(r.mem)}, &s.coder)
	if err := errors.Join(s.addTo(w, r), w.end()); err != nil {
		return errors.Join(err, f.Close())
	}
	s.spilled.Add(w.info.bytes)
	s.addRun(run{name: filepath.Base(f.Name()), runInfo: w.info})
	return s.dir.Complete(f)
}

// ascending reports whether e has entries, with strictly ascending keys: such a run is sorted in every Order.
func ascending(e []Entry) bool {
	for i := range max(0, len(e)-1) {
		if e[i].Key >= e[i+1].Key {
			return false
		}
	}
	return len(e) > 0
}

func (s *Spool) addTo(w *runWriter, r *run) error {
	if r.packed == nil {
		return w.add(r.mem)
	}
	buf := make([]Entry, BlockEntries)
	for part := range slices.Chunk(r.packed, BlockEntries) {
		s.values.unpack(buf, part, false)
		if err := w.add(buf[:len(part)]); err != nil {
			return err
		}
	}
	return nil
}

// Drop releases memory and removes the files.
func (s *Spool) Drop() error {
	var err error
	for _, r := range s.runs {
		if r.mem == nil && r.packed == nil {
			err = errors.Join(err, s.dir.RemoveFile(r.name))
		}
	}
	s.cur, s.packed, s.runs = nil, nil, nil
	return err
}

func (s *Spool) FileBytes() (n int64) {
	for _, r := range s.runs {
		n += r.bytes
	}
	return n
}
