// Package look shows what is in a store, or in a view of it, without a factorisation.
//
// [Peek] returns some rows with the ids and titles of rows and columns. [Summarise] reads the store once, in addition to the
// reads of the view, for counts, sums, means and variances of all rows and columns. It can write them to a directory: a table
// and arrays of NumPy for each side, and stats.json, which is a [Stats].
//
// Rows and columns are those of the user's matrix, whichever way it is stored. Results have the same bits for any number of
// workers and any budget that works. A directory appears in one step when it is complete, and replaces only a directory of its
// kind, if StatsOptions.Replace permits it.
package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Options are the options of Peek and Summarise.
type Options struct {
	View     view.Pipeline           // view of the store; empty: the store itself
	Memory   int64                   // budget of the whole process in bytes; 0: factor.DefaultMemory
	Workers  int                     // 0: all processors; results do not depend on it
	FS       vfs.FS                  // nil: the operating system's
	Progress func(done, total int64) // receives bytes of the store; may be nil; called concurrently
	Log      *slog.Logger            // nil: nothing is logged
}

type look struct {
	Options
	store *source.Source
	view  *view.View
}

// newLook measures the view of a store. reads is the number of reads that follow, for the progress.
func newLook(ctx context.Context, store *csr.Store, o Options, reads int) (*look, error) {
	o.Memory = cmp.Or(o.Memory, factor.DefaultMemory())
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.FS = cmp.Or(o.FS, vfs.OS())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	src := source.New(store)
	if !o.View.Imputes() {
		if err := store.NoMissing(); err != nil {
			return nil, err
		}
	}
	var err error
	if o.View, err = src.Keep(o.FS, o.View, o.Memory, o.Log); err != nil {
		return nil, err
	}
	l := &look{Options: o, store: src}
	across, _ := csr.Orient(store, false, true)
	if len(o.View) == 0 {
		l.view = view.Identity(l.store, across)
	} else {
		l.view = view.Plan(l.store, o.View, across)
		reads += l.view.Reads()
	}
	if o.Progress != nil {
		l.store.Count(reads, o.Progress)
	}
	if len(o.View) == 0 {
		return l, nil
	}
	return l, l.told(ctx, l.view.Measure(ctx, l.options(0)))
}

func (l *look) options(reserve int64) stream.Options {
	return stream.Options{Memory: l.Memory, Workers: l.Workers, Reserve: reserve}
}

// told returns the error of a read: the error of ctx if that is done, otherwise err with ids.
func (l *look) told(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return l.store.Named(err)
}

// namesOf returns the names of the rows or columns of a store with the given indices.
func namesOf(store *csr.Store, axis csr.Axis, at []int64) (_ map[int64]factor.Name, err error) {
	names := make(map[int64]factor.Name, len(at))
	titles, err := store.Titles(axis)
	if err != nil {
		return nil, err
	}
	if titles != nil {
		defer func() { err = errors.Join(err, titles.Close()) }()
	}
	r, err := store.IDs(axis)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n := int64(-1)
	for _, i := range slices.Compact(slices.Sorted(slices.Values(at))) {
		for n < i {
			n++
			if !r.Next() {
				return nil, cmp.Or(r.Err(), fmt.Errorf("%s has no id number %d", store.Path(), n))
			}
		}
		name := factor.Name{Index: i, ID: source.Value(r)}
		if titles != nil {
			if name.Title, err = titles.At(i); err != nil {
				return nil, err
			}
		}
		names[i] = name
	}
	return names, nil
}

