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
		if len(bytes.TrimSpace(line)) > 0 {
			l.at = append(l.at, uint32(at))
		}
		at += len(line)
	}
	slices.SortFunc(l.at, func(a, b uint32) int {
		return cmp.Or(bytes.Compare(bytes.TrimSpace(l.id(a)), bytes.TrimSpace(l.id(b))), bytes.Compare(l.id(a), l.id(b)), cmp.Compare(a, b))
	})
	l.at = slices.CompactFunc(l.at, func(a, b uint32) bool { return bytes.Equal(l.id(a), l.id(b)) })
	l.found = make([]bool, len(l.at))
	return l
}

// id returns the line at an offset without its end.
func (l *list) id(at uint32) []byte {
	line, _, _ := bytes.Cut(l.text[at:], []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// first returns the first id of the file that has not been found, and its line.
func (l *list) first() (id string, line int) {
	first := uint32(len(l.text))
	for i, at := range l.at {
		if !l.found[i] {
			first = min(first, at)
		}
	}
	return string(bytes.TrimSpace(l.id(first))), 1 + bytes.Count(l.text[:first], []byte("\n"))
}

// find returns which of the user's columns or rows have an id in the list, or a title that is in the list and is no id. Blanks
// around an id of the list are part of the id only if the matrix has such an id.
func (l *list) find(s *Source, of string) (kept []bool, err error) {
	axis, users := s.cols, csr.ColAxis
	if of == "rows" {
		axis, users = s.rows, csr.RowAxis
	}
	kept = make([]bool, [...]int64{csr.RowAxis: s.Rows(), csr.ColAxis: s.Cols()}[axis])
	for _, exact := range []bool{true, false} {
		if l.known == len(l.at) {
			return kept, nil
		}
		r, err := s.IDs(axis)
		if err != nil {
			return nil, err
		}
		for at := 0; r.Next(); at++ {
			for _, i := range l.search(r.String(), exact) {
				kept[at], l.found[i] = true, true
				l.known++
			}
		}
		if err := errors.Join(r.Err(), r.Close()); err != nil {
			return nil, err
		}
	}
	titles, err := s.Titles(axis)
	if titles == nil || err != nil {
		return kept, err
	}
	defer func() { err = errors.Join(err, titles.Close()) }()
	titled := make([]bool, len(l.at))
	for at := range titles.Count() {
		title, err := titles.At(at)
		if err != nil {
			return nil, err
		}
		for _, i := range l.search(title, false) {
			if titled[i] {
				return nil, fmt.Errorf("%q is the title of several %s, such as that with the id %s: a list that keeps them names them by ids", title, of, s.IDOf(users, at))
			}
			kept[at], titled[i] = true, true
			l.known++
		}
	}
	for i := range titled {
		l.found[i] = l.found[i] || titled[i]
	}
	return kept, nil
}

// search returns the indices of the ids, not found yet, that equal id or, unless exact is true, equal it without their blanks.
func (l *list) search(id string, exact bool) (all []int) {
	bare := bytes.TrimSpace([]byte(id))
	i, _ := slices.BinarySearchFunc(l.at, bare, func(at uint32, bare []byte) int { return bytes.Compare(bytes.TrimSpace(l.id(at)), bare) })
	for ; i < len(l.at) && bytes.Equal(bytes.TrimSpace(l.id(l.at[i])), bare); i++ {
		if !l.found[i] && (string(l.id(l.at[i])) == id || !exact && string(bare) == id) {
			all = append(all, i)
		}
	}
	return all
}
