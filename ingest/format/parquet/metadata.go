package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// The numbers below are those of parquet.thrift (Apache Parquet format 2.11).

// Physical types.
const (
	physBool = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physBytes
	physFixed
)

var physNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

// Codecs of compression.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecBrotli = 4
	codecZstd   = 6
	codecLZ4    = 7 // a raw block; 5 is LZ4 in the frames of Hadoop, which writers do not agree on
)

var codecNames = [...]string{"none", "snappy", "gzip", "LZO", "Brotli", "LZ4", "zstd", "LZ4_RAW"}

// An element is one of the schema, a column or a group of such.
type element struct {
	name      string
	phys      int
	length    int // of fixed-length bytes
	repeat    int // 0 required, 1 optional, 2 repeated
	children  int
	scale     int
	converted int // −1: none
	logical   int // the field of the union LogicalType; 0: none
	unsigned  bool
	unit      int // of timestamps: 1 milliseconds, 2 microseconds, 3 nanoseconds; 0: not known
}

// A chunk is what the footer says about a column of a row group.
type chunk struct {
	phys, codec int
	values      int64
	bytes       int64
	data, dict  int64 // offsets
	elsewhere   bool  // in another file, or encrypted
}

// A group is a row group.
type group struct {
	rows   int64
	chunks []chunk
}

// A footer is what stands at the end of a file.
type footer struct {
	rows   int64
	schema []element
	groups []group
	held   int64 // bytes that they take at most
}

// maxFooter is more than the footers of files with thousands of columns take.
const maxFooter = 1 << 27

var errFooter = errors.New("its end is missing or another file's")

// readFooter reads the end of a file, within Input.Window.
func readFooter(in *format.Input) (*footer, error) {
	var tail [8]byte
	if in.Size < 12 {
		return nil, errFooter
	}
	if _, err := in.At.ReadAt(tail[:], in.Size-8); err != nil && err != io.EOF {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case string(tail[4:]) == "PARE":
		return nil, fmt.Errorf("an encrypted Parquet file: %w; write it without encryption", format.ErrUnsupported)
	case string(tail[4:]) != magic || n > in.Size-12:
		return nil, errFooter
	case n > maxFooter:
		return nil, fmt.Errorf("a footer of %d bytes: %w", n, format.ErrUnsupported)
	}
	room := int64(math.MaxInt64)
	if in.Window > 0 {
		room = in.Window
	}
	room -= n
	if room < 0 {
		return nil, errLargeFooter(n)
	}
	b := make([]byte, n)
	if _, err := in.At.ReadAt(b, in.Size-8-n); err != nil && err != io.EOF {
		return nil, err
	}
	t := &thrift{b: b, room: room}
	f := t.footer()
	if t.err == errRoom {
		return nil, errLargeFooter(n)
	}
	f.held = room - t.room
	return f, t.err
}

func errLargeFooter(n int64) error {
	return fmt.Errorf("a footer of %d bytes: %w within this memory budget; a larger --memory reads it, or write it with fewer row groups or columns", n, format.ErrUnsupported)
}

func (t *thrift) footer() *footer {
	f := new(footer)
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 2 && kind == thriftList:
			t.list(func(byte) { f.schema = keep(t, f.schema, t.element()) })
		case id == 3 && kind == thriftInt64:
			f.rows = t.int()
		case id == 4 && kind == thriftList:
			t.list(func(byte) { f.groups = keep(t, f.groups, t.group()) })
		default:
			return false
		}
		return true
	})
	return f
}

func (t *thrift) element() element {
	e := element{phys: -1, converted: -1}
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 10 && kind == thriftStruct:
			t.logicalType(&e)
		case id == 4 && kind == thriftBinary:
			e.name = string(t.binary())
		case kind != thriftInt32:
			return false
		case id == 1:
			e.phys = t.int32()
		case id == 2:
			e.length = t.int32()
		case id == 3:
			e.repeat = t.int32()
		case id == 5:
			e.children = t.int32()
		case id == 6:
			e.converted = t.int32()
		case id == 7:
			e.scale = t.int32()
		default:
			return false
		}
		return true
	})
	return e
}

