package source

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/stream/view"
)

// maxList bounds the size of a file with ids.
const maxList = 64 << 20

// Keep reads the lists that a pipeline keeps columns or rows of. It logs ids in them that the matrix does not have.
func (s *Source) Keep(fsys vfs.FS, p view.Pipeline, log *slog.Logger) (view.Pipeline, error) {
	return p.Resolve(func(step int, file string) (*view.Mask, error) {
		if file == "" {
			return nil, fmt.Errorf("%v names what a result keeps by its checksum: give the FILE with their ids", p[step])
		}
		l, err := readList(fsys, file)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", p[step], err)
		}
		kept, err := l.find(s, p[step].Axis)
		if err != nil {
			return nil, err
		}
		unknown, ids := len(l.line), l.ids
		switch {
		case ids == 0:
			return nil, fmt.Errorf("%v: the file has no ids: give one a line", p[step])
		case 2*unknown > ids:
			id, line := l.first()
			return nil, fmt.Errorf("%v: %d of %d ids, such as %q in line %d, are not among the %s of %s: give ids as the file that was ingested has them, one a line", p[step], unknown, ids, id, line, p[step].Axis, s.Path())
		case unknown > 0:
			log.Warn("some ids of a list are not in the store, and are left out", "list", file, "unknown", unknown, "ids", ids)
		}
		return view.NewMask(kept), nil
	})
}

// list is ids of a file, with the line each is first in. Those that are found are taken out.
type list struct {
	line map[string]int
	ids  int
}

func readList(fsys vfs.FS, name string) (*list, error) {
	b, err := vfs.ReadFile(fsys, name, maxList)
	if err != nil {
		return nil, err
	}
	return parseList(b), nil
}

// parseList reads ids, one a line. Lines without one are left out, and those that come again.
func parseList(b []byte) *list {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	l := &list{line: map[string]int{}}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		id := bytes.TrimSpace(line)
		if _, again := l.line[string(id)]; !again && len(id) > 0 {
			l.line[string(id)] = n
		}
	}
	l.ids = len(l.line)
	return l
}

// first is the id in the first line of those that are left.
func (l *list) first() (id string, line int) {
	for s, n := range l.line {
		if line == 0 || n < line {
			id, line = s, n
		}
	}
	return id, line
}

// find tells which of the user's columns or rows have ids in the list.
func (l *list) find(s *Source, of string) (kept []bool, err error) {
	axis, n := s.cols, s.Cols()
	if of == "rows" {
		axis = s.rows
	}
	if axis == csr.RowAxis {
		n = s.Rows()
	}
	r, err := s.IDs(axis)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	kept = make([]bool, n)
	for at := 0; r.Next(); at++ {
		id := r.String()
		if _, kept[at] = l.line[id]; kept[at] {
			delete(l.line, id)
		}
	}
	return kept, r.Err()
}
