// Package parquet reads a table of entries from an Apache Parquet file: a column of users, one of items, and optionally one of
// values and one of times. Input.Columns determines the roles of the columns, else their names (package roles); for times,
// their type as well.
//
// Ids are integers, also as decimals, texts, UUIDs, or floating-point numbers that are integers, as pandas writes integers with
// gaps. Values are numbers, booleans, decimals, or texts of numbers. Times are dates, timestamps, or numbers and texts as
// format.ParseTime reads them; times without a zone are in UTC. A null in a column that is used makes its row a bad line. Nested
// or repeated columns cannot be used; columns that are not used are not read.
//
// A file is read from its end: it must be a plain file, not standard input. Positions are row numbers, counted from 1 over all
// row groups. The footer and a part of a row group are in memory: the pages of up to four columns and their dictionaries. If
// these take more than Input.Window, the file is refused.
//
// The package does not use github.com/parquet-go/parquet-go v0.32.0, which makes the stripped program 25.9 MB instead of
// 16.0 MB (go build -trimpath -ldflags '-s -w', linux/amd64). The tests write their files with it.
package parquet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

var Format = format.Format{Name: "parquet", Sniff: sniff, Open: open, Timed: true}

const magic = "PAR1"

// sniff looks for a zero byte, to tell a Parquet file from a text whose first id is the magic number.
func sniff(h format.Head) bool {
	return bytes.HasPrefix(h.Bytes, []byte(magic)) && bytes.IndexByte(h.Bytes, 0) >= 0
}

// ErrDamaged is the error for a file that violates the Parquet format.
var ErrDamaged = errors.New("damaged Parquet file")

type reader struct {
	in      *format.Input
	groups  []group
	a       roles.Assignment
	fields  []*field // row keys, column keys and perhaps values and times
	group   int      // index of the group being read; len(groups): no group is left
	left    int64    // rows of the group not yet read
	row     int64    // rows read, over all groups
	columns []column
	window  window
}

const maxFields = 4

func open(in *format.Input) (format.Reader, error) {
	p := &reader{in: in, window: window{size: in.Window}}
	if in.At == nil {
		return nil, p.fail(fmt.Errorf("a Parquet file is read from its end, which a pipe, a compressed file or a server that gives no ranges does not let read: %w; save it as a plain file", format.ErrUnsupported))
	}
	f, err := p.footer()
	if err != nil {
		return nil, err
	}
	if err := p.assign(f.schema); err != nil {
		return nil, p.fail(err)
	}
	p.group, p.columns = 0, make([]column, len(p.fields))
	return p, p.begin()
}

// footer reads the footer and checks that the row groups have the declared number of rows. It does not begin a group.
func (p *reader) footer() (*footer, error) {
	f, err := readFooter(p.in)
	if err != nil {
		return nil, p.damaged(err)
	}
	p.window.held, p.window.taken = f.held, f.held
	p.groups, p.group = f.groups, len(f.groups)
	left := f.rows
	for _, g := range p.groups {
		if g.rows < 0 || g.rows > left {
			return nil, p.damaged(errCount)
		}
		left -= g.rows
	}
	if left != 0 {
		return nil, p.damaged(errCount)
	}
	return f, nil
}

var errCount = errors.New("the row groups have not as many rows as the footer says")

const readBuffer = 1 << 16

func (p *reader) assign(schema []element) error {
	all, err := fieldsOf(schema)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	var names []string
	var of []roles.Field
	for _, f := range all {
		names = append(names, f.name)
		numeric := f.kind != other && f.kind != texts && f.kind != uuid
		of = append(of, roles.Field{Name: f.name, Numeric: numeric, Empty: f.nested || f.unit != unitNone && roles.Read(f.name).Role != roles.Time})
	}
	lost := -1
	if p.a, lost, err = roles.Choose(of, p.in.Columns, p.in.Events); err != nil {
		return err
	}
	if lost >= 0 { // there is a value column that cannot be read
		return unfit(all[lost], 2)
	}
	at, err := p.timeOf(all, names)
	if err != nil {
		return err
	}
	for i, c := range []int{p.a.Row, p.a.Col, p.a.Value, at} {
		if c < 0 || i == 2 && p.in.Events {
			continue
		}
		f := *all[c]
		f.isID, f.isTime = i < 2, i == 3
		if !f.can() {
			return unfit(&f, i)
		}
		f.most = int(min(cmp.Or(p.in.Window, maxPage), maxPage))
		p.fields = append(p.fields, &f)
	}
	return nil
}

func unfit(f *field, i int) error {
	remedy := "--columns chooses others"
	if f.isTime && f.phys == physInt96 {
		remedy = "write timestamps as INT64 (TIMESTAMP_MICROS)"
	}
	return fmt.Errorf("column %q is %s: %w as %s; %s", f.name, f.what, format.ErrUnsupported, []string{"the row", "the column", "the value", "the time"}[i], remedy)
}

// timeOf returns the column of times, or −1 if Input.Times does not ask for times. If no column name indicates a time,
// the types of the columns determine it.
func (p *reader) timeOf(all []*field, names []string) (at int, err error) {
	if len(p.a.Times) == 0 {
		for c, f := range all {
			if f.unit > unitOther {
				p.a.Times = append(p.a.Times, c)
				p.a.Columns[c].Role, p.a.Columns[c].Why = roles.Time.String(), "its type is that of times"
			}
		}
	}
	if !p.in.Times {
		return -1, nil
	}
	return p.a.Time(names)
}

func (p *reader) fail(err error) error { return &format.ParseError{File: p.in.Name, Err: err} }

