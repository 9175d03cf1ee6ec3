package ingest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// An idLog is a file of the ids of a dictionary in order of appearance, so that
// an ingest that is resumed gives them the same temporary ids. An id is its
// length and its text.
type idLog struct {
	f     vfs.File
	state logState
	old   []string // names of logs that are of no use once the next journal is written
}

// A logState is how far a log is valid. The ids behind are of a later time.
type logState struct {
	Name  string
	N     int
	Bytes int64
	CRC   uint32
}

// save appends the ids that are new in the dictionary.
func (l *idLog) save(s *scratch, d *dictionary) error {
	if l.state.N == d.n {
		return nil
	}
	if l.f == nil {
		var err error
		if l.f, err = s.create("log"); err != nil {
			return err
		}
		l.state = logState{Name: baseName(l.f)}
	}
	var buf []byte
	for t := l.state.N; t < d.n; t++ {
		if d.isText {
			id := d.text.at(t)
			buf = append(binary.AppendUvarint(buf, uint64(len(id))), id...)
		} else {
			buf = appendIntText(buf, d.ints.at(t))
		}
		if len(buf) < runBuffer && t+1 < d.n {
			continue
		}
		if _, err := l.f.WriteAt(buf, l.state.Bytes); err != nil {
			return fmt.Errorf("spill ids: %w", err)
		}
		l.state.CRC = crc.Update(l.state.CRC, buf)
		l.state.Bytes += int64(len(buf))
		buf = buf[:0]
	}
	l.state.N = d.n
	return nil
}

// appendIntText appends an integer as a record of the log.
func appendIntText(dst []byte, n int64) []byte {
	at := len(dst)
	dst = append(dst, 0) // no integer is as long as 128 digits
	dst = strconv.AppendInt(dst, n, 10)
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

// forget begins anew: the dictionary is empty again.
func (l *idLog) forget(s *scratch) error {
	if l.f == nil {
		return nil
	}
	l.old = append(l.old, l.state.Name)
	f := l.f
	l.f, l.state = nil, logState{}
	return s.complete(f) // a save under way may be making it durable
}

func (l *idLog) close() error {
	f := l.f
	if l.f = nil; f == nil {
		return nil
	}
	return f.Close()
}

// load reads the valid part of a log into an empty dictionary. The next save
// writes a log of its own.
func (st logState) load(s *scratch, d *dictionary) (err error) {
	if st.N == 0 {
		return nil
	}
	f, err := s.fs.Open(s.path(st.Name))
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := &summing{r: io.NewSectionReader(f, 0, st.Bytes)}
	r := bufio.NewReaderSize(sum, runBuffer)
	var c format.Keys
	var id []byte
	var temp []uint32
	for n := 0; n < st.N; n++ {
		size, err := binary.ReadUvarint(r)
		if err != nil || size > maxIDBytes {
			return errTempDamaged
		}
		if uint64(cap(id)) < size {
			id = make([]byte, size)
		}
		id = id[:size]
		if _, err := io.ReadFull(r, id); err != nil {
			return errTempDamaged
		}
		c.Add(id)
		if n%runBlock == runBlock-1 || n == st.N-1 {
			temp = d.encode(&c, temp[:0])
			c.Reset()
		}
	}
	if _, err := r.ReadByte(); err != io.EOF || sum.crc != st.CRC || d.n != st.N {
		return errTempDamaged
	}
	return nil
}

// summing takes the crc of what is read.
type summing struct {
	r   io.Reader
	crc uint32
}

func (s *summing) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.crc = crc.Update(s.crc, p[:n])
	return n, err
}