// Logical types: their fields of the union.
const (
	logicalString    = 1
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTimestamp = 8
	logicalInterval  = 9
	logicalInt       = 10
	logicalUUID      = 14
)

func (t *thrift) logicalType(e *element) {
	t.fields(func(id int, kind byte) bool {
		e.logical = id
		if kind != thriftStruct {
			return false
		}
		t.fields(func(field int, kind byte) bool {
			switch {
			case id == logicalDecimal && field == 1 && kind == thriftInt32:
				e.scale = t.int32()
				return true
			case id == logicalInt && field == 2:
				e.unsigned = kind == thriftFalse
			case id == logicalTimestamp && field == 2 && kind == thriftStruct:
				t.fields(func(unit int, _ byte) bool {
					e.unit = unit
					return false
				})
				return true
			}
			return false
		})
		return true
	})
}

func (t *thrift) group() (g group) {
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 1 && kind == thriftList:
			t.list(func(byte) { g.chunks = keep(t, g.chunks, t.chunk()) })
		case id == 3 && kind == thriftInt64:
			g.rows = t.int()
		default:
			return false
		}
		return true
	})
	return g
}

func (t *thrift) chunk() (c chunk) {
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 1 && kind == thriftBinary:
			c.elsewhere = c.elsewhere || len(t.binary()) > 0
		case id == 8:
			c.elsewhere = true
			return false
		case id == 3 && kind == thriftStruct:
			t.chunkMetadata(&c)
		default:
			return false
		}
		return true
	})
	return c
}

func (t *thrift) chunkMetadata(c *chunk) {
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 1 && kind == thriftInt32:
			c.phys = t.int32()
		case id == 4 && kind == thriftInt32:
			c.codec = t.int32()
		case kind != thriftInt64:
			return false
		case id == 5:
			c.values = t.int()
		case id == 7:
			c.bytes = t.int()
		case id == 9:
			c.data = t.int()
		case id == 11:
			c.dict = t.int()
		default:
			return false
		}
		return true
	})
}

// Kinds of pages.
const (
	pageData   = 0
	pageDict   = 2
	pageDataV2 = 3
)

// A page is the header of one.
type page struct {
	kind, size, packed int // bytes uncompressed and in the file
	values, encoding   int
	levels             int // encoding of definition levels, version 1
	defBytes, repBytes int // bytes of levels, version 2
	plain              bool
	crc                uint32 // of the bytes in the file
	summed             bool   // there is one
}

func (t *thrift) page() page {
	p := page{encoding: -1, levels: encRLE}
	body := func(encoding, levels, def, rep, compressed int) {
		t.fields(func(id int, kind byte) bool {
			switch {
			case id == compressed:
				p.plain = kind == thriftFalse
				return false
			case kind != thriftInt32:
				return false
			case id == 1:
				p.values = t.int32()
			case id == encoding:
				p.encoding = t.int32()
			case id == levels:
				p.levels = t.int32()
			case id == def:
				p.defBytes = t.int32()
			case id == rep:
				p.repBytes = t.int32()
			default:
				return false
			}
			return true
		})
	}
	t.fields(func(id int, kind byte) bool {
		switch {
		case kind == thriftInt32 && id == 1:
			p.kind = t.int32()
		case kind == thriftInt32 && id == 2:
			p.size = t.int32()
		case kind == thriftInt32 && id == 3:
			p.packed = t.int32()
		case kind == thriftInt32 && id == 4:
			p.crc, p.summed = uint32(t.int32()), true
		case kind == thriftStruct && id == 5:
			body(2, 3, 0, 0, 0)
		case kind == thriftStruct && id == 7:
			body(2, 0, 0, 0, 0)
		case kind == thriftStruct && id == 8:
			body(4, 0, 5, 6, 7)
		default:
			return false
		}
		return true
	})
	return p
}