// damaged returns the error for malformed contents. It returns err itself if reading the file failed.
func (p *reader) damaged(err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return err
	}
	where := ""
	if p.group < len(p.groups) {
		where = fmt.Sprintf("row group %d, ", p.group)
	}
	if errors.Is(err, format.ErrUnsupported) {
		return p.fail(fmt.Errorf("%s%w", where, err))
	}
	return p.fail(fmt.Errorf("%w: %s%w; write it anew, or export it as CSV", ErrDamaged, where, err))
}

// begin begins the row group p.group, or the next one that has rows.
func (p *reader) begin() error {
	for ; p.group < len(p.groups); p.group++ {
		g := &p.groups[p.group]
		p.left = g.rows
		if p.left == 0 {
			continue
		}
		for i, f := range p.fields {
			if f.leaf >= len(g.chunks) {
				return p.damaged(fmt.Errorf("column %q is not there", f.name))
			}
			if err := p.columns[i].begin(f, g.chunks[f.leaf], p.in, g.rows, &p.window); err != nil {
				return p.damaged(fmt.Errorf("column %q: %w", f.name, err))
			}
		}
		return nil
	}
	for i := range p.columns {
		p.columns[i].close()
	}
	p.window.taken = p.window.held
	return nil
}

// Next puts the next rows into a chunk, column after column.
func (p *reader) Next(c *format.Chunk) (err error) {
	if p.group >= len(p.groups) {
		return io.EOF
	}
	c.Begin = p.position()
	room := min(cap(c.Data), format.ChunkBytes) / len(p.fields)
	n := int(min(p.left, int64(max(1, room/numberBytes))))
	failed := func(f *field, err error) error { return p.damaged(fmt.Errorf("column %q: %w", f.name, err)) }
	for i, f := range p.fields {
		if err := p.columns[i].fill(); err != nil {
			return failed(f, err)
		}
	}
	for i, f := range p.fields {
		if f.kind > number {
			n = p.columns[i].gather(n, room)
		}
	}
	all, ok := c.Held.(row)
	if !ok || len(all) != len(p.fields) {
		all = make(row, len(p.fields))
		c.Held = all
	}
	for i, f := range p.fields {
		if err := p.columns[i].put(&all[i], n); err != nil {
			return failed(f, err)
		}
	}
	p.left -= int64(n)
	p.row += int64(n)
	c.End = p.position()
	if p.left == 0 {
		p.group++
		err = p.begin()
	}
	return err
}

// numberBytes is the size of a number, or of the code of a text, in a chunk.
const numberBytes = 8

func (p *reader) position() format.Position { return format.Position{Line: p.row + 1, Byte: p.row} }

func (p *reader) Seek(to format.Position) (err error) {
	p.row = to.Byte
	in := p.row
	for p.group = 0; p.group < len(p.groups) && in >= p.groups[p.group].rows; p.group++ {
		in -= p.groups[p.group].rows
	}
	if err := p.begin(); err != nil || p.group == len(p.groups) || in == 0 {
		return err
	}
	p.left -= in
	for i := range p.fields {
		if err := p.columns[i].skip(in); err != nil {
			return p.damaged(err)
		}
	}
	return nil
}

// Check has nothing to do: Next checks that the columns have the declared number of rows.
func (p *reader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

// Parse converts the columns of a chunk to entries: whole columns if all cells are valid, else row by row.
func (p *reader) Parse(c *format.Chunk, b *format.Batch) error {
	rows := c.Held.(row)
	n := int(c.End.Byte - c.Begin.Byte)
	if rows.sound() {
		b.Lines, b.Tally.Entries = int64(n), int64(n)
		rows[0].ids(&b.Row)
		rows[1].ids(&b.Col)
		b.Val = slices.Grow(b.Val, n)
		if len(rows) < 3 {
			for range n {
				b.AddValue(1)
			}
			return nil
		}
		rows[2].addValues(b)
		return nil
	}
	for i := range n {
		b.Lines++
		b.Tally.Entries++
		if err := p.entry(rows, i, c.Begin.Line+int64(i), b); err != nil && !b.Refuse(err) {
			break
		}
	}
	return nil
}

func (p *reader) entry(cells row, i int, line int64, b *format.Batch) error {
	var parts [maxFields]part
	for k := range cells {
		if parts[k] = cells[k].part(i); parts[k].err != nil {
			s, f := &parts[k], p.fields[k]
			return &format.ParseError{File: p.in.Name, Line: line, Field: f.name, Text: text.Shorten(s.offend), Err: fmt.Errorf("%w, in row group %d; %s", s.err, p.groupOf(line), remedy)}
		}
	}
	parts[0].add(&b.Row)
	parts[1].add(&b.Col)
	v := 1.0
	for k := 2; k < len(cells); k++ {
		if p.fields[k].isTime {
			b.Time = append(b.Time, format.Time(parts[k].n))
		} else {
			v = parts[k].value
		}
	}
	b.AddValue(v)
	return nil
}

var errNull = errors.New("null")

const remedy = "drop such rows first, or leave them out with --max-bad-lines"

func (p *reader) groupOf(row int64) int {
	return slices.IndexFunc(p.groups, func(g group) bool {
		row -= g.rows
		return row <= 0
	})
}

func (p *reader) Locate(c *format.Chunk, n int) format.Position {
	at, cells := c.Begin, c.Held.(row)
	for i := 0; at.Byte < c.End.Byte; i++ {
		var b format.Batch
		if p.entry(cells, i, at.Line, &b) == nil {
			n--
		}
		if n < 0 {
			break
		}
		at.Line, at.Byte = at.Line+1, at.Byte+1
	}
	return at
}

func (p *reader) Describe() format.Description {
	time := -1
	if p.fields[len(p.fields)-1].isTime {
		time = p.a.Times[0]
	}
	d := p.a.Describe(true, time)
	for _, g := range p.groups {
		d.Entries += g.rows
	}
	return d
}
