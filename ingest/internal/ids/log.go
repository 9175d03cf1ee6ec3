package ids

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/vfs"
)

// An log is a file of the ids of a dictionary in order of appearance, so that
// an ingest that is resumed gives them the same temporary ids. An id is its
// length and its text.
type log struct {
	f     vfs.File
	state LogState
	old   []string // names of logs that are of no use once the next journal is written
}

// A LogState is how far a log is valid. The ids behind are of a later time.
type LogState struct {
	Name  string
	N     int
	Bytes int64
	CRC   uint32
}

const logBuffer = 1 << 18

func (l *log) save(s *scratch.Dir, d *Dictionary) error {
	if l.state.N == d.N {
		return nil
	}
	if l.f == nil {
		l.outdate()
		var err error
		if l.f, err = s.Create("log"); err != nil {
			return err
		}
		l.state = LogState{Name: filepath.Base(l.f.Name())}
	}
	var buf []byte
	for t := l.state.N; t < d.N; t++ {
		if d.isText {
			id := d.text.at(t)
			buf = append(binary.AppendUvarint(buf, uint64(len(id))), id...)
		} else {
			buf = appendIntText(buf, d.ints.at(t))
		}
		if len(buf) < logBuffer && t+1 < d.N {
			continue
		}
		if _, err := l.f.WriteAt(buf, l.state.Bytes); err != nil {
			return fmt.Errorf("spill ids: %w", err)
		}
		l.state.CRC = crc.Update(l.state.CRC, buf)
		l.state.Bytes += int64(len(buf))
		buf = buf[:0]
	}
	l.state.N = d.N
	return nil
}

func appendIntText(dst []byte, n int64) []byte {
	at := len(dst)
	dst = append(dst, 0) // no integer is as long as 128 digits
	dst = strconv.AppendInt(dst, n, 10)
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

func (l *log) forget(s *scratch.Dir) error {
	l.outdate()
	f := l.f
	l.f, l.state = nil, (LogState{})
	if f == nil {
		return nil
	}
	return s.Complete(f) // a save under way may be making it durable
}

// outdate notes that the log is of no use once the next journal, which names another one or none, is written.
func (l *log) outdate() {
	if l.state.Name != "" {
		l.old = append(l.old, l.state.Name)
	}
}

func (l *log) close() error {
	f := l.f
	l.f = nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// load reads the valid part of a log into an empty dictionary. It is not written any more: once there are
// further ids a save writes a log of its own.
func (st LogState) load(s *scratch.Dir, d *Dictionary) (err error) {
	if st.N == 0 {
		return nil
	}
	f, err := s.FS.Open(s.Path(st.Name))
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := &summing{r: io.NewSectionReader(f, 0, st.Bytes)}
	r := bufio.NewReaderSize(sum, logBuffer)
	var c format.Keys
	var id []byte
	var temp []uint32
	for n := 0; n < st.N; n++ {
		size, err := binary.ReadUvarint(r)
		if err != nil || size > maxIDBytes {
			return scratch.ErrDamaged
		}
		if uint64(cap(id)) < size {
			id = make([]byte, size)
		}
		id = id[:size]
		if _, err := io.ReadFull(r, id); err != nil {
			return scratch.ErrDamaged
		}
		c.Add(id)
		if n%extsort.BlockEntries == extsort.BlockEntries-1 || n == st.N-1 {
			temp = d.Encode(&c, temp[:0])
			c.Reset()
		}
	}
	if _, err := r.ReadByte(); err != io.EOF || sum.crc != st.CRC || d.N != st.N {
		return scratch.ErrDamaged
	}
	return nil
}

type summing struct {
	r   io.Reader
	crc uint32
}

func (s *summing) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.crc = crc.Update(s.crc, p[:n])
	return n, err
}
