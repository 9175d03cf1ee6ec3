// Package source reads a store for package factor and the packages below it: it reports the progress of reading, finds
// the rows and columns that a view keeps by their ids or titles, and states errors of a view with ids.
package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"unicode"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Source is a store that reports how much of it has been read.
type Source struct {
	*csr.Store
	rows, cols csr.Axis // axes of the store that hold the user's rows and columns

	read     atomic.Int64
	toRead   int64
	progress atomic.Pointer[func(done, total int64)] // may be nil
}

// New returns a Source of a store.
func New(store *csr.Store) *Source {
	rows, cols := csr.Orient(store, csr.RowAxis, csr.ColAxis)
	return &Source{Store: store, rows: rows, cols: cols}
}

// Count starts the progress, in bytes, of a phase that reads all blocks the given number of times.
func (s *Source) Count(reads int, progress func(done, total int64)) {
	s.read.Store(0)
	s.toRead = 0
	for i := range s.NumBlocks() {
		s.toRead += int64(reads) * s.Block(i).Size
	}
	s.progress.Store(&progress)
}

// DecodeBlock decodes a block of the store and counts its bytes.
func (s *Source) DecodeBlock(i int, dst *csr.Block) error {
	err := s.Store.DecodeBlock(i, dst)
	s.Read(s.Block(i).Size)
	return err
}

// Read adds to the bytes of the store that have been read.
func (s *Source) Read(bytes int64) {
	if f := s.progress.Load(); f != nil {
		(*f)(s.read.Add(bytes), s.toRead)
	}
}

// Interrupted is the text of the error of a Measure that was cancelled.
const Interrupted = "interrupted while the statistics of the view were measured; nothing is written"

// Measure reads the store for the statistics of a view of it.
func (s *Source) Measure(ctx context.Context, v *view.View, o stream.Options, progress func(done, total int64)) error {
	return s.MeasureBy(v, progress, func() error { return v.Measure(ctx, o) })
}

// MeasureBy is Measure by a function, which calls Read for bytes that it does not read through s.
func (s *Source) MeasureBy(v *view.View, progress func(done, total int64), measure func() error) error {
	s.Count(v.Reads(), progress)
	err := measure()
	s.progress.Store(nil)
	return s.Named(err)
}

// Named returns the error of a read through a view with the ids of the row and column of its value; other errors are unchanged.
func (s *Source) Named(err error) error {
	var at *view.ValueError
	if !errors.As(err, &at) {
		return err
	}
	row, col := s.IDOf(csr.RowAxis, at.Row), s.IDOf(csr.ColAxis, at.Col)
	return &named{at.Say("row "+row, "column "+col), err}
}

type named struct {
	text string
	err  error
}

func (n *named) Error() string { return n.text }
func (n *named) Unwrap() error { return n.err }

// IDOf returns the id of a row or column of the user's matrix, for an error.
func (s *Source) IDOf(axis csr.Axis, i int64) string {
	of := s.rows
	if axis == csr.ColAxis {
		of = s.cols
	}
	plain := fmt.Sprintf("%d (from 0)", i)
	r, err := s.IDs(of)
	if r == nil || err != nil {
		return plain
	}
	defer r.Close()
	for at := int64(0); r.Next(); at++ {
		if at == i {
			if r.Kind() == csr.IntIDs {
				return r.String()
			}
			return fmt.Sprintf("%q", r.String())
		}
	}
	return plain
}

// Value returns the current id of a reader: an int64 or a string.
func Value(r *csr.IDReader) any {
	if r.Kind() == csr.IntIDs {
		return r.Int()
	}
	return r.String()
}

// maxList is the largest size in bytes of a file with ids.
const maxList = 64 << 20

// listShare is the divisor of the memory budget that a file with ids may take. The offsets of its ids take at most twice as much.
const listShare = 8

// Keep reads the lists of the columns or rows that a pipeline keeps, within a memory budget in bytes. It logs how many ids of a
// list the matrix does not have.
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
			return nil, fmt.Errorf("%v: %d of %d ids, such as %q in line %d, are not among the %s of %s: give ids as the file that was ingested has them, or whole titles, one a line", p[step], unknown, ids, id, line, p[step].Axis, s.Path())
		case unknown > 0:
			log.Warn("some ids of a list are not in the store, and are left out", "list", file, "unknown", unknown, "ids", ids)
		}
		return view.NewMask(kept), nil
	})
}

// list holds the ids of a file, one a line, each once.
type list struct {
	text  []byte
	at    []uint32 // offsets of the ids in text, ascending by id
	found []bool   // whether find has found the id
	known int      // number of ids found
}

// parseList finds the ids in the lines of a text. Blank lines and repeated ids are left out.
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

// first returns the first id of the file that has not been found, and its line.
func (l *list) first() (id string, line int) {
	first := uint32(len(l.text))
	for i, at := range l.at {
		if !l.found[i] {
			first = min(first, at)
		}
	}
	return string(l.id(first)), 1 + bytes.Count(l.text[:first], []byte("\n"))
}

// find returns which of the user's columns or rows have an id in the list, or a title that is in the list and is no id.
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
		if i, in := l.search(r.String()); in {
			kept[at], l.found[i] = true, true
			l.known++
		}
	}
	titles, err := s.Titles(axis)
	if titles == nil || cmp.Or(r.Err(), err) != nil || l.known == len(l.at) {
		return kept, cmp.Or(r.Err(), err)
	}
	defer func() { err = errors.Join(err, titles.Close()) }()
	titled := make([]bool, len(l.at))
	for at := range titles.Count() {
		title, err := titles.At(at)
		if err != nil {
			return nil, err
		}
		i, in := l.search(title)
		switch {
		case !in || l.found[i]:
		case titled[i]:
			users := csr.ColAxis
			if of == "rows" {
				users = csr.RowAxis
			}
			return nil, fmt.Errorf("%q is the title of several %s, such as that with the id %s: a list that keeps them names them by ids", title, of, s.IDOf(users, at))
		default:
			kept[at], titled[i] = true, true
			l.known++
		}
	}
	for i := range titled {
		l.found[i] = l.found[i] || titled[i]
	}
	return kept, nil
}

func (l *list) search(id string) (int, bool) {
	return slices.BinarySearchFunc(l.at, []byte(id), func(at uint32, id []byte) int { return bytes.Compare(l.id(at), id) })
}
