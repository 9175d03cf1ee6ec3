package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"unicode"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream/view"
	"github.com/gdsvd/gdsvd/vfs"
)

// maxList bounds the size of a file with ids.
const maxList = 64 << 20

// listShare is the part of the memory budget that a file with ids may have. Where its ids begin takes at most twice as much beside it.
const listShare = 8

// Keep reads the lists that a pipeline keeps columns or rows of, within a memory budget in bytes. It logs ids in them that the matrix does not have.
func (s *Source) Keep(fsys vfs.FS, p view.Pipeline, memory int64, log *slog.Logger) (view.Pipeline, error) {
	return p.Resolve(func(step int, file string) (*view.Mask, error) {
		if file == "" {
			return nil, fmt.Errorf("%v names what a result keeps by its checksum: give the FILE with their ids", p[step])
		}
		b, err := vfs.ReadFile(fsys, file, min(maxList, memory/listShare))
		if errors.Is(err, vfs.ErrTooLarge) && memory/listShare < maxList {
			err = fmt.Errorf("%w: a list of ids has an eighth of the memory budget: give a larger one", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%v: %w", p[step], err)
		}
		l := parseList(b)
		kept, err := l.find(s, p[step].Axis)
		if err != nil {
			return nil, err
		}
		ids := len(l.at)
		unknown := ids - l.known
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

// list is the ids of a file, one a line, each once.
type list struct {
	text  []byte
	at    []uint32 // where ids begin, ascending by id
	found []bool   // by find
	known int      // ids found
}

// parseList looks for the ids in the lines of a text. Lines without one are left out, and those that come again.
func parseList(b []byte) *list {
	l := &list{text: bytes.TrimPrefix(b, []byte("\uFEFF"))}
	l.at = make([]uint32, 0, bytes.Count(l.text, []byte("\n"))+1)
	at := 0
	for line := range bytes.Lines(l.text) {
		if id := bytes.TrimLeftFunc(line, unicode.IsSpace); len(id) > 0 {
			l.at = append(l.at, uint32(at+len(line)-len(id)))
		}
		at += len(line)
	}
	slices.SortFunc(l.at, func(a, b uint32) int {
		return cmp.Or(bytes.Compare(l.id(a), l.id(b)), cmp.Compare(a, b))
	})
	l.at = slices.CompactFunc(l.at, func(a, b uint32) bool { return bytes.Equal(l.id(a), l.id(b)) })
	l.found = make([]bool, len(l.at))
	return l
}

func (l *list) id(at uint32) []byte {
	line, _, _ := bytes.Cut(l.text[at:], []byte("\n"))
	return bytes.TrimSpace(line)
}

// first is the id in the first line of those that have not been found.
func (l *list) first() (id string, line int) {
	first := uint32(len(l.text))
	for i, at := range l.at {
		if !l.found[i] {
			first = min(first, at)
		}
	}
	return string(l.id(first)), 1 + bytes.Count(l.text[:first], []byte("\n"))
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
		id := []byte(r.String())
		i, in := slices.BinarySearchFunc(l.at, id, func(at uint32, id []byte) int { return bytes.Compare(l.id(at), id) })
		if in {
			kept[at], l.found[i] = true, true
			l.known++
		}
	}
	return kept, r.Err()
}
