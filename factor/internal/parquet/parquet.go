// Package parquet writes tables of required columns as Parquet files
// (https://parquet.apache.org/docs/file-format): PLAIN, uncompressed, forward, with one row group at a time in memory.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

const magic = "PAR1"

type Type uint8

// The types; their numbers are those of the format.
const (
	Int32   Type = 1
	Int64   Type = 2
	Float64 Type = 5
	String  Type = 6 // UTF-8, or bytes if a value is not
)

type Column struct {
	Name string
	Type Type
}

// Values holds the values of a column in a row group.
type Values struct {
	of    Type
	bytes bool // a String is not UTF-8
	// add appends values from index i on, at least one, until a page is full, and returns the index of the next value.
	// A call for each value would take longer than the value.
	add func(page []byte, i, n int) ([]byte, int)
}

func Int32s(v []int32) Values {
	return Values{of: Int32, add: func(page []byte, i, n int) ([]byte, int) {
		for ; i < n && len(page) < pageBytes; i++ {
			page = binary.LittleEndian.AppendUint32(page, uint32(v[i]))
		}
		return page, i
	}}
}

func Int64s(v []int64) Values {
	return Values{of: Int64, add: func(page []byte, i, n int) ([]byte, int) {
		for ; i < n && len(page) < pageBytes; i++ {
			page = binary.LittleEndian.AppendUint64(page, uint64(v[i]))
		}
		return page, i
	}}
}

// Float64s returns the values of every stride-th number of x.
func Float64s(x []float64, stride int) Values {
	return Values{of: Float64, add: func(page []byte, i, n int) ([]byte, int) {
		for ; i < n && len(page) < pageBytes; i++ {
			page = binary.LittleEndian.AppendUint64(page, math.Float64bits(x[i*stride]))
		}
		return page, i
	}}
}

func Strings(v []string) Values {
	bytes := slices.ContainsFunc(v, func(s string) bool { return !utf8.ValidString(s) })
	return Values{String, bytes, func(page []byte, i, n int) ([]byte, int) {
		for ; i < n && len(page) < pageBytes; i++ {
			page = append(binary.LittleEndian.AppendUint32(page, uint32(len(v[i]))), v[i]...)
		}
		return page, i
	}}
}

// pageBytes is about the size of a page in bytes.
const pageBytes = 1 << 20

// Writer writes a file. It keeps a page in memory and, for each column of each row group, about 40 bytes and its name.
type Writer struct {
	w       io.Writer
	columns []Column
	bytes   []bool // whether a String column has values that are not UTF-8
	at      int64
	rows    int64
	groups  int
	footer  thrift // the row groups
	page    []byte
	err     error
}

// NewWriter begins a file of a table.
func NewWriter(w io.Writer, columns []Column) (*Writer, error) {
	p := &Writer{w: w, columns: columns, bytes: make([]bool, len(columns))}
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c.Name] {
			return nil, fmt.Errorf("two columns are called %q", c.Name)
		}
		seen[c.Name] = true
	}
	if len(columns) == 0 {
		return nil, errors.New("a table without columns")
	}
	p.write([]byte(magic))
	return p, p.err
}

func (p *Writer) write(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
		p.at += int64(len(b))
	}
}

// chunk is the offset and the size in bytes of the values of a column.
type chunk struct{ begin, size int64 }

// Group writes the values of a number of rows, one Values for each column.
func (p *Writer) Group(rows int, values ...Values) error {
	if len(values) != len(p.columns) {
		panic(fmt.Sprintf("parquet: %d columns, not %d", len(values), len(p.columns)))
	}
	if rows == 0 {
		return p.err
	}
	chunks := make([]chunk, len(values))
	for c, v := range values {
		if v.of != p.columns[c].Type {
			panic(fmt.Sprintf("parquet: values of type %d for column %q of type %d", v.of, p.columns[c].Name, p.columns[c].Type))
		}
		p.bytes[c] = p.bytes[c] || v.bytes
		chunks[c].begin = p.at
		for i := 0; i < rows && p.err == nil; {
			first := i
			p.page, i = v.add(p.page[:0], i, rows)
			p.write(pageHeader(len(p.page), i-first, crc32.ChecksumIEEE(p.page)))
			p.write(p.page)
		}
		chunks[c].size = p.at - chunks[c].begin
	}
	p.describe(rows, chunks)
	p.groups++
	p.rows += int64(rows)
	return p.err
}

