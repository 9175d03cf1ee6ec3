package ids

import (
	"context"
	"fmt"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// A log is a list of the ids of a dictionary in order of appearance, as texts, from which a resumed ingest gives them the same
// temporary ids.
type log struct {
	w     *listWriter
	state List     // the valid part of the log; ids behind it were added after the last save
	old   []string // names of logs to remove when the next journal has been written
}

func (l *log) save(s *scratch.Dir, d *Dictionary) (err error) {
	if l.state.N == int64(d.N) {
		return nil
	}
	if l.w == nil {
		l.outdate()
		if l.w, err = newList(s, "log", true); err != nil {
			return err
		}
	}
	var digits [20]byte
	for t := l.w.list.N; t < int64(d.N); t++ {
		id := d.id(uint32(t))
		if !d.isText {
			id.Text = strconv.AppendInt(digits[:0], id.Int, 10)
		}
		if err := l.w.add(&id); err != nil {
			return err
		}
	}
	l.state = l.w.list
	if err := l.w.w.Flush(); err != nil {
		return fmt.Errorf("spill ids: %w", err)
	}
	return nil
}

// forget begins a new log for a dictionary that is empty again. The file of the old log stays open for the next save, however
// many files are waiting for that: a save in progress may be syncing it.
func (l *log) forget(s *scratch.Dir) {
	l.outdate()
	if l.w != nil {
		s.Unsynced = append(s.Unsynced, l.w.f)
	}
	l.w, l.state = nil, List{}
}

// outdate marks the log for removal once the next journal, which names another log or none, is written.
func (l *log) outdate() {
	if l.state.Name != "" {
		l.old = append(l.old, l.state.Name)
	}
}

func (l *log) close() error {
	w := l.w
	l.w = nil
	if w == nil {
		return nil
	}
	return w.f.Close()
}

// readLog reads the valid part of a log into an empty dictionary. Nothing is appended to that log: the next save that has new
// ids writes a new log.
func readLog(s *scratch.Dir, l List, d *Dictionary) error {
	if l.N == 0 {
		return nil
	}
	var c format.Keys
	var temp []uint32
	n := int64(0)
	err := mergeLists(s, context.Background(), []List{l}, nil, func(id *ID) error {
		c.Add(id.Text)
		if n++; n%extsort.BlockEntries == 0 || n == l.N {
			temp = d.Encode(&c, temp[:0])
			c.Reset()
		}
		return nil
	})
	if err == nil && int64(d.N) != l.N {
		err = scratch.ErrDamaged
	}
	return err
}
