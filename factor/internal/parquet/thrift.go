package parquet

import "encoding/binary"

// thrift is structs of numbers, strings and lists in Thrift's compact protocol
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

// field begins a field of the struct that is open; their numbers ascend by 1 to 15.
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

// pageHeader describes a data page.
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

// metadata is the FileMetaData.
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
