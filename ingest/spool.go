package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// A spool holds entries in runs: in memory while the budget lasts, then in a
// temporary file, where each run is sorted in place.
type spool struct {
	plan plan
	fs   vfs.FS
	dir  string
	held func() int64 // bytes held elsewhere out of plan.space

	n     int64
	cur   []entry // the run being filled
	runs  []run
	bytes int64 // of the runs in memory
	file  vfs.File
	end   int64 // of file
	files int   // made so far
	// spilled counts the bytes written to temporary files.
	spilled atomic.Int64
	codec   fileCodec
}

// A run is a sequence of entries, in arrival order until sorted.
type run struct {
	mem []entry // nil: in the file
	off int64
	n   int
	crc uint32 // of the bytes in the file
	// Least and largest key, once sorted.
	least, most uint64
}

func newSpool(p plan, fsys vfs.FS, dir string, held func() int64) *spool {
	return &spool{plan: p, fs: fsys, dir: dir, held: held, cur: make([]entry, 0, p.first)}
}

// room is space for at least one and at most n entries, to be filled by the caller.
func (s *spool) room(n int) ([]entry, error) {
	if len(s.cur) == cap(s.cur) {
		if err := s.seal(); err != nil {
			return nil, err
		}
	}
	at := len(s.cur)
	n = min(n, cap(s.cur)-at)
	s.cur = s.cur[:at+n]
	s.n += int64(n)
	return s.cur[at:], nil
}

// seal ends the run being filled and begins another.
func (s *spool) seal() error {
	if s.file != nil {
		if err := s.writeRun(s.cur); err != nil {
			return err
		}
		s.cur = s.cur[:0]
		return nil
	}
	s.keep()
	next := min(2*cap(s.cur), s.plan.run)
	s.cur = nil
	if s.full(next) {
		return s.spill()
	}
	s.cur = make([]entry, 0, next)
	return nil
}

// full tells whether n entries more than those of the runs in memory are too many.
func (s *spool) full(n int) bool {
	b := s.bytes + int64(n)*entrySize
	return b > s.plan.keep || b+s.sortBytes() > s.plan.space-s.held()
}

// keep adds the run being filled to those in memory.
func (s *spool) keep() {
	s.runs = append(s.runs, run{mem: s.cur, n: len(s.cur)})
	s.bytes += int64(cap(s.cur)) * entrySize
}

// sortBytes is set aside for the scratch of one sorter.
func (s *spool) sortBytes() int64 { return int64(s.plan.run) * entrySize }

// spill moves all runs to a file and goes on there.
func (s *spool) spill() error {
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	mem := s.runs
	s.runs, s.bytes = nil, 0
	for i := range mem {
		if err := s.writeRun(mem[i].mem); err != nil {
			return err
		}
		mem[i].mem = nil
	}
	if len(s.cur) > 0 {
		if err := s.writeRun(s.cur); err != nil {
			return err
		}
	}
	s.cur = make([]entry, 0, s.plan.run)
	return nil
}

// adjust makes room for what is held elsewhere; it tells whether there is any to make.
func (s *spool) adjust() (ok bool, err error) {
	if s.file == nil && s.full(cap(s.cur)) {
		if err := s.spill(); err != nil {
			return false, err
		}
	}
	return s.file == nil || 2*s.sortBytes() <= s.plan.space-s.held(), nil
}

// finish ends the last run: entries can be sorted now.
func (s *spool) finish() error {
	if len(s.cur) > 0 {
		if s.file == nil {
			s.keep()
		} else if err := s.writeRun(s.cur); err != nil {
			return err
		}
	}
	s.cur = nil
	return nil
}

func (s *spool) create() error {
	f, err := s.fs.Create(filepath.Join(s.dir, fmt.Sprintf("entries-%d.tmp", s.files)))
	if err != nil {
		return fmt.Errorf("spill entries: %w", err)
	}
	s.files++
	s.file, s.end = f, 0
	return nil
}

// writeRun appends a run to the file.
func (s *spool) writeRun(e []entry) error {
	crc, err := s.codec.write(s.file, s.end, e)
	if err != nil {
		return fmt.Errorf("spill entries: %w", err)
	}
	s.runs = append(s.runs, run{off: s.end, n: len(e), crc: crc})
	s.end += int64(len(e)) * entrySize
	s.spilled.Add(int64(len(e)) * entrySize)
	return nil
}

