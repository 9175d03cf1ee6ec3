// Package extsort sorts entries, a key and a value each, within a memory budget.
//
// A [Spool] takes entries in any order, in runs: in memory as long as they fit, packed to
// 8 bytes where keys are small and values few, then in files. Sort rewrites the keys and
// sorts each run, its sorted form replacing a file in one step; Reduce merges runs
// until no more are left than may be read at a time; Merge gives all entries in order.
//
// Entries of one key stay in order of arrival, or go by value ([Order]). A file of a run has a
// CRC-32C; a damaged one is scratch.ErrDamaged.
package extsort

import (
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// A Budget is the memory of a Spool. Only the speed depends on it.
type Budget struct {
	Space   int64 // bytes for entries, sorting and what is held elsewhere
	Keep    int64 // bytes of entries kept in memory, room for sorting not counted
	Run     int   // entries sorted at a time
	First   int   // entries of the first buffer; each further one is twice as large, up to Run
	ReadBuf int   // bytes read at a time from one run while merging
	FanIn   int   // runs merged at a time
}

// CursorBytes is what reading one run takes while merging.
func (b Budget) CursorBytes() int64 { return int64(b.ReadBuf) + BlockEntries*EntryBytes + 1<<12 }

// A Spool holds entries in runs: in memory while the budget lasts, then each in
// a file of its own, which its sorted form replaces. Those in memory are either
// all packed or none is.
type Spool struct {
	Final   bool // keys are places already: a run that comes in order needs no sorting
	N       int64
	Most    int  // runs there were at a time
	InFiles bool // the budget for memory is used up

	// Beside begins the names of sorted runs, which take the place of none then: runs of files are lent, and not removed.
	Beside string

	budget Budget
	dir    *scratch.Dir
	held   func() int64 // bytes held elsewhere out of Budget.Space
	cur    []Entry      // the run being filled
	tight  bool         // entries are packed, as long as they are in memory
	packed []uint64     // the run being filled, if they are
	values valueTable
	runs   []run
	bytes  int64 // of the runs in memory
	users  int   // generations of the ids of the run being filled
	items  int

	spilled atomic.Int64 // bytes written to files
	coder   Coder
}

// A run is a sequence of entries, in arrival order until sorted.
type run struct {
	mem    []Entry  // nil: packed or in the file
	packed []uint64 // nil: not packed
	name   string
	lent   bool
	runInfo
}

// New makes a spool whose files go to a directory. If keys are pairs of
// temporary ids, one in each half, it may be tight.
func New(b Budget, dir *scratch.Dir, tight bool, held func() int64) *Spool {
	return &Spool{budget: b, dir: dir, tight: tight, held: held}
}

// Loose tells an empty spool that keys are not pairs of temporary ids.
func (s *Spool) Loose() { s.tight = false }

func (s *Spool) Files() (names []string) {
	for _, r := range s.runs {
		names = append(names, r.name)
	}
	return names
}

func (s *Spool) Spilled() int64 { return s.spilled.Load() }

// Restore fills an empty spool with the runs of files, of an ingest that was interrupted.
func (s *Spool) Restore(files []string, users, items, most int, spilled int64) error {
	s.InFiles, s.cur = true, make([]Entry, 0, s.budget.Run)
	s.users, s.items = users, items
	err := s.Adopt(files, 0, 0, spilled)
	s.Most = max(s.Most, most)
	return err
}

// Adopt takes over the runs in files. users and items are added to the generations of their ids.
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

// Give empties a spool of files, which it returns.
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

// Flush writes the run being filled, if there is anything in it.
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

// full tells whether the given bytes are too many beside the runs in memory.
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

// sortBytes is set aside for the scratch of one sorter.
func (s *Spool) sortBytes() int64 { return int64(s.budget.Run) * s.entryBytes() }

func (s *Spool) entryBytes() int64 {
	if s.tight && !s.InFiles {
		return PackedBytes
	}
	return EntryBytes
}

// spill moves all runs to files and goes on there.
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

// Adjust makes room for what is held elsewhere; it tells whether there is any to make.
func (s *Spool) Adjust() (ok bool, err error) {
	if !s.InFiles && s.full(s.filling()) {
		if err := s.spill(); err != nil {
			return false, err
		}
	}
	return !s.InFiles || 2*s.sortBytes() <= s.budget.Space-s.held(), nil
}

// Turn ends the run being filled because its ids end with it: those of later
// runs have other generations.
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

// Finish ends the last run: entries can be sorted now.
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

// ascending tells whether there are entries whose keys ascend strictly: they are sorted in any order.
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

// Drop lets memory go, and removes the files.
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
