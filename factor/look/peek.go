package look

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/stream/view"
)

// The most rows and entries of each that Peek takes.
const (
	MaxPeekRows    = 1000
	MaxPeekEntries = 1000
)

// PeekOptions of Peek.
type PeekOptions struct {
	Options
	Head    int      // that many rows, the first ones that have entries
	Rows    []string // ids of the rows that are wanted instead; nil: none
	Entries int      // of each row at most
}

// Peeked is what Peek has seen of a matrix.
type Peeked struct {
	Store string      `json:"store"`
	View  string      `json:"view,omitempty"`
	Rows  int64       `json:"rows"`
	Cols  int64       `json:"cols"`
	Lines []PeekedRow `json:"lines"`
}

// PeekedRow is a row of the user's matrix. Empty elements have no entry: they are between Low and
// High, which are 0 unless the view has filled the matrix.
type PeekedRow struct {
	factor.Name
	Count   int64         `json:"count"` // of entries
	Entries []PeekedEntry `json:"entries"`
	Empty   int64         `json:"empty"`
	Low     factor.Number `json:"low"`
	High    factor.Number `json:"high"`
}

// PeekedEntry is an entry with its column.
type PeekedEntry struct {
	factor.Name
	Value factor.Number `json:"value"`
}

// Peek shows some rows of the matrix of a store as its view makes them. Where the store is transposed it is read as a
// whole for them, since none of its blocks can be left out. It panics unless
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
		row, err := indexOf(store, rows, id)
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
		across = 2 // which columns of the store these rows are, and what is in them
	}
	reads, _ := csr.Orient(store, 0, across)
	l, err := newLook(ctx, store, o.Options, reads)
	if err != nil {
		return nil, err
	}
	if reads > 0 {
		l.Log.Info("the store has the columns of the matrix as its rows: what is in a row of the matrix takes a read of all of it", "reads", reads)
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
	p := &Peeked{Store: store.Path(), View: l.pipeline()}
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