// close removes the temporary file.
func (s *spool) close() error {
	s.cur, s.runs = nil, nil
	f := s.file
	if f == nil {
		return nil
	}
	s.file = nil
	return errors.Join(f.Close(), s.fs.Remove(f.Name()))
}

// sort rewrites the key of every entry with remap (unless nil) and sorts every
// run by order. done receives the number of entries of each run sorted.
func (s *spool) sort(ctx context.Context, workers int, remap func([]entry), by sortOrder, done func(int)) error {
	largest := 0
	for _, r := range s.runs {
		largest = max(largest, r.n)
	}
	each := int64(largest) * entrySize
	if s.file != nil {
		each *= 2
	}
	if each > 0 {
		workers = int(max(1, min(int64(workers), (s.plan.space-s.held()-s.bytes)/each)))
	}
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	var mu sync.Mutex
	for range min(workers, len(s.runs)) {
		g.Go(func() error {
			w := sorter{by: by, largest: largest}
			for i := int(next.Add(1) - 1); i < len(s.runs) && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := s.sortRun(&s.runs[i], remap, &w); err != nil {
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

func (s *spool) sortRun(r *run, remap func([]entry), w *sorter) error {
	e := r.mem
	if e == nil {
		if w.load == nil {
			w.load = make([]entry, w.largest)
		}
		e = w.load[:r.n]
		crc, err := w.codec.read(s.file, r.off, e)
		if err != nil {
			return fmt.Errorf("sort entries: %w", err)
		}
		if crc != r.crc {
			return errTempDamaged
		}
	}
	if remap != nil {
		remap(e)
	}
	w.sort(e)
	r.least, r.most = e[0].key, e[len(e)-1].key
	if r.mem != nil {
		return nil
	}
	crc, err := w.codec.write(s.file, r.off, e)
	if err != nil {
		return fmt.Errorf("sort entries: %w", err)
	}
	r.crc = crc
	s.spilled.Add(int64(r.n) * entrySize)
	return nil
}

var errTempDamaged = errors.New("sort entries: a temporary file does not hold what was written to it")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A fileCodec moves entries to and from a file through a small buffer.
type fileCodec struct{ buf []byte }

const codecBuf = 1 << 18

func (c *fileCodec) buffer() []byte {
	if c.buf == nil {
		c.buf = make([]byte, codecBuf)
	}
	return c.buf
}

// write writes e at off and returns the crc of its bytes.
func (c *fileCodec) write(f vfs.File, off int64, e []entry) (crc uint32, err error) {
	return c.writeMore(f, off, e, 0)
}

// writeMore is write, going on from the crc of what came before.
func (c *fileCodec) writeMore(f vfs.File, off int64, e []entry, crc uint32) (uint32, error) {
	buf := c.buffer()
	for len(e) > 0 {
		n := min(len(e), codecBuf/entrySize)
		b := buf[:n*entrySize]
		for i, x := range e[:n] {
			putEntry(b[i*entrySize:], x)
		}
		if _, err := f.WriteAt(b, off); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, castagnoli, b)
		e, off = e[n:], off+int64(len(b))
	}
	return crc, nil
}

// read fills e from off and returns the crc of the bytes.
func (c *fileCodec) read(f vfs.File, off int64, e []entry) (crc uint32, err error) {
	return c.readMore(f, off, e, 0)
}

// readMore is read, going on from the crc of what came before.
func (c *fileCodec) readMore(f vfs.File, off int64, e []entry, crc uint32) (uint32, error) {
	buf := c.buffer()
	for len(e) > 0 {
		n := min(len(e), codecBuf/entrySize)
		b := buf[:n*entrySize]
		if _, err := f.ReadAt(b, off); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, castagnoli, b)
		for i := range e[:n] {
			e[i] = getEntry(b[i*entrySize:])
		}
		e, off = e[n:], off+int64(len(b))
	}
	return crc, nil
}

func putEntry(b []byte, e entry) {
	binary.LittleEndian.PutUint64(b, e.key)
	binary.LittleEndian.PutUint64(b[8:], math.Float64bits(e.val))
}

func getEntry(b []byte) entry {
	return entry{binary.LittleEndian.Uint64(b), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))}
}