// rowOf returns the index of the row with an id or a title, −1 if no row has it. axis is the axis of the rows.
func rowOf(store *csr.Store, axis csr.Axis, id string) (_ int64, err error) {
	r, err := store.IDs(axis)
	if err != nil {
		return -1, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for at := int64(0); r.Next(); at++ {
		if r.String() == id {
			return at, nil
		}
	}
	titles, err := store.Titles(axis)
	if titles == nil || r.Err() != nil {
		return -1, cmp.Or(r.Err(), err)
	}
	defer func() { err = errors.Join(err, titles.Close()) }()
	return factor.ByTitle(titles.Count(), titles.At, func(i int64) (factor.Name, error) {
		names, err := namesOf(store, axis, []int64{i})
		return names[i], err
	}, "row", id)
}

func says(format string, args ...any) error { return &factor.Error{Format: format, Args: args} }

// Matrix holds the entries of a store as a view makes them.
type Matrix struct {
	look  *look
	drops bool // whether the store has a view, which may have made entries 0
}

// OpenMatrix measures the view of a store. reads is the number of times that its rows are going to be read. A view that fills the
// matrix, as centring does, is refused: elements without an entry are not 0 then.
func OpenMatrix(ctx context.Context, store *csr.Store, o Options, reads int) (*Matrix, error) {
	l, err := newLook(ctx, store, o, reads)
	if err != nil {
		return nil, err
	}
	if _, rank, _ := l.view.Sides(); rank > 0 {
		return nil, says("%v %s: it fills the matrix, so that there are not only entries to write: leave out the step that centres", factor.Option("View"), l.View.String())
	}
	return &Matrix{look: l, drops: len(l.View) > 0}, nil
}

// EachRow calls each for the rows of the store in order, which are columns of the user's matrix if the store is transposed, with
// their entries by ascending column. Entries that the view has made 0 are left out. The slices are valid until each returns.
func (m *Matrix) EachRow(ctx context.Context, each func(row int64, cols []uint32, vals []float64) error) error {
	err := m.look.view.EachRow(ctx, m.look.options(0), func(row int64, cols []uint32, vals []float64) error {
		if m.drops {
			n := 0
			for i, v := range vals {
				if v != 0 {
					cols[n], vals[n], n = cols[i], v, n+1
				}
			}
			cols, vals = cols[:n], vals[:n]
		}
		return each(row, cols, vals)
	})
	return m.look.told(ctx, err)
}

func (m *Matrix) Memory() int64 { return m.look.Memory }

// Largest number of rows, and of entries of each row, that Peek returns.
const (
	MaxPeekRows    = 1000
	MaxPeekEntries = 1000
)

// PeekOptions are the options of Peek.
type PeekOptions struct {
	Options
	Head    int      // number of rows, the first ones that have entries
	Rows    []string // ids of the rows to return instead; nil: Head rows
	Entries int      // largest number of entries of each row
}

// Peeked holds the rows that Peek returns.
type Peeked struct {
	Store string      `json:"store"`          // the store
	View  string      `json:"view,omitempty"` // the view
	Rows  int64       `json:"rows"`           // number of rows of the matrix
	Cols  int64       `json:"cols"`           // number of columns of the matrix
	Lines []PeekedRow `json:"lines"`          // the rows that are shown
}

// PeekedRow is a row of the user's matrix. Empty is the number of elements without an entry; their values are between Low
// and High, which are 0 unless the view has filled the matrix.
type PeekedRow struct {
	factor.Name
	Count   int64         `json:"count"`   // number of entries
	Entries []PeekedEntry `json:"entries"` // entries of the row
	Empty   int64         `json:"empty"`   // number of elements without an entry
	Low     factor.Number `json:"low"`     // smallest value of an element without an entry: 0 unless the view fills the matrix
	High    factor.Number `json:"high"`    // largest value of an element without an entry
}

// PeekedEntry is an entry with its column.
type PeekedEntry struct {
	factor.Name
	Value factor.Number `json:"value"` // value of the entry
}

// Peek returns some rows of the matrix of a store as its view makes them. A transposed store is read as a whole, since each
// of its blocks may have entries of a row. It panics unless
// 0 < Head ≤ MaxPeekRows, or as many Rows are given, and 0 < Entries ≤ MaxPeekEntries.
func Peek(ctx context.Context, store *csr.Store, o PeekOptions) (*Peeked, error) {
	n := o.Head
	if o.Rows != nil {
		n = len(o.Rows)
	}
	if o.Entries < 1 || o.Entries > MaxPeekEntries || n < 1 || n > MaxPeekRows {
		panic("look: options of Peek out of range")
	}
	rows, cols := csr.Orient(store, csr.RowAxis, csr.ColAxis)
	var wanted []int64
	for _, id := range o.Rows {
		row, err := rowOf(store, rows, id)
		if bare := strings.TrimSpace(id); row < 0 && err == nil && bare != id {
			row, err = rowOf(store, rows, bare)
		}
		if err != nil {
			return nil, err
		}
		if row < 0 {
			return nil, says("%v %q: no row of %s has that id", factor.Option("Rows"), id, store.Path())
		}
		wanted = append(wanted, row)
	}
	across := 1
	if wanted == nil {
		across = 2 // one read finds the rows, which are columns of the store, one their entries
	}
	reads, _ := csr.Orient(store, 0, across)
	l, err := newLook(ctx, store, o.Options, reads)
	if err != nil {
		return nil, err
	}
	if reads > 0 {
		l.Log.Info("the matrix is stored by columns: a row of it takes a read of the whole store", "reads", reads)
	}
	var lines []view.Line
	if wanted == nil {
		lines, err = l.view.FirstRows(ctx, l.options(0), o.Head, o.Entries)
	} else {
		lines, err = l.view.SomeRows(ctx, l.options(0), wanted, o.Entries)
	}
	if err != nil {
		return nil, l.told(ctx, err)
	}
	p := &Peeked{Store: store.Path(), View: l.View.String()}
	p.Rows, p.Cols = factor.Dims(store)
	return p, p.name(store, rows, cols, lines)
}

func (p *Peeked) name(store *csr.Store, rows, cols csr.Axis, lines []view.Line) error {
	var in, of []int64
	for _, line := range lines {
		in = append(in, line.Row)
		for _, e := range line.Entries {
			of = append(of, e.Col)
		}
	}
	rowNames, err := namesOf(store, rows, in)
	if err != nil {
		return err
	}
	colNames, err := namesOf(store, cols, of)
	if err != nil {
		return err
	}
	p.Lines = make([]PeekedRow, len(lines))
	for i, line := range lines {
		r := PeekedRow{Name: rowNames[line.Row], Count: line.Count, Entries: []PeekedEntry{}, Empty: line.Empty, Low: factor.Number(line.Low), High: factor.Number(line.High)}
		for _, e := range line.Entries {
			r.Entries = append(r.Entries, PeekedEntry{colNames[e.Col], factor.Number(e.Value)})
		}
		p.Lines[i] = r
	}
	return nil
}