// Close ends the file; it does not close the underlying writer.
func (p *Writer) Close() error {
	footer := p.metadata()
	p.write(footer)
	p.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	p.write([]byte(magic))
	if p.err == nil && len(footer) > math.MaxInt32 {
		return fmt.Errorf("the description of %d row groups of %d columns takes more than 2 GiB", p.groups, len(p.columns))
	}
	return p.err
}

// thrift encodes structs of numbers, strings and lists in Thrift's compact protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). Fields of parquet.thrift
// are named by their numbers.
type thrift struct {
	b    []byte
	last []int // number of the last field of each struct that is open
}

// Types of the protocol.
const (
	ofI32    = 5
	ofI64    = 6
	ofBinary = 8
	ofList   = 9
	ofStruct = 12
)

// field begins a field of the struct that is open; field numbers ascend by 1 to 15.
func (t *thrift) field(number int, kind byte) {
	last := &t.last[len(t.last)-1]
	t.b = append(t.b, byte(number-*last)<<4|kind)
	*last = number
}

func (t *thrift) number(x int64) {
	t.b = binary.AppendUvarint(t.b, uint64(x)<<1^uint64(x>>63)) // zigzag
}

func (t *thrift) text(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

func (t *thrift) i32(field int, x int64) {
	t.field(field, ofI32)
	t.number(x)
}

func (t *thrift) i64(field int, x int64) {
	t.field(field, ofI64)
	t.number(x)
}

func (t *thrift) string(field int, s string) {
	t.field(field, ofBinary)
	t.text(s)
}

// list begins a list; its elements follow.
func (t *thrift) list(field, count int, kind byte) {
	t.field(field, ofList)
	if count < 15 {
		t.b = append(t.b, byte(count)<<4|kind)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 0xf0|kind), uint64(count))
}

// begin begins a struct: the file, the element of a list, or the field just begun.
func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

// Numbers of parquet.thrift.
const (
	plain    = 0
	rle      = 3
	required = 0
	utf8Type = 0 // ConvertedType
)

func pageHeader(size, values int, crc uint32) []byte {
	t := new(thrift)
	t.begin()
	t.i32(1, 0) // DATA_PAGE
	t.i32(2, int64(size))
	t.i32(3, int64(size))
	t.i32(4, int64(int32(crc)))
	t.field(5, ofStruct)
	t.begin()
	t.i32(1, int64(values))
	t.i32(2, plain)
	t.i32(3, rle)
	t.i32(4, rle)
	t.end()
	t.end()
	return t.b
}

// describe adds the RowGroup of columns that have just been written to the footer.
func (p *Writer) describe(rows int, chunks []chunk) {
	t, size := &p.footer, int64(0)
	t.begin()
	t.list(1, len(chunks), ofStruct)
	for c, at := range chunks {
		t.begin()
		t.i64(2, at.begin)
		t.field(3, ofStruct)
		t.begin()
		t.i32(1, int64(p.columns[c].Type))
		t.list(2, 1, ofI32)
		t.number(plain)
		t.list(3, 1, ofBinary)
		t.text(p.columns[c].Name)
		t.i32(4, 0) // uncompressed
		t.i64(5, int64(rows))
		t.i64(6, at.size)
		t.i64(7, at.size)
		t.i64(9, at.begin)
		t.end()
		t.end()
		size += at.size
	}
	t.i64(2, size)
	t.i64(3, int64(rows))
	t.end()
}

// metadata returns the FileMetaData.
func (p *Writer) metadata() []byte {
	t := new(thrift)
	t.begin()
	t.i32(1, 1)
	t.list(2, 1+len(p.columns), ofStruct)
	t.begin()
	t.string(4, "schema")
	t.i32(5, int64(len(p.columns)))
	t.end()
	for c, column := range p.columns {
		t.begin()
		t.i32(1, int64(column.Type))
		t.i32(3, required)
		t.string(4, column.Name)
		if column.Type == String && !p.bytes[c] {
			t.i32(6, utf8Type)
			t.field(10, ofStruct) // LogicalType
			t.begin()
			t.field(1, ofStruct) // StringType
			t.begin()
			t.end()
			t.end()
		}
		t.end()
	}
	t.i64(3, p.rows)
	t.list(4, p.groups, ofStruct)
	t.b = append(t.b, p.footer.b...)
	t.string(6, "gdsvd")
	t.end()
	return t.b
}
